//! The Work that carries a template to one cluster, as stock writes it.

use std::collections::BTreeMap;

use api_types::ClusterName;
use api_types::names::{annotation, execution_namespace, finalizer, label, work_name};
use api_types::placement::ReplicaSchedulingType;
use api_types::policy::ConflictResolution;
use api_types::work::{Binding, BindingKind, Manifest, TargetCluster, Work, WorkSpec, WorkloadTemplate};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::interpreter::{InterpretError, Interpreter, divide_by_replicas};
use crate::{ids, json, manifest};

/// The Work of `target`, whose object carries `preserved`, the labels kept of the copy before it.
///
/// # Errors
/// What of the template cannot be interpreted.
pub fn work(
    binding: &Binding,
    template: &Value,
    target: &TargetCluster,
    preserved: &BTreeMap<String, String>,
    interpreter: &dyn Interpreter,
) -> Result<Work, InterpretError> {
    let cluster = ClusterName::from(target.name.as_str());
    let name = work_name(
        json::text(template, "/kind"),
        json::some_text(template, "/metadata/namespace"),
        json::text(template, "/metadata/name"),
    );
    let namespace = execution_namespace(&cluster);
    let owner = Owner::of(binding);
    let conflict_resolution = conflict_resolution(binding, template);
    let work_id = ids::permanent_id(&[&owner.id, &namespace, &name]);

    let mut object = template.clone();
    let uid = json::text(template, "/metadata/uid").to_owned();
    let generation = json::count(template, "/metadata/generation").to_string();
    manifest::prune(&mut object);
    if json::is_too_deep(&object) {
        let what = format!(
            "it has more than {} levels of fields in each other, and what is deeper may not have been read",
            json::DEEPEST
        );
        return Err(InterpretError::new("carry", template, what));
    }
    // Also of a workload that is scaled to nothing: the template may say more than the result, which follows it.
    if target.replicas > 0 || binding.spec.replicas.is_some() || binding.spec.is_workload() {
        interpreter.revise(&mut object, target.replicas)?;
        revise_completions(binding, &mut object, target);
    }

    let mut labels = json::text_map(&object, "/metadata/labels");
    labels.extend(preserved.clone());
    labels.extend(owner.labels());
    labels.insert(label::WORK_ID.to_owned(), work_id.clone());
    labels.insert(label::MANAGED.to_owned(), "true".to_owned());
    let mut annotations = json::text_map(&object, "/metadata/annotations");
    annotations.extend(owner.annotations());
    annotations.insert(annotation::TEMPLATE_UID.to_owned(), uid);
    annotations.insert(annotation::TEMPLATE_GENERATION.to_owned(), generation);
    annotations.insert(annotation::CONFLICT_RESOLUTION.to_owned(), conflict_resolution.clone());
    annotations.insert(annotation::WORK_NAME.to_owned(), name.clone());
    annotations.insert(annotation::WORK_NAMESPACE.to_owned(), namespace.clone());
    name_managed(&labels, &mut annotations);
    json::set(&mut object, &["metadata", "labels"], json::from_text_map(&labels));
    json::set(
        &mut object,
        &["metadata", "annotations"],
        json::from_text_map(&annotations),
    );

    let mut work_labels = owner.labels();
    work_labels.insert(label::WORK_ID.to_owned(), work_id);
    let mut work_annotations = owner.annotations();
    work_annotations.insert(annotation::CONFLICT_RESOLUTION.to_owned(), conflict_resolution);
    if !preserved.is_empty() {
        let note = json::from_text_map(preserved).to_string();
        work_annotations.insert(annotation::PRESERVED_LABELS.to_owned(), note);
    }
    Ok(Work {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace),
            labels: Some(work_labels),
            annotations: Some(work_annotations),
            finalizers: Some(vec![finalizer::EXECUTION.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: WorkSpec {
            workload: WorkloadTemplate {
                manifests: vec![Manifest(object)],
            },
            suspend_dispatching: Some(is_suspended(binding, &target.name)),
            preserve_resources_on_deletion: Some(binding.spec.preserve_resources_on_deletion.unwrap_or(false)),
        },
        status: None,
    })
}

/// The preserved labels that a Work was made with.
///
/// # Errors
/// When somebody has made the note on it unreadable: without it the state would be lost, so the Work is left as it is.
pub fn preserved(work: &Work, template: &Value) -> Result<BTreeMap<String, String>, InterpretError> {
    let annotations = work.metadata.annotations.as_ref();
    let Some(note) = annotations.and_then(|all| all.get(annotation::PRESERVED_LABELS)) else {
        return Ok(BTreeMap::new());
    };
    serde_json::from_str(note).map_err(|error| {
        let what = format!(
            "annotation {} of its Work is no JSON object of texts ({error}): mend it, or remove it to give the labels up",
            annotation::PRESERVED_LABELS
        );
        InterpretError::new("read the preserved labels of", template, what)
    })
}

/// Lists the labels and annotations that come from the control plane, so that one taken away here goes there too.
pub fn name_managed(labels: &BTreeMap<String, String>, annotations: &mut BTreeMap<String, String>) {
    annotations.insert(annotation::MANAGED_LABELS.to_owned(), joined(labels));
    annotations.insert(annotation::MANAGED_ANNOTATIONS.to_owned(), String::new());
    let names = joined(annotations);
    annotations.insert(annotation::MANAGED_ANNOTATIONS.to_owned(), names);
}

fn joined(map: &BTreeMap<String, String>) -> String {
    map.keys().map(String::as_str).collect::<Vec<_>>().join(",")
}

/// By what Works and members' objects name their binding.
struct Owner {
    id: String,
    kind: BindingKind,
    namespace: Option<String>,
    name: String,
}

impl Owner {
    fn of(binding: &Binding) -> Self {
        let key = binding.key();
        let kind = key.kind();
        let id = binding
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(kind.permanent_id_label()));
        let uid = binding.metadata.uid.clone().unwrap_or_default();
        Self {
            id: id.cloned().unwrap_or(uid),
            kind,
            namespace: key.namespace,
            name: key.name,
        }
    }

    fn labels(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(self.kind.permanent_id_label().to_owned(), self.id.clone())])
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        match &self.namespace {
            Some(namespace) => BTreeMap::from([
                (annotation::RESOURCE_BINDING_NAMESPACE.to_owned(), namespace.clone()),
                (annotation::RESOURCE_BINDING_NAME.to_owned(), self.name.clone()),
            ]),
            None => BTreeMap::from([(annotation::CLUSTER_RESOURCE_BINDING_NAME.to_owned(), self.name.clone())]),
        }
    }
}

