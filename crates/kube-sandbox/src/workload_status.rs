//! The status that a cluster would report for a workload in a given state, by kind. Pure.

use serde_json::{Value, json};

/// How far the pods of a workload are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pods {
    pub wanted: i64,
    pub ready: i64,
    pub crashed: bool,
}

/// The status of the object, given its present one (transition times stay where nothing turned).
pub(crate) fn status_of(object: &Value, pods: Pods, now: &str) -> Value {
    match object["kind"].as_str() {
        Some("Deployment") => deployment(object, pods, now),
        Some("StatefulSet") => stateful_set(object, pods),
        Some("ReplicaSet") => counts(
            object,
            &[
                ("replicas", pods.wanted),
                ("fullyLabeledReplicas", pods.wanted),
                ("readyReplicas", pods.ready),
                ("availableReplicas", pods.ready),
            ],
        ),
        Some("DaemonSet") => daemon_set(object, pods),
        _ => job(object, pods, now),
    }
}

/// Counts as the real controllers write them: zero is left out, except `replicas` where it is required.
fn counts(object: &Value, fields: &[(&str, i64)]) -> Value {
    let mut status = json!({"observedGeneration": object["metadata"]["generation"]});
    for (name, count) in fields {
        if *count != 0 || (*name == "replicas" && object["kind"] != "Deployment") {
            status[*name] = (*count).into();
        }
    }
    status
}

fn deployment(object: &Value, pods: Pods, now: &str) -> Value {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let mut status = counts(
        object,
        &[
            ("replicas", pods.wanted),
            ("updatedReplicas", pods.wanted),
            ("readyReplicas", pods.ready),
            ("availableReplicas", pods.ready),
            ("unavailableReplicas", pods.wanted - pods.ready),
        ],
    );
    let complete = pods.ready >= pods.wanted;
    let available = if complete {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.".to_owned(),
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.".to_owned(),
        )
    };
    let progressing = if complete {
        (
            "True",
            "NewReplicaSetAvailable",
            format!("ReplicaSet \"{name}\" has successfully progressed."),
        )
    } else {
        (
            "True",
            "ReplicaSetUpdated",
            format!("ReplicaSet \"{name}\" is progressing."),
        )
    };
    status["conditions"] = json!([
        condition(object, "Available", available, now),
        condition(object, "Progressing", progressing, now),
    ]);
    status
}

fn condition(object: &Value, type_: &str, (status, reason, message): (&str, &str, String), now: &str) -> Value {
    let before = object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|c| c["type"] == type_);
    let turned = before
        .filter(|c| c["status"] == status)
        .map_or(now, |c| c["lastTransitionTime"].as_str().unwrap_or(now));
    let same = before.is_some_and(|c| c["status"] == status && c["reason"] == reason);
    let updated = before
        .filter(|_| same)
        .map_or(now, |c| c["lastUpdateTime"].as_str().unwrap_or(now));
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": turned, "lastUpdateTime": updated,
    })
}

fn stateful_set(object: &Value, pods: Pods) -> Value {
    let mut status = counts(
        object,
        &[
            ("replicas", pods.wanted),
            ("readyReplicas", pods.ready),
            ("currentReplicas", pods.wanted),
            ("updatedReplicas", pods.wanted),
        ],
    );
    status["availableReplicas"] = pods.ready.into();
    status["collisionCount"] = 0.into();
    let revision = format!("{}-1", object["metadata"]["name"].as_str().unwrap_or_default());
    status["currentRevision"] = revision.clone().into();
    status["updateRevision"] = revision.into();
    status
}

fn daemon_set(object: &Value, pods: Pods) -> Value {
    json!({
        "observedGeneration": object["metadata"]["generation"],
        "currentNumberScheduled": pods.wanted,
        "desiredNumberScheduled": pods.wanted,
        "updatedNumberScheduled": pods.wanted,
        "numberMisscheduled": 0,
        "numberReady": pods.ready,
        "numberAvailable": pods.ready,
        "numberUnavailable": pods.wanted - pods.ready,
    })
}

fn job(object: &Value, pods: Pods, now: &str) -> Value {
    let completions = object["spec"]["completions"].as_i64().unwrap_or(1);
    let before = &object["status"];
    let start = before["startTime"].as_str().unwrap_or(now);
    let turned = |type_: &str, reason: &str, message: &str| {
        let old = before["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|c| c["type"] == type_);
        let since = old.and_then(|c| c["lastTransitionTime"].as_str()).unwrap_or(now);
        json!({
            "type": type_, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": since, "lastTransitionTime": since,
        })
    };
    if pods.crashed {
        let message = "Job has reached the specified backoff limit";
        return json!({
            "startTime": start, "failed": 1, "ready": 0, "terminating": 0,
            "conditions": [
                turned("FailureTarget", "BackoffLimitExceeded", message),
                turned("Failed", "BackoffLimitExceeded", message),
            ],
        });
    }
    if pods.ready >= pods.wanted {
        let end = before["completionTime"].as_str().unwrap_or(now);
        let message = "Reached expected number of succeeded pods";
        return json!({
            "startTime": start, "completionTime": end, "succeeded": completions, "ready": 0, "terminating": 0,
            "conditions": [
                turned("SuccessCriteriaMet", "CompletionsReached", message),
                turned("Complete", "CompletionsReached", message),
            ],
        });
    }
    let active = object["spec"]["parallelism"].as_i64().unwrap_or(1).min(completions);
    json!({"startTime": start, "active": active, "ready": 0, "terminating": 0})
}
