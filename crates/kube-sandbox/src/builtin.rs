//! The built-in kinds that every sandbox serves.

use std::sync::Arc;

use crate::registry::{ALL_VERBS, Origin, Registry, ResourceDef, ScalePaths};

struct BuiltIn {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    traits: &'static [Trait],
}

#[derive(PartialEq, Eq)]
enum Trait {
    Namespaced,
    Status,
    Scale,
    /// Questions answered at once: created, never stored.
    CreateOnly,
}

use Trait::{CreateOnly, Namespaced, Scale, Status};

macro_rules! builtin {
    ($group:literal, $version:literal, $plural:literal, $singular:literal, $kind:literal, $short:expr, $cat:expr, $traits:expr) => {
        BuiltIn {
            group: $group,
            version: $version,
            plural: $plural,
            singular: $singular,
            kind: $kind,
            short: $short,
            categories: $cat,
            traits: $traits,
        }
    };
}

const ALL: &[&str] = &["all"];

const KINDS: &[BuiltIn] = &[
    builtin!(
        "",
        "v1",
        "configmaps",
        "configmap",
        "ConfigMap",
        &["cm"],
        &[],
        &[Namespaced]
    ),
    builtin!(
        "",
        "v1",
        "endpoints",
        "endpoints",
        "Endpoints",
        &["ep"],
        &[],
        &[Namespaced]
    ),
    builtin!("", "v1", "events", "event", "Event", &["ev"], &[], &[Namespaced]),
    builtin!(
        "",
        "v1",
        "namespaces",
        "namespace",
        "Namespace",
        &["ns"],
        &[],
        &[Status]
    ),
    builtin!("", "v1", "nodes", "node", "Node", &["no"], &[], &[Status]),
    builtin!(
        "",
        "v1",
        "persistentvolumeclaims",
        "persistentvolumeclaim",
        "PersistentVolumeClaim",
        &["pvc"],
        &[],
        &[Namespaced, Status]
    ),
    builtin!("", "v1", "pods", "pod", "Pod", &["po"], ALL, &[Namespaced, Status]),
    builtin!("", "v1", "secrets", "secret", "Secret", &[], &[], &[Namespaced]),
    builtin!(
        "",
        "v1",
        "serviceaccounts",
        "serviceaccount",
        "ServiceAccount",
        &["sa"],
        &[],
        &[Namespaced]
    ),
    builtin!(
        "",
        "v1",
        "services",
        "service",
        "Service",
        &["svc"],
        ALL,
        &[Namespaced, Status]
    ),
    builtin!(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "customresourcedefinition",
        "CustomResourceDefinition",
        &["crd", "crds"],
        &["api-extensions"],
        &[Status]
    ),
    builtin!(
        "apps",
        "v1",
        "daemonsets",
        "daemonset",
        "DaemonSet",
        &["ds"],
        ALL,
        &[Namespaced, Status]
    ),
    builtin!(
        "apps",
        "v1",
        "deployments",
        "deployment",
        "Deployment",
        &["deploy"],
        ALL,
        &[Namespaced, Status, Scale]
    ),
    builtin!(
        "apps",
        "v1",
        "replicasets",
        "replicaset",
        "ReplicaSet",
        &["rs"],
        ALL,
        &[Namespaced, Status, Scale]
    ),
    builtin!(
        "apps",
        "v1",
        "statefulsets",
        "statefulset",
        "StatefulSet",
        &["sts"],
        ALL,
        &[Namespaced, Status, Scale]
    ),
    builtin!(
        "authentication.k8s.io",
        "v1",
        "selfsubjectreviews",
        "selfsubjectreview",
        "SelfSubjectReview",
        &[],
        &[],
        &[CreateOnly]
    ),
    builtin!(
        "authentication.k8s.io",
        "v1",
        "tokenreviews",
        "tokenreview",
        "TokenReview",
        &[],
        &[],
        &[CreateOnly]
    ),
    builtin!(
        "authorization.k8s.io",
        "v1",
        "selfsubjectaccessreviews",
        "selfsubjectaccessreview",
        "SelfSubjectAccessReview",
        &[],
        &[],
        &[CreateOnly]
    ),
    builtin!(
        "authorization.k8s.io",
        "v1",
        "subjectaccessreviews",
        "subjectaccessreview",
        "SubjectAccessReview",
        &[],
        &[],
        &[CreateOnly]
    ),
    builtin!(
        "batch",
        "v1",
        "cronjobs",
        "cronjob",
        "CronJob",
        &["cj"],
        ALL,
        &[Namespaced, Status]
    ),
    builtin!("batch", "v1", "jobs", "job", "Job", &[], ALL, &[Namespaced, Status]),
    builtin!(
        "coordination.k8s.io",
        "v1",
        "leases",
        "lease",
        "Lease",
        &[],
        &[],
        &[Namespaced]
    ),
    builtin!(
        "events.k8s.io",
        "v1",
        "events",
        "event",
        "Event",
        &["ev"],
        &[],
        &[Namespaced]
    ),
    builtin!(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "poddisruptionbudget",
        "PodDisruptionBudget",
        &["pdb"],
        &[],
        &[Namespaced, Status]
    ),
    builtin!(
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "priorityclass",
        "PriorityClass",
        &["pc"],
        &[],
        &[]
    ),
    builtin!(
        "rbac.authorization.k8s.io",
        "v1",
        "clusterrolebindings",
        "clusterrolebinding",
        "ClusterRoleBinding",
        &[],
        &[],
        &[]
    ),
    builtin!(
        "rbac.authorization.k8s.io",
        "v1",
        "clusterroles",
        "clusterrole",
        "ClusterRole",
        &[],
        &[],
        &[]
    ),
    builtin!(
        "rbac.authorization.k8s.io",
        "v1",
        "rolebindings",
        "rolebinding",
        "RoleBinding",
        &[],
        &[],
        &[Namespaced]
    ),
    builtin!(
        "rbac.authorization.k8s.io",
        "v1",
        "roles",
        "role",
        "Role",
        &[],
        &[],
        &[Namespaced]
    ),
];

