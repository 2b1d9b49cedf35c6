//! `kube-sandbox` and a real kube-apiserver are asked the same and have to answer the same, but for what is listed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod known;
mod servers;
mod topics;

use std::collections::BTreeMap;
use std::path::Path;

use e2e_conformance::{Normal, Scenario, differences, judge, page};
use e2e_harness::{ControlPlane, Tool, available};
use futures::future::{join, join_all};
use serde_json::Value;

use servers::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sandbox_answers_as_a_real_api_server() {
    if available("the comparison of the sandbox with a real API server").is_none() {
        return;
    }
    let control_plane = ControlPlane::start().await.unwrap();
    let kubectl = control_plane.binaries().path(Tool::Kubectl);
    let (real, sandbox) = join(Server::real(&control_plane), Server::sandbox(kubectl)).await;
    let preparation = topics::preparation();
    let (by_real, by_sandbox) = join(play(&real, &preparation), play(&sandbox, &preparation)).await;
    for answer in by_real.iter().chain(&by_sandbox) {
        assert!(matches!(answer["code"].as_u64(), Some(0 | 200 | 201)), "{answer}");
    }

    let only = std::env::var("CONFORMANCE_ONLY").unwrap_or_default();
    let chosen = |scenario: &Scenario| only.is_empty() || only.split(',').any(|name| name == scenario.name);
    let (side_by_side, alone) = topics::all();
    let side_by_side: Vec<Scenario> = side_by_side.into_iter().filter(chosen).collect();
    let alone: Vec<Scenario> = alone.into_iter().filter(chosen).collect();
    let mut findings = join_all(side_by_side.iter().map(|scenario| compare(&real, &sandbox, scenario)))
        .await
        .concat();
    for scenario in &alone {
        findings.extend(compare(&real, &sandbox, scenario).await);
    }
    let count: usize = side_by_side.iter().chain(&alone).map(|s| s.operations.len()).sum();
    println!("{count} operations compared; known differences:");
    for scenario in side_by_side.iter().chain(&alone) {
        for operation in &scenario.operations {
            for (at, known) in &operation.known {
                println!("  {}: {} at {at}: {}", scenario.name, operation.name, known.what);
            }
        }
    }
    assert!(
        findings.is_empty(),
        "{} findings:\n{}",
        findings.len(),
        findings.join("\n")
    );
}

/// The page names the operations and differences of the table as it is.
#[test]
fn page_of_the_sandbox_is_up_to_date() {
    let (mut all, alone) = topics::all();
    all.extend(alone);
    for scenario in &all {
        let mut names: Vec<_> = scenario.operations.iter().map(|o| o.name).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(
            names.len(),
            before,
            "{}: a name stands for two operations",
            scenario.name
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
    let expected = page(&all);
    if std::env::var("SANDBOX_PAGE").is_ok_and(|value| value == "write") {
        std::fs::write(&path, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == expected,
        "docs/sandbox.md is out of date: SANDBOX_PAGE=write cargo test -p e2e-conformance --test conformance page"
    );
}

/// All answers of one server in one scenario.
async fn play(server: &Server, scenario: &Scenario) -> Vec<Value> {
    let mut names = BTreeMap::from([("ns", scenario.name.to_owned())]);
    let mut answers = Vec::new();
    for operation in topics::namespace(scenario.name).iter().chain(&scenario.operations) {
        let answer = server.answer(&operation.call, operation.until, &names).await;
        for save in &operation.saves {
            // Where it is missing, the answer itself differs, or nothing was compared: then the next ones will.
            let value = answer["body"]
                .pointer(save.pointer)
                .and_then(Value::as_str)
                .unwrap_or("missing");
            names.insert(save.name, value.to_owned());
        }
        answers.push(answer);
    }
    answers
}

async fn compare(real: &Server, sandbox: &Server, scenario: &Scenario) -> Vec<String> {
    let (real, sandbox) = join(play(real, scenario), play(sandbox, scenario)).await;
    let forms = [Normal::of(&real).unwrap(), Normal::of(&sandbox).unwrap()];
    let mut findings = Vec::new();
    for (index, (real, sandbox)) in real.iter().zip(&sandbox).enumerate() {
        let found = differences(&forms[0].form(real), &forms[1].form(sandbox));
        // The first answer is that of the namespace.
        let Some(operation) = index.checked_sub(1).map(|index| &scenario.operations[index]) else {
            findings.extend(found.iter().map(|d| format!("{}: namespace: {d}", scenario.name)));
            continue;
        };
        for finding in judge(operation, found) {
            findings.push(format!("{}: {}: {finding}", scenario.name, operation.name));
        }
    }
    findings
}
