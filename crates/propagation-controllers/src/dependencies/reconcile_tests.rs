#![allow(clippy::needless_pass_by_value, reason = "literals are given by value")]

use controller_kit::ObjectKey;
use rstest::rstest;

use super::*;
use crate::kinds::find;

fn key() -> TemplateKey {
    TemplateKey::new(
        find("v1", "ConfigMap").unwrap(),
        ObjectKey::namespaced("shop", "settings"),
    )
}

fn object() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "settings", "uid": "c", "resourceVersion": "4",
        "labels": {"tier": "front"}}})
}

fn referrer(name: &str, clusters: Value, policy: Value) -> Arc<Binding> {
    let mut binding = json!({"metadata": {"namespace": "shop", "name": name,
        "labels": {"resourcebinding.karmada.io/permanent-id": format!("id-{name}")}},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": name},
            "propagateDeps": true, "clusters": clusters}});
    for (field, value) in policy.as_object().unwrap() {
        binding["spec"][field] = value.clone();
    }
    Arc::new(serde_json::from_value(binding).unwrap())
}

fn on(cluster: &str) -> Value {
    json!([{"name": cluster, "replicas": 1}])
}

#[test]
fn a_new_attached_binding_is_as_stock_writes_it() {
    let made = attached(&key(), &object(), &referrer("web", on("m1"), json!({})), None, &[]);
    assert_eq!(made.conflict, None);
    insta::assert_yaml_snapshot!(made.binding);
}

#[test]
fn each_referrer_has_its_place_and_goes_alone() {
    let (web, api) = (
        referrer("web", on("m1"), json!({})),
        referrer("api", on("m2"), json!({"preserveResourcesOnDeletion": true})),
    );
    let first = attached(&key(), &object(), &web, None, &[]).binding;
    let both = attached(&key(), &object(), &api, Some(&first), std::slice::from_ref(&web));
    let names =
        |binding: &Binding| -> Vec<String> { binding.spec.required_by.iter().map(|by| by.name.clone()).collect() };
    assert_eq!(names(&both.binding), ["api", "web"]);
    assert_eq!(owner_labels(&both.binding).len(), 2);
    assert!(!is_left(&both.binding));

    // Whoever comes first, the result is the same.
    let other = attached(&key(), &object(), &api, None, &[]).binding;
    let other = attached(&key(), &object(), &web, Some(&other), std::slice::from_ref(&api)).binding;
    assert_eq!(other.spec, both.binding.spec);

    let left = detached(&both.binding, &web.key(), std::slice::from_ref(&api)).unwrap();
    assert_eq!(names(&left), ["api"]);
    assert_eq!(left.spec.preserve_resources_on_deletion, Some(true));
    assert_eq!(
        detached(&left, &web.key(), std::slice::from_ref(&api)),
        None,
        "nothing to do twice"
    );
    let nobody = detached(&left, &api.key(), &[]).unwrap();
    assert!(is_left(&nobody));
    let mut leaving = nobody;
    leaving.spec.graceful_eviction_tasks =
        serde_json::from_value(json!([{"fromCluster": "m1", "reason": "R", "producer": "DependencyMirror"}])).unwrap();
    assert!(!is_left(&leaving), "an old copy may still use the object");
}

#[rstest]
#[case::nothing_said(json!({}), json!({}), "Abort", None, false)]
#[case::abort_is_what_nothing_means(json!({"conflictResolution": "Abort"}), json!({}), "Abort", None, false)]
#[case::one_overwrites(json!({"conflictResolution": "Overwrite"}), json!({}), "Overwrite", None, true)]
#[case::one_preserves(json!({}), json!({"preserveResourcesOnDeletion": true}), "Abort", Some(true), true)]
#[case::both(json!({"conflictResolution": "Overwrite"}), json!({"conflictResolution": "Overwrite"}), "Overwrite", None, false)]
fn what_policies_say(
    #[case] web: Value,
    #[case] api: Value,
    #[case] resolution: &str,
    #[case] preserve: Option<bool>,
    #[case] conflict: bool,
) {
    let (web, api) = (referrer("web", on("m1"), web), referrer("api", on("m2"), api));
    let first = attached(&key(), &object(), &web, None, &[]).binding;
    let both = attached(&key(), &object(), &api, Some(&first), &[web]);
    assert_eq!(json!(both.binding.spec.conflict_resolution), resolution);
    assert_eq!(both.binding.spec.preserve_resources_on_deletion, preserve);
    assert_eq!(both.conflict.is_some(), conflict, "{:?}", both.conflict);
}

#[test]
fn a_binding_with_a_policy_of_its_own_keeps_what_that_says() {
    let mut own = Binding::clone(&referrer("settings", on("m3"), json!({"propagateDeps": false})));
    own.spec.conflict_resolution = Some(ConflictResolution::Abort);
    let labels = own.metadata.labels.get_or_insert_default();
    labels.insert(label::PROPAGATION_POLICY_ID.to_owned(), "pp".to_owned());
    let web = referrer("web", on("m1"), json!({"conflictResolution": "Overwrite"}));
    let made = attached(&key(), &object(), &web, Some(&own), &[]);
    assert_eq!(
        (made.conflict, &made.binding.spec.conflict_resolution),
        (None, &Some(ConflictResolution::Abort))
    );
    assert_eq!(made.binding.spec.clusters, own.spec.clusters);
    let again = detached(&made.binding, &web.key(), &[]).unwrap();
    assert!(!is_left(&again));
    assert!(again.spec.required_by.is_empty());
}

