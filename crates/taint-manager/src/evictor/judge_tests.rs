use api_types::policy::PurgeMode;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::manager::reconcile::{Wanted, wanted};

const NOW: &str = "2026-01-01T00:10:00Z";

fn cluster(name: &str, taints: &Value) -> Cluster {
    serde_json::from_value(json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "20"},
        "spec": {"syncMode": "Push", "taints": taints},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": NOW}],
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}],
        },
    }))
    .unwrap()
}

fn tainted() -> Cluster {
    cluster(
        "m1",
        &json!([{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]),
    )
}

fn binding(change: impl FnOnce(&mut Value)) -> Binding {
    let mut binding = json!({
        "metadata": {"namespace": "n", "name": "web", "uid": "b1", "resourceVersion": "10", "generation": 1},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "web"},
            "clusters": [{"name": "m1", "replicas": 2}], "replicas": 2, "placement": {"clusterAffinity": {}},
        },
    });
    change(&mut binding);
    serde_json::from_value(binding).unwrap()
}

struct Case {
    binding: Option<Binding>,
    cluster: Option<Cluster>,
    others: Vec<Cluster>,
    recovering: BTreeMap<TaintId, Recovering>,
    check: PreEvictionCheck,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            binding: Some(binding(|_| ())),
            cluster: Some(tainted()),
            others: vec![cluster("m2", &json!([]))],
            recovering: BTreeMap::new(),
            check: PreEvictionCheck::Affinity,
        }
    }
}

impl Case {
    /// Judges the lease of the entry that was published for the plain binding on the tainted cluster.
    fn judge(&self) -> Decision {
        let switches = Switches::all_on(PurgeMode::Gracefully);
        let published = wanted(Some(&binding(|_| ())), Some(&tainted()), &BTreeMap::new(), &switches);
        let Wanted::Entry(entry) = published else {
            panic!("{published:?}")
        };
        let fleet: Fleet = self.others.iter().cloned().chain(self.cluster.clone()).collect();
        judge(&Live {
            entry: &entry,
            binding: self.binding.as_ref(),
            cluster: self.cluster.as_ref(),
            recovering: &self.recovering,
            fleet: &fleet,
            plugins: &Plugins::default(),
            switches: &switches,
            check: self.check,
            now: NOW.parse().unwrap(),
        })
    }

    fn ends(&self) -> (String, String) {
        match self.judge() {
            Decision::End(completion) => (completion.outcome.as_str().to_owned(), completion.reason),
            Decision::Evict(affected) => ("Evict".to_owned(), affected.cause.identity()),
        }
    }
}

fn said(outcome: &str, reason: &str) -> (String, String) {
    (outcome.to_owned(), reason.to_owned())
}

#[test]
fn what_still_holds_is_carried_out() {
    assert_eq!(
        Case::default().ends(),
        said("Evict", "k:NoExecute@2026-01-01T00:00:00Z")
    );
}

#[rstest]
#[case::gone(None, "BindingGone")]
#[case::another_one(Some(binding(|b| b["metadata"]["uid"] = json!("b2"))), "BindingReplaced")]
#[case::left(Some(binding(|b| b["spec"]["clusters"] = json!([]))), "NotOnCluster")]
#[case::leaving(
    Some(binding(|b| b["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "reason": "R", "producer": "p"}]))),
    "AlreadyLeaving"
)]
#[case::tolerates(
    Some(binding(|b| b["spec"]["placement"]["clusterTolerations"] = json!([{"operator": "Exists"}]))),
    "Tolerated"
)]
#[case::stays(
    Some(binding(|b| b["metadata"]["annotations"] = json!({"failover.karmada.io/stay": r#"[{"cluster": "m1"}]"#}))),
    "Stay"
)]
fn a_binding_that_need_not_leave(#[case] binding: Option<Binding>, #[case] reason: &str) {
    let case = Case {
        binding,
        ..Case::default()
    };
    assert_eq!(case.ends(), said("NotNeeded", reason));
}

#[rstest]
#[case::gone(None, "ClusterGone")]
#[case::recovered(Some(cluster("m1", &json!([]))), "NoCause")]
#[case::tainted_anew(
    Some(cluster("m1", &json!([{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:05:00Z"}]))),
    "OtherCause"
)]
fn a_cluster_that_need_not_be_left(#[case] cluster: Option<Cluster>, #[case] reason: &str) {
    let case = Case {
        cluster,
        ..Case::default()
    };
    assert_eq!(case.ends(), said("NotNeeded", reason));
}

#[test]
fn not_needed_names_the_versions_that_were_read() {
    let case = Case {
        cluster: Some(cluster("m1", &json!([]))),
        ..Case::default()
    };
    let Decision::End(completion) = case.judge() else {
        panic!()
    };
    let outcome = OutcomeKind::NotNeeded {
        binding_version: "10".into(),
        cluster_version: "20".into(),
    };
    assert_eq!(completion.outcome, outcome);
}

#[test]
fn what_is_due_later_now_waits_until_then() {
    let tolerations = json!([{"operator": "Exists", "tolerationSeconds": 3600}]);
    let case = Case {
        binding: Some(binding(|b| b["spec"]["placement"]["clusterTolerations"] = tolerations)),
        ..Case::default()
    };
    let Decision::End(completion) = case.judge() else {
        panic!()
    };
    let until = "2026-01-01T01:00:00Z".parse().unwrap();
    assert_eq!(
        (completion.outcome, completion.reason.as_str()),
        (OutcomeKind::Wait { until }, "NotDue")
    );
}

#[test]
fn a_taint_that_is_about_to_go_is_waited_for() {
    let id = TaintId {
        key: "k".into(),
        effect: "NoExecute".into(),
    };
    let found = Recovering {
        since: NOW.parse().unwrap(),
        policies: vec!["p".into()],
    };
    let case = Case {
        recovering: BTreeMap::from([(id, found)]),
        ..Case::default()
    };
    assert_eq!(case.ends(), said("Wait", "Recovering"));
}

#[rstest]
#[case::nowhere_to_go(PreEvictionCheck::Affinity, said("NoTarget", "NoTarget"))]
#[case::nobody_asks(PreEvictionCheck::Off, said("Evict", "k:NoExecute@2026-01-01T00:00:00Z"))]
fn without_a_place(#[case] check: PreEvictionCheck, #[case] expected: (String, String)) {
    let case = Case {
        others: vec![],
        check,
        ..Case::default()
    };
    assert_eq!(case.ends(), expected);
}

#[test]
fn what_somebody_else_has_to_carry_out_is_left() {
    let mut case = Case::default();
    case.others.clear();
    let switches = Switches::all_on(PurgeMode::Gracefully);
    let Wanted::Entry(mut entry) = wanted(Some(&binding(|_| ())), Some(&tainted()), &BTreeMap::new(), &switches) else {
        panic!()
    };
    entry.key.cause = "application@2026-01-01T00:00:00Z".parse().unwrap();
    let fleet = Fleet::default();
    let decision = judge(&Live {
        entry: &entry,
        binding: case.binding.as_ref(),
        cluster: case.cluster.as_ref(),
        recovering: &case.recovering,
        fleet: &fleet,
        plugins: &Plugins::default(),
        switches: &switches,
        check: case.check,
        now: NOW.parse().unwrap(),
    });
    let Decision::End(completion) = decision else { panic!() };
    assert_eq!(
        (completion.outcome, completion.reason.as_str()),
        (OutcomeKind::Failed, "UnknownCause")
    );
}
