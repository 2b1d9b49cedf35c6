//! The worked example with a member that the control plane cannot reach: member1 is a Pull member, and what stops is its
//! agent.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use controller_kit::members::ConnectMember;
use controller_kit::{KitFlags, MemberError, MemberTarget, OwnMember, Process, Running};
use kube::Api;
use kube_sandbox::{Member, MemberOptions, Now};
use parking_lot::Mutex;
use serde_json::Value;

use crate::chapters::PACE;
use crate::common::{World, simulate};

const BINDING: &str = "default/nginx-deployment";
/// After which an agent that is silent makes its member Unknown.
const GRACE: Duration = Duration::from_secs(40);

struct Stage {
    world: World,
    member1: Member,
    /// Members that the control plane's controllers connected to.
    touched: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new() -> Self {
        let world = World::new(&["member2", "member3"]);
        let clock = world.clock.clone();
        let now: Now = Arc::new(move || clock.now());
        let member1 = world.fleet.add_member(MemberOptions::new("member1", now));
        Self {
            world,
            member1,
            touched: Arc::default(),
        }
    }

    async fn start_control_plane(&self) -> Running {
        let (touched, fleet) = (Arc::clone(&self.touched), self.world.fleet.member_connector());
        let members = move |target: &MemberTarget| {
            touched.lock().push(target.name.clone());
            fleet
                .connect(&target.api_endpoint)
                .map_err(|unknown| MemberError::Endpoint {
                    cluster: target.name.clone(),
                    endpoint: target.api_endpoint.clone(),
                    why: unknown.to_string(),
                })
        };
        let members: Arc<dyn ConnectMember> = Arc::new(members);
        self.world.run_reaching(members, "karmada-failover", &[]).await
    }

    async fn start_agent(&self, identity: &str) -> Running {
        let flags = agent::Flags {
            cluster_name: "member1".to_owned(),
            ..agent::Flags::default()
        };
        let member = self.member1.sandbox().client_named(identity);
        Process::builder("agent", self.world.fleet.control_plane().client_named(identity))
            .clock(self.world.clock.clone())
            .identity(identity)
            .flags(KitFlags::default())
            .members(Arc::new(OwnMember::new(member)))
            .controllers(agent::controllers(flags))
            .start()
            .await
            .unwrap()
    }

    async fn ready(&self, name: &str) -> Option<(String, String)> {
        let api = Api::<Cluster>::all(self.world.client());
        let cluster = api.get_opt(name).await.unwrap()?;
        let condition = cluster.condition("Ready")?;
        Some((condition.status.clone(), condition.reason.clone()))
    }

    async fn until_ready(&self, name: &str, limit: Duration) {
        let what = format!("{name} is Ready");
        let look = || async { self.ready(name).await.filter(|(status, _)| status == "True") };
        self.world.wait_for(&what, limit, look).await;
    }

    fn replicas_on(&self, member: &str) -> Option<i64> {
        let member = self.world.fleet.member(member).unwrap();
        let deployment = member
            .sandbox()
            .get("apps/v1", "Deployment", Some("default"), "nginx")?;
        deployment["spec"]["replicas"].as_i64()
    }

    fn work_on_member1(&self) -> Option<Value> {
        let works = self
            .world
            .fleet
            .control_plane()
            .list("work.karmada.io/v1alpha1", "Work");
        works.into_iter().find(|work| {
            work["metadata"]["namespace"] == "karmada-es-member1"
                && work["spec"]["workload"]["manifests"][0]["kind"] == "Deployment"
        })
    }

    /// Where the workload is to run, and where it is seen healthy.
    async fn placed(&self) -> (Vec<(String, i32)>, Vec<String>) {
        let Some(binding) = self.world.binding(BINDING).await else {
            return Default::default();
        };
        let healthy = binding.status.iter().flat_map(|status| &status.aggregated_status);
        let healthy = healthy
            .filter(|item| serde_json::to_value(item).unwrap()["health"] == "Healthy")
            .map(|item| item.cluster_name.clone());
        let mut placed: Vec<(String, i32)> = binding
            .spec
            .clusters
            .iter()
            .map(|target| (target.name.clone(), target.replicas))
            .collect();
        placed.sort();
        (placed, healthy.collect())
    }
}

fn at(clusters: &[(&str, i32)]) -> Vec<(String, i32)> {
    clusters
        .iter()
        .map(|(name, replicas)| ((*name).to_owned(), *replicas))
        .collect()
}

