//! A real control plane with three real members and our process, and what the process asks of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind, condition};
use controller_kit::Clock;
use e2e_harness::{
    ApiServer, AuditLog, ControlPlane, Identity, Launch, Mark, Member, Process, Programs, Request, eventually,
    serve_kinds,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use karmada_failover::story::example::{self, MemberEntry};
use karmada_failover::story::objects;
use kube::api::ListParams;
use kube::{Api, Client};
use kube_sandbox::rules::{Seen, Settings, Watching, follow};
use parking_lot::Mutex;
use serde_json::json;
use test_bench::Moves;
use test_bench::usage::{self, Resident};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::workloads::{MEMBERS, NAMESPACE, config_map, policy};
use crate::{EVICTIONS_PER_SECOND, WORKLOADS};

/// As whom the process asks, everywhere: by this name its requests are told from all others.
const PROCESS: Identity = Identity::Component("karmada-failover");
/// How long something may take that takes seconds.
const SOON: Duration = Duration::from_secs(180);
/// Who has asked for nothing for so long is at rest.
const QUIET: Duration = Duration::from_secs(5);

/// What the process asked of each API server.
pub type Asked = Vec<(String, Vec<Request>)>;

pub struct Stage {
    process: Process,
    rules: Watching,
    client: Client,
    members: Vec<Member>,
    /// Dropped last.
    control_plane: ControlPlane,
}

/// Points in the logs of all API servers.
pub struct Marks(Vec<Mark>);

/// Whether it is neither the renewal of a Lease, nor a look at how a server is, nor a watch.
pub fn is_work(request: &Request) -> bool {
    !request.is_renewal() && !request.is_probe() && !request.is_watch()
}

/// How often which server was asked for what, for people.
pub fn told(asked: &Asked) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for (server, requests) in asked {
        for request in requests {
            let what = if request.resource.is_empty() {
                &request.uri
            } else {
                &request.resource
            };
            *kinds.entry(format!("{server}: {} {what}", request.verb)).or_default() += 1;
        }
    }
    kinds
}

