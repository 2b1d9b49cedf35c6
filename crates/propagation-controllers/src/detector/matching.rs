//! Which policy an object goes by, in stock's order: the claim that still holds; then policies of the object's own
//! namespace before those of the cluster; among them the highest explicit priority, then a selector by name before one
//! by labels before one for all, then the name in alphabetical order.

use std::cmp::Reverse;
use std::sync::Arc;

use api_types::names::{annotation, label};
use api_types::policy::{Policy, PolicyKind, ResourceSelector};
use failover_core::affinity::selects;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::interpreter::KindName;
use crate::json::{some_text, text, text_map};
use crate::kinds::group_of;

/// How closely a selector names an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// All objects of the kind.
    All,
    /// Those with certain labels.
    Labels,
    /// This one.
    Name,
}

/// The closest of a policy's selectors that select the object; `None` when none does.
#[must_use]
pub fn closeness(policy: &Policy, template: &serde_json::Value) -> Option<Closeness> {
    let own = policy
        .metadata
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty());
    policy
        .spec
        .resource_selectors
        .iter()
        .filter_map(|selector| selector_closeness(selector, own, template))
        .max()
}

fn selector_closeness(
    selector: &ResourceSelector,
    policy_namespace: Option<&str>,
    template: &serde_json::Value,
) -> Option<Closeness> {
    if selector.api_version != text(template, "/apiVersion") || selector.kind != text(template, "/kind") {
        return None;
    }
    closeness_of_name(selector, policy_namespace, template)
}

/// The other versions of its kind in which a policy selects an object. An object is one in all versions, and goes by one
/// policy.
#[must_use]
pub fn other_versions(policy: &Policy, template: &serde_json::Value) -> Vec<KindName> {
    let own = policy
        .metadata
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty());
    let (api_version, kind) = (text(template, "/apiVersion"), text(template, "/kind"));
    let selectors = policy.spec.resource_selectors.iter().filter(|selector| {
        selector.kind == kind
            && selector.api_version != api_version
            && group_of(&selector.api_version) == group_of(api_version)
            && closeness_of_name(selector, own, template).is_some()
    });
    selectors
        .map(|selector| KindName {
            api_version: selector.api_version.clone(),
            kind: selector.kind.clone(),
        })
        .collect()
}

fn closeness_of_name(
    selector: &ResourceSelector,
    policy_namespace: Option<&str>,
    template: &serde_json::Value,
) -> Option<Closeness> {
    // A namespaced policy reaches no further than its namespace, whatever its selector says.
    let asked = selector.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let namespace = some_text(template, "/metadata/namespace");
    if [policy_namespace, asked]
        .into_iter()
        .flatten()
        .any(|wanted| Some(wanted) != namespace)
    {
        return None;
    }
    if let Some(name) = selector.name.as_deref().filter(|name| !name.is_empty()) {
        return (name == text(template, "/metadata/name")).then_some(Closeness::Name);
    }
    match &selector.label_selector {
        Some(labels) => selects(labels, Some(&text_map(template, "/metadata/labels"))).then_some(Closeness::Labels),
        None => Some(Closeness::All),
    }
}

/// The policy that an object without a claim goes by.
#[must_use]
pub fn best<'a>(policies: &'a [Arc<Policy>], template: &serde_json::Value) -> Option<&'a Arc<Policy>> {
    let alive = policies
        .iter()
        .filter(|policy| policy.metadata.deletion_timestamp.is_none());
    let rank =
        |policy: &Arc<Policy>, closeness| (policy.spec.priority, closeness, Reverse(policy.metadata.name.clone()));
    alive
        .filter_map(|policy| closeness(policy, template).map(|closeness| (rank(policy, closeness), policy)))
        .max_by(|a, b| a.0.cmp(&b.0))
        .map(|(_, policy)| policy)
}

/// By which policy an object, or its binding, says that it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Kind of the policy.
    pub kind: PolicyKind,
    /// Its namespace; empty for the cluster's.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its permanent id.
    pub id: String,
}

