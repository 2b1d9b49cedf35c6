//! What is known of the control plane beside the object that is looked at: clusters, taint policies, who opted in, and
//! the gate. Only parts are kept.
//!
//! Guarantees: before everything has synced nothing is known, and rules that need it are left out; a look costs no more than
//! one copy of the parts a second.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api_types::cluster::{Cluster, ClusterStatus};
use api_types::policy::{Policy, PolicyKind};
use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::leader::{lease_name, said};
use controller_kit::{Clock, Context, Gate, RequiredKind, Scope, Store};
use failover_core::lint::{Known, opted_in};
use failover_core::taint_policy::FailoverGate;
use k8s_openapi::api::coordination::v1::Lease;
use parking_lot::Mutex;
use tokio::time::Instant;

/// How old a copy may be.
const FRESH: Duration = Duration::from_secs(1);
/// The controller whose gate decides whether taints that move workloads are added.
const OF_TAINT_POLICIES: &str = "clusterTaintPolicy";

/// What rules look at of a Cluster.
struct Part(Cluster);

/// Whether a policy has `failover.cluster`.
struct OptedIn(bool);

struct Stores {
    clusters: Store<Part>,
    taint_policies: Store<ClusterTaintPolicy>,
    propagation: [Store<OptedIn>; 2],
    leases: Store<Lease>,
}

/// The fleet, as far as it is known. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Fleet {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    stores: OnceLock<Stores>,
    latest: Mutex<Option<(Instant, Arc<Picture>)>>,
}

/// What was known at a time.
#[derive(Default)]
pub(crate) struct Picture {
    clusters: Option<Vec<Cluster>>,
    taint_policies: Vec<ClusterTaintPolicy>,
    somebody_opted_in: Option<bool>,
    gate: Option<FailoverGate>,
}

impl Picture {
    /// As the rules take it.
    pub fn known(&self, clock: &Clock) -> Known<'_> {
        Known {
            clusters: self.clusters.as_deref(),
            taint_policies: &self.taint_policies,
            somebody_opted_in: self.somebody_opted_in,
            gate: self.gate,
            now: Some(clock.now()),
            ..Known::default()
        }
    }
}

impl Fleet {
    /// One of which nothing is known yet.
    pub fn new(clock: &Clock) -> Self {
        Self {
            inner: Arc::new(Inner {
                clock: clock.clone(),
                stores: OnceLock::new(),
                latest: Mutex::default(),
            }),
        }
    }

    /// Learns of the fleet, and goes on following it.
    ///
    /// # Errors
    /// When our kinds are not installed, or it is to stop meanwhile.
    pub async fn follow(&self, ctx: &Context) -> anyhow::Result<()> {
        ctx.require_kinds(&[
            RequiredKind::of::<Cluster>(),
            RequiredKind::of::<ClusterTaintPolicy>(),
            RequiredKind::with::<Policy>(&PolicyKind::Namespaced),
            RequiredKind::with::<Policy>(&PolicyKind::Cluster),
        ])
        .await?;
        let clusters = ctx.informers.keeping(Scope::all(), &(), Part::of);
        let taint_policies = ctx.informers.of::<ClusterTaintPolicy>();
        let keep = |policy: Policy| OptedIn(opted_in(&policy));
        let namespaced = ctx.informers.keeping(Scope::all(), &PolicyKind::Namespaced, keep);
        let cluster_wide = ctx.informers.keeping(Scope::all(), &PolicyKind::Cluster, keep);
        let scope = Scope::namespace(ctx.system_namespace.to_string())
            .fields(format!("metadata.name={}", lease_name(OF_TAINT_POLICIES)));
        let leases = ctx.informers.get::<Lease>(scope, &());
        let stores = Stores {
            clusters: clusters.synced().await?,
            taint_policies: taint_policies.synced().await?,
            propagation: [namespaced.synced().await?, cluster_wide.synced().await?],
            leases: leases.synced().await?,
        };
        // Nobody else sets it.
        let _ = self.inner.stores.set(stores);
        std::future::pending().await
    }

    /// What is known now.
    pub fn picture(&self) -> Arc<Picture> {
        let Some(stores) = self.inner.stores.get() else {
            return Arc::default();
        };
        let mut latest = self.inner.latest.lock();
        match &*latest {
            Some((at, picture)) if at.elapsed() < FRESH => picture.clone(),
            _ => {
                let picture = Arc::new(stores.picture());
                *latest = Some((Instant::now(), picture.clone()));
                picture
            }
        }
    }

    /// The clock that goes with it.
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }
}

impl Part {
    fn of(mut cluster: Cluster) -> Self {
        let metadata = std::mem::take(&mut cluster.metadata);
        cluster.metadata.name = metadata.name;
        cluster.metadata.labels = metadata.labels;
        cluster.spec.resource_models = Vec::new();
        cluster.spec.proxy_header.clear();
        cluster.status = cluster.status.map(|status| ClusterStatus {
            conditions: status.conditions,
            ..ClusterStatus::default()
        });
        Self(cluster)
    }
}

impl Stores {
    fn picture(&self) -> Picture {
        let lists = self.propagation.each_ref().map(Store::list);
        let policies = || lists.iter().flatten();
        let somebody = policies().any(|policy| policy.0);
        let leases = self.leases.list();
        let gates = leases.first().and_then(|lease| said(lease).gates.ok());
        Picture {
            clusters: Some(self.clusters.list().iter().map(|part| part.0.clone()).collect()),
            taint_policies: self
                .taint_policies
                .list()
                .iter()
                .map(|policy| (**policy).clone())
                .collect(),
            somebody_opted_in: policies().next().is_some().then_some(somebody),
            gate: gates.map(|gates| {
                if gates.enabled(Gate::Failover) {
                    FailoverGate::Enabled
                } else {
                    FailoverGate::Disabled
                }
            }),
        }
    }
}
