//! Every word and number by which something ends or is refused is explained on its page, and no other: verdicts, outcomes of
//! leases, exit codes, refusals of the queue.
//!
//! The words are read off the code, from the arms of a match as a rule: the compiler sees to it that none is missing there.

use std::collections::BTreeSet;

use regex::Regex;

use crate::said;
use crate::walk::{pages, root};

fn file(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Code of a file without its tests.
fn code(path: &str) -> String {
    let text = file(path);
    text.split("#[cfg(test)]").next().unwrap().to_owned()
}

/// The sources of a folder without their tests.
fn folder(path: &str) -> String {
    let mut text = String::new();
    let mut paths: Vec<_> = std::fs::read_dir(root().join(path))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for found in paths {
        let name = found.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            text.push_str(&code(&format!("{path}/{name}")));
        }
    }
    text
}

/// What a pattern finds: its only group.
fn found(pattern: &str, text: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).unwrap();
    let found: BTreeSet<String> = pattern.captures_iter(text).map(|hit| hit[1].to_owned()).collect();
    assert!(!found.is_empty(), "nothing is found by {pattern}");
    found
}

/// The body of a function, up to its brace at this depth.
fn body<'a>(code: &'a str, function: &str) -> &'a str {
    let (_, after) = code
        .split_once(function)
        .unwrap_or_else(|| panic!("there is no {function}"));
    after.split("\n    }\n").next().unwrap()
}

/// The cells of the rows of the table of a page that begins so.
fn table(path: &str, begins: &str) -> Vec<Vec<String>> {
    let page = file(path);
    let (_, after) = page
        .split_once(begins)
        .unwrap_or_else(|| panic!("{path} has no {begins}"));
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells = row.trim_matches('|').split(" | ");
        cells.map(|cell| cell.trim().to_owned()).collect()
    })
    .collect()
}

/// What stands between backticks.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

const WORD: &str = r#"=> "([A-Z]\w+)""#;
const OF_CLUSTERS: &str = "crates/failover-core/src/eviction/verdict.rs";
const OF_APPLICATIONS: &str = "crates/failover-core/src/application/verdict.rs";

/// The words of one kind of verdict.
fn words_of(verdicts: &str) -> BTreeSet<String> {
    found(WORD, body(&code(verdicts), "fn word("))
}

#[test]
fn each_verdict_has_a_row() {
    let (clusters, applications) = (words_of(OF_CLUSTERS), words_of(OF_APPLICATIONS));
    let rows = table("docs/evictor.md", "| word | of | means |");
    let listed = |of: &str| -> BTreeSet<String> {
        let rows = rows.iter().filter(|row| row[1] == of || row[1] == "both");
        rows.flat_map(|row| quoted(&row[0])).collect()
    };
    assert_eq!(listed("a cluster's failure"), clusters);
    assert_eq!(listed("an application's failure"), applications);
    assert_eq!(rows.len(), clusters.union(&applications).count(), "each word once");
}