impl Claim {
    /// The claim that a policy makes.
    #[must_use]
    pub fn by(policy: &Policy) -> Self {
        let kind = kind_of(policy);
        Self {
            kind,
            namespace: policy.metadata.namespace.clone().unwrap_or_default(),
            name: policy.metadata.name.clone().unwrap_or_default(),
            id: permanent_id(policy),
        }
    }

    /// The claim written on an object, if any.
    #[must_use]
    pub fn on(metadata: &ObjectMeta) -> Option<Self> {
        let of = |map: &Option<std::collections::BTreeMap<String, String>>, key: &str| {
            map.as_ref().and_then(|map| map.get(key)).cloned()
        };
        let annotation = |key: &str| of(&metadata.annotations, key).unwrap_or_default();
        if let Some(id) = of(&metadata.labels, label::PROPAGATION_POLICY_ID) {
            return Some(Self {
                kind: PolicyKind::Namespaced,
                namespace: annotation(annotation::PROPAGATION_POLICY_NAMESPACE),
                name: annotation(annotation::PROPAGATION_POLICY_NAME),
                id,
            });
        }
        let id = of(&metadata.labels, label::CLUSTER_PROPAGATION_POLICY_ID)?;
        let name = annotation(annotation::CLUSTER_PROPAGATION_POLICY_NAME);
        Some(Self {
            kind: PolicyKind::Cluster,
            namespace: String::new(),
            name,
            id,
        })
    }

    /// The same of an object as JSON.
    #[must_use]
    pub fn on_value(object: &serde_json::Value) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let maps = ["labels", "annotations"].map(|field| text_map(metadata, &format!("/{field}")));
        let [labels, annotations] = maps.map(Some);
        Self::on(&ObjectMeta {
            labels,
            annotations,
            ..ObjectMeta::default()
        })
    }

    /// Labels of an object under `claim`: `None` takes one away.
    #[must_use]
    pub fn labels(claim: Option<&Self>) -> [(&'static str, Option<String>); 2] {
        let of = |kind| claim.filter(|claim| claim.kind == kind).map(|claim| claim.id.clone());
        [
            (label::PROPAGATION_POLICY_ID, of(PolicyKind::Namespaced)),
            (label::CLUSTER_PROPAGATION_POLICY_ID, of(PolicyKind::Cluster)),
        ]
    }

    /// Annotations of an object under `claim`: `None` takes one away.
    #[must_use]
    pub fn annotations(claim: Option<&Self>) -> [(&'static str, Option<String>); 3] {
        let of = |kind| claim.filter(move |claim| claim.kind == kind);
        [
            (
                annotation::PROPAGATION_POLICY_NAMESPACE,
                of(PolicyKind::Namespaced).map(|claim| claim.namespace.clone()),
            ),
            (
                annotation::PROPAGATION_POLICY_NAME,
                of(PolicyKind::Namespaced).map(|claim| claim.name.clone()),
            ),
            (
                annotation::CLUSTER_PROPAGATION_POLICY_NAME,
                of(PolicyKind::Cluster).map(|claim| claim.name.clone()),
            ),
        ]
    }
}

/// Which of the two kinds a policy is.
#[must_use]
pub fn kind_of(policy: &Policy) -> PolicyKind {
    match policy.metadata.namespace.as_deref() {
        Some(namespace) if !namespace.is_empty() => PolicyKind::Namespaced,
        _ => PolicyKind::Cluster,
    }
}

/// The label that holds a policy's permanent id.
#[must_use]
pub fn id_label(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::Namespaced => label::PROPAGATION_POLICY_ID,
        PolicyKind::Cluster => label::CLUSTER_PROPAGATION_POLICY_ID,
    }
}

