//! Nodes and pods of a member, added up as stock does.
//!
//! | sum | over |
//! |---|---|
//! | allocatable | what nodes have to give, whether they are ready or not |
//! | allocating | what pods ask for that have no node yet |
//! | allocated | what pods ask for that have a node and have not ended |
//!
//! The last two count a CPU in thousandths and everything else in whole units, each container's request rounded up;
//! they know cpu, memory, ephemeral-storage, huge pages, attachable volumes and extended resources, and leave out
//! what comes to nothing. `pods` is the number of the pods themselves.

use std::sync::Arc;

use api_types::cluster::{NodeSummary, ResourceSummary};
use failover_core::quantity::{Amount, Amounts, Grain, Notation, add, write};
use k8s_openapi::api::core::v1::Node;

use super::pods::{SlimPod, SlimResources};

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
    for node in nodes {
        if let Some(quantities) = node.status.as_ref().and_then(|status| status.allocatable.as_ref()) {
            add(&mut allocatable, quantities);
        }
    }
    let has_node = |pod: &&Arc<SlimPod>| pod.spec.node_name.as_ref().is_some_and(|name| !name.is_empty());
    let has_ended = |pod: &&Arc<SlimPod>| matches!(pod.status.phase.as_deref(), Some("Succeeded" | "Failed"));
    let allocated = requested(pods.iter().filter(|pod| has_node(pod) && !has_ended(pod)));
    let allocating = requested(pods.iter().filter(|pod| !has_node(pod)));
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
        merge(&mut sum, pod_requests(pod), Amount::plus);
    }
    sum.insert(PODS.to_owned(), Amount::whole(count));
    sum.retain(|_, amount| amount.is_positive());
    sum
}

/// What a pod asks for: all its containers together or its greediest init container, whichever is more, and its
/// overhead. A sidecar counts as an init container. (What stock writes depends on the order in which it meets the pods,
/// for it compares an init container with all pods before; this is what it says that it means.)
fn pod_requests(pod: &SlimPod) -> Amounts {
    let mut sum = Amounts::new();
    for container in &pod.spec.containers {
        merge(&mut sum, counted(&container.resources), Amount::plus);
    }
    for container in &pod.spec.init_containers {
        merge(&mut sum, counted(&container.resources), Amount::max);
    }
    let overhead = SlimResources {
        requests: pod.spec.overhead.clone(),
    };
    merge(&mut sum, counted(&overhead), Amount::plus);
    sum
}

fn merge(amounts: &mut Amounts, more: Amounts, how: fn(Amount, Amount) -> Amount) {
    for (name, amount) in more {
        let known = amounts.entry(name).or_insert(Amount::ZERO);
        *known = how(*known, amount);
    }
}

/// The requests that count, each in its grain.
fn counted(resources: &SlimResources) -> Amounts {
    let known = resources.requests.iter().filter_map(|(name, quantity)| {
        let (grain, notation) = counted_in(name)?;
        Some((name.clone(), Amount::read(quantity)?.in_grains(grain, notation)))
    });
    known.collect()
}

fn counted_in(name: &str) -> Option<(Grain, Notation)> {
    match name {
        "cpu" => Some((Grain::Thousandth, Notation::Decimal)),
        "memory" | "ephemeral-storage" => Some((Grain::Whole, Notation::Binary)),
        _ if name.starts_with("hugepages-") => Some((Grain::Whole, Notation::Binary)),
        _ if name.starts_with("attachable-volumes-") || (name.contains('/') && !name.starts_with("requests.")) => {
            Some((Grain::Whole, Notation::Decimal))
        }
        _ => None,
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
                // The node that is not ready counts too.
                "allocatable": {"cpu": "12", "memory": "24Gi", "pods": "330"},
                "allocated": {"cpu": "300m", "pods": "1"},
                "allocating": {"cpu": "500m", "pods": "1"}
            })
        );
    }

    #[test]
    fn a_pod_without_a_node_is_being_allocated_whatever_its_phase() {
        let failed = pod(&json!({"containers": [requests("1")]}), "Failed");
        let summary = serde_json::to_value(summarize(&[], &[failed])).unwrap();
        assert_eq!(summary, json!({"allocating": {"cpu": "1", "pods": "1"}}));
    }

    #[test]
    fn nothing_is_no_entry() {
        let idle = pod(&json!({"nodeName": "n", "containers": [requests("0")]}), "Running");
        let summary = serde_json::to_value(summarize(&[], &[idle])).unwrap();
        assert_eq!(summary, json!({"allocated": {"pods": "1"}}));
        assert_eq!(serde_json::to_value(summarize(&[], &[])).unwrap(), json!({}));
    }

    #[test]
    fn resources_are_counted_in_their_grain_and_unknown_ones_not_at_all() {
        let container = json!({"resources": {"requests": {
            "cpu": "1500u", "memory": "1073741824", "ephemeral-storage": "0.5", "hugepages-2Mi": "4Mi",
            "example.com/gpu": "2", "attachable-volumes-csi": "1", "storage": "1Gi", "requests.example.com/gpu": "9", "pods": "7"}}});
        let greedy = pod(
            &json!({"nodeName": "n", "containers": [container, container]}),
            "Running",
        );
        assert_eq!(
            serde_json::to_value(summarize(&[], &[greedy]).allocated).unwrap(),
            json!({"cpu": "4m", "memory": "2Gi", "ephemeral-storage": "2", "hugepages-2Mi": "8Mi",
                "example.com/gpu": "4", "attachable-volumes-csi": "2", "pods": "1"})
        );
    }

    #[test]
    fn init_containers_count_when_they_ask_for_more() {
        let of = |init: &[&str], containers: &[&str]| {
            let all = |texts: &[&str]| texts.iter().map(|text| requests(text)).collect::<Vec<_>>();
            pod(
                &json!({"nodeName": "n", "initContainers": all(init), "containers": all(containers), "overhead": {"cpu": "10m"}}),
                "Running",
            )
        };
        assert_eq!(pod_requests(&of(&["2", "500m"], &["1"]))["cpu"].write().0, "2010m");
        assert_eq!(
            pod_requests(&of(&["1500m", "500m"], &["1", "1"]))["cpu"].write().0,
            "2010m"
        );
        // Each pod by itself: the sum does not depend on the order in which they are met.
        let (small, large) = (of(&["2"], &["1"]), of(&[], &["5"]));
        for pods in [[small.clone(), large.clone()], [large, small]] {
            assert_eq!(summarize(&[], &pods).allocated["cpu"].0, "7020m");
        }
    }
}
