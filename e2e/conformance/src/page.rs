//! The page `docs/sandbox.md`: what the sandbox does differently, as the table knows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::operation::Known;
use crate::scenario::Scenario;

const HEAD: &str = "\
# What the sandbox is, and what it is not

`kube-sandbox` stands in for a Kubernetes API server in tests, simulation and demo. The package `e2e-conformance` asks it
and a real kube-apiserver the same things, by three clients (kube, kubectl, plain HTTP), and compares the answers field by
field. What must differ between any two servers is left out: uids, times of creation and deletion, `managedFields`,
addresses, and the values of versions, of which only the order counts.

The lists below are written by that test (`SANDBOX_PAGE=write cargo test -p e2e-conformance --test conformance page`);
it fails when they are out of date, when the servers differ in something that is not listed here, and when a difference
that is listed here is gone.
";

/// The page for a table.
#[must_use]
pub fn page(scenarios: &[Scenario]) -> String {
    let mut text = HEAD.to_owned();
    let mut known: BTreeMap<Known, Vec<String>> = BTreeMap::new();
    let mut total = 0;
    let mut same = 0;
    // Writing into a String cannot fail.
    let _ = writeln!(text, "\n## What is compared\n\n| subject | operations |\n|---|---|");
    for scenario in scenarios {
        let _ = writeln!(text, "| {} | {} |", scenario.name, scenario.operations.len());
        for operation in &scenario.operations {
            total += 1;
            same += usize::from(operation.known.is_empty());
            for (_, difference) in &operation.known {
                let places = known.entry(*difference).or_default();
                let place = format!("{}: {}", scenario.name, operation.name);
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
    }
    let _ = writeln!(
        text,
        "\n{total} operations; {same} are answered alike, {} differ in one of the ways below.\n\n## What differs",
        total - same
    );
    for (difference, places) in known {
        let _ = writeln!(text, "\n### {}\n\n{}\n", difference.what, difference.why);
        for place in places {
            let _ = writeln!(text, "- {place}");
        }
    }
    text
}
