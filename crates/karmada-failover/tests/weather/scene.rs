//! The worked example at rest, with a count of all requests; then comes the weather.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use controller_kit::telemetry::Recording;
use controller_kit::{ConnectMember, Ended, MemberError, MemberTarget, Running};
use karmada_failover::story::example::Pace;
use karmada_failover::story::expect::{BINDING, placement};
use kube::Client;
use kube::client::Body;
use kube_sandbox::rules::Settings;
use kube_sandbox::{Match, Member, MemberConnector};
use serde_json::{Value, json};

use crate::common::World;
use crate::told::Sight;

pub const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 0.5,
};

/// Longer than any window of the story.
pub const LONG: Duration = Duration::from_secs(900);

/// At rest the control plane gets the renewals of 16 Leases, 192 a minute. In bad weather more is asked, but nothing may
/// be asked without pause.
pub const CONTROL_PLANE_LIMIT: u64 = 600;
/// A member gets 6 probes a minute, and what is tried again with growing waits.
pub const MEMBER_LIMIT: u64 = 90;

/// The way to the members. It is found anew at each request, so that a member that was set up anew is reached under its
/// old address; every request is counted, also one that does not arrive.
#[derive(Clone)]
pub struct Roads {
    members: MemberConnector,
    asked: Arc<Mutex<BTreeMap<String, u64>>>,
    /// What the handshake with a member ends with, where it ends badly.
    refused: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Roads {
    pub fn asked(&self, member: &str) -> u64 {
        self.asked.lock().unwrap().get(member).copied().unwrap_or_default()
    }

    /// From now on the member presents a certificate that is not accepted, in rustls' words; connections that are open
    /// end.
    pub fn refuse_certificate(&self, member: &Member) {
        let why = "invalid peer certificate: UnknownIssuer".to_owned();
        self.refused.lock().unwrap().insert(member.name().to_owned(), why);
        member.faults().cut_watches(Match::any());
    }

    /// It presents the right one again.
    pub fn accept_certificate(&self, member: &Member) {
        self.refused.lock().unwrap().remove(member.name());
    }
}

impl ConnectMember for Roads {
    fn connect(&self, target: &MemberTarget) -> Result<Client, MemberError> {
        let (roads, name, endpoint) = (self.clone(), target.name.clone(), target.api_endpoint.clone());
        let service = tower::service_fn(move |request: http::Request<Body>| {
            *roads.asked.lock().unwrap().entry(name.clone()).or_default() += 1;
            let refused = roads.refused.lock().unwrap().get(&name).cloned();
            let member = refused.map_or_else(
                || roads.members.connect(&endpoint).map_err(tower::BoxError::from),
                |why| Err(why.into()),
            );
            async move { member?.send(request).await.map_err(tower::BoxError::from) }
        });
        Ok(Client::new(service, "default"))
    }
}

/// The system, at work.
pub struct Scene {
    pub world: World,
    pub roads: Roads,
    log: Recording,
    process: Option<Running>,
    flags: Vec<String>,
    started: u32,
    /// What can be seen while all is well, before any weather.
    fine: Sight,
}

impl Scene {
    /// nginx runs on both members, and all is quiet.
    pub async fn new(flags: &[&str]) -> Self {
        Self::watched(Settings::exact(PACE.evictions_per_second), flags).await
    }

    /// The same for weather in which components see things late.
    pub async fn watched(settings: Settings, flags: &[&str]) -> Self {
        let world = World::watched(&["member1", "member2"], settings);
        let roads = Roads {
            members: world.fleet.member_connector(),
            asked: Arc::default(),
            refused: Arc::default(),
        };
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let log = Recording::start("info", &world.clock).unwrap();
        let mut scene = Self {
            log,
            world,
            roads,
            process: None,
            flags,
            started: 0,
            fine: Sight::default(),
        };
        scene.start().await;
        scene.world.create_example(&PACE);
        scene
            .world
            .wait_for("nginx placed", LONG, || async {
                let status = scene.world.binding(BINDING).await?.status?;
                (status
                    .aggregated_status
                    .iter()
                    .filter(|item| item.health.is_some())
                    .count()
                    == 2)
                    .then_some(())
            })
            .await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let disturbed = scene.process().readiness().notes();
        assert!(disturbed.is_empty(), "in fine weather: {disturbed:?}");
        scene.fine = scene.sight().await;
        scene
    }

    async fn start(&mut self) {
        self.started += 1;
        let identity = format!("all-in-one-{}", self.started);
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        let process = self
            .world
            .run_reaching(Arc::new(self.roads.clone()), &identity, &flags)
            .await;
        self.process = Some(process);
        self.fine.forget_metrics();
    }

    /// What could be seen while all was well; of the metrics, those of the process that runs now.
    pub fn fine(&self) -> &Sight {
        &self.fine
    }

    /// The process that runs now.
    pub fn process(&self) -> &Running {
        self.process.as_ref().unwrap()
    }

    pub fn member(&self, name: &str) -> Member {
        self.world.fleet.member(name).unwrap()
    }

    /// The deployment as it is on a member.
    pub fn copy(&self, member: &str) -> Option<Value> {
        self.member(member)
            .sandbox()
            .get("apps/v1", "Deployment", Some("default"), "nginx")
    }

    /// So many minutes pass; in none of them is more asked than the limits allow. A process that has ended is started
    /// again after ten seconds, as its pod would be.
    pub async fn minutes(&mut self, minutes: u32) {
        self.minutes_in_which(minutes, Duration::from_secs(10), || {}).await;
    }