/// The template's own word wins over the policy's.
fn conflict_resolution(binding: &Binding, template: &Value) -> String {
    let own = format!(
        "/metadata/annotations/{}",
        json::pointer_key(annotation::CONFLICT_RESOLUTION)
    );
    match json::some_text(template, &own) {
        Some(own) => own.to_owned(),
        None if binding.spec.conflict_resolution == Some(ConflictResolution::Overwrite) => "overwrite".to_owned(),
        None => "abort".to_owned(),
    }
}

/// A Job's completions are divided like its replicas; of a duplicated Job every cluster runs all.
fn revise_completions(binding: &Binding, object: &mut Value, target: &TargetCluster) {
    let divided = binding
        .spec
        .placement
        .as_ref()
        .is_some_and(|p| p.scheduling_type() == ReplicaSchedulingType::Divided);
    if !divided || json::text(object, "/kind") != "Job" {
        return;
    }
    let Some(completions) = object.pointer("/spec/completions").and_then(Value::as_i64) else {
        return;
    };
    let shares = divide_by_replicas(completions, &binding.spec.clusters);
    if let Some((_, share)) = shares.into_iter().find(|(name, _)| *name == target.name) {
        json::set(object, &["spec", "completions"], share.into());
    }
}

fn is_suspended(binding: &Binding, cluster: &str) -> bool {
    binding.spec.suspension.as_ref().is_some_and(|suspension| {
        suspension.dispatching == Some(true)
            || suspension
                .dispatching_on_clusters
                .iter()
                .flat_map(|on| &on.cluster_names)
                .any(|name| name == cluster)
    })
}
