//! From a Cluster and its secret to something that can be connected to; or a sentence about what is wrong.

use std::time::Duration;

use api_types::cluster::Cluster;
use controller_kit::members::TlsVerification;
use controller_kit::{Context, MemberTarget, ObjectKey, Scope};
use k8s_openapi::api::core::v1::Secret;

/// Key of the bearer token in a member's secret.
const TOKEN: &str = "token";
/// Key of the certificates that sign the member's.
const CA_BUNDLE: &str = "caBundle";

/// Why there is no target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoTarget {
    /// Something is wrong that a person can mend: what, where, what to do.
    Wrong(String),
    /// Nothing is known yet: the control plane's secrets have not been read.
    NotReadYet,
}

/// What is needed to talk to the member.
pub(super) async fn target(ctx: &Context, cluster: &Cluster, patience: Duration) -> Result<MemberTarget, NoTarget> {
    let name = cluster.cluster_name();
    let Some(reference) = &cluster.spec.secret_ref else {
        return Err(NoTarget::Wrong(format!(
            "cluster {name} has no spec.secretRef: name the Secret that holds the member's token and caBundle"
        )));
    };
    let secrets = ctx.informers.get::<Secret>(Scope::namespace(&reference.namespace), &());
    let Ok(Ok(store)) = tokio::time::timeout(patience, secrets.synced()).await else {
        return Err(NoTarget::NotReadYet);
    };
    let secret = store.get(&ObjectKey::namespaced(&reference.namespace, &reference.name));
    from_secret(cluster, secret.as_deref(), patience).map_err(NoTarget::Wrong)
}

fn from_secret(cluster: &Cluster, secret: Option<&Secret>, request_timeout: Duration) -> Result<MemberTarget, String> {
    let name = cluster.cluster_name();
    let place = cluster
        .spec
        .secret_ref
        .as_ref()
        .map(|r| format!("{}/{}", r.namespace, r.name))
        .unwrap_or_default();
    let Some(endpoint) = cluster
        .spec
        .api_endpoint
        .as_deref()
        .filter(|endpoint| !endpoint.is_empty())
    else {
        return Err(format!(
            "cluster {name} has no spec.apiEndpoint: set it to the URL of the member's API server"
        ));
    };
    let Some(secret) = secret else {
        return Err(format!(
            "secret {place} (spec.secretRef of cluster {name}) does not exist: create it with the keys {TOKEN} and \
             {CA_BUNDLE}, or correct spec.secretRef"
        ));
    };
    let value = |key: &str| {
        secret
            .data
            .as_ref()
            .and_then(|data| data.get(key))
            .map(|value| value.0.clone())
            .filter(|v| !v.is_empty())
    };
    let Some(token) = value(TOKEN) else {
        return Err(format!(
            "secret {place} (spec.secretRef of cluster {name}) has no {TOKEN}: put the member's bearer token there"
        ));
    };
    let Ok(token) = String::from_utf8(token) else {
        return Err(format!(
            "{TOKEN} in secret {place} (spec.secretRef of cluster {name}) is not text: put the member's bearer token there"
        ));
    };
    let mut target = MemberTarget::new(name.as_str(), endpoint);
    target.token = Some(token.trim().to_owned());
    target.ca_bundle = value(CA_BUNDLE);
    target.proxy_url = cluster.spec.proxy_url.clone().filter(|url| !url.is_empty());
    target.verification = match cluster.spec.insecure_skip_tls_verification {
        Some(true) => TlsVerification::Skip,
        _ => TlsVerification::Verify,
    };
    target.request_timeout = request_timeout;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn cluster(endpoint: Option<&str>) -> Cluster {
        serde_json::from_value(json!({
            "metadata": {"name": "m1"},
            "spec": {"syncMode": "Push", "apiEndpoint": endpoint, "secretRef": {"namespace": "karmada-cluster", "name": "m1"}}
        }))
        .unwrap()
    }

    #[rstest]
    #[case::no_endpoint(None, Some(json!({"token": "dA=="})), "no spec.apiEndpoint")]
    #[case::no_secret(
        Some("https://m1"),
        None,
        "secret karmada-cluster/m1 (spec.secretRef of cluster m1) does not exist: create it"
    )]
    #[case::no_token(Some("https://m1"), Some(json!({"caBundle": "dA=="})), "has no token: put")]
    #[case::empty_token(Some("https://m1"), Some(json!({"token": ""})), "has no token: put")]
    #[case::binary_token(Some("https://m1"), Some(json!({"token": "//8="})), "is not text")]
    fn what_is_wrong_where_and_what_to_do(
        #[case] endpoint: Option<&str>,
        #[case] data: Option<Value>,
        #[case] expected: &str,
    ) {
        let secret: Option<Secret> = data.map(|data| serde_json::from_value(json!({"data": data})).unwrap());
        let error = from_secret(&cluster(endpoint), secret.as_ref(), Duration::from_secs(10)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_good_secret_makes_a_target() {
        let secret: Secret = serde_json::from_value(json!({"data": {"token": "dAo=", "caBundle": "Y2E="}})).unwrap();
        let target = from_secret(&cluster(Some("https://m1")), Some(&secret), Duration::from_secs(10)).unwrap();
        assert_eq!(
            target.token.as_deref(),
            Some("t"),
            "a line end at the end of a token is a slip"
        );
        assert_eq!(target.ca_bundle.as_deref(), Some(&b"ca"[..]));
        assert_eq!(target.verification, TlsVerification::Verify);
    }
}
