//! Failovers of applications, from the health that is reported to what is written on the binding.

mod blocks;
mod clocks;
mod drops;
mod moves;
mod producer;
mod second_owners;

use controller_kit::{Mode, Running};
use serde_json::{Value, json};

use super::scene::Scene;
use producer::Producer;

/// Everything that runs; nothing has failed yet, and the queue has been leading for long enough.
struct Stage {
    scene: Scene,
    producer: Option<Producer>,
    _queue: Running,
    manager: Running,
}

impl Stage {
    /// At second 20.
    async fn new(clusters: &[&str], evictions_per_second: f64) -> Self {
        Self::in_mode(Mode::Standalone, clusters, evictions_per_second).await
    }

    /// The same in this mode.
    async fn in_mode(mode: Mode, clusters: &[&str], evictions_per_second: f64) -> Self {
        let scene = Scene::in_mode(mode, clusters);
        let queue = scene.queue("queue-0", evictions_per_second).await;
        let manager = scene.manager("manager-0").await;
        scene.until(10).await;
        let producer = Some(Producer::start(&scene));
        scene.until(20).await;
        Self {
            scene,
            producer,
            _queue: queue,
            manager,
        }
    }

    /// What is reported of the copies: cluster and health of each.
    async fn report(&self, key: &str, copies: &[(&str, &str)]) {
        report(&self.scene, key, copies).await;
    }

    /// The process that publishes ends, and another one begins.
    fn restart_producer(&mut self) {
        self.producer = None;
        self.producer = Some(Producer::start(&self.scene));
    }
}

async fn report(scene: &Scene, key: &str, copies: &[(&str, &str)]) {
    let item = |(cluster, health): &(&str, &str)| json!({"clusterName": cluster, "applied": true, "health": health, "status": {"job": format!("of {cluster}").replace(' ', "-")}});
    let items: Vec<Value> = copies.iter().map(item).collect();
    scene.patch_status(key, json!({"aggregatedStatus": items})).await;
}

/// `spec` with these rules for its application.
fn asks(rules: Value) -> Value {
    json!({"failover": {"application": rules}})
}

/// Tolerated for so many seconds; the rest as by default.
fn tolerates(seconds: u32) -> Value {
    asks(json!({"decisionConditions": {"tolerationSeconds": seconds}}))
}

/// At most one cluster, so that a copy moves and none stays behind.
fn on_one_cluster(mut spec: Value) -> Value {
    spec["placement"] = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
    spec
}
