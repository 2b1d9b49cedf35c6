//! A control plane with a clock, and small helpers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::informer::InformerOptions;
use controller_kit::process::{Controller, KitFlags, Process, Running};
use controller_kit::readiness::Readiness;
use controller_kit::{Clock, Context, Informers, Metrics, Tasks};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::json;

pub struct World {
    pub clock: Clock,
    pub sandbox: Sandbox,
}

impl World {
    pub fn new() -> Self {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let now = clock.clone();
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
        sandbox
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
            .unwrap();
        Self { clock, sandbox }
    }

    pub fn process(&self, identity: &'static str) -> Process {
        Process::builder("test", self.sandbox.client_named(identity))
            .clock(self.clock.clone())
            .identity(identity)
    }

    pub async fn start(&self, identity: &'static str, controller: Controller) -> Running {
        self.process(identity).controllers([controller]).start().await.unwrap()
    }

    /// A process without leases, for controllers under test by themselves.
    pub async fn start_alone(&self, identity: &'static str, controller: Controller) -> Running {
        let flags = KitFlags {
            leader_elect: false,
            ..KitFlags::default()
        };
        self.process(identity)
            .flags(flags)
            .controllers([controller])
            .start()
            .await
            .unwrap()
    }

    pub fn put(&self, name: &str, value: &str) {
        self.sandbox.put(config_map(name, value)).unwrap();
    }

    pub async fn delete(&self, name: &str) {
        self.config_maps()
            .delete(name, &kube::api::DeleteParams::default())
            .await
            .unwrap();
    }

    pub fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.sandbox.observer(), "default")
    }

    /// Name and value of every config map on the server.
    pub fn stored(&self) -> BTreeMap<String, String> {
        self.sandbox
            .list("v1", "ConfigMap")
            .iter()
            .map(|object| {
                let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
                (text(&object["metadata"]["name"]), text(&object["data"]["v"]))
            })
            .collect()
    }

    pub async fn lease(&self, name: &str) -> Option<Lease> {
        Api::<Lease>::namespaced(self.sandbox.observer(), "karmada-system")
            .get_opt(name)
            .await
            .unwrap()
    }

    pub fn informers(&self, client: kube::Client, options: InformerOptions) -> Kit {
        let (tasks, metrics, readiness) = (Tasks::new(), Metrics::new(), Readiness::default());
        let informers = Informers::new(client, &tasks, &metrics, &readiness, options, "test");
        Kit {
            tasks,
            metrics,
            readiness,
            informers,
        }
    }
}

/// Informers outside of a process.
pub struct Kit {
    pub tasks: Tasks,
    pub metrics: Metrics,
    pub readiness: Readiness,
    pub informers: Informers,
}

impl Drop for Kit {
    fn drop(&mut self) {
        self.tasks.abort();
    }
}

pub fn config_map(name: &str, value: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
           "data": {"v": value}})
}

pub fn value_of(object: &ConfigMap) -> String {
    object
        .data
        .as_ref()
        .and_then(|data| data.get("v"))
        .cloned()
        .unwrap_or_default()
}

/// What the store holds, as [`World::stored`] shows the server.
pub fn held(store: &controller_kit::Store<ConfigMap>) -> BTreeMap<String, String> {
    store
        .list()
        .iter()
        .map(|object| (object.metadata.name.clone().unwrap_or_default(), value_of(object)))
        .collect()
}

/// A controller that does nothing until shutdown.
pub fn idle(name: &'static str) -> Controller {
    Controller::new(name, |ctx: Context| async move {
        ctx.shutdown.cancelled().await;
        Ok(())
    })
}

/// Lets everything happen that can happen now.
pub async fn settle() {
    seconds_and_a_bit(0).await;
}

/// Time passes; one millisecond more, so that what is due then has happened.
pub async fn seconds_and_a_bit(seconds: u64) {
    tokio::time::sleep(Duration::from_millis(seconds * 1000 + 1)).await;
}

/// Runs a test for at most that much simulated time: a deadlock fails at once instead of hanging.
pub async fn within_hours<T>(hours: u64, body: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(hours * 3600), body)
        .await
        .expect("the test did not end")
}
