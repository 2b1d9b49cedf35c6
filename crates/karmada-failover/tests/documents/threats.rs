//! The threat model leaves out no port and no account.

use std::collections::BTreeSet;

use crate::walk::root;

fn rows(heading: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/threat-model.md")).unwrap();
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with(heading))
        .unwrap();
    section
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.split(" | ").next().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn each_has_a_row(heading: &str, wanted: &BTreeSet<String>) {
    assert!(wanted.len() > 2, "nothing is looked for");
    let rows = rows(heading);
    for name in wanted {
        assert!(
            rows.iter().any(|row| row.contains(&format!("`{name}`"))),
            "docs/threat-model.md, {heading:?} does not say what {name} is worth"
        );
    }
}

#[test]
fn every_port_that_a_program_opens() {
    let flags = std::fs::read_to_string(root().join("docs/reference/flags.md")).unwrap();
    let words = flags.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '-'));
    let ports = words.filter(|word| word.ends_with("-bind-address")).map(str::to_owned);
    each_has_a_row("Ports", &ports.collect());
}

#[test]
fn every_account_that_the_charts_make() {
    let files = std::fs::read_dir(root().join("charts/control-plane/rbac")).unwrap();
    let accounts = files.filter_map(|file| {
        let name = file.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".yaml").map(str::to_owned)
    });
    each_has_a_row("What a token of a component is worth", &accounts.collect());
}
