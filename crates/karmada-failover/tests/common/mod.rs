//! A whole system under simulated time: a control plane, members, all controllers, and the rules watched.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]
#![allow(dead_code, reason = "each test program uses its part")]

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind, Work};
use clap::Parser;
use controller_kit::members::ConnectMember;
use controller_kit::process::STOP_LIMIT;
use controller_kit::telemetry::Traces;
use controller_kit::{Ended, KitFlags, Mode, Process, Running};
use eviction_queue_api::QueueClient;
use eviction_queue_api::memory::MemoryNetwork;
use karmada_failover::components::ComponentFlags;
use karmada_failover::story::example::{self, MemberEntry, Pace};
use kube::Api;
use kube_sandbox::Sandbox;
use kube_sandbox::rules::Settings;
use serde_json::Value;
use test_bench::Bench;
use test_bench::stock::Company;

/// Runs a test body under paused time.
pub fn simulate<F: Future<Output = ()>>(body: impl FnOnce() -> F) {
    test_bench::paused(async { body().await });
}

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    components: ComponentFlags,
}

/// The system.
pub struct World {
    bench: Bench,
    pub network: MemoryNetwork,
    pub company: Company,
    evictions_per_second: f64,
}

impl Deref for World {
    type Target = Bench;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
}

impl World {
    /// A control plane with our CRDs and the given members, nothing running.
    pub fn new(members: &[&str]) -> Self {
        Self::with_rate(members, 0.5)
    }

    /// The same for a system whose eviction rate is another one.
    pub fn with_rate(members: &[&str], evictions_per_second: f64) -> Self {
        Self::watched(members, Settings::exact(evictions_per_second))
    }

    /// The same with these settings of the rules.
    pub fn watched(members: &[&str], settings: Settings) -> Self {
        Self::in_mode(Mode::Standalone, members, settings)
    }

    /// The same in this mode, in which every process is started that is not told otherwise.
    pub fn in_mode(mode: Mode, members: &[&str], settings: Settings) -> Self {
        Self::among(|plane| Company::on(plane, mode), members, settings)
    }

    /// The same with what this puts on the control plane, in the mode that fits.
    pub fn among(company: impl FnOnce(&Sandbox) -> Company, members: &[&str], settings: Settings) -> Self {
        let evictions_per_second = settings.evictions_per_second;
        let bench = Bench::new(members);
        let company = company(bench.plane());
        for member in bench.fleet.members() {
            let entry = MemberEntry {
                name: member.name().to_owned(),
                endpoint: member.endpoint(),
                token: "token".to_owned(),
                ca_bundle: None,
            };
            for object in example::member(&entry) {
                bench.put(object);
            }
        }
        bench.rules.set(|known| *known = settings);
        Self {
            bench,
            network: MemoryNetwork::default(),
            company,
            evictions_per_second,
        }
    }

    /// Starts a process with these flags, as on the command line of `karmada-failover run`.
    pub async fn run(&self, identity: &str, flags: &[&str]) -> Running {
        self.run_reaching(self.roads(), identity, flags).await
    }

    /// The same with another way to the members.
    pub async fn run_reaching(&self, members: Arc<dyn ConnectMember>, identity: &str, flags: &[&str]) -> Running {
        self.run_telling(Traces::off(), members, identity, flags).await
    }

    /// The same with somebody who hears what is traced.
    pub async fn run_telling(
        &self,
        traces: Traces,
        members: Arc<dyn ConnectMember>,
        identity: &str,
        flags: &[&str],
    ) -> Running {
        let rate = format!("--resource-eviction-rate={}", self.evictions_per_second);
        let own = ["karmada-failover", "--feature-gates=Failover=true", &rate];
        let has_admin = flags.iter().any(|flag| flag.starts_with("--admin-bind-address"));
        let admin = (!has_admin).then_some("--admin-bind-address=0");
        let mode = self.company.mode().is_beside().then_some("--beside-stock");
        let flags = Flags::try_parse_from(own.iter().chain(&admin).chain(&mode).chain(flags)).unwrap();
        Process::builder("karmada-failover", self.fleet.control_plane().client_named(identity))
            .clock(self.clock.clone())
            .identity(identity)
            .flags(flags.kit)
            .controllers(flags.components.controllers_within(&self.network))
            .members(members)
            .traces(traces)
            .start()
            .await
            .unwrap()
    }

    /// A client of the queue.
    pub fn queue(&self) -> QueueClient {
        QueueClient::by_lease(self.client(), api_types::names::namespace::SYSTEM, "test").through(self.network.clone())
    }

    /// Creates an object, as a person would.
    pub fn create(&self, object: Value) {
        let object = self.company.object(object);
        let shown = object.to_string();
        self.fleet
            .control_plane()
            .create(object)
            .unwrap_or_else(|refusal| panic!("{refusal}: {shown}"));
    }

    /// The worked example: nginx 1:2 and the policies, at the given pace.
    pub fn create_example(&self, pace: &Pace) {
        example::taint_policies(pace)
            .into_iter()
            .for_each(|policy| self.create(policy));
        self.create(example::deployment());
        self.create(example::propagation_policy());
    }

    /// Waits until `look` gives something; fails with `what` after a simulated `limit`.
    pub async fn wait_for<T, F>(&self, what: &str, limit: Duration, mut look: impl FnMut() -> F) -> T
    where
        F: Future<Output = Option<T>>,
    {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{what} did not come within {} simulated seconds",
                limit.as_secs()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A binding.
    pub async fn binding(&self, key: &str) -> Option<Binding> {
        let key: BindingKey = key.parse().unwrap();
        let kind = key.kind();
        let api: Api<Binding> = match (&key.namespace, kind) {
            (Some(namespace), BindingKind::Namespaced) => Api::namespaced_with(self.client(), namespace, &kind),
            _ => Api::all_with(self.client(), &kind),
        };
        api.get_opt(&key.name).await.unwrap()
    }

    /// A Cluster.
    pub async fn cluster(&self, name: &str) -> Cluster {
        Api::all(self.client()).get(name).await.unwrap()
    }

    /// The Works for a member.
    pub async fn works(&self, cluster: &str) -> Vec<Work> {
        let namespace = api_types::names::execution_namespace(&cluster.into());
        Api::namespaced(self.client(), &namespace)
            .list(&Default::default())
            .await
            .unwrap()
            .items
    }

    /// Ends the processes in order and, as nothing hinders them, at once; then asks for broken rules.
    pub async fn finish(self, processes: Vec<Running>) {
        let forgotten = self.forgotten_entries(&processes).await;
        for process in processes {
            let asked = tokio::time::Instant::now();
            assert_eq!(process.stop().await, Ended::Stopped);
            assert!(asked.elapsed() < STOP_LIMIT, "tasks had to be cut off");
        }
        let mut broken = self.broken_rules();
        broken.extend(forgotten);
        assert!(broken.is_empty(), "{broken:#?}");
    }

    /// Rule 6: everything queued is in the end evicted, abandoned or visibly held.
    async fn forgotten_entries(&self, processes: &[Running]) -> Vec<String> {
        let runs_the_queue = |process: &&Running| {
            let labels = [("controller", "evictionQueue")];
            process.metrics().value("failover_controller_enabled", &labels) == Some(1.0)
        };
        if !processes.iter().any(|process| runs_the_queue(&process)) {
            return Vec::new();
        }
        match test_bench::forgotten_entries(&self.queue(), self.clock.now()).await {
            Ok(forgotten) => forgotten,
            Err(error) => vec![format!("rule 6 was not checked: the queue: {error}")],
        }
    }
}
