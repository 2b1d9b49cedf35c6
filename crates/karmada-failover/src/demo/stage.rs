//! The stage: servers on loopback, a kubeconfig, the controllers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Parser;
use controller_kit::process::LogFormat;
use controller_kit::{Clock, Ended, KitFlags, Process, Running};
use eviction_queue_api::QueueClient;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, Config, ResourceExt};
use kube_sandbox::rules::{Settings, Watching};
use kube_sandbox::{Fleet, Member, Served};
use serde_json::Value;

use super::kubeconfig::kubeconfig;
use crate::components::ComponentFlags;
use crate::story::Sources;
use crate::story::example::{self, MemberEntry, Pace};
use crate::story::print::Started;
use crate::story::script::Theatre;

const MEMBERS: [&str; 3] = ["member1", "member2", "member3"];
const CONTROL_PLANE: &str = "control-plane";

/// Everything that runs. Ends in order with [`Stage::strike`], at once when it is dropped.
pub(super) struct Stage {
    /// Where to look at it.
    pub(super) started: Started,
    clock: Clock,
    fleet: Fleet,
    control_plane: Served,
    members: BTreeMap<String, Served>,
    process: Running,
    folder: Folder,
}

/// The flags of `run`, given as on its command line.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    components: ComponentFlags,
}

impl Stage {
    /// Starts servers and controllers and puts the fleet's objects there.
    pub(super) async fn set(pace: &Pace, scenario: &str) -> anyhow::Result<Self> {
        let clock = Clock::system();
        let folder = Folder::create()?;
        let log = log_to(&folder.path.join("controllers.log"), &clock)?;

        let now = clock.clone();
        let fleet = Fleet::start(&(Arc::new(move || now.now()) as kube_sandbox::Now), &MEMBERS);
        let (control_plane, members) = fleet.serve_http().await.context("cannot listen on loopback")?;
        for crd in api_types::crds() {
            fleet.control_plane().apply_crd(serde_json::to_value(crd)?).map_err(|refusal| anyhow!("{refusal}"))?;
        }
        let entries = members.iter().map(|(name, served)| MemberEntry {
            name: name.clone(),
            endpoint: served.url(),
            token: "demo".to_owned(),
            ca_bundle: None,
        });
        let mut objects = example::namespaces();
        objects.extend(entries.flat_map(|entry| example::member(&entry)));
        objects.extend(example::taint_policies(pace));
        for object in objects {
            fleet.control_plane().put(object).map_err(|refusal| anyhow!("{refusal}"))?;
        }

        let mut arguments = vec![
            "karmada-failover".to_owned(),
            "--feature-gates=Failover=true".to_owned(),
            "--admin-bind-address=127.0.0.1:0".to_owned(),
            "--queue-bind-address=127.0.0.1:0".to_owned(),
        ];
        arguments.extend(pace.health_flags());
        arguments.extend(pace.queue_flags());
        let flags = Flags::try_parse_from(arguments).context("the demo's own flags")?;
        let process = Process::builder("karmada-failover", fleet.control_plane().client_named("karmada-failover"))
            .clock(clock.clone())
            .identity(format!("karmada-failover-demo-{}", std::process::id()))
            .flags(flags.kit)
            .controllers(flags.components.controllers())
            .start()
            .await?;

        let kubeconfig_path = folder.path.join("kubeconfig");
        let mut servers = vec![(CONTROL_PLANE.to_owned(), control_plane.url())];
        servers.extend(members.iter().map(|(name, served)| (name.clone(), served.url())));
        std::fs::write(&kubeconfig_path, kubeconfig(&servers)).context("cannot write the kubeconfig")?;
        let metrics = process.admin_address().map(|address| format!("http://{address}/metrics")).unwrap_or_default();
        let started = Started {
            scenario: scenario.to_owned(),
            kubeconfig: kubeconfig_path.display().to_string(),
            queue: queue_address(fleet.control_plane().observer()).await?,
            metrics,
            log,
        };
        Ok(Self { started, clock, fleet, control_plane, members, process, folder })
    }

    /// What an observer looks at: the same URLs that a person has.
    pub(super) fn sources(&self) -> anyhow::Result<Sources> {
        let members = self.members.iter().map(|(name, served)| Ok((name.clone(), client(&served.url())?)));
        Ok(Sources {
            control_plane: client(&self.control_plane.url())?,
            members: members.collect::<anyhow::Result<_>>()?,
            queue: QueueClient::at(&self.started.queue),
        })
    }

    /// Watches over the correctness rules from here on.
    pub(super) fn watch_rules(&self, pace: &Pace) -> Watching {
        let clock = self.clock.clone();
        let settings = Settings::real_time(pace.evictions_per_second);
        Watching::start(&self.fleet.control_plane().observer(), settings, Arc::new(move || clock.now()))
    }

    fn member(&self, name: &str) -> anyhow::Result<Member> {
        self.fleet.member(name).ok_or_else(|| anyhow!("there is no member {name}"))
    }

    /// Ends everything in order; the files go too.
    pub(super) async fn strike(self) -> Ended {
        let ended = self.process.stop().await;
        drop(self.folder);
        ended
    }
}

impl Theatre for Stage {
    async fn put(&mut self, object: Value) -> anyhow::Result<()> {
        self.fleet.control_plane().put(object).map(drop).map_err(|refusal| anyhow!("{refusal}"))
    }

    async fn stop_member(&mut self, name: &str) -> anyhow::Result<()> {
        self.member(name)?.stop();
        Ok(())
    }

    async fn start_member(&mut self, name: &str) -> anyhow::Result<()> {
        self.member(name)?.resume();
        Ok(())
    }
}

fn client(url: &str) -> anyhow::Result<Client> {
    Ok(Client::try_from(Config::new(url.parse()?))?)
}

/// The leader writes its address into its Lease.
async fn queue_address(client: Client) -> anyhow::Result<String> {
    let leases: Api<Lease> = Api::namespaced(client, api_types::names::namespace::SYSTEM);
    let name = controller_kit::leader::lease_name("evictionQueue");
    for _ in 0..100 {
        if let Some(lease) = leases.get_opt(&name).await?
            && let Some(address) = lease.annotations().get(api_types::names::annotation::ADDRESS)
        {
            return Ok(address.clone());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(anyhow!("the eviction queue did not say within 10 s where it listens"))
}

/// Sends the log of everything in this process to a file.
fn log_to(path: &Path, clock: &Clock) -> anyhow::Result<String> {
    let file = Arc::new(std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?);
    let subscriber = controller_kit::telemetry::subscriber(LogFormat::Text, "info", clock.clone(), move || file.clone())?;
    tracing::subscriber::set_global_default(subscriber).context("a log was set up before")?;
    Ok(path.display().to_string())
}

/// A folder of our own for as long as the demo runs.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("karmada-failover-demo-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays in the temporary folder, where the system cleans up.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
