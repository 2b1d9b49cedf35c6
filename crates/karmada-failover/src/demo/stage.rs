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
use kube::{Api, Client, Config};
use kube_sandbox::rules::{Settings, Watching};
use kube_sandbox::{Fleet, Served};

use super::kubeconfig::kubeconfig;
use crate::components::ComponentFlags;
use crate::story::example::{self, MemberEntry};
use crate::story::print::Started;
use crate::story::scenario::{Fare, MemberState, Network, Scenario, TAINTS_OF_PEOPLE};
use crate::story::theatre::{Roads, set_simulated_cpus, set_simulated_workload};
use crate::story::{Sources, Theatre};

const CONTROL_PLANE: &str = "control-plane";

/// Everything that runs. Ends in order with [`Stage::strike`], at once when it is dropped.
pub(super) struct Stage {
    /// Where to look at it.
    pub(super) started: Started,
    clock: Clock,
    fleet: Fleet,
    roads: Roads,
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
    pub(super) async fn set(scenario: &Scenario) -> anyhow::Result<Self> {
        let clock = Clock::system();
        let folder = Folder::create()?;
        let log = log_to(&folder.path.join("controllers.log"), &clock)?;

        let now = clock.clone();
        let fleet = Fleet::start(
            &(Arc::new(move || now.now()) as kube_sandbox::Now),
            &scenario.every_member(),
        );
        let (control_plane, members) = fleet.serve_http().await.context("cannot listen on loopback")?;
        for crd in api_types::crds() {
            fleet
                .control_plane()
                .apply_crd(serde_json::to_value(crd)?)
                .map_err(|refusal| anyhow!("{refusal}"))?;
        }
        let mut objects = example::namespaces();
        for name in &scenario.members {
            objects.extend(example::member(&entry(&members, name)?));
        }
        objects.extend(scenario.given.iter().cloned());
        for object in objects {
            fleet
                .control_plane()
                .put(object)
                .map_err(|refusal| anyhow!("{refusal}"))?;
        }

        let mut arguments = vec![
            "karmada-failover".to_owned(),
            "--feature-gates=Failover=true".to_owned(),
            "--admin-bind-address=127.0.0.1:0".to_owned(),
            "--queue-bind-address=127.0.0.1:0".to_owned(),
        ];
        arguments.extend(scenario.pace.health_flags());
        arguments.extend(scenario.queue_flags());
        let flags = Flags::try_parse_from(arguments).context("the demo's own flags")?;
        let process = Process::builder(
            "karmada-failover",
            fleet.control_plane().client_named("karmada-failover"),
        )
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
        let metrics = process
            .admin_address()
            .map(|address| format!("http://{address}/metrics"))
            .unwrap_or_default();
        let started = Started {
            scenario: scenario.name.to_owned(),
            description: scenario.description.clone(),
            members: members.len(),
            kubeconfig: kubeconfig_path.display().to_string(),
            queue: queue_address(fleet.control_plane().observer()).await?,
            metrics,
            log,
        };
        Ok(Self {
            started,
            clock,
            fleet,
            roads: Roads::default(),
            control_plane,
            members,
            process,
            folder,
        })
    }

    /// What an observer looks at: the same URLs that a person has.
    pub(super) fn sources(&self) -> anyhow::Result<Sources> {
        let members = self
            .members
            .iter()
            .map(|(name, served)| Ok((name.clone(), client(&served.url())?)));
        Ok(Sources {
            control_plane: client(&self.control_plane.url())?,
            members: members.collect::<anyhow::Result<_>>()?,
            queue: QueueClient::at(&self.started.queue),
        })
    }

    /// Watches over the correctness rules from here on.
    pub(super) fn watch_rules(&self, scenario: &Scenario) -> Watching {
        let clock = self.clock.clone();
        let settings = Settings {
            people_s_taint_keys: TAINTS_OF_PEOPLE,
            ..Settings::real_time(scenario.highest_rate())
        };
        Watching::start(
            &self.fleet.control_plane().observer(),
            settings,
            Arc::new(move || clock.now()),
        )
    }

    /// Ends everything in order.
    pub(super) async fn strike(self, files: Files) -> Ended {
        let ended = self.process.stop().await;
        match files {
            Files::Remove => drop(self.folder),
            Files::Keep => self.folder.keep(),
        }
        ended
    }
}

/// What becomes of the demo's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// They go.
    Remove,
    /// They stay, for whoever wants to know what went wrong.
    Keep,
}

impl Theatre for Stage {
    async fn control_plane(&mut self) -> anyhow::Result<Client> {
        client(&self.control_plane.url())
    }

    async fn set_member(&mut self, name: &str, to: MemberState) -> anyhow::Result<()> {
        self.roads.set_member(name, to);
        self.roads.lay(&self.fleet);
        Ok(())
    }

    async fn set_network(&mut self, to: Network) -> anyhow::Result<()> {
        self.roads.set_network(to);
        self.roads.lay(&self.fleet);
        Ok(())
    }

    async fn set_workload(&mut self, member: &str, name: &str, to: Fare) -> anyhow::Result<()> {
        set_simulated_workload(&self.fleet, member, name, to)
    }

    async fn set_cpus(&mut self, member: &str, cpus: u32) -> anyhow::Result<()> {
        set_simulated_cpus(&self.fleet, member, cpus)
    }

    fn entry(&self, member: &str) -> anyhow::Result<MemberEntry> {
        entry(&self.members, member)
    }
}

/// What the control plane is told of a member.
fn entry(members: &BTreeMap<String, Served>, name: &str) -> anyhow::Result<MemberEntry> {
    let served = members.get(name).ok_or_else(|| anyhow!("there is no member {name}"))?;
    Ok(MemberEntry {
        name: name.to_owned(),
        endpoint: served.url(),
        token: "demo".to_owned(),
        ca_bundle: None,
    })
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
            && let Some(address) = controller_kit::leader::said(&lease).address
        {
            return Ok(address);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(anyhow!("the eviction queue did not say within 10 s where it listens"))
}

/// Sends the log of everything in this process to a file.
fn log_to(path: &Path, clock: &Clock) -> anyhow::Result<String> {
    let file = Arc::new(std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?);
    let subscriber =
        controller_kit::telemetry::subscriber(LogFormat::Text, "info", clock.clone(), move || file.clone())?;
    tracing::subscriber::set_global_default(subscriber).context("a log was set up before")?;
    Ok(path.display().to_string())
}

/// A folder of our own for as long as the demo runs.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("karmada-failover-demo-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path, is_kept: false })
    }

    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed stays in the temporary folder, where the system cleans up.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
