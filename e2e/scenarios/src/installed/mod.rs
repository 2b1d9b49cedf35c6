//! The worked example with everything as the charts install it: helm puts kinds, rights and accounts on the control plane
//! and the components on a host cluster, on two API servers; what its Deployments make of that runs as processes, with
//! exactly their arguments, environment and files, and each with its own account's token. A flag that does not exist, a
//! right that is missing or a path that is wrong ends it. Then the charts are upgraded, rolled back and taken away.

mod charts;
mod pods;

use std::time::Duration;

use anyhow::{Context as _, ensure};
use e2e_harness::{ControlPlane, Identity, Process, Tool, available_with, eventually};
use eviction_queue_api::ConnectionFlags;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use karmada_failover::story::example::{self, Pace};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use crate::fleet::{Fleet, entry};
use crate::telling::say;
use crate::worked_example::Telling;
use charts::{COMPONENTS, NAMESPACE, OnControlPlane, OnHost};
use pods::{Rendered, rendered};

/// From the start of the processes to `/readyz`.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    let Some(binaries) = available_with(Tool::Helm, "the charts on real API servers") else {
        return Ok(true);
    };
    let pace = Pace::FAST;
    let control_plane = ControlPlane::start().await?;
    let (host, first, second, third) = tokio::try_join!(
        control_plane.start_member("host"),
        control_plane.start_member("member1"),
        control_plane.start_member("member2"),
        control_plane.start_member("member3"),
    )?;
    let on_host_cluster = host.client().await?;
    say("helm installs kinds, rights and accounts on the control plane");
    let on_control_plane = OnControlPlane::install(&binaries, &control_plane)?;
    charts::hand_over_kubeconfigs(&control_plane, &on_host_cluster).await?;
    say("helm installs the components on the host cluster");
    let on_host = OnHost::install(&binaries, &host, &pace, control_plane.folder().path())?;

    let members = vec![first, second, third];
    let client = control_plane.client().await?;
    let given = members.iter().map(entry).flat_map(|entry| example::member(&entry));
    for object in given.chain(example::taint_policies(&pace)) {
        karmada_failover::story::objects::create(&client, object).await?;
    }
    say("their Pods run as processes, each with its own account");
    let processes = start(&control_plane, &on_host_cluster).await?;
    let queue = people_at_the_queue(&control_plane, &on_host_cluster).await?;
    let mut fleet = Fleet::of(control_plane, members, processes).calling_the_queue(queue);
    let telling = Telling::begin(&fleet, pace).await?;
    let came_out_right = telling.play(&mut fleet).await?;
    // As an API server says no.
    let refused = fleet.logged("is forbidden: User")?;
    ensure!(refused.is_empty(), "a right is missing:\n{}", refused.join("\n"));

    say("the release is upgraded, rolled back, and taken away");
    life_of_the_release(&on_host, &on_host_cluster).await?;
    fleet.stop_components().await?;
    on_control_plane.uninstall()?;
    kinds_stay(&client).await?;
    Ok(came_out_right)
}

async fn start(control_plane: &ControlPlane, host: &Client) -> anyhow::Result<Vec<Process>> {
    let pods = rendered(host, NAMESPACE, control_plane.folder().path()).await?;
    let mut components: Vec<&str> = pods.iter().map(|pod| pod.component.as_str()).collect();
    components.sort_unstable();
    ensure!(components == COMPONENTS, "the charts run {components:?}");
    let mut processes = Vec::new();
    let mut addresses = Vec::new();
    for Rendered { pod, launch, admin, .. } in pods {
        processes.push(Process::start(control_plane.folder(), launch)?);
        addresses.push((pod, admin));
    }
    eventually("all processes to be ready", READY_WITHIN, async || {
        for process in &mut processes {
            process.must_run().map_err(|error| error.to_string())?;
        }
        for (pod, admin) in &addresses {
            is_ready(admin).await.map_err(|why| format!("{pod}: {why}"))?;
        }
        Ok(())
    })
    .await?;
    Ok(processes)
}

/// As a kubelet asks.
async fn is_ready(admin: &str) -> Result<(), String> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let asked = async {
        let mut stream = tokio::net::TcpStream::connect(admin).await?;
        let request = format!("GET /readyz HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = asked.await.map_err(|error| error.to_string())?;
    if answer.starts_with("HTTP/1.1 200") {
        Ok(())
    } else {
        Err(answer)
    }
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

async fn certificates(host: &Client) -> anyhow::Result<Vec<Option<k8s_openapi::ByteString>>> {
    let secrets: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    let mut all = Vec::new();
    for name in [
        "eviction-queue-server-tls",
        "taint-manager-queue-tls",
        "application-failover-controller-queue-tls",
    ] {
        all.push(secrets.get(name).await?.data.unwrap_or_default().remove("tls.crt"));
    }
    Ok(all)
}

async fn arguments(host: &Client, component: &str) -> anyhow::Result<Vec<String>> {
    let deployment = Api::<Deployment>::namespaced(host.clone(), NAMESPACE)
        .get(component)
        .await?;
    let spec = deployment.spec.template.spec.context("no Pod")?;
    Ok(spec
        .containers
        .into_iter()
        .flat_map(|container| container.args.unwrap_or_default())
        .collect())
}

async fn life_of_the_release(on_host: &OnHost, host: &Client) -> anyhow::Result<()> {
    let before = certificates(host).await?;
    let is_debug = async |component: &str| -> anyhow::Result<bool> {
        Ok(arguments(host, component)
            .await?
            .contains(&"--log-level=debug".to_owned()))
    };
    on_host.change(
        "upgrade",
        &["--set", "scheduler.log.level=debug", "--wait", "--timeout", "60s"],
    )?;
    ensure!(
        is_debug("scheduler").await? && !is_debug("taint-manager").await?,
        "the upgrade changes the scheduler"
    );
    ensure!(certificates(host).await? == before, "an upgrade keeps the certificates");
    on_host.roll_back()?;
    ensure!(!is_debug("scheduler").await?, "the way back");
    on_host.change("upgrade", &["--set-string", "eviction-queue.tls.generation=2"])?;
    let after = certificates(host).await?;
    let all_new = before.iter().zip(&after).all(|(before, after)| before != after);
    ensure!(all_new, "a new generation makes all of them anew");
    on_host.uninstall()?;
    let ours = ListParams::default().labels("app.kubernetes.io/part-of=karmada-failover");
    let left = Api::<Deployment>::namespaced(host.clone(), NAMESPACE)
        .list(&ours)
        .await?;
    ensure!(left.items.is_empty(), "{} Deployments are left", left.items.len());
    Ok(())
}

/// With a kind go all its objects: they are nobody's to delete by the way.
async fn kinds_stay(client: &Client) -> anyhow::Result<()> {
    let crds: Vec<String> = Api::<CustomResourceDefinition>::all(client.clone())
        .list(&ListParams::default())
        .await?
        .into_iter()
        .map(|crd| crd.name_any())
        .collect();
    for crd in api_types::crds() {
        ensure!(
            crds.contains(&crd.name_any()),
            "{} went with its release",
            crd.name_any()
        );
    }
    Ok(())
}
