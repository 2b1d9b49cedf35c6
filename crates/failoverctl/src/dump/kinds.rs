//! What is in a dump.

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
    pub(super) scope: Scope,
    /// At most so many of them; what is beyond is counted.
    pub(super) most: usize,
}

/// Where objects of a kind are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// They have no namespace.
    Cluster,
    /// In all namespaces.
    Everywhere,
    /// In the system namespace and in that of the members' Leases.
    LeaseNamespaces,
    /// Only the one that tells whose control plane it is.
    OnlyClusterApi,
}

impl Kind {
    pub(super) fn api_version(self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    pub(super) fn is_namespaced(self) -> bool {
        matches!(self.scope, Scope::Everywhere | Scope::LeaseNamespaces)
    }
}

const fn kind(
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
    scope: Scope,
) -> Kind {
    Kind {
        group,
        version,
        plural,
        kind,
        scope,
        most: 200_000,
    }
}

/// Never a Secret, and no template.
pub(super) const KINDS: [Kind; 11] = [
    kind("cluster.karmada.io", "v1alpha1", "clusters", "Cluster", Scope::Cluster),
    kind(
        "work.karmada.io",
        "v1alpha2",
        "resourcebindings",
        "ResourceBinding",
        Scope::Everywhere,
    ),
    kind(
        "work.karmada.io",
        "v1alpha2",
        "clusterresourcebindings",
        "ClusterResourceBinding",
        Scope::Cluster,
    ),
    kind(
        "policy.karmada.io",
        "v1alpha1",
        "propagationpolicies",
        "PropagationPolicy",
        Scope::Everywhere,
    ),
    kind(
        "policy.karmada.io",
        "v1alpha1",
        "clusterpropagationpolicies",
        "ClusterPropagationPolicy",
        Scope::Cluster,
    ),
    kind(
        "policy.karmada.io",
        "v1alpha1",
        "clustertaintpolicies",
        "ClusterTaintPolicy",
        Scope::Cluster,
    ),
    kind(
        "failover.karmada.io",
        "v1alpha1",
        "failoverpauses",
        "FailoverPause",
        Scope::Cluster,
    ),
    Kind {
        most: 20_000,
        ..kind(
            "failover.karmada.io",
            "v1alpha1",
            "failoverrecords",
            "FailoverRecord",
            Scope::Everywhere,
        )
    },
    kind("coordination.k8s.io", "v1", "leases", "Lease", Scope::LeaseNamespaces),
    Kind {
        most: 20_000,
        ..kind("", "v1", "events", "Event", Scope::Everywhere)
    },
    kind(
        "apiregistration.k8s.io",
        "v1",
        "apiservices",
        "APIService",
        Scope::OnlyClusterApi,
    ),
];
