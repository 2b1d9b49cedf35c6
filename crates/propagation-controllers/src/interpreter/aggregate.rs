//! The template's status from those of its copies.
//!
//! What is ready or available counts only where the copy's health is known: of a cluster that does not answer the last
//! numbers say what was there, not what works.

mod counters;
mod phases;

use api_types::work::AggregatedStatusItem;
use serde_json::{Map, Value, json};

use super::health::condition_is_true;
use super::{InterpretError, gvk};
use crate::json::{count, list, merge_patch, set, some_text, text};

pub(super) fn aggregate(template: &Value, items: &[AggregatedStatusItem]) -> Result<Option<Value>, InterpretError> {
    let wanted = match gvk(template) {
        ("apps/v1", "Deployment") => Some(counters::workload(template, items, &counters::DEPLOYMENT)),
        ("apps/v1", "StatefulSet") => Some(counters::workload(template, items, &counters::STATEFUL_SET)),
        ("apps/v1", "ReplicaSet") => Some(counters::workload(template, items, &counters::REPLICA_SET)),
        ("apps/v1", "DaemonSet") => Some(counters::workload(template, items, &counters::DAEMON_SET)),
        ("autoscaling/v2", "HorizontalPodAutoscaler") => {
            Some(counters::sums(items, &["currentReplicas", "desiredReplicas"]))
        }
        ("policy/v1", "PodDisruptionBudget") => Some(counters::budget(items)),
        ("batch/v1", "Job") => job(template, items),
        ("batch/v1", "CronJob") => Some(schedules(items)),
        ("v1", "Service") if text(template, "/spec/type") == "LoadBalancer" => Some(addresses(items)),
        ("networking.k8s.io/v1", "Ingress") => Some(addresses(items)),
        ("v1", "Pod") => phases::pod(items),
        ("v1", "PersistentVolume") => phases::volume(items),
        ("v1", "PersistentVolumeClaim") => phases::claim(items),
        _ => None,
    };
    let Some(wanted) = wanted else { return Ok(None) };
    if let Some(bad) = items
        .iter()
        .find(|item| item.status.as_ref().is_some_and(|status| !status.is_object()))
    {
        let problem = format!("the status of {} is no object", bad.cluster_name);
        return Err(InterpretError::new("aggregate the status of", template, problem));
    }
    let changed: Map<String, Value> = wanted
        .into_iter()
        .filter_map(|(field, value)| {
            Some((
                field.clone(),
                change(template.pointer(&format!("/status/{field}")), value)?,
            ))
        })
        .collect();
    Ok((!changed.is_empty()).then_some(Value::Object(changed)))
}

/// What to write for `wanted`, if anything: an absent counter is 0, an absent list is empty.
fn change(present: Option<&Value>, wanted: Value) -> Option<Value> {
    match present {
        Some(present) => merge_patch(present, &wanted),
        None => {
            let is_nothing = wanted.is_null() || wanted == json!(0) || wanted == json!({}) || wanted == json!([]);
            (!is_nothing).then_some(wanted)
        }
    }
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
        let numbers = statuses.iter().map(|(_, s)| count(s, &format!("/status/{field}")));
        counters::total(numbers)
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

/// What runs anywhere, and the last times anywhere.
fn schedules(items: &[AggregatedStatusItem]) -> Map<String, Value> {
    let statuses = || items.iter().filter_map(|item| item.status.as_ref());
    let active: Vec<Value> = statuses().flat_map(|status| list(status, "/active")).cloned().collect();
    let last = |field: &str| {
        let times = statuses().filter_map(|status| some_text(status, &format!("/{field}")));
        times.max().map_or(Value::Null, Value::from)
    };
    Map::from_iter([
        ("active".to_owned(), Value::Array(active)),
        ("lastScheduleTime".to_owned(), last("lastScheduleTime")),
        ("lastSuccessfulTime".to_owned(), last("lastSuccessfulTime")),
    ])
}

/// All addresses of all members, by cluster; one without a host name is told apart by the cluster's name.
fn addresses(items: &[AggregatedStatusItem]) -> Map<String, Value> {
    let mut addresses = Vec::new();
    for item in items {
        let Some(status) = &item.status else { continue };
        for ingress in list(status, "/loadBalancer/ingress") {
            let mut ingress = ingress.clone();
            if some_text(&ingress, "/hostname").is_none() {
                set(&mut ingress, &["hostname"], json!(item.cluster_name));
            }
            addresses.push(ingress);
        }
    }
    let balancer = if addresses.is_empty() {
        json!({})
    } else {
        json!({"ingress": addresses})
    };
    Map::from_iter([("loadBalancer".to_owned(), balancer)])
}

#[cfg(test)]
#[path = "aggregate/tests.rs"]
mod tests;
