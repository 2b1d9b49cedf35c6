//! The kinds that are propagated, as data: discovery at run time can take the place of the table.

use api_types::BindingKey;
use api_types::names::binding_name;
use kube::core::ApiResource;
use kube::core::GroupVersionKind;
use serde_json::Value;

use crate::json;

/// Where objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KindScope {
    /// In a namespace; their bindings are ResourceBindings.
    Namespaced,
    /// In no namespace; their bindings are ClusterResourceBindings.
    Cluster,
}

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// API version within the group.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Plural name, as in URLs.
    pub plural: &'static str,
    /// Where its objects live.
    pub scope: KindScope,
}

const fn namespaced(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        group,
        version,
        kind,
        plural,
        scope: KindScope::Namespaced,
    }
}

/// Kinds whose objects policies may select.
pub const TEMPLATES: [Kind; 6] = [
    namespaced("apps", "v1", "Deployment", "deployments"),
    namespaced("apps", "v1", "StatefulSet", "statefulsets"),
    namespaced("batch", "v1", "Job", "jobs"),
    namespaced("", "v1", "ConfigMap", "configmaps"),
    namespaced("", "v1", "Secret", "secrets"),
    namespaced("", "v1", "Service", "services"),
];

/// Namespaces go to the members by themselves, without a policy.
pub const NAMESPACE: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Namespace",
    plural: "namespaces",
    scope: KindScope::Cluster,
};

impl Kind {
    /// `group/version`, or `version` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// What a client needs to build requests.
    #[must_use]
    pub fn api_resource(&self) -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(self.group, self.version, self.kind), self.plural)
    }

    /// The binding of an object of this kind.
    #[must_use]
    pub fn binding_of(&self, namespace: Option<&str>, name: &str) -> BindingKey {
        let name = binding_name(self.kind, name);
        match (self.scope, namespace) {
            (KindScope::Namespaced, Some(namespace)) => BindingKey::namespaced(namespace, name),
            _ => BindingKey::cluster(name),
        }
    }
}

/// The kind of `apiVersion` and `kind`, if it is one that we carry to members.
#[must_use]
pub fn find(api_version: &str, kind: &str) -> Option<Kind> {
    TEMPLATES
        .into_iter()
        .chain([NAMESPACE])
        .find(|known| known.kind == kind && known.api_version() == api_version)
}

/// The kind of a manifest, if it is one that we carry to members.
#[must_use]
pub fn of_manifest(manifest: &Value) -> Option<Kind> {
    find(json::text(manifest, "/apiVersion"), json::text(manifest, "/kind"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_version_and_name() {
        assert_eq!(find("apps/v1", "Deployment").unwrap().plural, "deployments");
        assert_eq!(find("v1", "Namespace").unwrap().scope, KindScope::Cluster);
        assert!(find("apps/v1beta1", "Deployment").is_none());
        assert_eq!(find("v1", "Secret").unwrap().api_resource().api_version, "v1");
        assert_eq!(
            find("batch/v1", "Job")
                .unwrap()
                .binding_of(Some("a"), "Sum")
                .to_string(),
            "a/sum-job"
        );
    }
}
