//! Every runbook begins with what to type. Whether that can be typed is looked at for all pages by the test of documents.

use crate::scan::root;

fn pages() -> Vec<(String, String)> {
    let pages = std::fs::read_dir(root().join("docs/runbooks")).unwrap();
    pages
        .map(|page| page.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

#[test]
fn every_runbook_begins_with_what_to_type() {
    for (name, text) in pages() {
        let begins = format!("# {name}\n\n```sh\n");
        let rest = text
            .strip_prefix(&begins)
            .unwrap_or_else(|| panic!("{name} begins otherwise"));
        let first = rest.lines().next().unwrap();
        assert!(
            first.starts_with("failoverctl ") || first.starts_with("kubectl "),
            "{name}: {first}"
        );
        for heading in [
            "## Is it safe\n",
            "## What it is, and what to do\n",
            "## When it is over\n",
        ] {
            assert!(text.contains(heading), "{name} lacks {heading}");
        }
    }
}