impl Stage {
    pub async fn set() -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start_audited().await?;
        let (first, second, third) = tokio::try_join!(
            control_plane.start_member(MEMBERS[0]),
            control_plane.start_member(MEMBERS[1]),
            control_plane.start_member(MEMBERS[2]),
        )?;
        let members = vec![first, second, third];
        let client = control_plane.client().await?;
        serve_kinds(&client, &api_types::crds()).await?;
        let shop = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        let clusters = members.iter().map(entry).flat_map(|entry| example::member(&entry));
        for object in example::namespaces()
            .into_iter()
            .chain(example::default_taint_policies())
            .chain([shop, policy("v1", "ConfigMap")])
            .chain(clusters)
        {
            objects::create(&client, object).await?;
        }
        for server in std::iter::once(control_plane.api()).chain(members.iter().map(Member::api)) {
            server.grant(PROCESS, "everything", everything()).await?;
        }
        let clock = Clock::system();
        let rules = Settings::real_time(EVICTIONS_PER_SECOND);
        let rules = Watching::start(&client, rules, Arc::new(move || clock.now()));
        let launch = Launch::new("karmada-failover", Programs::find()?.path("karmada-failover")?)
            .args(["run", "--feature-gates=Failover=true"])
            .arg(format!("--resource-eviction-rate={EVICTIONS_PER_SECOND}"))
            .args(["--admin-bind-address=127.0.0.1:0", "--queue-bind-address=127.0.0.1:0"])
            .arg(format!("--kubeconfig={}", control_plane.kubeconfig(PROCESS).display()));
        let process = Process::start(control_plane.folder(), launch)?;
        let stage = Self {
            process,
            rules,
            client,
            members,
            control_plane,
        };
        stage.all_are_ready().await?;
        Ok(stage)
    }

    async fn all_are_ready(&self) -> anyhow::Result<()> {
        let clusters: Api<Cluster> = Api::all(self.client.clone());
        eventually("all members to be Ready", SOON, async || {
            let found = clusters.list(&ListParams::default()).await;
            let found = found.map_err(|error| error.to_string())?.items;
            let is_ready = |cluster: &&Cluster| cluster.condition("Ready").is_some_and(|ready| ready.status == "True");
            match found.iter().filter(is_ready).count() {
                ready if ready == MEMBERS.len() => Ok(()),
                ready => Err(format!("{ready} are; the log ends with:\n{}", self.process.log_tail())),
            }
        })
        .await?;
        Ok(())
    }

    /// Creates the workloads and waits until all run, on the one member that is told.
    pub async fn place(&self) -> anyhow::Result<&'static str> {
        for number in 0..WORKLOADS {
            objects::create(&self.client, config_map(number)).await?;
        }
        let placed = eventually("all workloads to run", SOON, async || {
            let bindings = self.bindings().await?;
            let runs = |binding: &&Binding| {
                let applied = binding.condition(condition::FULLY_APPLIED);
                applied.is_some_and(|applied| applied.status == "True")
            };
            match bindings.iter().filter(runs).count() {
                WORKLOADS => Ok(bindings),
                count => Err(format!("{count} do")),
            }
        });
        let placed = placed.await?;
        let all_are_on = |member: &&str| {
            let is_on = |binding: &Binding| binding.spec.clusters.iter().any(|target| target.name == **member);
            placed.iter().all(is_on)
        };
        MEMBERS
            .into_iter()
            .find(all_are_on)
            .context("they do not stand together")
    }

    async fn bindings(&self) -> Result<Vec<Binding>, String> {
        let list = bindings_of(&self.client).list(&ListParams::default()).await;
        Ok(list.map_err(|error| error.to_string())?.items)
    }

    /// Taints a member and waits until no workload and no old copy is there any more; what was seen of it.
    pub async fn all_leave(&self, home: &str) -> anyhow::Result<Moves> {
        let moves = Arc::new(Mutex::new(Moves::from(home)));
        let mut follower = JoinSet::new();
        let (seen, began) = (moves.clone(), Instant::now());
        follower.spawn(follow(bindings_of(&self.client), move |version| {
            if let Seen::Stored(binding) = version {
                seen.lock().see(began.elapsed().as_secs_f64(), &binding);
            }
        }));
        let count_is = async |what: &str, count: fn(&Moves) -> usize| {
            eventually(what, SOON, async || match count(&moves.lock()) {
                WORKLOADS => Ok(()),
                count => Err(format!("{count} of {WORKLOADS}")),
            })
            .await
        };
        count_is("all to be seen where they are", Moves::stood).await?;
        let now = Clock::system().now();
        let taint = json!({"key": "example.com/lost", "effect": "NoExecute", "timeAdded": now});
        objects::edit_taints(&self.client, home, |taints| taints.push(taint.clone())).await?;
        count_is("all to be placed anew", Moves::placed_anew).await?;

        let member = self.members.iter().find(|member| member.name() == home);
        let member = member.context("an unknown member")?.client().await?;
        let old_copies: Api<ConfigMap> = Api::namespaced(member, NAMESPACE);
        eventually("the last old copy to be gone", SOON, async || {
            let left = old_copies.list(&ListParams::default()).await;
            let left = left.map_err(|error| error.to_string())?.items.len();
            let bindings = self.bindings().await?;
            let leave = |binding: &&Binding| !binding.spec.graceful_eviction_tasks.is_empty();
            match (left, bindings.iter().filter(leave).count()) {
                (0, 0) => Ok(()),
                (left, leaving) => Err(format!("{left} are left, {leaving} have a task")),
            }
        })
        .await?;
        drop(follower);
        let moves = moves.lock().clone();
        Ok(moves)
    }

    /// Waits until the process does no more than it does at rest.
    pub async fn is_at_rest(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let mark = self.mark()?;
            tokio::time::sleep(QUIET).await;
            let asked = self.asked_since(&mark)?;
            if !asked.iter().any(|(_, requests)| requests.iter().any(is_work)) {
                return Ok(());
            }
            ensure!(began.elapsed() < SOON, "it does not come to rest: {:#?}", told(&asked));
        }
    }

    fn servers(&self) -> impl Iterator<Item = &ApiServer> {
        std::iter::once(self.control_plane.api()).chain(self.members.iter().map(Member::api))
    }

    pub fn mark(&self) -> anyhow::Result<Marks> {
        let marks = self.servers().map(|server| Ok(log_of(server)?.mark()?));
        Ok(Marks(marks.collect::<anyhow::Result<_>>()?))
    }

    pub fn asked_since(&self, marks: &Marks) -> anyhow::Result<Asked> {
        let logs = self.servers().zip(&marks.0);
        logs.map(|(server, mark)| {
            let requests = log_of(server)?.since(*mark, PROCESS)?;
            Ok((server.name().to_owned(), requests))
        })
        .collect()
    }

    pub fn resident(&self) -> Resident {
        usage::resident(self.id())
    }

    pub fn cpu_time(&self) -> Duration {
        usage::cpu_time(self.id())
    }

    fn id(&self) -> u32 {
        self.process.id().expect("it runs")
    }

    /// The process ends in order, and no rule was broken.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.process.must_run()?;
        let status = self.process.stop(SOON).await?;
        ensure!(status.success(), "it ended with {status}:\n{}", self.process.log_tail());
        let broken: Vec<String> = self.rules.finish().iter().map(ToString::to_string).collect();
        ensure!(broken.is_empty(), "rules are broken: {broken:#?}");
        Ok(())
    }
}

fn log_of(server: &ApiServer) -> anyhow::Result<&AuditLog> {
    server.audit_log().context("an API server without an audit log")
}

fn bindings_of(client: &Client) -> Api<Binding> {
    Api::namespaced_with(client.clone(), NAMESPACE, &BindingKind::Namespaced)
}

fn entry(member: &Member) -> MemberEntry {
    MemberEntry {
        name: member.name().to_owned(),
        endpoint: member.api().endpoint().to_owned(),
        token: member.api().token(PROCESS).to_owned(),
        ca_bundle: Some(member.api().ca_bundle().to_owned()),
    }
}

/// What rights are missing is not looked for here.
fn everything() -> Vec<PolicyRule> {
    let all = || Some(vec!["*".to_owned()]);
    let verbs = vec!["*".to_owned()];
    let resources = PolicyRule {
        api_groups: all(),
        resources: all(),
        verbs: verbs.clone(),
        ..PolicyRule::default()
    };
    let paths = PolicyRule {
        non_resource_urls: all(),
        verbs,
        ..PolicyRule::default()
    };
    vec![resources, paths]
}
