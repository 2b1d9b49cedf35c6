//! How many replicas a template asks for, and what one of them needs.

use std::collections::BTreeMap;

use api_types::work::{NodeClaim, ReplicaRequirements};
use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::Value;

use super::{InterpretError, Replicas, gvk};
use crate::quantity;

/// Replicas by kind; a count that is not given is 1, the API server's default.
pub(super) fn replicas(template: &Value) -> Result<Option<Replicas>, InterpretError> {
    let (count, pod) = match gvk(template) {
        ("apps/v1", "Deployment" | "ReplicaSet" | "StatefulSet") => {
            (number(template, "/spec/replicas")?, "/spec/template/spec")
        }
        ("batch/v1", "Job") => {
            let side_by_side = number(template, "/spec/parallelism")?.unwrap_or(1);
            let completions = number(template, "/spec/completions")?.unwrap_or(i32::MAX);
            (Some(side_by_side.min(completions)), "/spec/template/spec")
        }
        ("v1", "Pod") => (Some(1), "/spec"),
        _ => return Ok(None),
    };
    Ok(Some(Replicas {
        count: count.unwrap_or(1),
        requirements: requirements(template, pod)?,
    }))
}

fn number(template: &Value, pointer: &str) -> Result<Option<i32>, InterpretError> {
    let Some(value) = template.pointer(pointer).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let count = value
        .as_i64()
        .and_then(|count| i32::try_from(count).ok())
        .filter(|count| *count >= 0);
    let problem = || InterpretError::new("count the replicas of", template, format!("{pointer} is {value}"));
    count.map(Some).ok_or_else(problem)
}

fn requirements(template: &Value, pod: &str) -> Result<Option<ReplicaRequirements>, InterpretError> {
    let Some(spec) = template.pointer(pod) else {
        return Ok(None);
    };
    let spec: PodSpec = serde_json::from_value(spec.clone())
        .map_err(|e| InterpretError::new("read the pod of", template, e.to_string()))?;
    requirements_of(&spec).map_err(|problem| InterpretError::new("add up the resources of", template, problem))
}

/// What one pod needs; nothing when it asks for nothing.
pub(super) fn requirements_of(spec: &PodSpec) -> Result<Option<ReplicaRequirements>, String> {
    let resource_request = request(spec)?;
    let node_claim = node_claim(spec);
    let asks = node_claim.is_some() || !resource_request.is_empty();
    Ok(asks.then(|| ReplicaRequirements {
        node_claim,
        resource_request,
        ..ReplicaRequirements::default()
    }))
}

fn node_claim(pod: &PodSpec) -> Option<NodeClaim> {
    let claim = NodeClaim {
        hard_node_affinity: pod
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.node_affinity.as_ref())
            .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.clone()),
        node_selector: pod.node_selector.clone().unwrap_or_default(),
        tolerations: pod.tolerations.clone().unwrap_or_default(),
    };
    (claim != NodeClaim::default()).then_some(claim)
}

/// Containers and sidecars run together and add up; an init container runs beside the sidecars before it; the larger
/// of the two counts, and the overhead comes on top.
fn request(pod: &PodSpec) -> Result<BTreeMap<String, Quantity>, String> {
    type Sum = BTreeMap<String, quantity::Amount>;
    let of = |container: &k8s_openapi::api::core::v1::Container| -> Result<Sum, String> {
        let requests = container.resources.as_ref().and_then(|r| r.requests.as_ref());
        requests
            .into_iter()
            .flatten()
            .map(|(name, q)| Ok((name.clone(), quantity::parse(&q.0)?)))
            .collect()
    };
    let add = |into: &mut Sum, more: Sum| {
        for (name, amount) in more {
            let sum = into.entry(name).or_default();
            *sum = sum.plus(amount);
        }
    };
    let mut together = Sum::new();
    for container in &pod.containers {
        add(&mut together, of(container)?);
    }
    let mut sidecars = Sum::new();
    let mut starting = Sum::new();
    for container in pod.init_containers.iter().flatten() {
        let own = of(container)?;
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut together, own.clone());
            add(&mut sidecars, own);
        } else {
            // Of what it does not ask for itself there is never more than when all sidecars run.
            for (name, amount) in own {
                let beside = sidecars.get(&name).copied().unwrap_or_default();
                let most = starting.entry(name).or_default();
                *most = (*most).max(beside.plus(amount));
            }
        }
    }
    for (name, amount) in starting {
        let most = together.entry(name).or_default();
        *most = (*most).max(amount);
    }
    let overhead: Sum = pod
        .overhead
        .iter()
        .flatten()
        .map(|(name, q)| Ok((name.clone(), quantity::parse(&q.0)?)))
        .collect::<Result<_, String>>()?;
    add(&mut together, overhead);
    Ok(together
        .into_iter()
        .map(|(name, amount)| (name, Quantity(amount.to_string())))
        .collect())
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn template(version: &str, kind: &str, spec: Value) -> Value {
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": "b"}, "spec": spec})
    }

    #[rstest]
    #[case::deployment("apps/v1", "Deployment", json!({"replicas": 3}), Some(3))]
    #[case::default_of_the_api_server("apps/v1", "StatefulSet", json!({}), Some(1))]
    #[case::none_wanted("apps/v1", "ReplicaSet", json!({"replicas": 0}), Some(0))]
    #[case::job("batch/v1", "Job", json!({"parallelism": 4}), Some(4))]
    #[case::job_of_few_completions("batch/v1", "Job", json!({"parallelism": 4, "completions": 2}), Some(2))]
    #[case::pod("v1", "Pod", json!({"containers": []}), Some(1))]
    #[case::config_map("v1", "ConfigMap", json!({}), None)]
    fn counts(#[case] version: &str, #[case] kind: &str, #[case] spec: Value, #[case] wanted: Option<i32>) {
        assert_eq!(
            replicas(&template(version, kind, spec)).unwrap().map(|r| r.count),
            wanted
        );
    }

    #[test]
    fn a_count_that_is_no_count_is_an_error() {
        let error = replicas(&template("apps/v1", "Deployment", json!({"replicas": "many"}))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot count the replicas of Deployment b/a: /spec/replicas is \"many\""
        );
    }

    #[test]
    fn a_pod_that_asks_for_nothing_has_no_requirements() {
        let plain = json!({"replicas": 1, "template": {"spec": {"containers": [{"name": "c", "resources": {}}]}}});
        assert_eq!(
            replicas(&template("apps/v1", "Deployment", plain))
                .unwrap()
                .unwrap()
                .requirements,
            None
        );
    }

    #[test]
    fn requests_add_up_and_nodes_are_claimed() {
        let spec = json!({"replicas": 1, "template": {"spec": {
            "nodeSelector": {"disk": "fast"},
            "overhead": {"memory": "1Mi"},
            "containers": [
                {"name": "a", "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}},
                {"name": "b", "resources": {"requests": {"cpu": "1"}}}],
            "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2", "memory": "1Mi"}}}]}}});
        let requirements = replicas(&template("apps/v1", "Deployment", spec))
            .unwrap()
            .unwrap()
            .requirements
            .unwrap();
        let request: BTreeMap<_, _> = requirements
            .resource_request
            .iter()
            .map(|(k, v)| (k.as_str(), v.0.as_str()))
            .collect();
        assert_eq!(request, BTreeMap::from([("cpu", "2"), ("memory", "1025Mi")]));
        assert_eq!(
            requirements.node_claim.unwrap().node_selector,
            BTreeMap::from([("disk".into(), "fast".into())])
        );
    }
}
