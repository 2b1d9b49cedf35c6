//! Who says that a member is well, on a real control plane: a member that swallows what it is sent, a reporter that dies,
//! a monitor that hears nobody, and a Cluster whose deletion waits for a workload that has no other place.

mod agents;

use std::time::Duration;

use anyhow::{anyhow, ensure};
use api_types::cluster::condition;
use api_types::names::{annotation, namespace};
use controller_kit::Clock;
use e2e_harness::{ControlPlane, Process, available, eventually};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::objects;
use karmada_failover::story::scenario::MemberState;
use kube::Client;
use serde_json::{Value, json};

use self::agents::Agents;
use crate::clusters::{self, SOON};
use crate::components::{SHORT_LEASES, components, furnish, start_as, start_components, stop_components};
use crate::kubectl::Kubectl;
use crate::simulated_members::SimulatedMembers;
use crate::telling::{came_out_right, say, watch_rules};

const PACE: Pace = Pace::FAST;
/// How long a sign of life is good for.
const GRACE: Duration = Duration::from_secs(10);
const PUSHED: [&str; 3] = ["member1", "member2", "member3"];
const PULLED: [&str; 3] = ["pull1", "pull2", "pull3"];
const HEALTH: &str = "cluster-health-controller";
/// The half of it that probes, as a process of its own.
const REPORTER: &str = "reporter";

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    if available("cluster health on real API servers").is_none() {
        return Ok(true);
    }
    let mut stage = Stage::set().await?;
    let rules = watch_rules(&stage.client, PACE.evictions_per_second);
    stage.a_member_that_swallows_all_delays_nobody().await?;
    stage.the_reporter_dies_and_nobody_is_marked().await?;
    stage.the_monitor_hears_nobody_and_marks_nobody().await?;
    stage.a_deletion_waits_and_says_for_what().await?;
    stop_components(stage.processes).await?;
    came_out_right(rules)
}

