//! The binding of a template under a policy, as a pure function.

use api_types::names::label;
use api_types::policy::{ConflictResolution, Policy, PolicySuspension};
use api_types::work::{Binding, BindingSuspension, ObjectReference, ResourceBindingSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::Value;

use super::matching::Claim;
use crate::ids;
use crate::interpreter::{InterpretError, Interpreter};
use crate::json::{some_text, text};
use crate::objects::TemplateKey;

/// Fields of a binding's spec that follow from template and policy. All others belong to other writers.
pub const OWNED_FIELDS: [&str; 11] = [
    "resource",
    "replicaRequirements",
    "replicas",
    "propagateDeps",
    "schedulerName",
    "placement",
    "failover",
    "conflictResolution",
    "preserveResourcesOnDeletion",
    "suspension",
    "schedulePriority",
];

/// The binding as template and policy want it; of an existing one the fields of other writers are kept.
///
/// # Errors
/// When the template's replicas cannot be read.
pub fn desired(
    key: &TemplateKey,
    template: &Value,
    policy: &Policy,
    existing: Option<&Binding>,
    interpreter: &dyn Interpreter,
) -> Result<Binding, InterpretError> {
    let binding_key = key.binding();
    let replicas = interpreter.replicas(template)?;
    let mut spec = existing.map(|binding| binding.spec.clone()).unwrap_or_default();
    spec.resource = resource(template, existing);
    spec.replicas = replicas.as_ref().map(|replicas| replicas.count);
    spec.replica_requirements = replicas.and_then(|replicas| replicas.requirements);
    follow_policy(&mut spec, policy);

    let mut binding = existing
        .cloned()
        .unwrap_or_else(|| Binding::new(&binding_key, ResourceBindingSpec::default()));
    binding.spec = spec;
    let claim = Claim::by(policy);
    let labels = binding.metadata.labels.get_or_insert_default();
    put(labels, Claim::labels(Some(&claim)));
    // From here on it is the policy's: it does not go with those that need its object.
    labels.remove(label::BINDING_MANAGED_BY);
    let id_label = binding_key.kind().permanent_id_label();
    if !labels.contains_key(id_label) {
        let uid = text(template, "/metadata/uid");
        labels.insert(id_label.to_owned(), ids::permanent_id(&[uid, &binding_key.to_string()]));
    }
    put(
        binding.metadata.annotations.get_or_insert_default(),
        Claim::annotations(Some(&claim)),
    );
    let finalizers = binding.metadata.finalizers.get_or_insert_default();
    let finalizer = binding_key.kind().finalizer();
    if !finalizers.iter().any(|present| present == finalizer) {
        finalizers.push(finalizer.to_owned());
    }
    binding.metadata.owner_references = Some(vec![owner(template)]);
    Ok(binding)
}

/// The binding without its claim: it keeps what runs, and nothing places it any more.
#[must_use]
pub fn released(existing: &Binding) -> Binding {
    let mut binding = existing.clone();
    if let Some(labels) = &mut binding.metadata.labels {
        put(labels, Claim::labels(None));
    }
    if let Some(annotations) = &mut binding.metadata.annotations {
        put(annotations, Claim::annotations(None));
    }
    binding
}

fn follow_policy(spec: &mut ResourceBindingSpec, policy: &Policy) {
    let policy = &policy.spec;
    spec.propagate_deps = policy.propagate_deps.then_some(true);
    spec.scheduler_name = Some(
        policy
            .scheduler_name
            .clone()
            .unwrap_or_else(|| "default-scheduler".to_owned()),
    );
    spec.placement.clone_from(&policy.placement);
    spec.failover.clone_from(&policy.failover);
    spec.conflict_resolution = Some(policy.conflict_resolution.clone().unwrap_or(ConflictResolution::Abort));
    spec.preserve_resources_on_deletion = policy.preserve_resources_on_deletion;
    spec.suspension = suspension(policy.suspension.as_ref(), spec.suspension.take());
}

/// What goes to members is the policy's to hold back, scheduling is not.
fn suspension(policy: Option<&PolicySuspension>, present: Option<BindingSuspension>) -> Option<BindingSuspension> {
    let suspension = BindingSuspension {
        dispatching: policy.and_then(|suspension| suspension.dispatching),
        dispatching_on_clusters: policy.and_then(|suspension| suspension.dispatching_on_clusters.clone()),
        scheduling: present.and_then(|suspension| suspension.scheduling),
    };
    (suspension != BindingSuspension::default()).then_some(suspension)
}

/// The version of the template is noted when the binding is made. Later ones reach the Works without a write here.
#[must_use]
pub fn resource(template: &Value, existing: Option<&Binding>) -> ObjectReference {
    let some = |pointer: &str| some_text(template, pointer).map(str::to_owned);
    let uid = some("/metadata/uid");
    let noted = existing
        .map(|binding| &binding.spec.resource)
        .filter(|resource| resource.uid == uid);
    ObjectReference {
        api_version: text(template, "/apiVersion").to_owned(),
        kind: text(template, "/kind").to_owned(),
        namespace: some("/metadata/namespace"),
        name: text(template, "/metadata/name").to_owned(),
        uid,
        resource_version: noted.map_or_else(
            || some("/metadata/resourceVersion"),
            |noted| noted.resource_version.clone(),
        ),
    }
}

/// The template as the owner of its binding.
#[must_use]
pub fn owner(template: &Value) -> OwnerReference {
    OwnerReference {
        api_version: text(template, "/apiVersion").to_owned(),
        kind: text(template, "/kind").to_owned(),
        name: text(template, "/metadata/name").to_owned(),
        uid: text(template, "/metadata/uid").to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn put<const N: usize>(
    map: &mut std::collections::BTreeMap<String, String>,
    wanted: [(&'static str, Option<String>); N],
) {
    for (key, value) in wanted {
        match value {
            Some(value) => map.insert(key.to_owned(), value),
            None => map.remove(key),
        };
    }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use controller_kit::ObjectKey;
    use serde_json::json;

    use super::*;
    use crate::interpreter::Native;
    use crate::kinds::find;

    fn key() -> TemplateKey {
        TemplateKey::new(
            find("apps/v1", "Deployment").unwrap(),
            ObjectKey::namespaced("shop", "web"),
        )
    }

    fn template(replicas: i32, version: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": "web", "uid": "t", "resourceVersion": version}, "spec": {"replicas": replicas}})
    }

    fn policy(spec: Value) -> Policy {
        let mut policy = json!({"metadata": {"namespace": "shop", "name": "p", "uid": "u",
            "labels": {"propagationpolicy.karmada.io/permanent-id": "pp-id"}}, "spec": {"resourceSelectors": []}});
        for (field, value) in spec.as_object().unwrap() {
            policy["spec"][field] = value.clone();
        }
        serde_json::from_value(policy).unwrap()
    }

    #[test]
    fn a_new_binding_is_as_stock_writes_it() {
        let policy = policy(
            json!({"placement": {"clusterAffinity": {"clusterNames": ["m1"]}}, "failover": {"cluster": {"purgeMode": "Directly"}}}),
        );
        insta::assert_yaml_snapshot!(desired(&key(), &template(3, "9"), &policy, None, &Native).unwrap());
    }

    #[test]
    fn fields_of_other_writers_stay() {
        let first = desired(
            &key(),
            &template(3, "9"),
            &policy(json!({"suspension": {"dispatching": true}})),
            None,
            &Native,
        )
        .unwrap();
        let mut existing = first.clone();
        existing.spec.clusters = serde_json::from_value(json!([{"name": "m1", "replicas": 3}])).unwrap();
        existing.spec.graceful_eviction_tasks =
            serde_json::from_value(json!([{"fromCluster": "m2", "reason": "R", "producer": "P"}])).unwrap();
        existing.spec.required_by = serde_json::from_value(json!([{"name": "x"}])).unwrap();
        existing.spec.suspension.as_mut().unwrap().scheduling = Some(true);
        let again = desired(&key(), &template(5, "10"), &policy(json!({})), Some(&existing), &Native).unwrap();
        assert_eq!(again.spec.clusters, existing.spec.clusters);
        assert_eq!(
            again.spec.graceful_eviction_tasks,
            existing.spec.graceful_eviction_tasks
        );
        assert_eq!(again.spec.required_by, existing.spec.required_by);
        assert_eq!(again.spec.replicas, Some(5));
        let suspension = again.spec.suspension.unwrap();
        assert_eq!((suspension.dispatching, suspension.scheduling), (None, Some(true)));
        assert_eq!(
            again.spec.resource.resource_version.as_deref(),
            Some("9"),
            "a version alone is no reason to write"
        );
    }

    #[test]
    fn a_template_made_anew_takes_over_its_binding() {
        let first = desired(&key(), &template(3, "9"), &policy(json!({})), None, &Native).unwrap();
        let mut anew = template(3, "12");
        anew["metadata"]["uid"] = json!("t2");
        let second = desired(&key(), &anew, &policy(json!({})), Some(&first), &Native).unwrap();
        assert_eq!(second.metadata.owner_references.unwrap()[0].uid, "t2");
        assert_eq!(
            (
                second.spec.resource.uid.as_deref(),
                second.spec.resource.resource_version.as_deref()
            ),
            (Some("t2"), Some("12"))
        );
        assert_eq!(
            second.metadata.labels, first.metadata.labels,
            "its permanent id stays: Works are found by it"
        );
    }

    #[test]
    fn a_released_binding_keeps_all_but_the_claim() {
        let bound = desired(&key(), &template(3, "9"), &policy(json!({})), None, &Native).unwrap();
        let free = released(&bound);
        assert_eq!(free.spec, bound.spec);
        assert_eq!(Claim::on(&free.metadata), None);
        assert!(
            free.metadata
                .labels
                .unwrap()
                .contains_key("resourcebinding.karmada.io/permanent-id")
        );
    }
}
