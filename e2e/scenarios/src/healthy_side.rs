//! No replica is lost on the healthy side, at any moment: every stored version of its Deployment is looked at.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client};
use kube_sandbox::rules::{Seen, follow};
use std::sync::Mutex;
use tokio::task::JoinSet;

/// Watches the example's Deployment on one member.
pub struct HealthySide {
    losses: Arc<Mutex<Vec<String>>>,
    _follower: JoinSet<()>,
}

impl HealthySide {
    /// Once `at_least` replicas were available, fewer are a loss.
    pub fn watch(member: &Client, at_least: i32) -> Self {
        let losses: Arc<Mutex<Vec<String>>> = Arc::default();
        let deployments: Api<Deployment> = Api::namespaced(member.clone(), "default");
        let mut follower = JoinSet::new();
        let said = losses.clone();
        let mut was_available = false;
        follower.spawn(follow(deployments, move |seen| {
            let (available, generation) = match &seen {
                Seen::Stored(deployment) => (
                    deployment
                        .status
                        .as_ref()
                        .and_then(|status| status.available_replicas)
                        .unwrap_or(0),
                    deployment.metadata.generation,
                ),
                Seen::Gone(deployment) => (0, deployment.metadata.generation),
            };
            if was_available && available < at_least {
                let loss = format!(
                    "only {available} replicas were available on the healthy side at generation {generation:?}"
                );
                // A poisoned lock means that a test thread panicked; what it had to say is still there.
                said.lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .push(loss);
            }
            was_available |= available >= at_least;
        }));
        Self {
            losses,
            _follower: follower,
        }
    }

    /// What was lost.
    pub fn finish(self) -> Vec<String> {
        std::mem::take(&mut self.losses.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
