//! What the documents name is there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::path::Path;

/// Every path in backticks that begins like one of this repository exists; none is cut short.
#[test]
fn files_that_the_documents_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut missing = Vec::new();
    let pages = std::fs::read_dir(root.join("docs")).unwrap();
    let pages = pages.map(|page| format!("docs/{}", page.unwrap().file_name().to_str().unwrap()));
    let documents = ["README.md", "CONTRIBUTING.md"]
        .map(str::to_owned)
        .into_iter()
        .chain(pages);
    for document in documents.filter(|document| document.ends_with(".md")) {
        let text = std::fs::read_to_string(root.join(&document)).unwrap();
        for word in text.split('`').skip(1).step_by(2) {
            if word.starts_with("…/") {
                missing.push(format!("{document}: {word} is not a whole path"));
            }
            let is_path = ["crates/", "docs/", "e2e/", "proto/", "charts/"]
                .iter()
                .any(|start| word.starts_with(start));
            if is_path && !word.contains(char::is_whitespace) && !root.join(word).exists() {
                missing.push(format!("{document}: {word}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
