//! The big fleet, against which speed and memory are measured: 100 clusters and 100,000 bindings of 3 KB, each on three
//! of them.

use kube_sandbox::Sandbox;
use serde_json::{Value, json};

/// How large a fleet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigFleet {
    /// Clusters; at least three.
    pub clusters: usize,
    /// Bindings, evenly spread.
    pub bindings: usize,
}

/// On how many clusters a binding is.
const COPIES: usize = 3;
/// How long a binding is as JSON, without spaces, at least.
const BINDING_BYTES: usize = 3_000;
/// When the bindings were made.
const LONG_AGO: &str = "2025-06-01T00:00:00Z";

impl BigFleet {
    /// The one of the promises.
    pub const WHOLE: Self = Self {
        clusters: 100,
        bindings: 100_000,
    };

    /// Stores Clusters and bindings, and the namespaces that they need.
    ///
    /// # Panics
    /// When the server does not know their kinds.
    pub fn store(&self, plane: &Sandbox) {
        for name in (0..self.bindings.min(NAMESPACES)).map(namespace) {
            plane
                .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
                .unwrap();
        }
        for number in 0..self.clusters {
            plane.put(self.cluster(number, &json!([]))).unwrap();
        }
        for number in 0..self.bindings {
            plane.put(self.binding(number)).unwrap();
        }
    }

    /// How many bindings are on each cluster, where that comes out even.
    #[must_use]
    pub fn bindings_on_a_cluster(&self) -> usize {
        self.bindings * COPIES / self.clusters
    }

    /// The name of a cluster.
    #[must_use]
    pub fn cluster_name(number: usize) -> String {
        format!("member-{number:03}")
    }

    /// A Cluster with these taints.
    #[must_use]
    pub fn cluster(&self, number: usize, taints: &Value) -> Value {
        json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": Self::cluster_name(number), "labels": {"tier": "gold"}},
            "spec": {"syncMode": "Push", "region": "r1", "zone": "a", "taints": taints},
            "status": {"conditions": [{
                "type": "Ready", "status": "True", "reason": "ClusterReady", "message": "cluster is healthy",
                "lastTransitionTime": LONG_AGO,
            }]},
        })
    }

    /// A binding, with all that one has whose workload runs.
    #[must_use]
    pub fn binding(&self, number: usize) -> Value {
        self.binding_in_state(number, "Healthy")
    }

    /// The same with this health of its copies: for bindings that change without moving.
    ///
    /// # Panics
    /// Never: what is stored is JSON.
    #[must_use]
    pub fn binding_in_state(&self, number: usize, health: &str) -> Value {
        let name = format!("workload-{number:06}");
        let mut binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {
                "namespace": namespace(number), "name": format!("{name}-deployment"),
                "labels": {"resourcebinding.karmada.io/permanent-id": format!("c0ffee00-0000-4000-8000-{number:012}")},
                "annotations": {
                    "policy.karmada.io/applied-placement": placement().to_string(),
                    "propagationpolicy.karmada.io/name": "default",
                    "propagationpolicy.karmada.io/namespace": namespace(number),
                },
                "finalizers": ["karmada.io/binding-controller"],
            },
            "spec": {
                "resource": {
                    "apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace(number), "name": name,
                    "uid": format!("0ddba11e-0000-4000-8000-{number:012}"), "resourceVersion": "123456",
                },
                "replicas": 2 * COPIES,
                "replicaRequirements": {"resourceRequest": {"cpu": "100m", "memory": "128Mi"}},
                "clusters": self.homes(number).map(|home| json!({"name": home, "replicas": 2})),
                "placement": placement(),
                "schedulerName": "default-scheduler",
                "conflictResolution": "Abort",
            },
            "status": {
                "schedulerObservedGeneration": 1,
                "conditions": [
                    {"type": "Scheduled", "status": "True", "reason": "Success", "lastTransitionTime": LONG_AGO,
                     "message": "Binding has been scheduled successfully."},
                    {"type": "FullyApplied", "status": "True", "reason": "FullyAppliedSuccess",
                     "message": "All works have been successfully applied", "lastTransitionTime": LONG_AGO},
                ],
                "aggregatedStatus": self.homes(number).map(|home| json!({
                    "clusterName": home, "applied": true, "health": health,
                    "status": {
                        "availableReplicas": 2, "readyReplicas": 2, "replicas": 2, "updatedReplicas": 2,
                        "generation": 1, "observedGeneration": 1, "resourceTemplateGeneration": 1,
                    },
                })),
            },
        });
        let missing = BINDING_BYTES.saturating_sub(binding.to_string().len());
        binding["metadata"]["annotations"]["example.com/notes"] = "x".repeat(missing).into();
        binding
    }

    fn homes(&self, number: usize) -> [String; COPIES] {
        let apart = self.clusters / COPIES;
        std::array::from_fn(|copy| Self::cluster_name((number + copy * apart) % self.clusters))
    }
}

const NAMESPACES: usize = 100;

fn namespace(number: usize) -> String {
    format!("team-{:03}", number % NAMESPACES)
}

fn placement() -> Value {
    json!({
        "clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}},
        "clusterTolerations": [
            {"key": "cluster.karmada.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
        ],
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": COPIES, "maxGroups": COPIES}],
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn bindings_have_their_size_and_are_spread_evenly() {
        let fleet = BigFleet {
            clusters: 100,
            bindings: 1_000,
        };
        let mut on: BTreeMap<String, usize> = BTreeMap::new();
        for number in 0..fleet.bindings {
            let length = fleet.binding(number).to_string().len();
            assert!((BINDING_BYTES..BINDING_BYTES + 100).contains(&length), "{length}");
            for home in fleet.homes(number) {
                *on.entry(home).or_default() += 1;
            }
        }
        assert_eq!(on.len(), fleet.clusters);
        assert!(on.values().all(|count| *count == fleet.bindings_on_a_cluster()));
    }
}
