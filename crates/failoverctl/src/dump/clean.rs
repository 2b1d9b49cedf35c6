//! What is taken out of an object before it is written down: what no command reads and what may be a secret. Pure.

use serde_json::Value;

/// It holds a whole template, with whatever a person wrote into it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Stands for what was taken out.
const REMOVED: &str = "(removed)";

/// The object without it. Secrets are never read; a Cluster only names its own.
pub(super) fn cleaned(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    let is_cluster = object["kind"] == "Cluster";
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    if let Some(spec) = spec.filter(|_| is_cluster) {
        if let Some(headers) = spec.get_mut("proxyHeader").and_then(Value::as_object_mut) {
            headers.values_mut().for_each(|value| *value = REMOVED.into());
        }
        for field in ["proxyURL", "apiEndpoint"] {
            if let Some(url) = spec.get_mut(field)
                && let Some(without) = url.as_str().and_then(without_user)
            {
                *url = without.into();
            }
        }
    }
    object
}

/// `https://user:password@host` without the user; nothing where there is none.
fn without_user(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (_, host) = authority.rsplit_once('@')?;
    Some(format!("{scheme}://{host}{path}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

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
                "proxyURL": "https://me:word@proxy:8080/x@y", "proxyHeader": {"authorization": "Basic x"},
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

    #[rstest]
    #[case("https://host:1", None)]
    #[case("https://user@host", Some("https://host"))]
    #[case("https://a:b@c@host?q=@", Some("https://host?q=@"))]
    #[case("nothing", None)]
    fn users_in_addresses(#[case] url: &str, #[case] expected: Option<&str>) {
        assert_eq!(without_user(url).as_deref(), expected);
    }
}