// C27 (karmada#2096): a Pull member that is Unknown is failed over.
#[test]
fn a_silent_agent_moves_the_workload_and_its_return_ends_the_old_copy() {
    simulate(|| async {
        let stage = Stage::new();
        let plane = stage.start_control_plane().await;
        let agent = stage.start_agent("agent-0").await;
        for member in ["member1", "member2", "member3"] {
            stage.until_ready(member, Duration::from_secs(60)).await;
        }
        stage.world.create_example(&PACE);
        let (before, healthy) = stage
            .world
            .wait_for("nginx runs 1:2", Duration::from_secs(120), || async {
                let (placed, healthy) = stage.placed().await;
                (healthy.len() == 2).then_some((placed, healthy))
            })
            .await;
        assert_eq!(before, at(&[("member1", 1), ("member2", 2)]));
        assert_eq!(healthy, ["member1", "member2"], "its agent's word reaches the binding");
        assert_eq!(stage.replicas_on("member1"), Some(1));

        // The agent is gone; the member runs on.
        tokio::time::sleep(Duration::from_secs(60)).await;
        agent.crash();
        tokio::time::sleep(GRACE - Duration::from_secs(11)).await;
        assert_eq!(
            stage.ready("member1").await.unwrap().0,
            "True",
            "a renewal is good for a while"
        );
        stage
            .world
            .wait_for("member1 is Unknown", Duration::from_secs(25), || async {
                let ready = stage.ready("member1").await?;
                (ready == ("Unknown".to_owned(), "ClusterStatusUnknown".to_owned())).then_some(())
            })
            .await;
        let window = Duration::from_secs(u64::try_from(PACE.add_on_match_seconds).unwrap());
        stage
            .world
            .wait_for("nginx has moved", window + Duration::from_secs(120), || async {
                let binding = stage.world.binding(BINDING).await?;
                let (placed, _) = stage.placed().await;
                let is_done = placed == at(&[("member2", 3)]) && binding.spec.graceful_eviction_tasks.is_empty();
                is_done.then_some(())
            })
            .await;
        assert_eq!(stage.replicas_on("member2"), Some(3));
        tokio::time::sleep(Duration::from_secs(600)).await;
        let work = stage.work_on_member1().expect("it waits for its member");
        assert!(work["metadata"]["deletionTimestamp"].is_string());
        assert_eq!(stage.replicas_on("member1"), Some(1), "nobody else may take it away");

        let _next = stage.start_agent("agent-1").await;
        stage.until_ready("member1", Duration::from_secs(60)).await;
        stage
            .world
            .wait_for("the old copy is gone", Duration::from_secs(10), || async {
                (stage.replicas_on("member1").is_none() && stage.work_on_member1().is_none()).then_some(())
            })
            .await;
        assert_eq!(stage.placed().await.0, at(&[("member2", 3)]));
        assert!(
            !stage.touched.lock().iter().any(|name| name == "member1"),
            "what happens on a Pull member, its agent does"
        );
        stage.world.finish(vec![plane]).await;
    });
}

/// The member fails, not its agent: what is reported is what a Push member's reporter would say, and the same follows.
#[test]
fn a_pull_member_that_fails_is_left_like_a_push_member() {
    simulate(|| async {
        let stage = Stage::new();
        let plane = stage.start_control_plane().await;
        let _agent = stage.start_agent("agent-0").await;
        for member in ["member1", "member2", "member3"] {
            stage.until_ready(member, Duration::from_secs(60)).await;
        }
        stage.world.create_example(&PACE);
        stage
            .world
            .wait_for("nginx runs 1:2", Duration::from_secs(120), || async {
                (stage.placed().await.1.len() == 2).then_some(())
            })
            .await;
        stage.member1.stop();
        stage
            .world
            .wait_for("member1 is not ready", Duration::from_secs(60), || async {
                let ready = stage.ready("member1").await?;
                (ready == ("False".to_owned(), "ClusterNotReachable".to_owned())).then_some(())
            })
            .await;
        let window = Duration::from_secs(u64::try_from(PACE.add_on_match_seconds).unwrap());
        stage
            .world
            .wait_for("nginx has moved", window + Duration::from_secs(120), || async {
                (stage.placed().await.0 == at(&[("member2", 3)])).then_some(())
            })
            .await;
        stage.member1.resume();
        stage.until_ready("member1", Duration::from_secs(60)).await;
        stage
            .world
            .wait_for("the old copy is gone", Duration::from_secs(60), || async {
                stage.replicas_on("member1").is_none().then_some(())
            })
            .await;
        stage.world.finish(vec![plane]).await;
    });
}