#[test]
fn what_is_claimed_is_written_by_its_policy_alone() {
    let web = referrer("web", on("m1"), json!({}));
    let mut claimed = attached(&key(), &object(), &web, None, &[]).binding;
    claimed.spec.resource.api_version = "v1beta1".to_owned();
    claimed.metadata.owner_references = None;
    claimed.metadata.finalizers = None;
    let labels = claimed.metadata.labels.get_or_insert_default();
    labels.insert(label::PROPAGATION_POLICY_ID.to_owned(), "pp".to_owned());
    let again = attached(&key(), &object(), &web, Some(&claimed), &[]);
    assert_eq!(again.binding, claimed);
}

#[test]
fn an_object_takes_the_version_that_its_binding_names() {
    let web = referrer("web", on("m1"), json!({}));
    let mut binding = attached(&key(), &object(), &web, None, &[]).binding;
    assert_eq!(*in_version_of(&object(), &binding), object());
    binding.spec.resource.api_version = "v1beta1".to_owned();
    let older = in_version_of(&object(), &binding).into_owned();
    assert_eq!(older["apiVersion"], "v1beta1");
    let by_name = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "settings"});
    let by_name: DependentObject = serde_json::from_value(by_name).unwrap();
    assert!(means(&by_name, &binding, Some(&older)), "it is the same object");
}

/// Tasks as they stand on a binding.
fn tasks(binding: &Binding, from: &[(&str, &str)]) -> Binding {
    let tasks: Vec<Value> = from
        .iter()
        .map(|(cluster, producer)| json!({"fromCluster": cluster, "reason": "R", "producer": producer}))
        .collect();
    let mut binding = binding.clone();
    binding.spec.graceful_eviction_tasks = serde_json::from_value(json!(tasks)).unwrap();
    binding
}

#[rstest]
#[case::no_task(&[], &[("m1", "TaintManager")], None)]
#[case::it_leaves(&[("m1", "DependencyMirror")], &[("m1", "TaintManager")], Some(json!(null)))]
#[case::both_leave(&[("m1", "TaintManager")], &[("m1", "TaintManager")], Some(json!(null)))]
#[case::it_leaves_another_cluster(&[("m1", "DependencyMirror")], &[("m3", "TaintManager")], None)]
#[case::its_own_mirror_says_nothing(&[("m1", "DependencyMirror")], &[("m1", "DependencyMirror")], None)]
#[case::it_may_be_about_to_leave(&[("m2", "DependencyMirror")], &[], Some(json!([{"name": "m2", "replicas": 1}])))]
#[case::only_the_object_leaves(&[("m2", "TaintManager")], &[], None)]
fn old_copies_hold_what_the_template_needs_no_more(
    #[case] of_attached: &[(&str, &str)],
    #[case] of_referrer: &[(&str, &str)],
    #[case] clusters: Option<Value>,
) {
    let web = referrer("web", on("m2"), json!({}));
    let existing = tasks(&attached(&key(), &object(), &web, None, &[]).binding, of_attached);
    let held = held(&existing, &tasks(&web, of_referrer));
    let shown = held
        .as_ref()
        .map(|held| json!(held.spec.required_by[0])["clusters"].clone());
    assert_eq!(shown, clusters);
    if let Some(held) = held {
        assert_eq!(owner_labels(&held), owner_labels(&existing));
    }
}

#[rstest]
#[case::by_name(json!({"name": "settings"}), true)]
#[case::other_name(json!({"name": "other"}), false)]
#[case::by_labels(json!({"labelSelector": {"matchLabels": {"tier": "front"}}}), true)]
#[case::other_labels(json!({"labelSelector": {"matchLabels": {"tier": "back"}}}), false)]
#[case::nothing_asked(json!({}), false)]
#[case::other_namespace(json!({"namespace": "bank", "name": "settings"}), false)]
#[case::other_kind(json!({"kind": "Secret", "name": "settings"}), false)]
fn a_dependency_means(#[case] dependency: Value, #[case] wanted: bool) {
    let mut full = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop"});
    for (field, value) in dependency.as_object().unwrap() {
        full[field] = value.clone();
    }
    let dependency: DependentObject = serde_json::from_value(full).unwrap();
    let binding = attached(&key(), &object(), &referrer("web", on("m1"), json!({})), None, &[]).binding;
    assert_eq!(means(&dependency, &binding, Some(&object())), wanted);
    // C112: of an object that is not there it is not known which labels it had.
    let by_labels = dependency.name.is_none() && dependency.namespace == "shop";
    assert_eq!(means(&dependency, &binding, None), wanted || by_labels);
}