/// A policy's permanent id; its UID until a webhook or we have written one.
#[must_use]
pub fn permanent_id(policy: &Policy) -> String {
    let written = policy
        .metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(id_label(kind_of(policy))));
    written.or(policy.metadata.uid.as_ref()).cloned().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn policy(namespace: &str, name: &str, priority: i32, selectors: Value) -> Arc<Policy> {
        Arc::new(
            serde_json::from_value(
                json!({"metadata": {"namespace": namespace, "name": name, "uid": format!("uid-{name}")},
                "spec": {"resourceSelectors": selectors, "priority": priority}}),
            )
            .unwrap(),
        )
    }

    fn template() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": "web", "labels": {"tier": "front"}}})
    }

    fn all() -> Value {
        json!([{"apiVersion": "apps/v1", "kind": "Deployment"}])
    }
    fn labels(tier: &str) -> Value {
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": {"matchLabels": {"tier": tier}}}])
    }
    fn named(name: &str) -> Value {
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "labelSelector": {"matchLabels": {"tier": "x"}}}])
    }

    #[rstest]
    #[case::all(all(), Some(Closeness::All))]
    #[case::labels(labels("front"), Some(Closeness::Labels))]
    #[case::other_labels(labels("back"), None)]
    #[case::a_name_makes_labels_void(named("web"), Some(Closeness::Name))]
    #[case::other_name(named("api"), None)]
    #[case::other_kind(json!([{"apiVersion": "apps/v1", "kind": "StatefulSet"}]), None)]
    #[case::other_version(json!([{"apiVersion": "apps/v1beta1", "kind": "Deployment"}]), None)]
    #[case::other_namespace(json!([{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "bank"}]), None)]
    #[case::the_closest_counts(json!([{"apiVersion": "apps/v1", "kind": "Deployment"}, {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]), Some(Closeness::Name))]
    fn closeness_of(#[case] selectors: Value, #[case] wanted: Option<Closeness>) {
        assert_eq!(closeness(&policy("shop", "p", 0, selectors), &template()), wanted);
    }

    #[test]
    fn an_object_is_the_same_in_each_version() {
        let newer = json!([{"apiVersion": "apps/v2", "kind": "Deployment", "name": "web"}]);
        let found = other_versions(&policy("shop", "p", 0, newer), &template());
        assert_eq!(
            found.iter().map(|name| name.api_version.as_str()).collect::<Vec<_>>(),
            ["apps/v2"]
        );
        for selectors in [all(), json!([{"apiVersion": "example.io/v2", "kind": "Deployment"}])] {
            assert!(other_versions(&policy("shop", "p", 0, selectors), &template()).is_empty());
        }
    }

    #[test]
    fn a_namespaced_policy_does_not_reach_into_another_namespace() {
        assert_eq!(closeness(&policy("bank", "p", 0, all()), &template()), None);
        assert_eq!(closeness(&policy("", "p", 0, all()), &template()), Some(Closeness::All));
    }

    #[rstest]
    #[case::priority_first(vec![policy("shop", "a", 0, named("web")), policy("shop", "b", 1, all())], "b")]
    #[case::then_closeness(vec![policy("shop", "a", 0, all()), policy("shop", "b", 0, labels("front")), policy("shop", "c", 0, named("web"))], "c")]
    #[case::then_the_alphabet(vec![policy("shop", "b", 0, all()), policy("shop", "a", 0, all())], "a")]
    fn order(#[case] policies: Vec<Arc<Policy>>, #[case] wanted: &str) {
        assert_eq!(
            best(&policies, &template()).unwrap().metadata.name.as_deref(),
            Some(wanted)
        );
    }

    #[test]
    fn a_policy_that_is_being_deleted_takes_nothing_new() {
        let mut leaving = Policy::clone(&policy("shop", "a", 0, all()));
        leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert!(best(&[Arc::new(leaving)], &template()).is_none());
    }

    #[test]
    fn a_claim_is_read_as_it_is_written() {
        for policy in [policy("shop", "p", 0, all()), policy("", "c", 0, all())] {
            let claim = Claim::by(&policy);
            let some = |(key, value): (&'static str, Option<String>)| Some((key.to_owned(), value?));
            let metadata = ObjectMeta {
                labels: Some(Claim::labels(Some(&claim)).into_iter().filter_map(some).collect()),
                annotations: Some(Claim::annotations(Some(&claim)).into_iter().filter_map(some).collect()),
                ..ObjectMeta::default()
            };
            assert_eq!(Claim::on(&metadata), Some(claim));
        }
    }
}
