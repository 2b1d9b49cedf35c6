//! Nodes and pods of a member, added up as stock does: allocatable over ready nodes, allocated by pods that have a
//! node and have not ended, allocating by pods that wait for one.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::cluster::{NodeSummary, ResourceSummary};
use k8s_openapi::api::core::v1::Node;

use super::pods::{SlimContainer, SlimPod};
use super::quantity::{Amount, Amounts, add, write};

const PODS: &str = "pods";

pub(super) fn count_nodes(nodes: &[Arc<Node>]) -> NodeSummary {
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    NodeSummary {
        total_num: count(nodes.len()),
        ready_num: count(nodes.iter().filter(|node| is_ready(node)).count()),
    }
}

pub(super) fn summarize(nodes: &[Arc<Node>], pods: &[Arc<SlimPod>]) -> ResourceSummary {
    let mut allocatable = Amounts::new();
    for node in nodes.iter().filter(|node| is_ready(node)) {
        if let Some(quantities) = node.status.as_ref().and_then(|status| status.allocatable.as_ref()) {
            add(&mut allocatable, quantities);
        }
    }
    let has_node = |pod: &&Arc<SlimPod>| pod.spec.node_name.as_ref().is_some_and(|name| !name.is_empty());
    let has_ended = |pod: &&Arc<SlimPod>| matches!(pod.status.phase.as_deref(), Some("Succeeded" | "Failed"));
    let allocated = requested(pods.iter().filter(|pod| has_node(pod) && !has_ended(pod)));
    let allocating = requested(pods.iter().filter(|pod| !has_node(pod) && !has_ended(pod)));
    ResourceSummary {
        allocatable: write(&allocatable),
        allocating: write(&allocating),
        allocated: write(&allocated),
        allocatable_modelings: Vec::new(),
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|c| c.type_ == "Ready" && c.status == "True")
}

fn requested<'a>(pods: impl Iterator<Item = &'a Arc<SlimPod>>) -> Amounts {
    let mut sum = Amounts::new();
    let mut count = 0;
    for pod in pods {
        count += 1;
        for (name, amount) in pod_requests(pod) {
            let total = sum.entry(name).or_insert(Amount::ZERO);
            *total = total.plus(amount);
        }
    }
    if count > 0 {
        sum.insert(PODS.to_owned(), Amount::whole(count));
    }
    sum
}

/// What a pod asks for at its greediest moment: all its containers, or one init container beside the sidecars that
/// were started before it; plus its overhead.
fn pod_requests(pod: &SlimPod) -> Amounts {
    let mut running = Amounts::new();
    for container in &pod.spec.containers {
        add(&mut running, &container.resources.requests);
    }
    let mut sidecars = Amounts::new();
    let mut starting: Amounts = BTreeMap::new();
    for container in &pod.spec.init_containers {
        if is_sidecar(container) {
            add(&mut sidecars, &container.resources.requests);
            add(&mut running, &container.resources.requests);
            raise(&mut starting, &sidecars);
        } else {
            let mut moment = sidecars.clone();
            add(&mut moment, &container.resources.requests);
            raise(&mut starting, &moment);
        }
    }
    raise(&mut running, &starting);
    add(&mut running, &pod.spec.overhead);
    running
}

fn is_sidecar(container: &SlimContainer) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn raise(amounts: &mut Amounts, to: &Amounts) {
    for (name, amount) in to {
        let known = amounts.entry(name.clone()).or_insert(Amount::ZERO);
        *known = known.max(*amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn node(ready: &str) -> Arc<Node> {
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": "n"},
                "status": {"conditions": [{"type": "Ready", "status": ready}], "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
            }))
            .unwrap(),
        )
    }

    fn pod(spec: &Value, phase: &str) -> Arc<SlimPod> {
        Arc::new(
            serde_json::from_value(
                json!({"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": spec, "status": {"phase": phase}}),
            )
            .unwrap(),
        )
    }

    fn requests(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn nodes_and_pods_are_added_up() {
        let nodes = [node("True"), node("True"), node("False")];
        let pods = [
            pod(
                &json!({"nodeName": "n", "containers": [requests("100m"), requests("200m")]}),
                "Running",
            ),
            pod(&json!({"nodeName": "n", "containers": [requests("1")]}), "Succeeded"),
            pod(&json!({"containers": [requests("500m")]}), "Pending"),
        ];
        assert_eq!(
            count_nodes(&nodes),
            NodeSummary {
                total_num: 3,
                ready_num: 2
            }
        );
        let summary = serde_json::to_value(summarize(&nodes, &pods)).unwrap();
        assert_eq!(
            summary,
            json!({
                "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "220"},
                "allocated": {"cpu": "300m", "pods": "1"},
                "allocating": {"cpu": "500m", "pods": "1"}
            })
        );
    }

    #[test]
    fn a_pod_counts_at_its_greediest_moment() {
        let mut sidecar = requests("100m");
        sidecar["restartPolicy"] = json!("Always");
        let greedy_start = pod(
            &json!({"nodeName": "n", "initContainers": [sidecar, requests("2")], "containers": [requests("1")], "overhead": {"cpu": "10m"}}),
            "Running",
        );
        assert_eq!(pod_requests(&greedy_start)["cpu"].write().0, "2110m");
    }
}
