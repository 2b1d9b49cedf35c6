//! The objects of the worked example: three members, an nginx of three replicas spread 1:2 over two of them, and the
//! policies that say when a failure counts.

use api_types::names::{namespace, taint};
use serde_json::{Value, json};

/// How long things take in a telling of the story.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Seconds between two probes of a member.
    pub probe_seconds: u32,
    /// Seconds that a member must fail, or be well again, before its Ready condition says so.
    pub threshold_seconds: u32,
    /// Seconds that Ready must be lost before workloads are to leave.
    pub add_on_match_seconds: i32,
    /// Seconds that Ready must be back before the taint goes.
    pub remove_on_mismatch_seconds: i32,
    /// Evictions a second.
    pub evictions_per_second: f64,
}

impl Pace {
    /// For watching: slow enough to type kubectl meanwhile.
    pub const WATCHABLE: Self = Self {
        probe_seconds: 2,
        threshold_seconds: 6,
        add_on_match_seconds: 10,
        remove_on_mismatch_seconds: 8,
        evictions_per_second: 0.5,
    };
    /// For tests: the same story in less than a minute.
    pub const FAST: Self = Self {
        probe_seconds: 1,
        threshold_seconds: 2,
        add_on_match_seconds: 2,
        remove_on_mismatch_seconds: 2,
        evictions_per_second: 0.5,
    };

    /// Flags of the components that keep this pace.
    #[must_use]
    pub fn health_flags(&self) -> Vec<String> {
        vec![
            format!("--cluster-status-update-frequency={}s", self.probe_seconds),
            format!("--cluster-success-threshold={}s", self.threshold_seconds),
            format!("--cluster-failure-threshold={}s", self.threshold_seconds),
        ]
    }

    /// Flags of the eviction queue that keep this pace.
    #[must_use]
    pub fn queue_flags(&self) -> Vec<String> {
        vec![
            format!("--resource-eviction-rate={}", self.evictions_per_second),
            "--leader-grace=1s".to_owned(),
        ]
    }
}

/// A member of the fleet, as the control plane is told of it.
#[derive(Clone, Debug)]
pub struct MemberEntry {
    /// Name of the Cluster.
    pub name: String,
    /// URL of its API server.
    pub endpoint: String,
    /// Token for it.
    pub token: String,
    /// PEM of the CA that signed its certificate; absent for plain HTTP on loopback.
    pub ca_bundle: Option<String>,
}

/// Namespaces that have to be there first.
#[must_use]
pub fn namespaces() -> Vec<Value> {
    [namespace::SYSTEM, namespace::CLUSTER]
        .iter()
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .collect()
}

/// The Secret and the Cluster of a member.
#[must_use]
pub fn member(entry: &MemberEntry) -> Vec<Value> {
    let mut credentials = json!({"token": entry.token});
    if let Some(ca_bundle) = &entry.ca_bundle {
        credentials["caBundle"] = json!(ca_bundle);
    }
    vec![
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"namespace": namespace::CLUSTER, "name": entry.name},
            "stringData": credentials,
        }),
        json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": entry.name},
            "spec": {
                "syncMode": "Push",
                "apiEndpoint": entry.endpoint,
                "secretRef": {"namespace": namespace::CLUSTER, "name": entry.name},
            },
        }),
    ]
}

/// What the chart `control-plane` installs by default: a member that is not Ready gets no new workloads.
#[must_use]
pub fn default_taint_policies() -> Vec<Value> {
    let once_and_back = [("addOnMatchSeconds", 1), ("removeOnMismatchSeconds", 1)];
    vec![
        taint_policy(
            "not-ready-no-schedule",
            &["False"],
            taint::NOT_READY,
            "NoSchedule",
            once_and_back,
        ),
        taint_policy(
            "unreachable-no-schedule",
            &["Unknown"],
            taint::UNREACHABLE,
            "NoSchedule",
            once_and_back,
        ),
    ]
}

/// What counts as failure: not Ready for a moment keeps new workloads away, not Ready for longer makes them leave.
#[must_use]
pub fn taint_policies(pace: &Pace) -> Vec<Value> {
    let windows = [
        ("addOnMatchSeconds", pace.add_on_match_seconds),
        ("removeOnMismatchSeconds", pace.remove_on_mismatch_seconds),
    ];
    let leave = taint_policy(
        "not-ready-no-execute",
        &["False", "Unknown"],
        taint::NOT_READY,
        "NoExecute",
        windows,
    );
    default_taint_policies().into_iter().chain([leave]).collect()
}

fn taint_policy(name: &str, ready: &[&str], key: &str, effect: &str, windows: [(&str, i32); 2]) -> Value {
    let mut taint = json!({"key": key, "effect": effect});
    for (window, seconds) in windows {
        taint[window] = json!(seconds);
    }
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ready}],
            "taintsToAdd": [taint],
        },
    })
}

/// nginx with three replicas.
#[must_use]
pub fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "default", "name": "nginx", "labels": {"app": "nginx"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "nginx"}},
            "template": {
                "metadata": {"labels": {"app": "nginx"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
            },
        },
    })
}

/// nginx on member1 and member2, one replica to two.
#[must_use]
pub fn propagation_policy() -> Value {
    let weight = |cluster: &str, weight: i64| json!({"targetCluster": {"clusterNames": [cluster]}, "weight": weight});
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": "nginx-propagation"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}],
            "placement": {
                "clusterAffinity": {"clusterNames": ["member1", "member2"]},
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": [weight("member1", 1), weight("member2", 2)]},
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_policies_are_those_that_the_chart_installs() {
        let installed = [
            include_str!("../../../../charts/control-plane/policies/not-ready-no-schedule.yaml"),
            include_str!("../../../../charts/control-plane/policies/unreachable-no-schedule.yaml"),
        ]
        .map(|file| serde_saphyr::from_str::<Value>(file).unwrap());
        assert_eq!(default_taint_policies(), installed);
    }

    #[test]
    fn what_makes_workloads_leave_is_the_charts_sample_at_another_pace() {
        let sample = include_str!("../../../../charts/control-plane/policies/not-ready-no-execute.yaml");
        let pace = Pace {
            add_on_match_seconds: 300,
            remove_on_mismatch_seconds: 180,
            ..Pace::FAST
        };
        let sample: Value = serde_saphyr::from_str(sample).unwrap();
        assert_eq!(taint_policies(&pace).last(), Some(&sample));
    }
}