    /// The same, and something happens `every` so often.
    pub async fn minutes_in_which(&mut self, minutes: u32, every: Duration, happens: impl Fn()) {
        for minute in 1..=minutes {
            let plane = self.world.fleet.control_plane().faults();
            plane.reset_counts();
            let counts = |scene: &Self| {
                (
                    plane.count(&Match::any()),
                    scene.roads.asked("member1"),
                    scene.roads.asked("member2"),
                )
            };
            let before = counts(self);
            for _ in 0..60 / every.as_secs() {
                tokio::time::sleep(every).await;
                happens();
                if let Some(ended) = self.process().has_ended() {
                    assert!(matches!(ended, Ended::Failed(_)), "{ended:?}");
                    self.start().await;
                }
            }
            let after = counts(self);
            let asked = (after.0 - before.0, after.1 - before.1, after.2 - before.2);
            assert!(
                asked.0 <= CONTROL_PLANE_LIMIT,
                "minute {minute}: the control plane got {} requests: {:?}",
                asked.0,
                self.asked_of_plane()
            );
            assert!(
                asked.1 <= MEMBER_LIMIT && asked.2 <= MEMBER_LIMIT,
                "minute {minute}: the members got {} and {} requests",
                asked.1,
                asked.2
            );
        }
    }

    /// Requests to the control plane by verb and resource in this minute, for a failure's message.
    fn asked_of_plane(&self) -> Vec<String> {
        let counts = self.world.fleet.control_plane().faults().counts();
        counts
            .into_iter()
            .map(|((verb, resource), count)| format!("{verb:?} {resource} {count}"))
            .collect()
    }

    /// The process ends in mid-step, and another one starts.
    pub async fn crash_and_start(&mut self) {
        self.process.take().unwrap().crash();
        self.start().await;
    }

    /// How often the process was started.
    pub fn starts(&self) -> u32 {
        self.started
    }

    /// The Ready condition of a cluster: status and reason.
    pub async fn ready(&self, cluster: &str) -> (String, String) {
        let cluster = self.world.cluster(cluster).await;
        let ready = cluster.condition(api_types::cluster::condition::READY).unwrap();
        (ready.status.clone(), ready.reason.clone())
    }

    /// The notes of events of this reason.
    pub fn events(&self, reason: &str) -> Vec<String> {
        let events = self.world.fleet.control_plane().list("v1", "Event");
        let notes = events.iter().filter(|event| event["reason"] == reason);
        notes
            .map(|event| event["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Sum over all series of a metric whose labels contain this text.
    pub fn metric(&self, name: &str, labels: &str) -> f64 {
        let text = self.process().metrics().render();
        let series = text
            .lines()
            .filter(|line| line.starts_with(name) && line.contains(labels));
        series
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
            .sum()
    }

    /// All that was logged so far.
    pub fn log_lines(&self) -> Vec<String> {
        self.log.lines()
    }

    /// The log has a line with all these words.
    #[track_caller]
    pub fn assert_logged(&self, words: &[&str]) {
        let lines = self.log.lines();
        assert!(
            lines.iter().any(|line| words.iter().all(|word| line.contains(word))),
            "no line has all of {words:?}:\n{}",
            lines.join("\n")
        );
    }

    /// A person changes the image of nginx.
    pub async fn change_image(&self, image: &str) {
        let api: kube::Api<k8s_openapi::api::apps::v1::Deployment> =
            kube::Api::namespaced(self.world.client(), "default");
        let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": image}]}}}});
        api.patch("nginx", &Default::default(), &kube::api::Patch::Strategic(patch))
            .await
            .unwrap();
    }

    /// The image of the copy on a member.
    pub fn image(&self, member: &str) -> Option<String> {
        Some(
            self.copy(member)?["spec"]["template"]["spec"]["containers"][0]["image"]
                .as_str()?
                .to_owned(),
        )
    }

    /// Whether nginx moved to member2, and the old copy was let go.
    pub async fn moved(&self) -> Option<()> {
        let binding = self.world.binding(BINDING).await?;
        let copies = placement(&binding);
        (copies.len() == 1 && copies.get("member2") == Some(&3) && binding.spec.graceful_eviction_tasks.is_empty())
            .then_some(())
    }

    /// Whether nginx is where it was placed first, without any task or taint.
    pub async fn untouched(&self) -> Option<()> {
        let binding = self.world.binding(BINDING).await?;
        let copies = placement(&binding);
        let placed = copies.get("member1") == Some(&1) && copies.get("member2") == Some(&2) && copies.len() == 2;
        let taints = self.world.cluster("member1").await.spec.taints.len()
            + self.world.cluster("member2").await.spec.taints.len();
        (placed && binding.spec.graceful_eviction_tasks.is_empty() && taints == 0).then_some(())
    }

    /// Waits until nginx moved once, and member1, which is back, is clean.
    pub async fn moved_and_clean(&mut self, limit_minutes: u32) {
        for _ in 0..limit_minutes {
            self.minutes(1).await;
            let clean = self.copy("member1").is_none() && self.world.cluster("member1").await.spec.taints.is_empty();
            if clean && self.moved().await.is_some() {
                let available = self.copy("member2").unwrap()["status"]["availableReplicas"].as_i64();
                assert_eq!(available, Some(3));
                assert_eq!(self.world.rules.evictions().len(), 1);
                return;
            }
        }
        panic!(
            "not moved and clean after {limit_minutes} minutes: {:?}",
            self.world.binding(BINDING).await
        );
    }

    /// Ends everything in order; no rule was broken.
    pub async fn finish(self) {
        self.world.finish(self.process.into_iter().collect()).await;
    }
}
