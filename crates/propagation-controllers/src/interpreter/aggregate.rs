//! The template's status from those of its copies.
//!
//! What is ready or available counts only where the copy's health is known: of a cluster that does not answer the last
//! numbers say what was there, not what works.

use api_types::work::{AggregatedStatusItem, ResourceHealth};
use serde_json::{Map, Value, json};

use super::health::condition_is_true;
use super::{InterpretError, gvk};
use crate::json::{count, list, some_text, text};

pub(super) fn aggregate(template: &Value, items: &[AggregatedStatusItem]) -> Result<Option<Value>, InterpretError> {
    if let Some(bad) = items
        .iter()
        .find(|item| item.status.as_ref().is_some_and(|status| !status.is_object()))
    {
        let problem = format!("the status of {} is no object", bad.cluster_name);
        return Err(InterpretError::new("aggregate the status of", template, problem));
    }
    let wanted = match gvk(template) {
        ("apps/v1", "Deployment") => counters(
            template,
            items,
            &["replicas", "updatedReplicas"],
            &["readyReplicas", "availableReplicas"],
            Unavailable::Count,
        ),
        ("apps/v1", "StatefulSet") => counters(
            template,
            items,
            &["replicas", "updatedReplicas", "currentReplicas"],
            &["readyReplicas", "availableReplicas"],
            Unavailable::Leave,
        ),
        ("batch/v1", "Job") => job(template, items),
        ("v1", "Service") => service(template, items),
        _ => return Ok(None),
    };
    let Some(wanted) = wanted else { return Ok(None) };
    let changed: Map<String, Value> = wanted
        .into_iter()
        .filter(|(field, value)| differs(template.pointer(&format!("/status/{field}")), value))
        .collect();
    Ok((!changed.is_empty()).then_some(Value::Object(changed)))
}

