//! The table of cases names tests that exist.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::collections::BTreeSet;
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

/// `C42` and `S05`; nothing else.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['C', 'S']).unwrap_or_default();
    (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Numbers of cases in a text.
fn numbers(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| is_number(word)).map(str::to_owned)
}

/// Numbers in the comments and the names of functions of all sources below this folder.
fn at_tests(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            at_tests(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            for line in std::fs::read_to_string(&path).unwrap().lines().map(str::trim) {
                if line.starts_with("//") {
                    found.extend(numbers(line));
                } else if let Some((_, name)) = line.split_once("fn ") {
                    let first = name.split('_').next().unwrap_or_default().to_uppercase();
                    found.extend(Some(first).filter(|first| is_number(first)));
                }
            }
        }
    }
}

/// A case that a test answers has its row, and the number of a row stands at a test.
#[test]
fn every_number_at_a_test_has_its_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = std::fs::read_to_string(root.join("docs/cases.md")).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let rows: BTreeSet<String> = rows
        .flat_map(|row| numbers(row.split('|').nth(1).unwrap_or_default()))
        .collect();
    let mut tests = BTreeSet::new();
    at_tests(&root.join("crates"), &mut tests);
    assert!(rows.len() > 80, "only {} numbers stand in docs/cases.md", rows.len());
    let differ: Vec<&String> = rows.symmetric_difference(&tests).collect();
    assert!(differ.is_empty(), "only in the table, or only at tests: {differ:?}");
}
