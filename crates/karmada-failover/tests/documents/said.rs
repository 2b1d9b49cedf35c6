//! `docs/reference/conditions-and-events.md` names every condition, reason and Event that the code has, and no other.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use crate::walk::root;

const PAGE: &str = "docs/reference/conditions-and-events.md";
/// Crates whose words others say.
const SHARED: &[&str] = &[
    "api-types",
    "controller-kit",
    "eviction-queue-api",
    "failover-core",
    "scheduler-filters",
];
/// Crates that say nothing on objects.
const SILENT: &[&str] = &["failoverctl", "karmada-failover", "kube-sandbox", "test-bench"];
/// Reasons that stand in no condition and no Event: of outcomes in the queue.
const OF_OUTCOMES: &[&str] = &["StateMissing"];

/// The code of a crate, without comments and tests.
pub fn code(of: &str) -> String {
    let mut text = String::new();
    gather(&root().join("crates").join(of).join("src"), &mut text);
    assert!(!text.is_empty(), "there is no crate {of}");
    text
}

fn gather(folder: &Path, text: &mut String) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            gather(&path, text);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            let whole = std::fs::read_to_string(&path).unwrap();
            let tested = whole.split("#[cfg(test)]\nmod tests").next().unwrap();
            let lines = tested.lines().filter(|line| !line.trim_start().starts_with("//"));
            lines.for_each(|line| {
                text.push_str(line);
                text.push('\n');
            });
        }
    }
}

/// The reasons of Events and conditions in a crate's code.
fn reasons(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for form in [
        // Beside the type of the Event, or in the table from which it is taken.
        r#"EventType::\w+,\s+"([A-Z]\w+)""#,
        r#"EventType::\w+,\s*&?\w+,\s*"([A-Z]\w+)""#,
        r#"EVENT\w*: &(?:'static )?str = "([A-Z]\w+)""#,
        r#"\.tell\(&\w+, "([A-Z]\w+)""#,
        // What a condition says.
        r#"\breason: "([A-Z]\w+)""#,
    ] {
        let form = Regex::new(form).unwrap();
        found.extend(form.captures_iter(code).map(|hit| hit[1].to_owned()));
    }
    found
}

/// The types of conditions that a crate's code names.
fn conditions(code: &str) -> BTreeSet<String> {
    let modules = Regex::new(r"(?s)pub mod (?:work_)?condition \{(.*?)\n\}").unwrap();
    let value = Regex::new(r#"pub const \w+: &str = "(\w+)""#).unwrap();
    let bodies = modules.captures_iter(code);
    bodies
        .flat_map(|body| {
            let values = value.captures_iter(body.get(1).unwrap().as_str());
            values.map(|value| value[1].to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

/// A row of a table of the page: its cells.
fn rows(text: &str, section: &str) -> Vec<Vec<String>> {
    let section = text.split("\n## ").find(|part| part.starts_with(section)).unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|line| {
            let cells = line.trim_matches('|').split(" | ");
            cells.map(|cell| cell.trim().to_owned()).collect()
        })
        .collect()
}

/// What stands between backticks.
fn words(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn crates() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap();
    let names = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !SILENT.contains(&name.as_str())).collect();
    names.sort();
    names
}

#[test]
fn what_the_code_says_is_on_the_page() {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let there: BTreeSet<String> = words(&page).into_iter().collect();
    let types: BTreeSet<String> = rows(&page, "Conditions")
        .iter()
        .flat_map(|row| words(&row[0]))
        .collect();
    let mut missing = Vec::new();
    let mut count = 0;
    for name in crates() {
        let code = code(&name);
        for reason in reasons(&code) {
            count += 1;
            if !there.contains(&reason) && !OF_OUTCOMES.contains(&reason.as_str()) {
                missing.push(format!("{name} says {reason}"));
            }
        }
        let unlisted = conditions(&code)
            .into_iter()
            .filter(|condition| !types.contains(condition));
        missing.extend(unlisted.map(|condition| format!("{name} has a condition {condition}")));
    }
    assert!(missing.is_empty(), "{PAGE} lacks: {missing:#?}");
    assert!(count >= 60, "only {count} reasons were found in the code");
}

#[test]
fn what_the_page_names_is_in_the_code() {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let shared: String = SHARED.iter().map(|name| code(name)).collect();
    let (conditions, events) = (rows(&page, "Conditions"), rows(&page, "Events"));
    let conditions = conditions
        .iter()
        .map(|row| ([words(&row[0]), words(&row[3])].concat(), &row[2]));
    let events = events.iter().map(|row| (words(&row[0]), &row[3]));
    let mut wrong = Vec::new();
    for (said, by) in conditions.chain(events) {
        let mut code: String = by.split(", ").map(code).collect();
        if by.contains("agent") {
            // It has controllers of theirs.
            code.push_str(&self::code("cluster-health-controller"));
            code.push_str(&self::code("propagation-controllers"));
        }
        for word in said {
            let literal = format!("\"{word}\"");
            if !code.contains(&literal) && !shared.contains(&literal) {
                wrong.push(format!("{by} says no {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{PAGE}: {wrong:#?}");
}

#[test]
fn reasons_are_found_in_code() {
    let code = r#"
        publish(ctx, binding, EventType::Warning, "One", &note);
        events.publish(&about, EventType::Normal, "Two", words);
        let (a, b) = (EventType::Normal, "Three", note);
            EventType::Warning,
            "Four",
        pub const EVENT_X: &str = "Five";
        self.tell(&work, "Six", error);
        Say { type_: ACCEPTED, status: "True", reason: "Seven", message: "" }
        json!({"reason": "Eight"})
        pub mod condition {
            pub const A: &str = "Nine";
        }
    "#;
    let found = reasons(code);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["Five", "Four", "One", "Seven", "Six", "Three", "Two"]);
    let nested = "pub mod condition {\n    pub const A: &str = \"Nine\";\n}\n";
    assert_eq!(conditions(nested).into_iter().collect::<Vec<_>>(), ["Nine"]);
}
