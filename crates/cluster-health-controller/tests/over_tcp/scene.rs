//! A control plane on the sandbox, and the controllers, which reach members over TCP.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::{Cluster, condition};
use cluster_health_controller::{Flags, StatusFlags, controllers};
use controller_kit::{Clock, Process, Running};
use kube::Api;
use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::{Value, json};

/// Time between two probes, and both thresholds.
pub const PERIOD: Duration = Duration::from_millis(200);

pub fn control_plane() -> (Sandbox, Clock) {
    let clock = Clock::system();
    let now = clock.clone();
    let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
    for crd in api_types::crds() {
        sandbox.apply_crd(json!(crd)).unwrap();
    }
    for namespace in ["karmada-system", "karmada-cluster"] {
        sandbox
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .unwrap();
    }
    (sandbox, clock)
}

pub fn secret_of(name: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "karmada-cluster", "name": name},
        "stringData": data,
    })
}

pub fn join(sandbox: &Sandbox, name: &str, endpoint: &str) {
    sandbox
        .create(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {
                "syncMode": "Push", "apiEndpoint": endpoint,
                "secretRef": {"namespace": "karmada-cluster", "name": name},
            },
        }))
        .unwrap();
}

pub async fn start(sandbox: &Sandbox, clock: Clock) -> Running {
    let flags = Flags {
        status: StatusFlags {
            cluster_status_update_frequency: PERIOD,
            cluster_success_threshold: PERIOD,
            cluster_failure_threshold: PERIOD,
        },
        ..Flags::default()
    };
    Process::builder("cluster-health-controller", sandbox.client())
        .clock(clock)
        .controllers(controllers(flags))
        .start()
        .await
        .unwrap()
}

/// Waits, in real time, until the Ready condition has this status; gives its reason and message.
pub async fn ready(sandbox: &Sandbox, name: &str, status: &str) -> (String, String) {
    let clusters: Api<Cluster> = Api::all(sandbox.client());
    let reached = async {
        loop {
            let cluster = clusters.get(name).await.unwrap();
            if let Some(ready) = cluster
                .condition(condition::READY)
                .filter(|ready| ready.status == status)
            {
                return (ready.reason.clone(), ready.message.clone());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached).await.unwrap()
}
