//! What every story on a real control plane begins and ends with: our objects, and each component as its own process.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use e2e_harness::{ControlPlane, Identity, Launch, Process, Programs, eventually, serve_kinds};
use eviction_queue_api::QueueClient;
use karmada_failover::story::example::{self, MemberEntry};
use karmada_failover::story::objects;
use kube::Client;
use serde_json::Value;

/// Leases that end soon after their holder, and not at once when the machine stands still for a moment.
pub const SHORT_LEASES: [&str; 3] = [
    "--leader-elect-lease-duration=7s",
    "--leader-elect-renew-deadline=6s",
    "--leader-elect-retry-period=1s",
];

/// A program and the flags that are its alone.
pub type Component = (&'static str, Vec<String>);

/// The components, with flags for those that need some.
pub fn components(health: Vec<String>, queue: Vec<String>) -> Vec<Component> {
    vec![
        ("cluster-health-controller", health),
        ("taint-policy-controller", Vec::new()),
        ("taint-manager", Vec::new()),
        ("application-failover-controller", Vec::new()),
        (
            "eviction-queue",
            [queue, vec!["--queue-bind-address=127.0.0.1:0".to_owned()]].concat(),
        ),
        ("scheduler", Vec::new()),
        ("graceful-eviction-controller", Vec::new()),
        ("propagation-controllers", Vec::new()),
    ]
}

/// Starts every component with the given flags beside its own.
pub fn start_components(
    control_plane: &ControlPlane,
    components: Vec<Component>,
    flags: &[&str],
) -> anyhow::Result<Vec<Process>> {
    let processes = components
        .into_iter()
        .map(|component| start_as(control_plane, component.0, component, flags));
    processes.collect()
}

/// Starts a component as a process that is known by another name: one that runs some of its controllers alone.
pub fn start_as(
    control_plane: &ControlPlane,
    name: &str,
    (program, own): Component,
    flags: &[&str],
) -> anyhow::Result<Process> {
    let kubeconfig = control_plane.kubeconfig(Identity::Admin);
    let launch = Launch::new(name, Programs::find()?.path(program)?)
        .args(["--feature-gates=Failover=true", "--admin-bind-address=127.0.0.1:0"])
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(own)
        .args(flags.iter().copied());
    Ok(Process::start(control_plane.folder(), launch)?)
}

/// Every component still runs, and ends in order when asked to.
pub async fn stop_components(mut processes: Vec<Process>) -> anyhow::Result<()> {
    for process in &mut processes {
        process.must_run()?;
    }
    for process in &mut processes {
        let status = process.stop(Duration::from_secs(12)).await?;
        ensure!(
            status.success(),
            "{} ended with {status} when it was asked to end:\n{}",
            process.name(),
            process.log_tail()
        );
    }
    Ok(())
}

/// CRDs, namespaces, members, and what a story is given.
pub async fn furnish(client: &Client, members: &[MemberEntry], given: Vec<Value>) -> anyhow::Result<()> {
    serve_kinds(client, &api_types::crds()).await?;
    let members = members.iter().flat_map(example::member);
    for object in example::namespaces().into_iter().chain(members).chain(given) {
        objects::create(client, object).await?;
    }
    Ok(())
}

/// A client of the queue, which finds it by its Lease, as others do; once it says there where it listens.
pub async fn queue_of(client: &Client) -> anyhow::Result<QueueClient> {
    let queue = QueueClient::by_lease(client.clone(), api_types::names::namespace::SYSTEM, "observer");
    let address = eventually(
        "the eviction queue to say where it listens",
        Duration::from_secs(30),
        async || queue.address().await.map_err(|error| error.to_string()),
    )
    .await?;
    let address: SocketAddr = address
        .parse()
        .with_context(|| format!("the queue's address {address:?}"))?;
    ensure!(
        address.ip() == Ipv4Addr::LOCALHOST,
        "the queue listens on {address} without TLS"
    );
    Ok(queue)
}
