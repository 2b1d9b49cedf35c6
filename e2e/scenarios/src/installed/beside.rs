//! The worked example beside a stock Karmada, with ours as the charts install it, by the steps of docs/install.md: look,
//! take stock's failover out of service, install, look, let ours act, upgrade; and the way back, after which nothing of ours
//! is left.

use std::time::Duration;

use anyhow::ensure;
use controller_kit::Mode;
use e2e_harness::{ControlPlane, Identity, Member, Tool, available_with, eventually};
use eviction_queue_api::ConnectionFlags;
use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::objects;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use test_bench::stock::in_stocks_form;

use super::by_the_book::{ByTheBook, WayBack};
use super::charts::{OnHost, WAIT};
use super::component_names::hosted;
use super::kubelet::Kubelet;
use super::pages::answers;
use super::stand_in::Stock;
use super::{nothing_was_forbidden, people_at_the_queue, running};
use crate::components::stop_components;
use crate::failoverctl::Failoverctl;
use crate::fleet::{Fleet, entry};
use crate::telling::say;
use crate::worked_example::Telling;

const MODE: Mode = Mode::Beside;
/// The only thing that this stock Karmada lacks: it has no aggregated API server.
const LACKS: [&str; 1] = ["mode"];
/// From a change until all that runs has taken it in.
const SOON: Duration = Duration::from_secs(30);

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    let Some(binaries) = available_with(Tool::Helm, "the charts beside a stock Karmada") else {
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
    let (client, on_host_cluster) = (control_plane.client().await?, host.client().await?);
    let members = vec![first, second, third];
    let entries: Vec<_> = members.iter().map(entry).collect();
    say("a stock Karmada runs, with failover of its own");
    let stock = Stock::begin(&control_plane, &on_host_cluster, &entries, &pace).await?;
    let on_host = OnHost::of(&binaries, &host, MODE, &pace, control_plane.folder().path())?;
    let mut book = ByTheBook::open(&binaries, &control_plane, &host, MODE)?;
    out_of_the_way(&control_plane, &host, &on_host_cluster, &on_host, &book).await?;

    say("docs/install.md is typed: ours are installed beside it");
    book.control_plane()?;
    book.kubeconfigs(hosted(MODE))?;
    book.one_by_one()?;
    book.components()?;
    // Where nobody else listens on this machine.
    on_host.change("upgrade", &WAIT)?;
    for policy in example::taint_policies(&pace) {
        objects::create(&client, in_stocks_form(policy)).await?;
    }
    let queue = people_at_the_queue(&control_plane, &on_host_cluster).await?;
    let operator = Failoverctl::of(&control_plane, ways(&host, Some((&queue, on_host.ports().queue))))?;
    let watching = running::start(&control_plane, &host, hosted(MODE)).await?.processes;
    all_is_well(&operator).await?;
    book.make_operator(&queue, on_host.ports().queue)?;
    let kubelet = Kubelet::start(&control_plane, &host).await?;
    as_the_page_asks(&book)?;
    drop(kubelet);

    say("ours are let act");
    book.let_act()?;
    stop_components(watching).await?;
    let processes = running::start(&control_plane, &host, hosted(MODE)).await?.processes;
    let mut fleet = Fleet::of(control_plane, members, processes).calling_the_queue(queue);
    let telling = Telling::begin(&fleet, pace).await?;
    let came_out_right = telling.play(&mut fleet).await?;
    all_is_well(&operator).await?;
    nothing_was_forbidden(&fleet)?;

    let kubelet = Kubelet::start(&fleet.control_plane, &host).await?;
    say("they are upgraded, as the page says");
    book.upgrade()?;
    all_is_well(&operator).await?;

    say("and back, as the page says");
    let way_back = book.way_back()?;
    back(&operator, &way_back, &mut fleet, stock).await?;
    drop(kubelet);
    way_back.take_control_plane_away()?;
    nothing_of_ours_is_left(&client).await?;
    Ok(came_out_right)
}

/// How an operator's command line leads to all that there is.
fn ways(host: &Member, queue: Option<(&ConnectionFlags, u16)>) -> Vec<String> {
    let kubeconfig = host.kubeconfig(Identity::Admin);
    let mut flags = vec![format!("--host-kubeconfig={}", kubeconfig.display())];
    if let Some((queue, port)) = queue {
        let files = [
            ("--queue-ca-file", &queue.queue_ca_file),
            ("--queue-token-file", &queue.queue_token_file),
        ];
        let files = files.into_iter().filter_map(|(flag, file)| {
            let file = file.as_ref()?;
            Some(format!("{flag}={}", file.display()))
        });
        flags.extend(files);
        let name = queue.queue_server_name.as_ref();
        flags.extend(name.map(|name| format!("--queue-server-name={name}")));
        // It is asked before anything leads to the ports of Pods.
        flags.push(format!("--queue-address=127.0.0.1:{port}"));
    }
    flags
}

