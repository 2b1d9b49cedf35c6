//! `explain policy`.

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use failoverctl::controllers::{Mode, Severity};
use failoverctl::explain::policy::{Gathered, PolicyExplanation, report};
use failoverctl::failure::ExitStatus;
use failoverctl::output::Format;
use insta::assert_snapshot;
use serde_json::json;

use crate::objects::{cluster, lease, leases, leases_without, now};
use crate::show;
use crate::taints::{NO_EXECUTE, failed, failing, failing_restlessly, not_ready, policies, policy, recovering};

fn gathered(clusters: Vec<Cluster>) -> Gathered {
    Gathered {
        name: NO_EXECUTE.to_owned(),
        policies: policies(),
        clusters,
        leases: leases(),
        mode: Mode::Standalone,
        system_namespace: "karmada-system".to_owned(),
    }
}

fn renamed(mut cluster: Cluster, name: &str) -> Cluster {
    cluster.metadata.name = Some(name.to_owned());
    cluster
}

/// One fails, one has failed, one is coming back, one is well, and one has never been looked at.
fn fleet() -> Vec<Cluster> {
    let mut silent = cluster("member5", "True");
    silent.status = None;
    vec![
        failing(),
        renamed(failed(), "member2"),
        renamed(recovering(), "member3"),
        cluster("member4", "True"),
        silent,
    ]
}

fn with_spec(change: impl FnOnce(&mut serde_json::Value)) -> Vec<ClusterTaintPolicy> {
    let mut spec = not_ready("NoExecute", 300, 180);
    change(&mut spec);
    vec![policy(NO_EXECUTE, &spec)]
}

fn explained(gathered: &Gathered) -> PolicyExplanation {
    report(gathered, now())
}

fn sentence(gathered: &Gathered) -> String {
    explained(gathered).conclusion.sentence()
}

#[test]
fn in_the_middle_of_things() {
    let report = explained(&gathered(fleet()));
    assert_eq!(report.exit_status(), ExitStatus::Fine);
    assert_snapshot!("in_the_middle_of_things", show(&report, Format::Table));
    assert_snapshot!("in_the_middle_of_things_wide", show(&report, Format::Wide));
    assert_snapshot!("in_the_middle_of_things_json", show(&report, Format::Json));
    assert_eq!(show(&report, Format::Name), "clustertaintpolicy/not-ready-no-execute\n");
}

#[test]
fn nothing_happens() {
    assert_snapshot!(show(
        &explained(&gathered(vec![cluster("member1", "True")])),
        Format::Table
    ));
}

#[test]
fn some_clusters_are_none_of_its_business() {
    let gathered = Gathered {
        policies: with_spec(|spec| spec["targetCluster"] = json!({"clusterNames": ["member1", "member4"]})),
        ..gathered(fleet())
    };
    assert_snapshot!(show(&explained(&gathered), Format::Table));
}

#[test]
fn a_condition_that_no_cluster_has() {
    let gathered = Gathered {
        policies: with_spec(|spec| spec["matchConditions"][0]["conditionType"] = json!("Raedy")),
        ..gathered(vec![cluster("member1", "False"), cluster("member2", "True")])
    };
    let report = explained(&gathered);
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn a_target_that_is_no_cluster() {
    let gathered = Gathered {
        policies: with_spec(|spec| spec["targetCluster"] = json!({"labelSelector": {"matchLabels": {"tier": "prod"}}})),
        ..gathered(fleet())
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn two_forms_at_once() {
    let gathered = Gathered {
        policies: with_spec(|spec| spec["taints"] = json!([{"key": "k", "effect": "NoExecute"}])),
        ..gathered(fleet())
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn stocks_form() {
    let spec = json!({
        "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
        "removeOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
        "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}],
    });
    let gathered = Gathered {
        policies: vec![policy(NO_EXECUTE, &spec)],
        ..gathered(vec![cluster("member1", "False"), cluster("member2", "True")])
    };
    assert_snapshot!(show(&explained(&gathered), Format::Table));
}

/// A window of stock's form stands in an annotation.
#[test]
fn stocks_form_with_windows() {
    let spec = json!({
        "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
        "taints": [{"key": "k", "effect": "NoExecute"}, {"key": "k", "effect": "NoSchedule"}],
    });
    let mut waiting = policy(NO_EXECUTE, &spec);
    waiting.spec.windows = serde_json::from_value(json!([{"key": "k", "effect": "NoExecute"}])).unwrap();
    let gathered = Gathered {
        policies: vec![waiting],
        ..gathered(vec![cluster("member1", "True")])
    };
    assert_eq!(
        explained(&gathered).adds,
        [
            "k:NoExecute after 300 s of matching; away after 180 s of not matching",
            "k:NoSchedule at once",
        ]
    );
}

#[test]
fn it_is_suspended() {
    let gathered = Gathered {
        policies: with_spec(|spec| spec["suspended"] = json!(true)),
        ..gathered(fleet())
    };
    let report = explained(&gathered);
    assert_eq!(report.conclusion.severity, Some(Severity::Note));
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn the_gate_is_off() {
    let leases = leases_without(&["cluster-taint-policy"])
        .into_iter()
        .chain([lease("cluster-taint-policy", -3, "Failover=false")])
        .collect();
    let mut failed = failed();
    failed.spec.taints.clear();
    failed
        .metadata
        .annotations
        .as_mut()
        .unwrap()
        .remove("failover.karmada.io/managed-taints");
    assert_snapshot!(sentence(&Gathered {
        leases,
        ..gathered(vec![failed])
    }));
}

#[test]
fn the_controller_is_off() {
    let gathered = Gathered {
        leases: leases_without(&["cluster-taint-policy"]),
        ..gathered(fleet())
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn of_a_large_fleet_only_the_restless_are_shown() {
    let mut clusters: Vec<Cluster> = (10..60).map(|i| cluster(&format!("member{i}"), "True")).collect();
    clusters.push(failing());
    let report = explained(&gathered(clusters));
    let text = show(&report, Format::Table);
    assert!(
        text.contains("Clusters that are not quiet (1 of 51; -o wide shows all)"),
        "{text}"
    );
    assert!(!text.contains("member42"), "{text}");
    assert!(show(&report, Format::Wide).contains("member42"));
}

#[test]
fn a_window_that_starts_anew_again_and_again_is_told_with_what_helps() {
    let report = explained(&gathered(vec![failing_restlessly()]));
    let sentence = report.conclusion.sentence();
    assert!(sentence.contains("; but the window starts anew whenever"), "{sentence}");
    assert!(sentence.contains("let whoever writes the condition"), "{sentence}");
}