/// Whether writing `wanted` would change anything: an absent counter is 0, an absent list is empty.
fn differs(present: Option<&Value>, wanted: &Value) -> bool {
    match present {
        Some(present) => present != wanted,
        None => !(wanted.is_null() || *wanted == json!(0) || *wanted == json!({}) || *wanted == json!([])),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unavailable {
    Count,
    Leave,
}

fn counters(
    template: &Value,
    items: &[AggregatedStatusItem],
    there: &[&str],
    works: &[&str],
    unavailable: Unavailable,
) -> Option<Map<String, Value>> {
    let sum = |field: &str, counts: &dyn Fn(&AggregatedStatusItem) -> bool| -> i64 {
        let statuses = items
            .iter()
            .filter(|item| counts(item))
            .filter_map(|item| item.status.as_ref());
        statuses.map(|status| count(status, &format!("/{field}"))).sum()
    };
    let known = |item: &AggregatedStatusItem| item.health != Some(ResourceHealth::Unknown);
    let mut status = Map::new();
    for field in there {
        status.insert((*field).to_owned(), sum(field, &|_| true).into());
    }
    for field in works {
        status.insert((*field).to_owned(), sum(field, &known).into());
    }
    if unavailable == Unavailable::Count {
        let lost = sum("replicas", &|item| !known(item));
        status.insert(
            "unavailableReplicas".to_owned(),
            (sum("unavailableReplicas", &known) + lost).into(),
        );
    }
    // Seen everywhere: each copy was rendered from the newest template, and its member has acted on it.
    let generation = count(template, "/metadata/generation");
    let current = |item: &AggregatedStatusItem| {
        item.status.as_ref().is_some_and(|status| {
            let acted = status.get("observedGeneration").is_none()
                || count(status, "/observedGeneration") == count(status, "/generation");
            count(status, "/resourceTemplateGeneration") == generation && acted
        })
    };
    if !items.is_empty() && items.iter().all(current) {
        status.insert("observedGeneration".to_owned(), generation.into());
    }
    Some(status)
}

/// Counts add up; one failed copy fails the Job, all complete complete it. A finished Job stays as it is.
fn job(template: &Value, items: &[AggregatedStatusItem]) -> Option<Map<String, Value>> {
    if condition_is_true(template, "Complete") || condition_is_true(template, "Failed") {
        return None;
    }
    let statuses: Vec<(&str, Value)> = items
        .iter()
        .filter_map(|item| Some((item.cluster_name.as_str(), json!({"status": item.status.as_ref()?}))))
        .collect();
    let sum = |field: &str| {
        statuses
            .iter()
            .map(|(_, s)| count(s, &format!("/status/{field}")))
            .sum::<i64>()
    };
    let mut status = Map::new();
    for field in ["active", "succeeded", "failed"] {
        status.insert(field.to_owned(), sum(field).into());
    }
    if let Some(start) = statuses
        .iter()
        .filter_map(|(_, s)| some_text(s, "/status/startTime"))
        .min()
    {
        status.insert("startTime".to_owned(), start.into());
    }
    let failed: Vec<&str> = statuses
        .iter()
        .filter(|(_, s)| condition_is_true(s, "Failed"))
        .map(|(name, _)| *name)
        .collect();
    let complete = !items.is_empty()
        && statuses.len() == items.len()
        && statuses.iter().all(|(_, s)| condition_is_true(s, "Complete"));
    // When it ended is what the members say: a time of our own would be a new one at every look.
    let ended = |type_: &str| {
        let conditions = statuses.iter().flat_map(|(_, s)| list(s, "/status/conditions"));
        conditions
            .filter(|c| text(c, "/type") == type_)
            .filter_map(|c| some_text(c, "/lastTransitionTime"))
            .max()
            .map(str::to_owned)
    };
    if !failed.is_empty() {
        let message = format!("Job executed failed in member clusters {}", failed.join(","));
        status.insert(
            "conditions".to_owned(),
            finished(
                template,
                ["FailureTarget", "Failed"],
                "JobFailed",
                &message,
                ended("Failed").as_deref(),
            ),
        );
    } else if complete {
        let message = "Job completed";
        status.insert(
            "conditions".to_owned(),
            finished(
                template,
                ["SuccessCriteriaMet", "Complete"],
                "Completed",
                message,
                ended("Complete").as_deref(),
            ),
        );
        if let Some(last) = statuses
            .iter()
            .filter_map(|(_, s)| some_text(s, "/status/completionTime"))
            .max()
        {
            status.insert("completionTime".to_owned(), last.into());
        }
    }
    Some(status)
}

/// The API server takes the second condition only together with the first.
fn finished(template: &Value, types: [&str; 2], reason: &str, message: &str, at: Option<&str>) -> Value {
    let mut conditions = list(template, "/status/conditions").to_vec();
    conditions.retain(|c| !types.contains(&text(c, "/type")));
    for type_ in types {
        let mut condition = json!({"type": type_, "status": "True", "reason": reason, "message": message});
        if let Some(at) = at {
            condition["lastTransitionTime"] = json!(at);
            condition["lastProbeTime"] = json!(at);
        }
        conditions.push(condition);
    }
    Value::Array(conditions)
}

/// All addresses of all members, by cluster; one without a host name is told apart by the cluster's name.
fn service(template: &Value, items: &[AggregatedStatusItem]) -> Option<Map<String, Value>> {
    if text(template, "/spec/type") != "LoadBalancer" {
        return None;
    }
    let mut addresses = Vec::new();
    for item in items {
        let Some(status) = &item.status else { continue };
        for ingress in list(status, "/loadBalancer/ingress") {
            let mut ingress = ingress.clone();
            if some_text(&ingress, "/hostname").is_none() {
                ingress["hostname"] = json!(item.cluster_name);
            }
            addresses.push(ingress);
        }
    }
    let balancer = if addresses.is_empty() {
        json!({})
    } else {
        json!({"ingress": addresses})
    };
    Some(Map::from_iter([("loadBalancer".to_owned(), balancer)]))
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use super::*;

    fn item(cluster: &str, health: ResourceHealth, status: Value) -> AggregatedStatusItem {
        AggregatedStatusItem {
            cluster_name: cluster.into(),
            status: Some(status),
            applied: true,
            health: Some(health),
            ..AggregatedStatusItem::default()
        }
    }

    fn copy(replicas: i64, generation: i64) -> Value {
        json!({"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "generation": 1, "observedGeneration": 1, "resourceTemplateGeneration": generation})
    }

    fn deployment(status: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "generation": 2}, "status": status})
    }

    #[test]
    fn counters_add_up_and_the_newest_generation_is_seen_when_all_have_it() {
        let items = [
            item("m1", ResourceHealth::Healthy, copy(1, 2)),
            item("m2", ResourceHealth::Healthy, copy(2, 2)),
        ];
        let status = aggregate(&deployment(json!({})), &items).unwrap().unwrap();
        let wanted = json!({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 2});
        assert_eq!(status, wanted);
        assert_eq!(
            aggregate(&deployment(wanted), &items).unwrap(),
            None,
            "the same again is nothing to write"
        );

        let items = [
            item("m1", ResourceHealth::Healthy, copy(1, 1)),
            item("m2", ResourceHealth::Healthy, copy(2, 2)),
        ];
        let status = aggregate(&deployment(json!({})), &items).unwrap().unwrap();
        assert_eq!(
            status.get("observedGeneration"),
            None,
            "m1 still runs the template before"
        );
    }

    #[test]
    fn what_runs_on_a_silent_cluster_is_not_called_available() {
        let items = [
            item("m1", ResourceHealth::Unknown, copy(1, 2)),
            item("m2", ResourceHealth::Healthy, copy(2, 2)),
        ];
        let status = aggregate(&deployment(json!({"availableReplicas": 3})), &items)
            .unwrap()
            .unwrap();
        assert_eq!(
            (
                &status["replicas"],
                &status["availableReplicas"],
                &status["unavailableReplicas"]
            ),
            (&json!(3), &json!(2), &json!(1))
        );
    }

    #[test]
    fn without_copies_all_counts_are_zero() {
        let status = aggregate(&deployment(json!({"replicas": 3, "readyReplicas": 3})), &[])
            .unwrap()
            .unwrap();
        assert_eq!(status, json!({"replicas": 0, "readyReplicas": 0}));
    }

    #[test]
    fn stateful_sets_count_current_replicas() {
        let template =
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a", "generation": 2}});
        let status = json!({"replicas": 1, "currentReplicas": 1, "generation": 1, "resourceTemplateGeneration": 2});
        let status = aggregate(&template, &[item("m1", ResourceHealth::Healthy, status)])
            .unwrap()
            .unwrap();
        assert_eq!(
            status,
            json!({"replicas": 1, "currentReplicas": 1, "observedGeneration": 2})
        );
    }

    #[test]
    fn a_job_is_complete_when_all_copies_are_and_failed_when_one_is() {
        let template = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}});
        let done = |type_: &str| {
            json!({"succeeded": 1, "startTime": "2026-01-01T00:00:01Z", "completionTime": "2026-01-01T00:00:09Z",
            "conditions": [{"type": type_, "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"}]})
        };
        let running = json!({"active": 1, "startTime": "2026-01-01T00:00:00Z"});
        let types = |status: &Value| {
            list(status, "/conditions")
                .iter()
                .map(|c| text(c, "/type").to_owned())
                .collect::<Vec<_>>()
        };

        let status = aggregate(
            &template,
            &[
                item("m1", ResourceHealth::Healthy, done("Complete")),
                item("m2", ResourceHealth::Healthy, running),
            ],
        );
        let status = status.unwrap().unwrap();
        assert_eq!(
            status,
            json!({"active": 1, "succeeded": 1, "startTime": "2026-01-01T00:00:00Z"})
        );

        let all = [
            item("m1", ResourceHealth::Healthy, done("Complete")),
            item("m2", ResourceHealth::Healthy, done("Complete")),
        ];
        let status = aggregate(&template, &all).unwrap().unwrap();
        assert_eq!(types(&status), ["SuccessCriteriaMet", "Complete"]);
        assert_eq!(status["completionTime"], "2026-01-01T00:00:09Z");

        let one = [
            item("m1", ResourceHealth::Healthy, done("Complete")),
            item("m2", ResourceHealth::Unhealthy, done("Failed")),
        ];
        let status = aggregate(&template, &one).unwrap().unwrap();
        assert_eq!(types(&status), ["FailureTarget", "Failed"]);

        let mut finished = template.clone();
        finished["status"] = status;
        assert_eq!(
            aggregate(&finished, &all).unwrap(),
            None,
            "a finished Job stays finished"
        );
    }

    #[test]
    fn a_balancer_has_the_addresses_of_all_members() {
        let template =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"type": "LoadBalancer"}});
        let at = |ip: &str| json!({"loadBalancer": {"ingress": [{"ip": ip}]}});
        let items = [
            item("m1", ResourceHealth::Healthy, at("1.1.1.1")),
            item("m2", ResourceHealth::Healthy, at("2.2.2.2")),
        ];
        let status = aggregate(&template, &items).unwrap().unwrap();
        assert_eq!(
            status,
            json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "hostname": "m1"}, {"ip": "2.2.2.2", "hostname": "m2"}]}})
        );
        assert_eq!(aggregate(&template, &[]).unwrap(), None);
    }

    #[test]
    fn kinds_without_a_rule_and_broken_statuses_are_different_answers() {
        let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        assert_eq!(aggregate(&config, &[]).unwrap(), None);
        let error = aggregate(
            &deployment(json!({})),
            &[item("m1", ResourceHealth::Healthy, json!("broken"))],
        )
        .unwrap_err();
        assert!(error.to_string().contains("m1"), "{error}");
    }
}
