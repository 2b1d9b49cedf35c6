//! The Lease of a Pull member: its agent lives, and looks at it.
//!
//! Guarantees: the Lease stands in `karmada-cluster` under the Cluster's name and belongs to the Cluster, so that it goes
//! with it; it is renewed every lease duration × fraction, and only while the member is being looked at: an agent that is
//! stuck must not seem alive. Nothing is renewed for a Cluster that does not exist or is not in Pull mode.

use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::names::namespace;
use clap::Args;
use controller_kit::durations::{format_duration, parse_duration};
use controller_kit::{Context, ObjectKey, Store, api_errors};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use kube::api::{Api, PostParams};
use kube::{Resource, ResourceExt};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

use super::overdue::Overdue;
use super::subject::Subject;

/// The agent's Lease; names and defaults are Karmada's.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct LeaseFlags {
    /// How long the member's Lease is good without a renewal.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_LEASE_DURATION", value_name = "DURATION",
          value_parser = parse_duration, default_value = "40s")]
    pub cluster_lease_duration: Duration,

    /// The part of --cluster-lease-duration after which the member's Lease is renewed, above 0 and below 1.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CLUSTER_LEASE_RENEW_INTERVAL_FRACTION",
        value_name = "FRACTION",
        default_value_t = 0.25
    )]
    pub cluster_lease_renew_interval_fraction: f64,
}

impl Default for LeaseFlags {
    fn default() -> Self {
        Self {
            cluster_lease_duration: Duration::from_secs(40),
            cluster_lease_renew_interval_fraction: 0.25,
        }
    }
}

impl LeaseFlags {
    /// Every mistake, one sentence each.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.cluster_lease_duration < Duration::from_secs(1) {
            problems.push("--cluster-lease-duration must be at least 1s: Leases count in seconds".to_owned());
        }
        let fraction = self.cluster_lease_renew_interval_fraction;
        if !(fraction > 0.0 && fraction < 1.0) {
            problems.push(format!(
                "--cluster-lease-renew-interval-fraction is {fraction}, and must be above 0 and below 1"
            ));
        }
        problems
    }

    pub(super) fn duration(&self) -> Duration {
        self.cluster_lease_duration
    }

    fn renew_every(&self) -> Duration {
        let every = self
            .cluster_lease_duration
            .mul_f64(self.cluster_lease_renew_interval_fraction.clamp(0.0, 1.0));
        every.max(Duration::from_millis(100))
    }
}

/// Why the Lease is not renewed.
#[derive(Debug, thiserror::Error)]
enum NotRenewed {
    #[error("there is no such Cluster; start the agent again to register it")]
    NoCluster,
    #[error("spec.syncMode of the Cluster is not Pull")]
    NotPull,
    #[error("the member has not been looked at for a whole lease duration")]
    NotProbed,
    #[error("{}", api_errors::one_line(.0))]
    ControlPlane(#[from] kube::Error),
}

/// Renews the Lease.
pub(super) struct Keeper {
    ctx: Context,
    cluster: ClusterName,
    clusters: Store<Cluster>,
    duration: Duration,
    every: Duration,
    probes: Arc<Overdue>,
    /// As it was after our last write.
    last: Option<Lease>,
    /// Why it is not renewed, as it was said last.
    trouble: Option<String>,
}

impl Keeper {
    pub fn new(
        ctx: &Context,
        cluster: &ClusterName,
        flags: &LeaseFlags,
        clusters: Store<Cluster>,
        probes: Arc<Overdue>,
    ) -> Self {
        Self {
            ctx: ctx.clone(),
            cluster: cluster.clone(),
            clusters,
            duration: flags.duration(),
            every: flags.renew_every(),
            probes,
            last: None,
            trouble: None,
        }
    }

    pub async fn run(mut self) {
        let shutdown = self.ctx.shutdown.clone();
        let mut next = Instant::now();
        loop {
            let sent = Instant::now();
            // One that takes longer comes too late for its purpose.
            match timeout(self.every, self.renew()).await {
                Ok(Ok(())) => self.relieved(),
                Ok(Err(why)) => self.troubled(why.to_string()),
                Err(_) => self.troubled(format!("no answer within {}", format_duration(self.every))),
            }
            next = (next + self.every).max(sent);
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = sleep_until(next) => {}
            }
        }
    }

