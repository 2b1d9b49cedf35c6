//! Those who report, played by the test: agents and a push reporter that renew their Leases, or fall silent.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use cluster_health_controller::{Flags, controllers};
use controller_kit::{KitFlags, MemberError, MemberTarget, Process, Running};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::Bench;

/// Somebody with a Lease.
pub struct Reporter {
    namespace: &'static str,
    lease: String,
    every: u64,
    /// The second of its first renewal.
    phase: u64,
    /// It renews while this is so.
    pub alive: bool,
    /// How far its clock is from ours.
    pub clock_is_off_by: SignedDuration,
    /// What it says on its Lease.
    pub annotations: Value,
}

impl Reporter {
    /// An agent: renews every 10 s.
    pub fn agent(cluster: &str, phase: u64) -> Self {
        Self {
            namespace: "karmada-cluster",
            lease: cluster.to_owned(),
            every: 10,
            phase,
            alive: true,
            clock_is_off_by: SignedDuration::ZERO,
            annotations: json!({}),
        }
    }

    /// The push reporter: renews every 5 s.
    pub fn push(phase: u64) -> Self {
        Self {
            namespace: "karmada-system",
            lease: "cluster-status".to_owned(),
            every: 5,
            ..Self::agent("", phase)
        }
    }

    /// Any other controller: renews every 5 s.
    pub fn controller(lease: &str, annotations: Value) -> Self {
        Self {
            lease: lease.to_owned(),
            annotations,
            ..Self::push(1)
        }
    }

    pub fn renew(&self, bench: &Bench) {
        let time = bench.clock.now() + self.clock_is_off_by;
        bench.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": self.lease, "namespace": self.namespace, "annotations": self.annotations},
            "spec": {"holderIdentity": format!("{}-0", self.lease), "renewTime": format!("{time:.6}"), "leaseDurationSeconds": 15}
        }));
    }
}

/// Lets time pass to `second` since the start (and a millisecond more), while those who live renew their Leases.
pub async fn pass(bench: &Bench, second: u64, reporters: &[Reporter]) {
    loop {
        let now = u64::try_from(bench.clock_seconds()).unwrap();
        let next = reporters
            .iter()
            .filter(|reporter| reporter.alive)
            .map(|reporter| next_after(now, reporter))
            .min()
            .filter(|next| *next <= second);
        let Some(next) = next else { break };
        bench.until(next).await;
        for reporter in reporters
            .iter()
            .filter(|reporter| reporter.alive && is_due(next, reporter))
        {
            reporter.renew(bench);
        }
    }
    bench.until(second).await;
}

fn is_due(second: u64, reporter: &Reporter) -> bool {
    second >= reporter.phase && (second - reporter.phase).is_multiple_of(reporter.every)
}

fn next_after(now: u64, reporter: &Reporter) -> u64 {
    (now + 1..).find(|second| is_due(*second, reporter)).unwrap()
}

impl Bench {
    fn clock_seconds(&self) -> i64 {
        self.clock.now().duration_since(self.started).as_secs()
    }

    /// A Pull cluster.
    pub fn put_pull_cluster(&self, name: &str) {
        self.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Pull"}}),
        );
    }

    /// What an agent or the push reporter writes.
    pub async fn report(&self, name: &str, status: &str, reason: &str) {
        let mut conditions =
            serde_json::to_value(self.cluster(name).await.status.unwrap_or_default().conditions).unwrap();
        let all = conditions.as_array_mut().unwrap();
        all.retain(|condition| condition["type"] != "Ready");
        let time = Timestamp::from_second(self.clock.now().as_second()).unwrap();
        all.push(json!({"type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": time.to_string()}));
        let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
        Api::<Cluster>::all(self.plane().observer())
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// The controller `cluster` alone, with these flags.
    pub async fn monitor_with(&self, identity: &str, change: impl FnOnce(&mut Flags)) -> Running {
        let mut flags = Flags::default();
        change(&mut flags);
        let nobody = |target: &MemberTarget| {
            Err(MemberError::Unknown {
                cluster: target.name.clone(),
                endpoint: target.api_endpoint.clone(),
            })
        };
        Process::builder("cluster-health-controller", self.plane().client_named("health"))
            .clock(self.clock.clone())
            .identity(identity)
            .flags(KitFlags::default().with_controllers("cluster"))
            .members(Arc::new(nobody))
            .controllers(controllers(flags))
            .start()
            .await
            .unwrap()
    }

    pub async fn monitor(&self, identity: &str) -> Running {
        self.monitor_with(identity, |_| {}).await
    }

    /// A monitor on a fleet of Pull clusters, each reported Ready, after a quarter of a minute of good renewals.
    pub async fn watched(names: &[&str]) -> (Self, Running, Vec<Reporter>) {
        let bench = Self::new(&[]);
        let mut agents = Vec::new();
        for (phase, name) in names.iter().enumerate() {
            bench.put_pull_cluster(name);
            agents.push(Reporter::agent(name, 1 + phase as u64 * 2));
        }
        let process = bench.monitor("monitor-0").await;
        bench.until(1).await;
        for name in names {
            bench.report(name, "True", "ClusterReady").await;
        }
        pass(&bench, 20, &agents).await;
        (bench, process, agents)
    }

    /// Status and message of a condition; empty when there is none.
    pub async fn said(&self, name: &str, type_: &str) -> (String, String) {
        let cluster = self.cluster(name).await;
        cluster
            .condition(type_)
            .map(|condition| (condition.status.clone(), condition.message.clone()))
            .unwrap_or_default()
    }

    /// Seconds since the start at which the controllers wrote into the status of a Cluster.
    pub fn status_writes(&self, name: &str) -> Vec<i64> {
        let writes = self.plane().faults().writes().into_iter().filter(|write| {
            write.client == "health"
                && write.changed
                && write.subresource.as_deref() == Some("status")
                && write.name.as_deref() == Some(name)
        });
        writes
            .map(|write| write.at.duration_since(self.started).as_secs())
            .collect()
    }

    /// Reasons and notes of the events about a Lease of the system namespace.
    pub async fn lease_events(&self, lease: &str) -> Vec<(String, String)> {
        let all = Api::<Event>::namespaced(self.plane().observer(), "karmada-system")
            .list(&ListParams::default())
            .await
            .unwrap();
        all.items
            .into_iter()
            .filter(|event| event.involved_object.name.as_deref() == Some(lease))
            .map(|event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default()))
            .collect()
    }

    /// An annotation of a person on a Lease of the system namespace.
    pub async fn annotate_lease(&self, lease: &str, annotation: &str, value: &str) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {annotation: value}}}));
        Api::<k8s_openapi::api::coordination::v1::Lease>::namespaced(self.plane().observer(), "karmada-system")
            .patch(lease, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    pub fn at(&self, second: u64) -> Timestamp {
        self.started + Duration::from_secs(second)
    }
}
