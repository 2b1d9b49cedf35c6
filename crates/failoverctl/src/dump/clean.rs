//! What is taken out of an object before it is written down: what no command reads and what may be a secret. Pure.

use serde_json::{Map, Value, json};

use crate::explain::cluster::is_told;

/// It holds a whole template, with whatever a person wrote into it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Stands for what was taken out.
const REMOVED: &str = "(removed)";

/// Characters of an Event's message that are kept where no command shows it.
const GIST: usize = 64;

/// The object without it. Secrets are never read; a Cluster only names its own.
pub(super) fn cleaned(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    match object["kind"].as_str().unwrap_or_default() {
        "Cluster" => clean_cluster(&mut object),
        "ResourceBinding" | "ClusterResourceBinding" => clean_binding(&mut object),
        "Event" => clean_event(&mut object),
        _ => {}
    }
    object
}

fn clean_cluster(cluster: &mut Value) {
    let Some(spec) = cluster.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(headers) = spec.get_mut("proxyHeader").and_then(Value::as_object_mut) {
        headers.values_mut().for_each(|value| *value = REMOVED.into());
    }
    for field in ["proxyURL", "apiEndpoint"] {
        if let Some(url) = spec.get_mut(field)
            && let Some(text) = url.as_str()
        {
            *url = bare(text).into();
        }
    }
}

/// Of what a copy reports, counts of replicas, and its conditions by type and status: a status may hold whatever its
/// application writes there.
fn clean_binding(binding: &mut Value) {
    let items = binding.pointer_mut("/status/aggregatedStatus");
    for item in items.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(status) = item.get_mut("status") {
            *status = reported(status);
        }
    }
}

fn reported(status: &Value) -> Value {
    let fields = status.as_object().into_iter().flatten();
    let mut kept: Map<String, Value> = fields
        .filter(|(_, value)| value.is_number())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(conditions) = status.get("conditions").and_then(Value::as_array) {
        let bare = |condition: &Value| json!({"type": condition["type"], "status": condition["status"]});
        kept.insert("conditions".to_owned(), conditions.iter().map(bare).collect());
    }
    Value::Object(kept)
}

/// Of an Event that no command shows, what it begins with: others write them, and whatever they like.
fn clean_event(event: &mut Value) {
    if event["reason"].as_str().is_some_and(is_told) {
        return;
    }
    if let Some(message) = event.get_mut("message")
        && let Some(text) = message.as_str()
        && text.chars().nth(GIST).is_some()
    {
        let gist: String = text.chars().take(GIST).collect();
        *message = format!("{gist}…").into();
    }
}

/// `https://user:password@host/path?query` without the user and the query.
fn bare(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn what_may_be_a_secret_is_taken_out() {
        let cluster = json!({
            "kind": "Cluster",
            "metadata": {
                "name": "m1", "managedFields": [{}],
                "annotations": {LAST_APPLIED: "{\"token\": \"t\"}", "failover.karmada.io/taint-windows": "{}"},
            },
            "spec": {
                "secretRef": {"namespace": "karmada-cluster", "name": "m1"},
                "proxyURL": "https://me:word@proxy:8080/x@y?token=t", "proxyHeader": {"authorization": "Basic x"},
            },
        });
        assert_eq!(
            cleaned(cluster),
            json!({
                "kind": "Cluster",
                "metadata": {"name": "m1", "annotations": {"failover.karmada.io/taint-windows": "{}"}},
                "spec": {
                    "secretRef": {"namespace": "karmada-cluster", "name": "m1"},
                    "proxyURL": "https://proxy:8080/x@y", "proxyHeader": {"authorization": REMOVED},
                },
            })
        );
    }

    #[test]
    fn of_what_copies_report_only_counts_and_conditions_stay() {
        let binding = json!({"kind": "ResourceBinding", "status": {"aggregatedStatus": [
            {"clusterName": "m1", "health": "Healthy", "status": {
                "availableReplicas": 2, "leader": "very-secret", "data": {"token": "very-secret"},
                "conditions": [{"type": "Complete", "status": "True", "message": "very-secret"}],
            }},
            {"clusterName": "m2", "applied": true},
        ]}});
        assert_eq!(
            cleaned(binding)["status"]["aggregatedStatus"],
            json!([
                {"clusterName": "m1", "health": "Healthy", "status": {
                    "availableReplicas": 2, "conditions": [{"type": "Complete", "status": "True"}],
                }},
                {"clusterName": "m2", "applied": true},
            ])
        );
    }

    #[rstest]
    #[case::shown("TaintClusterSucceed", 200, 200)]
    #[case::of_others("FailedMount", 200, 65)]
    #[case::short("FailedMount", 64, 64)]
    fn messages_of_events(#[case] reason: &str, #[case] length: usize, #[case] expected: usize) {
        let event = json!({"kind": "Event", "reason": reason, "message": "ü".repeat(length)});
        assert_eq!(cleaned(event)["message"].as_str().unwrap().chars().count(), expected);
    }

    #[rstest]
    #[case("https://host:1", "https://host:1")]
    #[case("https://user@host", "https://host")]
    #[case("https://a:b@c@host?q=@", "https://host")]
    #[case("https://host/path?token=very-secret#x", "https://host/path")]
    #[case("nothing", "nothing")]
    fn addresses_without_users_and_queries(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(bare(url), expected);
    }
}