    async fn renew(&mut self) -> Result<(), NotRenewed> {
        let cluster = self.subject()?;
        let api: Api<Lease> = Api::namespaced(self.ctx.client.clone(), namespace::CLUSTER);
        // Taken, not kept: after a failure it is read anew.
        let known = match self.last.take() {
            Some(lease) => Some(lease),
            None => api.get_opt(self.cluster.as_str()).await?,
        };
        let renewed = match self.put(&api, &cluster, known).await {
            // Somebody touched it, or took it away: once more from what is there. (For a deleted one the server answers
            // neither 404 nor 409: Leases may be created by an update, and it then minds the version.)
            Err(kube::Error::Api(_)) => {
                let known = api.get_opt(self.cluster.as_str()).await?;
                self.put(&api, &cluster, known).await
            }
            other => other,
        }?;
        self.last = Some(renewed);
        Ok(())
    }

    /// The Cluster, when there is something to say of it.
    fn subject(&self) -> Result<Arc<Cluster>, NotRenewed> {
        let key = ObjectKey::cluster_scoped(self.cluster.as_str());
        let cluster = self.clusters.get(&key).ok_or(NotRenewed::NoCluster)?;
        if !Subject::Own(self.cluster.clone()).includes(&cluster) {
            return Err(NotRenewed::NotPull);
        }
        if self.probes.is_overdue(self.cluster.as_str()) {
            return Err(NotRenewed::NotProbed);
        }
        Ok(cluster)
    }

    /// Said once, not with every renewal that fails.
    fn troubled(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            warn!(cluster = %self.cluster, why, "the member's Lease is not renewed");
            self.trouble = Some(why);
        }
    }

    fn relieved(&mut self) {
        if self.trouble.take().is_some() {
            info!(cluster = %self.cluster, "the member's Lease is renewed again");
        }
    }

    async fn put(&self, api: &Api<Lease>, cluster: &Cluster, known: Option<Lease>) -> Result<Lease, kube::Error> {
        let exists = known.is_some();
        let renewal = self.renewal(cluster, known);
        if exists {
            api.replace(self.cluster.as_str(), &PostParams::default(), &renewal)
                .await
        } else {
            api.create(&PostParams::default(), &renewal).await
        }
    }

    fn renewal(&self, cluster: &Cluster, before: Option<Lease>) -> Lease {
        let now = MicroTime(self.ctx.clock.now());
        let mut lease = before.unwrap_or_else(|| Lease {
            metadata: ObjectMeta {
                name: Some(self.cluster.to_string()),
                namespace: Some(namespace::CLUSTER.to_owned()),
                ..ObjectMeta::default()
            },
            ..Lease::default()
        });
        lease.metadata.managed_fields = None;
        lease.metadata.owner_references = Some(vec![OwnerReference {
            api_version: Cluster::api_version(&()).into_owned(),
            kind: Cluster::kind(&()).into_owned(),
            name: cluster.name_any(),
            uid: cluster.metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        }]);
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        let identity = self.ctx.identity.to_string();
        if spec.holder_identity.as_deref() != Some(identity.as_str()) {
            spec.lease_transitions = Some(
                spec.lease_transitions
                    .map_or(0, |transitions| transitions.saturating_add(1)),
            );
            spec.acquire_time = Some(now.clone());
            spec.holder_identity = Some(identity);
        }
        spec.lease_duration_seconds = i32::try_from(self.duration.as_secs().max(1)).ok();
        spec.renew_time = Some(now);
        lease
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        lease: LeaseFlags,
    }

    #[test]
    fn defaults_are_karmadas_and_mistakes_are_named() {
        let parsed = Cli::parse_from(["x"]).lease;
        assert_eq!(format!("{parsed:?}"), format!("{:?}", LeaseFlags::default()));
        assert_eq!(parsed.problems(), [""; 0]);
        assert_eq!(parsed.renew_every(), Duration::from_secs(10));
        for fraction in ["0", "1", "-0.5", "NaN", "inf"] {
            let argument = format!("--cluster-lease-renew-interval-fraction={fraction}");
            let wrong = Cli::parse_from(["x", &argument, "--cluster-lease-duration=500ms"]).lease;
            assert_eq!(wrong.problems().len(), 2, "{fraction}: {:?}", wrong.problems());
        }
    }
}
