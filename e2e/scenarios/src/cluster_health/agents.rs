//! Agents of Pull clusters, played by the story: each renews its member's Lease until it falls silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use api_types::cluster::Cluster;
use api_types::names::namespace;
use controller_kit::Clock;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use karmada_failover::story::objects;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::clusters;
use crate::telling::say;

/// How often an agent renews its Lease.
const RENEWED_EVERY: Duration = Duration::from_secs(1);
/// How long a renewal may take; the next one is tried after that.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

/// The agents of some Pull clusters.
pub struct Agents {
    alive: Vec<(String, Arc<AtomicBool>)>,
    /// Dropped with the story.
    _renewals: JoinSet<()>,
}

impl Agents {
    /// Joins Pull clusters of these names, each reported Ready, and keeps their Leases renewed.
    pub async fn join(client: &Client, names: &[&str]) -> anyhow::Result<Self> {
        let mut alive = Vec::new();
        let mut renewals = JoinSet::new();
        for name in names {
            objects::create(client, cluster(name)).await?;
            renew(client, name).await.with_context(|| format!("Lease of {name}"))?;
            let ready = Patch::Merge(json!({"status": {"conditions": [ready()]}}));
            Api::<Cluster>::all(client.clone())
                .patch_status(name, &PatchParams::default(), &ready)
                .await?;
            let lives = Arc::new(AtomicBool::new(true));
            alive.push(((*name).to_owned(), lives.clone()));
            let (client, name) = (client.clone(), (*name).to_owned());
            renewals.spawn(async move {
                loop {
                    tokio::time::sleep(RENEWED_EVERY).await;
                    if !lives.load(Ordering::Relaxed) {
                        continue;
                    }
                    // A renewal that fails is followed by the next one, as an agent's is.
                    match tokio::time::timeout(ANSWERED_WITHIN, renew(&client, &name)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => say(&format!("the Lease of {name} is not renewed: {error}")),
                        Err(_) => say(&format!(
                            "the Lease of {name} is not renewed: no answer in {ANSWERED_WITHIN:?}"
                        )),
                    }
                }
            });
        }
        Ok(Self {
            alive,
            _renewals: renewals,
        })
    }

    /// When the last of them was heard.
    pub async fn heard_last(&self, client: &Client) -> anyhow::Result<Timestamp> {
        let mut last = Timestamp::MIN;
        for (name, _) in &self.alive {
            last = last.max(clusters::renewed_at(client, namespace::CLUSTER, name).await?);
        }
        Ok(last)
    }

    /// Lets those renew of whom this is so, and no others.
    pub fn renew_only(&self, is_alive: impl Fn(&str) -> bool) {
        for (name, alive) in &self.alive {
            alive.store(is_alive(name), Ordering::Relaxed);
        }
    }
}

async fn renew(client: &Client, name: &str) -> kube::Result<()> {
    let now = Clock::system().now();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace::CLUSTER},
        "spec": {"holderIdentity": format!("{name}-agent"), "leaseDurationSeconds": 4, "renewTime": format!("{now:.6}")},
    });
    Api::<Lease>::namespaced(client.clone(), namespace::CLUSTER)
        .patch(name, &PatchParams::apply("played-agent").force(), &Patch::Apply(lease))
        .await?;
    Ok(())
}

fn cluster(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Pull"},
    })
}

fn ready() -> Value {
    let since = Clock::system().now();
    json!({"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "its agent says so", "lastTransitionTime": format!("{since:.0}")})
}
