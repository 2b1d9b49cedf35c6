//! How a member joins: its agent makes the Cluster object when there is none.
//!
//! Guarantees: a Cluster that exists is never changed; one that is not in Pull mode, or that belongs to another member by
//! its `spec.id`, ends the agent with a sentence that says so. What happens after the start is for people: a Cluster
//! that is deleted is not made anew until the agent is started again.

use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::{Cluster, ClusterSpec, ClusterSyncMode};
use cluster_health_controller::report_on_own;
use controller_kit::backoff::Backoff;
use controller_kit::random::Random;
use controller_kit::{Context, MemberError, MemberTarget, RequiredKind, api_errors};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::flags::Flags;

/// The namespace whose UID identifies a member, whatever it is called.
const IDENTIFYING_NAMESPACE: &str = "kube-system";
/// How long the member may take to say who it is.
const MEMBER_LIMIT: Duration = Duration::from_secs(10);
const TRY_AGAIN: Backoff = Backoff {
    base: Duration::from_millis(500),
    max: Duration::from_secs(15),
};

/// Why the agent cannot be this member's.
#[derive(Debug, thiserror::Error)]
enum RegistrationError {
    #[error(
        "Cluster {0} is in Push mode: the control plane works on that member itself; choose another --cluster-name, or set \
         its spec.syncMode to Pull"
    )]
    PushMode(ClusterName),
    #[error(
        "Cluster {cluster} belongs to another member: its spec.id is {theirs}, this member's {IDENTIFYING_NAMESPACE} namespace \
         has UID {ours}; choose another --cluster-name, or delete that Cluster if its member is gone"
    )]
    AnotherMember {
        cluster: ClusterName,
        theirs: String,
        ours: String,
    },
    #[error(transparent)]
    Member(#[from] MemberError),
}

/// Registers the member, and reports on it until shutdown.
pub(crate) async fn report(ctx: Context, flags: Flags) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>()]).await?;
    let cluster = flags.cluster();
    tokio::select! {
        biased;
        () = ctx.shutdown.cancelled() => return Ok(()),
        registered = register(&ctx, &flags) => registered?,
    }
    report_on_own(ctx, cluster, flags.status, flags.lease).await
}

/// Returns when there is a Cluster that is this member's.
async fn register(ctx: &Context, flags: &Flags) -> Result<(), RegistrationError> {
    let cluster = flags.cluster();
    let mut target = MemberTarget::new(cluster.as_str(), "");
    target.request_timeout = MEMBER_LIMIT;
    let member = ctx.members.connect(&target)?;
    let api = Api::<Cluster>::all(ctx.client.clone());
    let mut random = Random::from_text(&[&ctx.identity, "registration"]);
    let mut failures = 0;
    loop {
        match api.get_opt(cluster.as_str()).await {
            Ok(Some(existing)) => return accept(&existing, &member).await,
            Ok(None) => match identity(&member).await {
                Ok(id) => match api.create(&PostParams::default(), &wanted(flags, &cluster, id)).await {
                    Ok(_) => {
                        info!(%cluster, "registered");
                        return Ok(());
                    }
                    // Somebody was faster: what they made is looked at.
                    Err(error) if api_errors::is_already_exists(&error) => continue,
                    Err(error) => warn!(%cluster, error = api_errors::with_advice(&error), "not registered yet"),
                },
                Err(why) => warn!(%cluster, why, "not registered yet: the member does not say who it is"),
            },
            Err(error) => warn!(%cluster, error = api_errors::with_advice(&error), "the Cluster cannot be read yet"),
        }
        failures += 1;
        sleep(TRY_AGAIN.delay(failures, &mut random)).await;
    }
}

/// Whether a Cluster that exists is this member's. A member that does not answer is reported on all the same: that is
/// what an agent is for.
async fn accept(existing: &Cluster, member: &Client) -> Result<(), RegistrationError> {
    let cluster = existing.cluster_name();
    if existing.spec.sync_mode != ClusterSyncMode::Pull {
        return Err(RegistrationError::PushMode(cluster));
    }
    let Some(theirs) = existing.spec.id.clone().filter(|id| !id.is_empty()) else {
        return Ok(());
    };
    match identity(member).await {
        Ok(ours) if ours != theirs => Err(RegistrationError::AnotherMember { cluster, theirs, ours }),
        Ok(_) => Ok(()),
        Err(why) => {
            warn!(%cluster, why, "the member does not say who it is; taken for the one that the Cluster means");
            Ok(())
        }
    }
}

/// The UID of the member's `kube-system`, as stock identifies a member.
async fn identity(member: &Client) -> Result<String, String> {
    let namespaces = Api::<Namespace>::all(member.clone());
    match timeout(MEMBER_LIMIT, namespaces.get(IDENTIFYING_NAMESPACE)).await {
        Ok(Ok(namespace)) => namespace
            .uid()
            .ok_or_else(|| format!("namespace {IDENTIFYING_NAMESPACE} has no UID")),
        Ok(Err(error)) => Err(api_errors::one_line(&error)),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

fn wanted(flags: &Flags, cluster: &ClusterName, id: String) -> Cluster {
    let spec = ClusterSpec {
        id: Some(id),
        sync_mode: ClusterSyncMode::Pull,
        api_endpoint: flags.cluster_api_endpoint.clone(),
        secret_ref: None,
        impersonator_secret_ref: None,
        insecure_skip_tls_verification: None,
        proxy_url: flags.proxy_server_address.clone(),
        proxy_header: std::collections::BTreeMap::new(),
        provider: flags.cluster_provider.clone(),
        region: flags.cluster_region.clone(),
        zone: None,
        zones: flags.cluster_zones.clone(),
        taints: Vec::new(),
        taints_of_annotation: 0,
        resource_models: Vec::new(),
    };
    Cluster::new(cluster.as_str(), spec)
}
