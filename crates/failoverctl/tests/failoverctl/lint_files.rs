//! `lint`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Parser;
use controller_kit::Clock;
use failover_core::lint::{Code, Needs};
use failoverctl::Cli;
use failoverctl::cli::Command;
use failoverctl::control_plane::ControlPlane;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::lint::{LintReport, Source, lint};
use failoverctl::output::Format;
use failoverctl::run::{Surroundings, run};
use insta::assert_snapshot;
use rstest::rstest;
use serde_json::{Value, json};

use crate::objects::{binding, cluster, fleet, lease, leases_without, now};
use crate::server::{api_server, control_plane};
use crate::show;

const PAGE: &str = include_str!("../../../../docs/lint.md");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/failoverctl/lint")
}

fn file(name: &str) -> Source {
    Source {
        file: name.to_owned(),
        text: std::fs::read_to_string(folder().join(name)).unwrap(),
    }
}

fn text(text: &str) -> Source {
    Source {
        file: "some.yaml".to_owned(),
        text: text.to_owned(),
    }
}

async fn checked(sources: &[Source], args: &[&str], fleet: Result<&ControlPlane, String>) -> LintReport {
    let cli = Cli::try_parse_from([&["failoverctl", "lint", "-"], args].concat()).unwrap();
    let Command::Lint(args) = cli.command else {
        unreachable!()
    };
    lint(sources, &args, fleet, &Clock::simulated(now())).await.unwrap()
}

async fn offline(sources: &[Source]) -> LintReport {
    checked(sources, &[], Err("--offline is given".to_owned())).await
}

/// A control plane with three clusters, whose controllers have the gate off.
fn with_the_gate_off() -> ControlPlane {
    with_gates("Failover=false")
}

/// The same, beside a stock Karmada.
fn beside_stock() -> ControlPlane {
    let mut answers = answers("Failover=true");
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1alpha1.cluster.karmada.io"},
        "spec": {"service": {"name": "karmada-aggregated-apiserver", "namespace": "karmada-system"}, "groupPriorityMinimum": 1, "versionPriority": 1},
    });
    answers.push((
        "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.cluster.karmada.io".to_owned(),
        service,
    ));
    ControlPlane::new(api_server(answers), "karmada-system")
}

/// The same, with what the controller of the policies says of its gates.
fn with_gates(gates: &str) -> ControlPlane {
    ControlPlane::new(api_server(answers(gates)), "karmada-system")
}

fn answers(gates: &str) -> Vec<(String, Value)> {
    let leases: Vec<_> = leases_without(&["cluster-taint-policy"])
        .into_iter()
        .chain([lease("cluster-taint-policy", -3, gates)])
        .collect();
    let mut answers = control_plane(&fleet(cluster("member1", "True")), &leases, &[binding()]);
    answers.extend(crate::server::taint_policies(&[]));
    let policies = json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": [{
        "metadata": {"name": "nginx", "namespace": "default"}, "spec": {"resourceSelectors": []},
    }]});
    answers.push((
        "/apis/policy.karmada.io/v1alpha1/propagationpolicies".to_owned(),
        policies,
    ));
    answers
}

#[tokio::test]
async fn nothing_is_found_in_what_is_well() {
    let report = offline(&[file("good.yaml")]).await;
    assert_eq!(report.exit_status(), ExitStatus::Fine);
    assert_snapshot!("good", show(&report, Format::Table));
}

