//! Kinds that every cluster has, known without asking.

use serde_json::Value;

use super::{Kind, KindScope};
use crate::json;

/// The kinds that most fleets propagate.
#[must_use]
pub fn templates() -> [Kind; 6] {
    let namespaced = |group, version, kind, plural| Kind::new(group, version, kind, plural, KindScope::Namespaced);
    [
        namespaced("apps", "v1", "Deployment", "deployments"),
        namespaced("apps", "v1", "StatefulSet", "statefulsets"),
        namespaced("batch", "v1", "Job", "jobs"),
        namespaced("", "v1", "ConfigMap", "configmaps"),
        namespaced("", "v1", "Secret", "secrets"),
        namespaced("", "v1", "Service", "services"),
    ]
}

/// Namespaces go to the members by themselves, without a policy.
#[must_use]
pub fn namespace() -> Kind {
    Kind::new("", "v1", "Namespace", "namespaces", KindScope::Cluster)
}

/// The kind of `apiVersion` and `kind`, if it is one of these.
#[must_use]
pub fn find(api_version: &str, kind: &str) -> Option<Kind> {
    templates()
        .into_iter()
        .chain([namespace()])
        .find(|known| known.kind() == kind && known.api_version() == api_version)
}

/// The kind of a manifest, if it is one of these.
#[must_use]
pub fn of_manifest(manifest: &Value) -> Option<Kind> {
    find(json::text(manifest, "/apiVersion"), json::text(manifest, "/kind"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_version_and_name() {
        assert_eq!(find("apps/v1", "Deployment").unwrap().plural(), "deployments");
        assert_eq!(find("v1", "Namespace").unwrap().scope(), KindScope::Cluster);
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
