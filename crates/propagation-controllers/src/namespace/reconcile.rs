//! The Works that carry namespaces to members, as a pure function.

use std::collections::BTreeMap;

use api_types::ClusterName;
use api_types::names::{annotation, execution_namespace, finalizer, label, work_name};
use api_types::work::{Manifest, Work, WorkSpec, WorkloadTemplate};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use crate::binding::render::name_managed;
use crate::{ids, json, manifest};

/// The name of the Work of a namespace, in every execution namespace.
#[must_use]
pub fn name_of_work(namespace: &str) -> String {
    work_name("Namespace", None, namespace)
}

/// Whether its owner keeps this namespace out of the members.
#[must_use]
pub fn is_kept_here(namespace: &Namespace) -> bool {
    let labels = namespace.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(label::SKIP_AUTO_PROPAGATION))
        .is_some_and(|value| value == "true")
}

/// The Work that carries a namespace to a member. A namespace that the member has already is left alone.
#[must_use]
pub fn work(namespace: &Namespace, cluster: &ClusterName) -> Work {
    let name = namespace.metadata.name.clone().unwrap_or_default();
    let uid = namespace.metadata.uid.clone().unwrap_or_default();
    let (work_name, work_namespace) = (name_of_work(&name), execution_namespace(cluster));
    let id = ids::permanent_id(&[&uid, &work_namespace, &work_name]);
    let mut object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace.metadata});
    manifest::prune(&mut object);
    let mut labels = json::text_map(&object, "/metadata/labels");
    labels.insert(label::MANAGED.to_owned(), "true".to_owned());
    labels.insert(label::WORK_ID.to_owned(), id.clone());
    let mut annotations = json::text_map(&object, "/metadata/annotations");
    annotations.insert(annotation::TEMPLATE_UID.to_owned(), uid.clone());
    annotations.insert(annotation::CONFLICT_RESOLUTION.to_owned(), "abort".to_owned());
    annotations.insert(annotation::WORK_NAME.to_owned(), work_name.clone());
    annotations.insert(annotation::WORK_NAMESPACE.to_owned(), work_namespace.clone());
    name_managed(&labels, &mut annotations);
    json::set(&mut object, &["metadata", "labels"], json::from_text_map(&labels));
    json::set(
        &mut object,
        &["metadata", "annotations"],
        json::from_text_map(&annotations),
    );
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        name,
        uid,
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    Work {
        metadata: ObjectMeta {
            name: Some(work_name),
            namespace: Some(work_namespace),
            labels: Some(BTreeMap::from([(label::WORK_ID.to_owned(), id)])),
            annotations: Some(BTreeMap::from([(
                annotation::CONFLICT_RESOLUTION.to_owned(),
                "abort".to_owned(),
            )])),
            finalizers: Some(vec![finalizer::EXECUTION.to_owned()]),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: WorkSpec {
            workload: WorkloadTemplate {
                manifests: vec![Manifest(object)],
            },
            suspend_dispatching: Some(false),
            preserve_resources_on_deletion: Some(false),
        },
        status: None,
    }
}

/// The namespace that a Work carries, if it carries one.
#[must_use]
pub fn carried(work: &Work) -> Option<String> {
    let Manifest(object) = work.spec.workload.manifests.first()?;
    let is_namespace = json::text(object, "/kind") == "Namespace" && json::text(object, "/apiVersion") == "v1";
    let name = object.pointer("/metadata/name").and_then(Value::as_str)?;
    (is_namespace && work.metadata.name.as_deref() == Some(&name_of_work(name))).then(|| name.to_owned())
}
