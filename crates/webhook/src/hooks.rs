//! Which path is asked about what.

use api_types::policy::PolicyKind;
use api_types::work::BindingKind;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Whether a ClusterTaintPolicy is let in.
    TaintPolicy,
    /// Whether a PropagationPolicy or ClusterPropagationPolicy is let in.
    Propagation(PolicyKind),
    /// Whether a FailoverPause is let in.
    Pause,
    /// Whether what a person wrote on a binding can be read.
    Binding(BindingKind),
    /// In which spelling a Cluster's zones are stored.
    Zones,
}

/// Every path with its question: `/validate/PLURAL.GROUP` and `/mutate/PLURAL.GROUP`.
pub const HOOKS: [(&str, Hook); 7] = [
    ("/validate/clustertaintpolicies.policy.karmada.io", Hook::TaintPolicy),
    (
        "/validate/propagationpolicies.policy.karmada.io",
        Hook::Propagation(PolicyKind::Namespaced),
    ),
    (
        "/validate/clusterpropagationpolicies.policy.karmada.io",
        Hook::Propagation(PolicyKind::Cluster),
    ),
    ("/validate/failoverpauses.failover.karmada.io", Hook::Pause),
    (
        "/validate/resourcebindings.work.karmada.io",
        Hook::Binding(BindingKind::Namespaced),
    ),
    (
        "/validate/clusterresourcebindings.work.karmada.io",
        Hook::Binding(BindingKind::Cluster),
    ),
    ("/mutate/clusters.cluster.karmada.io", Hook::Zones),
];

impl Hook {
    /// The question of a path.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        HOOKS.iter().find(|(known, _)| *known == path).map(|(_, hook)| *hook)
    }

    /// What it is about, as `PLURAL.GROUP`.
    #[must_use]
    pub fn resource(self) -> &'static str {
        let path = HOOKS
            .iter()
            .find(|(_, hook)| *hook == self)
            .map_or("", |(path, _)| *path);
        path.rsplit('/').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_a_question_of_its_own() {
        for (path, hook) in HOOKS {
            assert_eq!(Hook::at(path), Some(hook));
            assert!(path.ends_with(&format!("/{}", hook.resource())));
        }
        assert_eq!(Hook::at("/validate/pods"), None);
        assert_eq!(Hook::at("/"), None);
    }
}
