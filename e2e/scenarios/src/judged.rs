//! Policies that an API server takes as they are, and that our webhook has something to say about.

use serde_json::{Value, json};

/// Refused with this code: it selects what is in another namespace than its own.
pub const SELECTOR_ELSEWHERE: &str = "selector-elsewhere";
/// Taken with this warning: it tolerates each taint that there is.
pub const TOLERATES_EVERYTHING: &str = "tolerates-everything";

/// See [`SELECTOR_ELSEWHERE`].
pub fn selects_elsewhere(name: &str) -> Value {
    selects_in("elsewhere", name)
}

/// See [`TOLERATES_EVERYTHING`].
pub fn tolerates_everything(name: &str) -> Value {
    let mut policy = selects_in("default", name);
    policy["spec"]["placement"] = json!({"clusterTolerations": [{"operator": "Exists"}]});
    policy
}

fn selects_in(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace}]},
    })
}