/// The reasons with which leases end, by outcome, but for the words of verdicts.
fn reasons() -> BTreeSet<(String, String)> {
    let code = code("crates/failover-core/src/eviction/recheck.rs") + &folder("crates/taint-manager/src/evictor");
    let with = |outcome: &str, pattern: &str| -> Vec<(String, String)> {
        found(pattern, &code)
            .into_iter()
            .map(|reason| (outcome.to_owned(), reason))
            .collect()
    };
    let of_others = found(
        r#"\bREASON: &str = "(\w+)""#,
        &self::code("crates/failover-core/src/second_owner.rs"),
    );
    let named = Regex::new(r#"OutcomeKind::(\w+)(?:\s*\{[^}]*\})?,\s*(?:reason: )?"(\w+)""#).unwrap();
    let named = named
        .captures_iter(&code)
        .map(|hit| (hit[1].to_owned(), hit[2].to_owned()));
    [
        with("NotNeeded", r#"\bnot_needed\(\s*"(\w+)""#),
        with("Wait", r#"\bwait\([^";]*"(\w+)""#),
        with("Failed", r#"\bDone::failed\(\s*"(\w+)""#),
        of_others
            .into_iter()
            .map(|reason| ("Wait".to_owned(), reason))
            .collect(),
        named.collect(),
    ]
    .concat()
    .into_iter()
    .collect()
}

#[test]
fn each_outcome_has_its_reasons() {
    let rows = table("docs/evictor.md", "| outcome | reasons | then |");
    let listed: BTreeSet<(String, String)> = rows
        .iter()
        .flat_map(|row| quoted(&row[1]).into_iter().map(|reason| (row[0].clone(), reason)))
        .collect();
    assert_eq!(listed, reasons());
    let kinds = found(
        WORD,
        body(
            &code("crates/failover-core/src/eviction/queue/outcome.rs"),
            "fn as_str(",
        ),
    );
    let outcomes: BTreeSet<String> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(outcomes, kinds);
}

fn first_cells(path: &str, begins: &str) -> BTreeSet<String> {
    table(path, begins)
        .into_iter()
        .map(|mut row| row.swap_remove(0))
        .collect()
}

#[test]
fn each_exit_code_has_a_row() {
    let mut services = found(
        r"pub const EXIT_\w+: u8 = (\d+);",
        &code("crates/controller-kit/src/process/main.rs"),
    );
    services.insert("0".to_owned());
    assert_eq!(first_cells("docs/architecture.md", "| exit code | means |"), services);
    let failoverctl = found(
        r"=> (\d+),",
        body(&code("crates/failoverctl/src/failure.rs"), "fn code(self) -> u8"),
    );
    assert_eq!(
        first_cells("docs/failoverctl.md", "| exit status | means |"),
        failoverctl
    );
}

/// The reasons that stand behind the name of a metric on its page.
fn listed_reasons(path: &str, metric: &str) -> BTreeSet<String> {
    let page = file(path);
    let row = page
        .lines()
        .find(|line| line.starts_with(&format!("| `{metric}{{reason}}`")));
    let row = row.unwrap_or_else(|| panic!("{path} does not list {metric}"));
    let said = row.split(" | ").nth(1).unwrap();
    found(r"\b((?:[A-Z][a-z]+){2,}|Silent)\b", said)
}

#[test]
fn each_refusal_of_queue_and_webhook_is_listed() {
    let gate = code("crates/eviction-queue/src/access/gate.rs");
    let mut calls = found(
        WORD,
        body(&code("crates/eviction-queue/src/access/decision.rs"), "pub fn reason("),
    );
    calls.extend(found(r#"refused\(\s*"(\w+)""#, &gate));
    calls.extend(found(r#"\("reason", "(\w+)"\)"#, &gate));
    assert_eq!(
        listed_reasons("docs/queue-access.md", "failover_queue_calls_refused_total"),
        calls
    );
    for (path, metric, door) in [
        (
            "docs/queue-access.md",
            "failover_queue_connections_refused_total",
            "crates/eviction-queue/src/incoming/door.rs",
        ),
        (
            "docs/admission.md",
            "failover_webhook_connections_refused_total",
            "crates/webhook/src/door.rs",
        ),
    ] {
        let connections = found(r#"\b(?:refuse|counted)\(\s*"(\w+)""#, &code(door));
        assert_eq!(listed_reasons(path, metric), connections, "{metric}");
    }
}

/// Crates whose words no user is told.
const UNHEARD: [&str; 2] = ["kube-sandbox", "test-bench"];

/// Names in the code that are no words of ours: kinds, reasons and fields of Kubernetes and Karmada, and of what the code itself
/// is made.
const NAMES: [&str; 44] = [
    "AllAlpha",
    "AllBeta",
    "AlreadyExists",
    "BindingWriter",
    "ClusterOverridePolicy",
    "ClusterRegistry",
    "ClusterRoleBinding",
    "ClusterStatus",
    "ClusterTaintPolic",
    "ClusterTaintPolicyStatus",
    "ComponentStatus",
    "EndpointSlice",
    "FailoverPauseStatus",
    "FailoverRecordStatus",
    "FailureTarget",
    "FederatedResourceQuota",
    "GameList",
    "IngressClass",
    "JobFailed",
    "KubePriorityClass",
    "LimitRange",
    "MemberTarget",
    "MemoryNetwork",
    "MemoryStream",
    "MethodNotAllowed",
    "MutatingWebhookConfiguration",
    "NamespaceTerminating",
    "NodePort",
    "NotFound",
    "PartialEq",
    "PascalCase",
    "QueueClient",
    "ResourceBindingStatus",
    "ResourceQuota",
    "RoleBinding",
    "SecretText",
    "ServedCluster",
    "ServedClusterTaintPolicy",
    "ServiceDomainNameResolutionReady",
    "StorageClass",
    "SuccessCriteriaMet",
    "ValidatingWebhookConfiguration",
    "WorkStatus",
    "WorkloadRebalancer",
];

/// Whatever a component calls by one word stands on some page: the words of a match, which are states, holds, regimes, verdicts
/// and roles, and every word that is put together of several, wherever in the code.
#[test]
fn each_word_of_the_code_is_on_some_page() {
    let pages: String = pages().iter().map(|page| file(&page.path)).collect();
    let mut known = found(r"\b(\w+)\b", &pages);
    let unneeded: Vec<&&str> = NAMES.iter().filter(|name| known.contains(**name)).collect();
    assert!(unneeded.is_empty(), "these stand on a page: {unneeded:?}");
    known.extend(NAMES.map(str::to_owned));
    let word = Regex::new(r#"=>\s*"((?:[A-Z][a-z]+)+)"|"((?:[A-Z][a-z]+){2,})""#).unwrap();
    let (mut words, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        if UNHEARD.contains(&name.as_str()) {
            continue;
        }
        for hit in word.captures_iter(&said::code(&name)) {
            let found = hit.get(1).or_else(|| hit.get(2)).unwrap().as_str();
            words.insert(found.to_owned());
            if !known.contains(found) {
                unknown.insert(format!("{name} says {found}"));
            }
        }
    }
    assert!(words.len() > 300, "{}", words.len());
    assert!(unknown.is_empty(), "no page explains: {unknown:#?}");
    let gone: Vec<&&str> = NAMES.iter().filter(|name| !words.contains(**name)).collect();
    assert!(gone.is_empty(), "the code has these no more: {gone:?}");
}
