//! From a template to what a member gets: what belongs to the control plane's object alone is left out.

use serde_json::Value;

use crate::interpreter::gvk;
use crate::json::{list, remove, text};

const METADATA: [&str; 9] = [
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
    "ownerReferences",
];

/// Leaves out identity, status, finalizers, and what the control plane's own controllers filled in.
pub fn prune(manifest: &mut Value) {
    for field in METADATA {
        remove(manifest, &["metadata", field]);
    }
    remove(manifest, &["metadata", "finalizers"]);
    remove(manifest, &["status"]);
    match gvk(manifest) {
        ("apps/v1", "Deployment") => remove(
            manifest,
            &["metadata", "annotations", "deployment.kubernetes.io/revision"],
        ),
        ("batch/v1", "Job") => prune_job(manifest),
        ("v1", "Service") => prune_service(manifest),
        ("v1", "Secret") if text(manifest, "/type") == crate::interpreter::SERVICE_ACCOUNT_TOKEN => {
            remove(manifest, &["data"]);
            remove(
                manifest,
                &["metadata", "annotations", "kubernetes.io/service-account.uid"],
            );
        }
        _ => {}
    }
}

/// When a finished Job goes is the template's matter: a member that deleted its copy by itself would be given it again,
/// and run it again. The selector and its labels are drawn anew by each API server, unless the owner made them.
fn prune_job(manifest: &mut Value) {
    remove(manifest, &["spec", "ttlSecondsAfterFinished"]);
    if manifest.pointer("/spec/manualSelector").and_then(Value::as_bool) == Some(true) {
        return;
    }
    remove(manifest, &["spec", "selector"]);
    for label in [
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    ] {
        remove(manifest, &["spec", "template", "metadata", "labels", label]);
        if label.ends_with("controller-uid") {
            remove(manifest, &["metadata", "labels", label]);
        }
    }
}

/// Addresses are the member's own; "no address" is the owner's wish.
fn prune_service(manifest: &mut Value) {
    if text(manifest, "/spec/clusterIP") != "None" {
        remove(manifest, &["spec", "clusterIP"]);
        remove(manifest, &["spec", "clusterIPs"]);
    }
    if list(manifest, "/spec/ipFamilies").len() <= 1 {
        remove(manifest, &["spec", "ipFamilies"]);
        remove(manifest, &["spec", "ipFamilyPolicy"]);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::metadata(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "generation": 1,
            "finalizers": ["x"], "ownerReferences": [], "labels": {"l": "1"}}, "data": {"k": "v"}, "status": {}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"l": "1"}}, "data": {"k": "v"}}))]
    #[case::service(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {}}))]
    #[case::headless(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIP": "None", "clusterIPs": ["None"]}}))]
    #[case::job(
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"ttlSecondsAfterFinished": 60, "selector": {}, "template": {"metadata": {"labels": {"controller-uid": "u", "mine": "1"}}}}}),
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"metadata": {"labels": {"mine": "1"}}}}}))]
    #[case::job_with_its_own_selector(
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"ttlSecondsAfterFinished": 60, "manualSelector": true, "selector": {"matchLabels": {"a": "b"}}}}),
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"manualSelector": true, "selector": {"matchLabels": {"a": "b"}}}}))]
    #[case::token(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "type": "kubernetes.io/service-account-token", "data": {"token": "x"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "type": "kubernetes.io/service-account-token"}))]
    fn what_is_the_control_planes_own_is_left_out(#[case] mut template: Value, #[case] wanted: Value) {
        prune(&mut template);
        assert_eq!(template, wanted);
    }
}
