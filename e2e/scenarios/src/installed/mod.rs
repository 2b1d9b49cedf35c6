//! The worked example with everything as the charts install it: helm puts kinds, rights and accounts on the control plane
//! and the components on a host cluster, on two API servers; what its Deployments make of that runs as processes, with
//! exactly their arguments, environment and files, and each with its own account's token. The webhook is one of them, and
//! one member joins by its agent. A flag that does not exist, a right that is missing or a path that is wrong ends it. Then
//! the charts are upgraded, rolled back and taken away.
//!
//! Its last line says how long helm took to install all charts, and how long after their start all processes were ready, as
//! JSON, in seconds: `cargo xtask bench` holds that against what is promised.
//!
//! Beside a stock Karmada it is told by [`beside`].

pub mod beside;
mod by_the_book;
mod charts;
mod component_names;
mod host_name;
mod kubelet;
mod own_cluster;
mod pages;
mod pods;
mod pull;
mod release;
mod running;
mod stand_in;
mod typed;
mod webhook;

use std::time::Duration;

use anyhow::{Context as _, ensure};
use controller_kit::Mode;
use e2e_harness::{ControlPlane, Identity, Tool, available_with};
use eviction_queue_api::ConnectionFlags;
use k8s_openapi::api::core::v1::Secret;
use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::objects;
use kube::{Api, Client};
use serde_json::json;

use crate::fleet::{Fleet, entry};
use crate::telling::say;
use crate::worked_example::Telling;
use by_the_book::ByTheBook;
use charts::{NAMESPACE, OnControlPlane, OnHost, WAIT};
use component_names::hosted;
use kubelet::Kubelet;
use pull::Agent;

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    let Some(binaries) = available_with(Tool::Helm, "the charts on real API servers") else {
        return Ok(true);
    };
    let (pace, mode) = (Pace::FAST, Mode::Standalone);
    let control_plane = ControlPlane::start().await?;
    let (host, first, second, third) = tokio::try_join!(
        control_plane.start_member("host"),
        control_plane.start_member("member1"),
        control_plane.start_member("member2"),
        control_plane.start_member(pull::MEMBER),
    )?;
    let on_host_cluster = host.client().await?;
    say("docs/install.md is typed: kinds, rights and accounts on the control plane");
    let mut took = Took::default();
    let book = ByTheBook::open(&binaries, &control_plane, &host, mode)?;
    took.installing += book.control_plane()?;
    book.namespace()?;
    charts::take_restricted_pods_only(&on_host_cluster).await?;
    book.kubeconfigs(hosted(mode))?;
    let on_control_plane = OnControlPlane::of(&binaries, &control_plane)?;
    on_control_plane.leave_policies_to_the_story()?;
    say("and the components on the host cluster");
    took.installing += book.components()?;
    // With the webhook, and where nobody else listens on this machine.
    let on_host = OnHost::of(&binaries, &host, mode, &pace, control_plane.folder().path())?;
    on_host.change("upgrade", &WAIT)?;

    let client = control_plane.client().await?;
    let given = [&first, &second].map(entry).into_iter();
    let given = given.flat_map(|entry| example::member(&entry));
    for object in given.chain(example::taint_policies(&pace)) {
        objects::create(&client, object).await?;
    }
    say("their Pods run as processes, each with its own account");
    let ready = running::start(&control_plane, &host, hosted(mode)).await?;
    took.until_ready = ready.after;
    let mut processes = ready.processes;
    say("the API server asks the webhook");
    webhook::is_asked(&control_plane, &book, on_host.ports().webhook).await?;
    say("a member joins by its agent");
    let (agent, installing, ready) = Agent::join(&binaries, &control_plane, &third, &pace).await?;
    took.installing += installing;
    took.until_ready = took.until_ready.max(ready.after);
    processes.extend(ready.processes);
    pull::has_joined(&client).await?;

    let on_pull_member = third.client().await?;
    let agents_home = third.kubeconfig(Identity::Admin);
    let queue = people_at_the_queue(&control_plane, &on_host_cluster).await?;
    let mut fleet = Fleet::of(control_plane, vec![first, second, third], processes).calling_the_queue(queue.clone());
    let telling = Telling::begin(&fleet, pace).await?;
    let came_out_right = telling.play(&mut fleet).await?;
    pull::gets_what_is_sent(&client, &on_pull_member).await?;
    nothing_was_forbidden(&fleet)?;

    say("all other pages are typed by an operator");
    let way = (&queue, on_host.ports().queue);
    let kubelet = Kubelet::start(&fleet.control_plane, &host).await?;
    let typed = || {
        pages::are_typed(
            &binaries,
            &fleet.control_plane,
            (&host, &agents_home),
            way,
            &kubelet,
            &pace,
        )
    };
    let typed = tokio::task::block_in_place(typed)?;
    say(&format!("{typed} commands were answered"));
    say("the release is upgraded, rolled back, and taken away");
    release::lives(&book, &on_host, &on_host_cluster).await?;
    fleet.stop_components().await?;
    agent.uninstall()?;
    book.take_control_plane_away()?;
    on_control_plane.release_kinds()?;
    release::kinds_stay(&client).await?;
    took.say();
    Ok(came_out_right)
}

/// What is promised of an installation.
#[derive(Default)]
struct Took {
    /// All charts together.
    installing: Duration,
    /// From the start of processes until the last of them is ready, on the host cluster or on the member.
    until_ready: Duration,
}

impl Took {
    fn say(&self) {
        let told = json!({"install": self.installing.as_secs_f64(), "ready": self.until_ready.as_secs_f64()});
        say(&told.to_string());
    }
}

/// By no API server, in the words of all of them.
fn nothing_was_forbidden(fleet: &Fleet) -> anyhow::Result<()> {
    let refused = fleet.logged("is forbidden: User")?;
    ensure!(refused.is_empty(), "a right is missing:\n{}", refused.join("\n"));
    Ok(())
}

/// People come to the queue with the token that they have for the control plane.
async fn people_at_the_queue(control_plane: &ControlPlane, host: &Client) -> anyhow::Result<ConnectionFlags> {
    let secrets: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    let secret = secrets.get("eviction-queue-server-tls").await?;
    let authority = secret
        .data
        .and_then(|mut data| data.remove("ca.crt"))
        .context("no ca.crt")?;
    let folder = control_plane.folder().path();
    let (ca, token) = (folder.join("queue-ca.crt"), folder.join("token-of-a-person"));
    std::fs::write(&ca, &authority.0)?;
    std::fs::write(&token, control_plane.api().token(Identity::Admin))?;
    Ok(ConnectionFlags {
        queue_ca_file: Some(ca),
        queue_token_file: Some(token),
        queue_server_name: Some("eviction-queue".to_owned()),
        ..ConnectionFlags::default()
    })
}
