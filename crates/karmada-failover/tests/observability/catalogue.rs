//! `docs/metrics.md`: the list of all metrics.

use std::collections::{BTreeMap, BTreeSet};

use crate::scan::{Coded, root};

/// Where the list begins and ends on its page.
const BEGINS: &str = "<!-- the list: written by a test, see CONTRIBUTING.md -->\n";
const ENDS: &str = "<!-- the end of the list -->\n";

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// gauge, counter or histogram.
    pub kind: String,
    /// Names of its labels.
    pub labels: BTreeSet<String>,
    /// What it says.
    pub help: String,
    /// Who has it.
    pub of: String,
}

/// The page.
pub fn page() -> String {
    std::fs::read_to_string(root().join("docs/metrics.md")).unwrap()
}

/// The rows of the list, by metric.
pub fn rows() -> BTreeMap<String, Row> {
    let page = page();
    let list = page.split(BEGINS).nth(1).unwrap().split(ENDS).next().unwrap();
    let rows = list.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, kind, labels, help, of] = cells[..] else {
            panic!("{line}")
        };
        let names = labels.split(", ").map(|label| label.trim_matches('`').to_owned());
        let row = Row {
            kind: kind.to_owned(),
            labels: names.filter(|label| !label.is_empty()).collect(),
            help: help.to_owned(),
            of: of.to_owned(),
        };
        (name.trim_matches('`').to_owned(), row)
    })
    .collect()
}

/// Labels that the page explains, with what keeps each bounded.
pub fn explained_labels() -> BTreeSet<String> {
    let page = page();
    let table = page.split("## Labels").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.map(|row| row.split(" |").next().unwrap());
    names
        .flat_map(|names| names.split(", ").map(|name| name.trim_matches('`').to_owned()))
        .collect()
}

/// The rows as the code and what was seen running have them; agents have these families. The labels of what was not seen are
/// those of the page.
pub fn wanted(
    coded: &BTreeMap<String, Coded>,
    seen: &BTreeMap<String, BTreeSet<String>>,
    of_agents: &BTreeSet<String>,
) -> BTreeMap<String, Row> {
    let known = rows();
    let row = |(name, coded): (&String, &Coded)| {
        let labels = seen.get(name).cloned();
        let labels = labels
            .or_else(|| Some(known.get(name)?.labels.clone()))
            .unwrap_or_default();
        let row = Row {
            kind: coded.kind.clone(),
            labels,
            help: coded.help.clone(),
            of: owners(name, coded, of_agents.contains(name)),
        };
        (name.clone(), row)
    };
    coded.iter().map(row).collect()
}

/// Writes the list, when somebody asks for it.
pub fn write(rows: &BTreeMap<String, Row>) {
    let page = page();
    let (before, rest) = page.split_once(BEGINS).unwrap();
    let (_, after) = rest.split_once(ENDS).unwrap();
    let mut list = "\n| metric | type | labels | says | of |\n|---|---|---|---|---|\n".to_owned();
    for (name, row) in rows {
        let labels: Vec<String> = row.labels.iter().map(|label| format!("`{label}`")).collect();
        let Row { kind, help, of, .. } = row;
        list += &format!("| `{name}` | {kind} | {} | {help} | {of} |\n", labels.join(", "));
    }
    let page = format!("{before}{BEGINS}{list}\n{ENDS}{after}");
    std::fs::write(root().join("docs/metrics.md"), page).unwrap();
}

/// Metrics of the kit that not every component has.
const OF_SOME: [(&str, &str); 1] = [(
    "failover_second_owner",
    "taint-policy-controller, graceful-eviction-controller",
)];

fn owners(name: &str, coded: &Coded, agents_too: bool) -> String {
    if let Some((_, some)) = OF_SOME.iter().find(|(of, _)| *of == name) {
        return (*some).to_owned();
    }
    let names = coded.crates.iter().map(|name| match name.as_str() {
        "controller-kit" => "every component",
        "eviction-queue-api" => "whoever talks to the queue",
        other => other,
    });
    let mut names: Vec<&str> = names.collect();
    if agents_too && !names.contains(&"every component") {
        names.push("agent");
    }
    names.join(", ")
}