struct Stage {
    client: Client,
    kubectl: Kubectl,
    members: SimulatedMembers,
    agents: Agents,
    processes: Vec<Process>,
    /// Dropped last.
    _control_plane: ControlPlane,
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start().await?;
        let members = SimulatedMembers::start(&PUSHED).await?;
        let client = control_plane.client().await?;
        furnish(&client, &members.entries(PUSHED)?, Vec::new()).await?;
        let agents = Agents::join(&client, &PULLED).await?;
        let mut health = PACE.health_flags();
        health.extend([
            "--cluster-monitor-period=1s".to_owned(),
            format!("--cluster-monitor-grace-period={}s", GRACE.as_secs()),
        ]);
        let half = |controllers: &str| [health.clone(), vec![format!("--controllers={controllers}")]].concat();
        let others = components(Vec::new(), PACE.queue_flags())
            .into_iter()
            .filter(|(name, _)| *name != HEALTH)
            .collect();
        let mut processes = start_components(&control_plane, others, &SHORT_LEASES)?;
        for (name, controllers) in [("monitor", "cluster"), (REPORTER, "clusterStatus")] {
            processes.push(start_as(
                &control_plane,
                name,
                (HEALTH, half(controllers)),
                &SHORT_LEASES,
            )?);
        }
        Ok(Self {
            kubectl: Kubectl::of(&control_plane)?,
            client,
            members,
            agents,
            processes,
            _control_plane: control_plane,
        })
    }

    fn reporter(&mut self) -> anyhow::Result<&mut Process> {
        let found = self.processes.iter_mut().find(|process| process.name() == REPORTER);
        found.ok_or_else(|| anyhow!("there is no reporter"))
    }

    fn kill_the_reporter(&mut self) -> anyhow::Result<()> {
        let reporter = self.reporter()?;
        reporter.must_run()?;
        Ok(reporter.kill()?)
    }

    async fn ready_is(&self, name: &str, wanted: &str) -> anyhow::Result<Condition> {
        clusters::condition_is(&self.client, name, condition::READY, &[wanted]).await
    }

    /// Ready of these says at this moment that they are well.
    async fn are_ready(&self, names: &[&str]) -> anyhow::Result<()> {
        for name in names {
            let cluster = clusters::read(&self.client, name)
                .await
                .map_err(|error| anyhow!(error))?;
            ensure!(cluster.is_ready(), "{name}: {:?}", cluster.condition(condition::READY));
        }
        Ok(())
    }

    async fn a_member_that_swallows_all_delays_nobody(&mut self) -> anyhow::Result<()> {
        for name in PUSHED.iter().chain(&PULLED) {
            self.ready_is(name, "True").await?;
        }
        self.members.set_member("member3", MemberState::Hanging);
        let ready = self.ready_is("member3", "False").await?;
        ensure!(ready.reason == "ClusterNotReachable", "{ready:?}");
        say(&format!("member3 answers nothing: {}", ready.message));
        // The others fail and are well again meanwhile, each in its own time.
        self.members.set_member("member2", MemberState::Stopped);
        self.ready_is("member2", "False").await?;
        self.members.set_member("member2", MemberState::Up);
        self.ready_is("member2", "True").await?;
        self.are_ready(&["member1"]).await?;
        self.members.set_member("member3", MemberState::Up);
        self.ready_is("member3", "True").await?;
        say("member2 failed and returned while member3 was silent");
        Ok(())
    }

    async fn the_reporter_dies_and_nobody_is_marked(&mut self) -> anyhow::Result<()> {
        self.kill_the_reporter()?;
        let renewed = clusters::renewed_at(&self.client, namespace::SYSTEM, "cluster-status").await?;
        let mut after = 0.0;
        for name in PUSHED {
            let down = clusters::condition_is(&self.client, name, condition::REPORTER_DOWN, &["True"]).await?;
            ensure!(down.message.ends_with("start clusterStatus"), "{down:?}");
            after = clusters::not_before(&down, renewed, GRACE)?;
        }
        // What it would have seen now it does not see.
        self.members.set_member("member2", MemberState::Stopped);
        self.describe("member2")?;
        clusters::event_on(
            &self.kubectl,
            "karmada-system",
            "lease/cluster-status",
            "ReporterDown",
            "none is marked",
        )
        .await?;
        self.are_ready(&PUSHED).await?;
        self.are_ready(&PULLED).await?;
        say(&format!(
            "{after:.1} s after the reporter's last sign of life its clusters say ReporterDown, and stay Ready"
        ));

        self.reporter()?.start_again()?;
        self.ready_is("member2", "False").await?;
        for name in PUSHED {
            clusters::condition_is(&self.client, name, condition::REPORTER_DOWN, &["False"]).await?;
        }
        self.members.set_member("member2", MemberState::Up);
        self.ready_is("member2", "True").await?;
        say("it is back, and sees what happened meanwhile");
        Ok(())
    }

    async fn the_monitor_hears_nobody_and_marks_nobody(&mut self) -> anyhow::Result<()> {
        self.kill_the_reporter()?;
        self.agents.renew_only(|_| false);
        let heard = self.agents.heard_last(&self.client).await?;
        for name in PULLED {
            let isolated = clusters::condition_is(&self.client, name, condition::MONITOR_ISOLATED, &["True"]).await?;
            clusters::not_before(&isolated, heard, GRACE)?;
        }
        self.describe("pull1")?;
        clusters::event_on(&self.kubectl, "karmada-system", "lease/cluster", "MonitorIsolated", "").await?;
        // Twice the grace period is long enough to mark them all, if anybody would.
        tokio::time::sleep(2 * GRACE).await;
        self.are_ready(&PUSHED).await?;
        self.are_ready(&PULLED).await?;
        say("all leases are silent: every cluster says MonitorIsolated, and stays Ready");

        self.agents.renew_only(|name| name == "pull1");
        let heard = Clock::system().now();
        let mut after = 0.0;
        for name in ["pull2", "pull3"] {
            let unknown = self.ready_is(name, "Unknown").await?;
            after = clusters::not_before(&unknown, heard, GRACE)?;
        }
        self.are_ready(&["pull1"]).await?;
        say(&format!(
            "pull1 is heard again: the others are Unknown {after:.1} s later, not before a grace period"
        ));
        self.agents.renew_only(|_| true);
        self.reporter()?.start_again()?;
        for name in PUSHED {
            clusters::condition_is(&self.client, name, condition::REPORTER_DOWN, &["False"]).await?;
        }
        Ok(())
    }

    async fn a_deletion_waits_and_says_for_what(&mut self) -> anyhow::Result<()> {
        objects::create(&self.client, example::deployment()).await?;
        objects::create(&self.client, nailed_to("member1")).await?;
        self.bindings_say("nginx to be placed on member1 alone", "member1")
            .await?;
        self.kubectl.run(&["delete", "cluster", "member1", "--wait=false"])?;
        let what = "the deletion to say that nginx has no other place";
        let message = eventually(what, SOON, async || {
            let cluster = clusters::read(&self.client, "member1").await?;
            let blocked = cluster.condition(condition::DELETION_BLOCKED).cloned();
            match blocked {
                Some(blocked)
                    if blocked
                        .message
                        .contains("1 without a target (default/nginx-deployment: ") =>
                {
                    Ok(blocked.message)
                }
                found => Err(format!("{found:?}")),
            }
        })
        .await?;
        say(&format!("the deletion of member1 waits: {message}"));
        self.describe("member1")?;
        ensure!(message.contains(annotation::FORCE_DELETE), "{message}");
        // It is well, and its workload runs there still.
        self.are_ready(&["member1"]).await?;
        self.bindings_say("nginx to be there still", "member1").await?;

        let force = format!("{}=true", annotation::FORCE_DELETE);
        self.kubectl.run(&["annotate", "cluster", "member1", &force])?;
        eventually("member1 to be gone", SOON, async || {
            let left = self
                .kubectl
                .run(&["get", "clusters", "-o", "name"])
                .map_err(|error| error.to_string())?;
            if left.contains("/member1") { Err(left) } else { Ok(()) }
        })
        .await?;
        self.bindings_say("nginx to be placed nowhere", "").await?;
        clusters::event_on(&self.kubectl, "default", "cluster/member1", "DeletionNotAwaited", "").await?;
        say("a person would not wait: member1 is gone, and no binding names it");
        Ok(())
    }

    /// Waits until the binding of nginx names just these clusters.
    async fn bindings_say(&self, what: &str, clusters: &str) -> anyhow::Result<()> {
        let names = "jsonpath={.spec.clusters[*].name}";
        eventually(what, SOON, async || {
            let placed = self
                .kubectl
                .run(&["get", "rb", "nginx-deployment", "-o", names])
                .map_err(|error| error.to_string())?;
            if placed == clusters { Ok(()) } else { Err(placed) }
        })
        .await?;
        Ok(())
    }

    fn describe(&self, name: &str) -> anyhow::Result<()> {
        let text = self.kubectl.run(&["describe", "cluster", name])?;
        say(&format!("\n$ kubectl describe cluster {name}\n{text}"));
        Ok(())
    }
}

/// nginx on this cluster and on no other.
fn nailed_to(cluster: &str) -> Value {
    let mut policy = example::propagation_policy();
    policy["spec"]["placement"] = json!({"clusterAffinity": {"clusterNames": [cluster]}});
    policy
}