/// Adds all built-in kinds.
pub(crate) fn register(registry: &mut Registry) {
    for b in KINDS {
        let has = |t: Trait| b.traits.contains(&t);
        let api_version = if b.group.is_empty() {
            b.version.to_owned()
        } else {
            format!("{}/{}", b.group, b.version)
        };
        // Events of both groups are one table, stored in the core form.
        let (storage, storage_api_version) = if b.kind == "Event" {
            ("/events".to_owned(), "v1".to_owned())
        } else {
            (format!("{}/{}", b.group, b.plural), api_version)
        };
        registry.add(ResourceDef {
            group: b.group.into(),
            version: b.version.into(),
            plural: b.plural.into(),
            singular: b.singular.into(),
            kind: b.kind.into(),
            list_kind: format!("{}List", b.kind),
            short_names: b.short.iter().map(ToString::to_string).collect(),
            categories: b.categories.iter().map(ToString::to_string).collect(),
            namespaced: has(Namespaced),
            status_subresource: has(Status),
            scale: has(Scale).then(|| ScalePaths {
                spec_replicas: ".spec.replicas".into(),
                status_replicas: ".status.replicas".into(),
                label_selector: None,
            }),
            storage_api_version,
            storage: Arc::from(storage),
            origin: Origin::BuiltIn,
            schema: None,
            columns: Vec::new(),
            selectable: selectable(b.kind),
            verbs: if has(CreateOnly) { &["create"] } else { ALL_VERBS },
        });
    }
}

/// The field selectors that the real server knows for the kind, besides name and namespace.
fn selectable(kind: &str) -> Vec<String> {
    let fields: &[&str] = match kind {
        "Event" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        "Pod" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "Node" => &["spec.unschedulable"],
        "Namespace" => &["status.phase"],
        "Secret" => &["type"],
        "Service" => &["spec.clusterIP", "spec.type"],
        "ReplicaSet" => &["status.replicas"],
        "Job" => &["status.successful"],
        _ => &[],
    };
    fields.iter().map(|f| format!(".{f}")).collect()
}