/// Codes of the checks that find a problem, or cannot see.
fn problems(failoverctl: &Failoverctl, arguments: &[&str]) -> anyhow::Result<Vec<String>> {
    let asked = [&["check", "--mode", "beside"], arguments].concat();
    let report = tokio::task::block_in_place(|| failoverctl.json(&asked))?;
    let checks = report["checks"].as_array().into_iter().flatten();
    let bad = checks.filter(|check| check["state"] == "Problem" || check["state"] == "NotSeen");
    Ok(bad
        .filter_map(|check| check["code"].as_str().map(str::to_owned))
        .collect())
}

/// What stock does itself is found by failoverctl and refused by helm; then stock leaves it to ours.
async fn out_of_the_way(
    control_plane: &ControlPlane,
    host: &Member,
    on_host_cluster: &Client,
    on_host: &OnHost,
    book: &ByTheBook,
) -> anyhow::Result<()> {
    let failoverctl = Failoverctl::of(control_plane, ways(host, None))?;
    let found = problems(&failoverctl, &["--before-install"])?;
    let stocks = [
        "stock-failover",
        "stock-graceful-eviction",
        "stock-application-failover",
    ];
    ensure!(found == [&LACKS[..], &stocks].concat(), "before: {found:?}");
    let told = book.look_first()?;
    let missing = found.iter().find(|code| !told.contains(code.as_str()));
    ensure!(missing.is_none(), "as typed it does not tell of {missing:?}: {told}");
    let refusal = on_host.refused()?;
    ensure!(
        refusal.contains(
            "stock's karmada-controller-manager (Deployment karmada-system/karmada-controller-manager) does this too"
        ),
        "{refusal}"
    );
    say("failoverctl and helm say what stock does itself; it is taken out of service");
    Stock::leaves_failover(on_host_cluster).await?;
    let found = problems(&failoverctl, &["--before-install"])?;
    ensure!(found == LACKS, "then: {found:?}");
    Ok(())
}

async fn all_is_well(operator: &Failoverctl) -> anyhow::Result<()> {
    eventually("failoverctl check to find nothing else", SOON, async || {
        let found = problems(operator, &[]).map_err(|error| format!("{error:#}"))?;
        if found == LACKS {
            Ok(())
        } else {
            Err(format!("{found:?}"))
        }
    })
    .await?;
    Ok(())
}

/// What the page has an operator ask is answered, and by the queue, too.
fn as_the_page_asks(book: &ByTheBook) -> anyhow::Result<()> {
    let checked = book.check()?;
    let missing = LACKS.iter().find(|code| !checked.contains(**code));
    ensure!(missing.is_none(), "as typed it does not tell of {missing:?}: {checked}");
    let status = book.status()?;
    ensure!(answers(&status), "the queue does not answer the operator: {status}");
    let plan = book.plan()?;
    ensure!(plan.contains("member1"), "the plan: {plan}");
    Ok(())
}

/// What docs/install.md says under "And back".
async fn back(operator: &Failoverctl, way_back: &WayBack<'_>, fleet: &mut Fleet, stock: Stock) -> anyhow::Result<()> {
    let dry_run = || tokio::task::block_in_place(|| operator.json(&["handback", "--dry-run"]));
    let count = |report: &Value, list: &str| report[list].as_array().map_or(0, Vec::len);

    way_back.pause()?;
    eventually("the pause to show", SOON, async || {
        let status = tokio::task::block_in_place(|| operator.run(&["status"])).map_err(|error| format!("{error:#}"))?;
        if status.contains("going back") {
            Ok(())
        } else {
            Err(status)
        }
    })
    .await?;
    let too_early = dry_run()?;
    ensure!(count(&too_early, "blocked") > 0, "ours run: {too_early}");
    let open = way_back.open_moves()?;
    ensure!(!open.contains("nginx"), "a move goes on: {open}");
    way_back.take_components_away()?;
    fleet.stop_components().await?;
    // Who does stock's work is of ours here, and would go on to write what is ours.
    stock.end().await?;
    let would = dry_run()?;
    ensure!(
        count(&would, "blocked") == 0 && count(&would, "objects") > 0,
        "ours are gone: {would}"
    );
    say(&way_back.try_handback()?);
    way_back.handback()?;
    let more = dry_run()?;
    ensure!(count(&more, "objects") == 0, "there is more: {more}");
    Ok(())
}

/// Of all that stock has, only policies keep what people wrote there for ours.
async fn nothing_of_ours_is_left(client: &Client) -> anyhow::Result<()> {
    let kinds = api_types::crds()
        .into_iter()
        .map(|crd| (crd.spec.group, crd.spec.versions, crd.spec.names));
    for (group, versions, names) in kinds {
        if group == "failover.karmada.io" || names.kind == "ClusterTaintPolicy" {
            continue;
        }
        let version = versions.first().map_or("v1alpha1", |version| version.name.as_str());
        let kind = GroupVersionKind::gvk(&group, version, &names.kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &names.plural);
        let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        for mut object in objects.list(&ListParams::default()).await? {
            object.managed_fields_mut().clear();
            let text = json!(object).to_string();
            ensure!(!text.contains("failover.karmada.io/"), "{} keeps {text}", names.kind);
        }
    }
    Ok(())
}
