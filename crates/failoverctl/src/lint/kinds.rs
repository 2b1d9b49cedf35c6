//! What a document is: one of our kinds, nearly one, or none of our business.

use std::sync::LazyLock;

use api_types::crds;
use failover_core::lint::nearest;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

static CRDS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(crds);

/// Kinds of stock Karmada in groups of ours that are close to a kind of ours by name.
const KARMADAS: [&str; 5] = [
    "OverridePolicy",
    "ClusterOverridePolicy",
    "FederatedResourceQuota",
    "ClusterRegistry",
    "WorkloadRebalancer",
];

/// What a document is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// One of ours.
    Ours(&'static CustomResourceDefinition),
    /// Nearly one of ours: what is wrong, and what was meant.
    Nearly { what: String, fix: String },
    /// None of our business, as `apiVersion kind`.
    Others(String),
    /// No object at all.
    NoObject,
}

/// Says what a document is.
pub(crate) fn kind(document: &Value) -> Kind {
    let (Some(api_version), Some(kind)) = (document["apiVersion"].as_str(), document["kind"].as_str()) else {
        return Kind::NoObject;
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let of_group: Vec<&CustomResourceDefinition> = CRDS.iter().filter(|crd| crd.spec.group == group).collect();
    let of_kind = of_group.iter().find(|crd| crd.spec.names.kind == kind);
    if let Some(crd) = of_kind {
        let versions: Vec<&str> = crd.spec.versions.iter().map(|version| version.name.as_str()).collect();
        return if versions.contains(&version) {
            Kind::Ours(crd)
        } else {
            Kind::Nearly {
                what: format!("{kind} has no version {version}"),
                fix: format!("write apiVersion: {group}/{}", versions.join(" or ")),
            }
        };
    }
    let elsewhere = CRDS
        .iter()
        .find(|crd| crd.spec.names.kind == kind && crd.spec.group.ends_with("karmada.io"));
    if let Some(crd) = elsewhere.filter(|_| group.ends_with("karmada.io")) {
        return Kind::Nearly {
            what: format!("group {group} has no kind {kind}"),
            fix: format!("write apiVersion: {}/{}", crd.spec.group, crd.spec.versions[0].name),
        };
    }
    let called = kind.to_lowercase();
    let by_other_name = of_group.iter().find(|crd| {
        let names = &crd.spec.names;
        names.plural == called || names.short_names.iter().flatten().any(|short| *short == called)
    });
    if let Some(crd) = by_other_name {
        return Kind::Nearly {
            what: format!("group {group} has no kind {kind}"),
            fix: format!("did you mean {}?", crd.spec.names.kind),
        };
    }
    let known = of_group.iter().map(|crd| crd.spec.names.kind.as_str()).chain(KARMADAS);
    match nearest(kind, known) {
        Some(meant) if !of_group.is_empty() && !KARMADAS.contains(&kind) => Kind::Nearly {
            what: format!("group {group} has no kind {kind}"),
            fix: format!("did you mean {meant}?"),
        },
        _ => Kind::Others(format!("{api_version} {kind}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("policy.karmada.io/v1alpha1", "ClusterTaintPolicy", "ours")]
    #[case("work.karmada.io/v1alpha2", "ClusterResourceBinding", "ours")]
    #[case(
        "policy.karmada.io/v1beta1",
        "ClusterTaintPolicy",
        "write apiVersion: policy.karmada.io/v1alpha1"
    )]
    #[case(
        "policy.karmada.io/v1alpha1",
        "ClusterTaintPolicies",
        "did you mean ClusterTaintPolicy?"
    )]
    #[case("policy.karmada.io/v1alpha1", "pp", "did you mean PropagationPolicy?")]
    #[case(
        "policy.karmada.io/v1alpha1",
        "ClusterTaintPolciy",
        "did you mean ClusterTaintPolicy?"
    )]
    #[case("policy.karmada.io/v1alpha1", "propagationpolicy", "did you mean PropagationPolicy?")]
    #[case("policy.karmada.io/v1alpha1", "OverridePolicy", "others")]
    #[case(
        "failover.karmada.io/v1alpha1",
        "ClusterTaintPolicy",
        "write apiVersion: policy.karmada.io/v1alpha1"
    )]
    #[case("apps/v1", "Deployment", "others")]
    #[case("example.com/v1", "Cluster", "others")]
    fn documents_are_told_apart(#[case] api_version: &str, #[case] name: &str, #[case] expected: &str) {
        let told = match kind(&json!({"apiVersion": api_version, "kind": name})) {
            Kind::Ours(crd) => {
                assert_eq!(crd.spec.names.kind, name);
                "ours".to_owned()
            }
            Kind::Nearly { fix, .. } => fix,
            Kind::Others(_) => "others".to_owned(),
            Kind::NoObject => "nothing".to_owned(),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn no_object() {
        for document in [
            json!(1),
            json!([]),
            json!({"kind": "X"}),
            json!({"apiVersion": "v1", "kind": 3}),
        ] {
            assert_eq!(kind(&document), Kind::NoObject);
        }
    }
}
