//! Every alert has a runbook that begins with what to type, and all are listed on one page. Whether that can be typed is looked at for all pages by the test of documents.

use crate::alerts::alerts;
use crate::scan::root;

const INDEX: &str = "README";

fn pages() -> Vec<(String, String)> {
    let pages = std::fs::read_dir(root().join("docs/runbooks")).unwrap();
    pages
        .map(|page| page.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .filter(|(name, _)| name != INDEX)
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

#[test]
fn all_are_listed_with_their_severity() {
    let index = std::fs::read_to_string(root().join(format!("docs/runbooks/{INDEX}.md"))).unwrap();
    let listed = index.lines().filter_map(|line| line.strip_prefix("| ["));
    let listed: Vec<String> = listed
        .map(|line| line.rsplit_once(" | ").unwrap().0.to_owned())
        .collect();
    let expected = alerts().into_iter().map(|alert| {
        let name = alert["alert"].as_str().unwrap();
        format!("{name}]({name}.md) | {}", alert["labels"]["severity"].as_str().unwrap())
    });
    assert_eq!(listed, expected.collect::<Vec<_>>(), "in the order of the rules");
    for (name, _) in pages() {
        assert!(index.contains(&format!("({name}.md)")), "{name} is not linked");
    }
}
