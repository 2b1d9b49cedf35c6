//! The table of cases names tests that exist.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::path::Path;

#[test]
fn every_test_that_the_table_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = std::fs::read_to_string(root.join("docs/cases.md")).unwrap();
    let (mut missing, mut found) = (Vec::new(), 0);
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        let (mut file, mut text) = ("", String::new());
        for word in row.split('`').skip(1).step_by(2) {
            if word.starts_with("crates/") {
                file = word;
                text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
                if text.is_empty() {
                    missing.push(file.to_owned());
                }
            } else if text.contains(&format!("fn {word}(")) {
                found += 1;
            } else {
                missing.push(format!("{file}: {word}"));
            }
        }
        let case = row.split('|').nth(1).unwrap_or_default().trim();
        let is_case = case
            .strip_prefix('C')
            .is_some_and(|number| number.parse::<u32>().is_ok());
        assert!(!is_case || row.contains("`crates/"), "{case} names no test");
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(
        found > 40,
        "only {found} tests were found in docs/cases.md: has its form changed?"
    );
}