/// What the chart installs, and its samples.
#[tokio::test]
async fn nothing_is_found_in_the_policies_of_the_chart() {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/control-plane/policies");
    // Those in stock's form, for beside a stock Karmada, are named as the others: never both are installed.
    for (folder, count) in [(policies.clone(), 4), (policies.join("beside"), 2)] {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let sources: Vec<Source> = files
            .filter(|path| path.is_file())
            .map(|path| Source {
                file: path.display().to_string(),
                text: std::fs::read_to_string(&path).unwrap(),
            })
            .collect();
        let report = offline(&sources).await;
        assert_eq!(report.objects.len(), count);
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

#[tokio::test]
async fn what_an_api_server_refuses_or_drops() {
    let report = offline(&[file("slips.yaml")]).await;
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!("slips", show(&report, Format::Table));
    assert_snapshot!("slips_names", show(&report, Format::Name));
}

#[tokio::test]
async fn what_is_accepted_and_not_meant() {
    let report = offline(&[file("meanings.yaml")]).await;
    assert_snapshot!("meanings_offline", show(&report, Format::Table));
}

#[tokio::test]
async fn what_only_the_fleet_knows() {
    let report = checked(&[file("meanings.yaml")], &[], Ok(&with_the_gate_off())).await;
    assert_snapshot!("meanings_online", show(&report, Format::Table));
    assert_snapshot!("meanings_online_json", show(&report, Format::Json));
}

/// A policy that is to be tried out would act at once there: its API server knows neither the switch nor the windows.
#[tokio::test]
async fn what_a_stock_karmada_drops() {
    let policy = "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {name: a}\nspec:\n  \
                  suspended: true\n  \
                  matchConditions: [{conditionType: Ready, operator: In, statusValues: [\"False\"]}]\n  \
                  taintsToAdd: [{key: k, effect: NoSchedule}]\n";
    let codes = |report: &LintReport| -> Vec<String> {
        let found = report.findings.iter();
        found.map(|found| format!("{} {}", found.code, found.field)).collect()
    };
    let report = checked(&[text(policy)], &[], Ok(&beside_stock())).await;
    assert_eq!(
        codes(&report),
        [
            "stock-drops spec.suspended",
            "stock-drops spec.matchConditions",
            "stock-drops spec.taintsToAdd"
        ]
    );
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    let standalone = checked(&[text(policy)], &[], Ok(&with_gates("Failover=true"))).await;
    assert_eq!(codes(&standalone), ["suspended spec.suspended"]);
    let offline = offline(&[text(policy)]).await;
    assert!(offline.fleet.rules_left_out.contains(&Code::StockDrops));
}

#[rstest]
#[case::a_newer_program_has_a_gate_more("Failover=false,Telepathy=true", true)]
#[case::nothing_is_said("", false)]
#[case::nothing_that_makes_sense("Failover=perhaps", false)]
#[tokio::test]
async fn a_gate_that_is_not_known_leaves_its_rule_out(#[case] gates: &str, #[case] known: bool) {
    let report = checked(&[file("meanings.yaml")], &[], Ok(&with_gates(gates))).await;
    let found = report.findings.iter().any(|finding| finding.code == Code::GateOff);
    let left_out = report.fleet.rules_left_out.contains(&Code::GateOff);
    assert_eq!((found, left_out), (known, !known));
    let text = show(&report, Format::Table);
    assert_eq!(text.contains("does not say how it has its gates"), !known, "{text}");
}

#[tokio::test]
async fn codes_can_be_ignored() {
    let report = checked(
        &[file("meanings.yaml")],
        &[
            "--ignore",
            "tolerates-everything,policies-at-odds",
            "--ignore",
            "suspended",
        ],
        Err("--offline is given".to_owned()),
    )
    .await;
    let codes: BTreeSet<&str> = report.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(!codes.contains("tolerates-everything"), "{codes:?}");
    let ignored: Vec<(&str, usize)> = report.ignored.iter().map(|i| (i.code.as_str(), i.findings)).collect();
    assert_eq!(
        ignored,
        [("policies-at-odds", 2), ("suspended", 0), ("tolerates-everything", 1)]
    );
}

#[tokio::test]
async fn a_slower_probe_makes_windows_shorter() {
    let report = checked(
        &[file("good.yaml")],
        &["--probe-period", "200s"],
        Err("--offline is given".to_owned()),
    )
    .await;
    let found: Vec<(&str, u64)> = report.findings.iter().map(|f| (f.code.as_str(), f.line)).collect();
    assert_eq!(found, [("window-below-probe-period", 32)]);
}

#[tokio::test]
async fn two_files_are_looked_at_together() {
    let one = "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {name: a}\nspec:\n  \
               matchConditions: [{conditionType: Ready, operator: In, statusValues: [\"False\"]}]\n  \
               taintsToAdd: [{key: k, value: VALUE, effect: NoExecute}]\n";
    let first = text(&one.replace("VALUE", "x"));
    let second = Source {
        file: "other.yaml".to_owned(),
        ..text(&one.replace("name: a", "name: b").replace("VALUE", "z"))
    };
    let report = offline(&[first, second]).await;
    let found: Vec<(&str, &str, u64)> = report
        .findings
        .iter()
        .map(|f| (f.code.as_str(), f.file.as_str(), f.line))
        .collect();
    assert_eq!(
        found,
        [
            ("policies-at-odds", "other.yaml", 6),
            ("policies-at-odds", "some.yaml", 6)
        ]
    );
}

#[tokio::test]
async fn what_was_read_from_a_server_may_be_written_to_one() {
    let stored = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: policy.karmada.io/v1alpha1\n  \
                  kind: ClusterTaintPolicy\n  metadata: {name: a, uid: u, resourceVersion: \"5\", generation: 2, \
                  creationTimestamp: \"2026-01-01T00:00:00Z\"}\n  spec:\n    matchConditions: [{conditionType: Ready, \
                  operator: In, statusValues: [\"False\"]}]\n    taintsToAdd: [{key: k, effect: NoExecute}]\n  \
                  status: {matching: 0, observedGeneration: 2}\n";
    let report = offline(&[text(stored)]).await;
    assert_eq!(report.findings, []);
    assert_eq!(report.objects, ["ClusterTaintPolicy a"]);
}

#[tokio::test]
async fn odd_documents_are_answered() {
    for odd in [
        "",
        "---\n---\n",
        "[]",
        "null",
        "3",
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\n",
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: []\nspec: 3\n",
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {name: a, labels: [b]}\nspec: {}\n",
        "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: A_b, namespace: \"no such\"}\nspec: {}\n",
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: m1}\nspec: {syncMode: Push, taints: [{key: k}]}\n",
        "apiVersion: failover.karmada.io/v1alpha1\nkind: FailoverPause\nmetadata: {name: p}\nspec: {scope: All}\n",
    ] {
        let report = offline(&[text(odd)]).await;
        let is_empty = report.objects.is_empty() && report.findings.is_empty();
        assert_eq!(report.findings.is_empty(), is_empty, "{odd}\n{:?}", report.findings);
    }
}

async fn ended(args: &[&str]) -> Result<ExitStatus, Failure> {
    let cli = Cli::try_parse_from([&["failoverctl", "lint"], args].concat()).unwrap();
    let around = Surroundings::plain(Clock::simulated(now()));
    run(&cli, &around).await.map(|answer| answer.status)
}

#[tokio::test]
async fn it_ends_as_documented() {
    let good = folder().join("good.yaml");
    let good = good.to_str().unwrap();
    let all = folder();
    assert_eq!(ended(&["--offline", good]).await, Ok(ExitStatus::Fine));
    assert_eq!(
        ended(&["--offline", all.to_str().unwrap()]).await,
        Ok(ExitStatus::Problem)
    );
    let missing = ended(&["--offline", "/nowhere.yaml"]).await.unwrap_err();
    assert_eq!(missing.status(), ExitStatus::Usage);
    let named = ended(&["--kubeconfig", "/nowhere/config", good]).await.unwrap_err();
    assert_eq!(
        named.status(),
        ExitStatus::Usage,
        "what the command line names must be there"
    );
    let empty = tempfile::tempdir().unwrap();
    let nothing = ended(&["--offline", empty.path().to_str().unwrap()]).await.unwrap_err();
    assert_snapshot!(
        nothing.to_string().replace(empty.path().to_str().unwrap(), "DIRECTORY"),
        @r"
    cannot lint DIRECTORY: the directory has no .yaml, .yml or .json file
      next: name files, or a directory that has some; directories in it are not searched
    "
    );
}

#[tokio::test]
async fn a_named_control_plane_without_our_kinds_is_an_error() {
    let control_plane = ControlPlane::new(api_server(vec![]), "karmada-system");
    let cli = Cli::try_parse_from(["failoverctl", "lint", folder().join("good.yaml").to_str().unwrap()]).unwrap();
    let around = Surroundings::plain(Clock::simulated(now()));
    let failure = failoverctl::run::answer(&cli, &control_plane, &around)
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
}

/// The page names every code, with its severity, and no others.
#[test]
fn every_code_is_documented() {
    let row = |code: &Code| {
        let needs = match code.needs() {
            Needs::Files => "files",
            Needs::Fleet => "fleet",
        };
        format!(
            "| [`{code}`](#{code}) | {} | {needs} | {} |",
            code.severity().as_str(),
            code.title()
        )
    };
    let rows: Vec<String> = Code::ALL.iter().map(row).collect();
    let written: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("| [`")).collect();
    assert_eq!(written, rows, "the table of docs/lint.md is this:\n{}", rows.join("\n"));
    let headings: BTreeSet<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let missing: Vec<&str> = Code::ALL
        .iter()
        .map(|code| code.as_str())
        .filter(|code| !headings.contains(code))
        .collect();
    assert!(missing.is_empty(), "docs/lint.md explains no {missing:?}");
}
