//! Which members a process works on: the control plane on the Push members, an agent on the one that it lives in.
//!
//! Guarantee: an agent asks the control plane for its own Cluster and its own execution namespace, and for nothing else.

use api_types::ClusterName;
use api_types::cluster::{Cluster, ClusterSyncMode};
use api_types::names::execution_namespace;
use api_types::work::Work;
use controller_kit::{Context, Informer, MemberTarget, Scope};

/// Which members a process works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every Push member, over its API endpoint. Pull members are worked on by their agents alone.
    PushMembers,
    /// This Pull member, from within.
    Own(ClusterName),
}

impl Reach {
    /// The Clusters that have to be known for it.
    #[must_use]
    pub fn clusters(&self, ctx: &Context) -> Informer<Cluster> {
        match self {
            Self::PushMembers => ctx.informers.of::<Cluster>(),
            Self::Own(name) => ctx
                .informers
                .get::<Cluster>(Scope::all().fields(format!("metadata.name={name}")), &()),
        }
    }

    /// The Works that have to be known for it, with the indexes of all Works.
    #[must_use]
    pub fn works(&self, ctx: &Context) -> Informer<Work> {
        match self {
            Self::PushMembers => crate::binding::index::works(ctx),
            Self::Own(name) => {
                let works = ctx
                    .informers
                    .get::<Work>(Scope::namespace(execution_namespace(name)), &());
                crate::binding::index::index_works(&works);
                works
            }
        }
    }

    /// Whether the Cluster is worked on.
    #[must_use]
    pub fn includes(&self, cluster: &Cluster) -> bool {
        match self {
            Self::PushMembers => cluster.spec.sync_mode == ClusterSyncMode::Push,
            Self::Own(name) => cluster.spec.sync_mode == ClusterSyncMode::Pull && cluster.cluster_name() == *name,
        }
    }

    /// The connection of an agent to its own member, which needs neither address nor credentials of the Cluster.
    #[must_use]
    pub fn own_target(&self, cluster: &Cluster) -> Option<MemberTarget> {
        match self {
            Self::PushMembers => None,
            Self::Own(name) => Some(MemberTarget::new(
                name.as_str(),
                cluster.spec.api_endpoint.clone().unwrap_or_default(),
            )),
        }
    }
}
