//! On whom a process reports: the control plane on all Push members, an agent on the one that it lives in.

use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::{Cluster, ClusterSyncMode};
use controller_kit::{Context, Informer, MemberTarget, Scope};

use super::credentials::{Named, NoTarget, target};
use super::probe::Credentials;

/// On whom a process reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// On every Push member. Pull members are reported on by their agents.
    PushMembers,
    /// On this Pull member, by its own agent. Nothing else of the control plane's Clusters is read.
    Own(ClusterName),
}

impl Subject {
    /// The Clusters that have to be known for it.
    pub fn clusters(&self, ctx: &Context) -> Informer<Cluster> {
        match self {
            Self::PushMembers => ctx.informers.of::<Cluster>(),
            Self::Own(name) => ctx
                .informers
                .get::<Cluster>(Scope::all().fields(format!("metadata.name={name}")), &()),
        }
    }

    /// Whether the Cluster is reported on. One that is being deleted still is: whether it answers decides how its
    /// deletion ends.
    pub fn includes(&self, cluster: &Cluster) -> bool {
        match self {
            Self::PushMembers => cluster.spec.sync_mode == ClusterSyncMode::Push,
            Self::Own(name) => cluster.spec.sync_mode == ClusterSyncMode::Pull && cluster.cluster_name() == *name,
        }
    }

    /// What is needed to talk to the member.
    pub(super) async fn target(
        &self,
        ctx: &Context,
        cluster: &Cluster,
        named: &mut Named,
        patience: Duration,
    ) -> Result<MemberTarget, NoTarget> {
        match self {
            Self::PushMembers => target(ctx, cluster, named, patience).await,
            // The agent has a connection of its own, whatever the Cluster says.
            Self::Own(name) => {
                let endpoint = cluster.spec.api_endpoint.clone().unwrap_or_default();
                let mut target = MemberTarget::new(name.as_str(), endpoint);
                target.request_timeout = patience;
                Ok(target)
            }
        }
    }

    /// Whose credentials it is asked with.
    pub(super) fn credentials(&self, cluster: &Cluster) -> Credentials {
        match self {
            Self::PushMembers => Credentials::Secret(
                cluster
                    .spec
                    .secret_ref
                    .as_ref()
                    .map(|r| format!("{}/{}", r.namespace, r.name))
                    .unwrap_or_default(),
            ),
            Self::Own(_) => Credentials::Own,
        }
    }
}
