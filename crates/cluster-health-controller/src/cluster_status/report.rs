//! From an observation to the changes of a Cluster's status.
//!
//! Only our own condition types and the fields that were collected are touched; what is the same is left out, and
//! nothing at all is written when everything is.

use api_types::cluster::{Cluster, ClusterStatus, condition};
use api_types::conditions::{self, Say};
use failover_core::cluster_health::Observation;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::collect::Facts;

/// JSON patch operations that make the status say what was observed. `facts` are absent while the member is not
/// healthy, or nothing was collected yet.
pub(super) fn operations(cluster: &Cluster, observation: &Observation, facts: &Facts, now: Timestamp) -> Vec<Value> {
    let empty = ClusterStatus::default();
    let before = cluster.status.as_ref().unwrap_or(&empty);
    let mut after = before.conditions.clone();
    let say = Say {
        type_: condition::READY,
        status: observation.status(),
        reason: observation.reason(),
        message: &observation.message,
    };
    conditions::set(&mut after, say, None, now);
    let mut operations = Vec::new();
    if observation.is_healthy() {
        if let Some((status, reason, message)) = facts.completeness() {
            let say = Say {
                type_: condition::COMPLETE_API_ENABLEMENTS,
                status,
                reason,
                message: &message,
            };
            conditions::set(&mut after, say, None, now);
        }
        put(
            &mut operations,
            "kubernetesVersion",
            before.kubernetes_version.as_ref(),
            facts.version(),
        );
        put(
            &mut operations,
            "apiEnablements",
            Some(&before.api_enablements),
            facts.api_enablements(),
        );
        put(
            &mut operations,
            "nodeSummary",
            before.node_summary.as_ref(),
            facts.nodes(),
        );
        let resources = facts.resources().map(|mut resources| {
            // Written by whoever models node sizes; not ours.
            resources.allocatable_modelings = before
                .resource_summary
                .as_ref()
                .map(|r| r.allocatable_modelings.clone())
                .unwrap_or_default();
            resources
        });
        put(
            &mut operations,
            "resourceSummary",
            before.resource_summary.as_ref(),
            resources.as_ref(),
        );
    }
    put(&mut operations, "conditions", Some(&before.conditions), Some(&after));
    if !operations.is_empty() && cluster.status.is_none() {
        operations.insert(0, json!({"op": "add", "path": "/status", "value": {}}));
    }
    operations
}

fn put<T: PartialEq + Serialize>(operations: &mut Vec<Value>, field: &str, before: Option<&T>, after: Option<&T>) {
    if let Some(after) = after.filter(|after| before != Some(after)) {
        operations.push(json!({"op": "add", "path": format!("/status/{field}"), "value": after}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use failover_core::cluster_health::{ProbeAnswer, after_healthz};

    fn healthy() -> Observation {
        after_healthz(&ProbeAnswer::Http {
            code: 200,
            body: String::new(),
        })
    }

    // C66: another writer's conditions survive, and what is the same is not written again.
    #[test]
    fn only_own_conditions_change_and_nothing_is_written_twice() {
        let mut cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push"},
            "status": {"conditions": [{"type": "Network", "status": "False", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        }))
        .unwrap();
        let written = operations(&cluster, &healthy(), &Facts::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(written.len(), 1);
        let types: Vec<&str> = written[0]["value"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["type"].as_str().unwrap())
            .collect();
        assert_eq!(types, ["Network", "Ready"]);
        cluster.status.as_mut().unwrap().conditions = serde_json::from_value(written[0]["value"].clone()).unwrap();
        assert!(
            operations(
                &cluster,
                &healthy(),
                &Facts::default(),
                Timestamp::from_second(9).unwrap()
            )
            .is_empty()
        );
    }

    #[test]
    fn a_cluster_without_a_status_gets_one() {
        let cluster: Cluster =
            serde_json::from_value(json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})).unwrap();
        let written = operations(&cluster, &healthy(), &Facts::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(written[0], json!({"op": "add", "path": "/status", "value": {}}));
    }
}
