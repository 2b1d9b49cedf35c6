//! What promtool says of the rules, and a real Prometheus that scrapes fleets in trouble, in real time: alerts fire, others
//! stay silent, and every query of the dashboard returns data. Troubles that go badly together with these are in
//! [`crate::faults`].
//!
//! Time is short: the durations of the rules are divided by [`FASTER`], and so are some bounds ([`BOUNDS`]).

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use controller_kit::Running;
use e2e_control_plane::{Prometheus, in_ci, locate_prometheus};
use karmada_failover::story::example::Pace;
use karmada_failover::story::scenario::objects::{deployment, divided, duplicated};
use kube_sandbox::rules::Settings;
use parking_lot::Mutex;
use regex::Regex;
use serde_json::{Value, json};
use test_bench::free_address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::alerts;
use crate::common::World;
use crate::scan::root;
use crate::scene::run_agent;

/// By how much the rules are faster than those that are shipped.
const FASTER: u32 = 300;
/// Bounds of rules, and what they are here.
const BOUNDS: [(&str, &str); 3] = [("> 4 * 3600", "> 3"), ("> 1800", "> 2"), (">= 4", ">= 2")];

/// Alerts that fire in the scene, with a label of each.
pub const FIRE: [(&str, &str); 13] = [
    ("FailoverHalted", "north"),
    ("FailoverNoTarget", "north"),
    ("FailoverOldestReadyWaits", "north"),
    ("FailoverPausedTooLong", "forgotten"),
    ("FailoverPoliciesConflict", "young"),
    ("FailoverClusterFlapping", "member3"),
    ("FailoverReporterDown", "north"),
    ("FailoverNoLeader", "applicationFailover"),
    // Its only process is gone, and tells nothing any more.
    ("FailoverNoLeader", "clusterStatus"),
    ("FailoverTargetDown", "cluster-health-controller"),
    ("FailoverQueueUnreachable", "lease"),
    ("FailoverQueueUnreachable", "publish"),
    AGENT_GONE,
];
/// The last one: until then the agent hides nothing that it has a namesake of.
const AGENT_GONE: (&str, &str) = ("FailoverAgentNoLeader", "clusterStatus");
/// Alerts for which there is no reason in the scene. (FailoverRateExceeded is none of them: a window of seconds holds an
/// eviction or two, of which no rate can be told.)
const SILENT: [&str; 4] = [
    "FailoverMonitorIsolated",
    "FailoverWatchStale",
    "FailoverCertificateExpires",
    "FailoverFilesRefused",
];

/// Prometheus, where it is; in CI it has to be.
pub fn prometheus() -> Option<Prometheus> {
    match locate_prometheus() {
        Ok(found) => Some(found),
        Err(missing) => {
            assert!(!in_ci(), "{missing}");
            eprintln!("left out: tests with Prometheus: {missing}");
            None
        }
    }
}

fn promtool(prometheus: &Prometheus, arguments: &[&str]) {
    let output = Command::new(prometheus.promtool())
        .args(arguments)
        .current_dir(root().join("charts/monitoring"))
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "promtool {arguments:?}: {}{}",
        said(&output.stdout),
        said(&output.stderr)
    );
}

#[test]
fn promtool_takes_the_rules_and_their_tests_pass() {
    let Some(prometheus) = prometheus() else { return };
    promtool(&prometheus, &["check", "rules", "rules/failover.yaml"]);
    let files = alerts::test_files();
    let files = files.iter().map(String::as_str);
    promtool(
        &prometheus,
        &["test", "rules"].into_iter().chain(files).collect::<Vec<_>>(),
    );
}

/// The rules as they are shipped, only faster and with these bounds.
fn fast_rules(bounds: &[(&str, &str)]) -> String {
    let mut rules = std::fs::read_to_string(root().join("charts/monitoring/rules/failover.yaml")).unwrap();
    for (bound, here) in bounds {
        assert!(rules.contains(bound), "{bound}");
        rules = rules.replace(bound, here);
    }
    let duration = Regex::new(r"(for: |\[|offset )(\d+)([mh])\b").unwrap();
    let faster = duration.replace_all(&rules, |found: &regex::Captures<'_>| {
        let unit = if &found[3] == "h" { 3_600_000 } else { 60_000 };
        // No window holds less than a few scrapes.
        let millis = (found[2].parse::<u32>().unwrap() * unit / FASTER).max(if &found[1] == "[" { 3_000 } else { 0 });
        format!("{}{millis}ms", &found[1])
    });
    faster.into_owned()
}

/// A Prometheus that scrapes these, each with the namespace of its control plane and the job that the charts would give it.
pub struct Watching {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Watching {
    pub fn start(prometheus: &Prometheus, bounds: &[(&str, &str)], targets: &[(&str, &str, SocketAddr)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        file("rules.yaml", &fast_rules(bounds));
        let scraped: Vec<Value> = targets
            .iter()
            .map(|(namespace, job, address)| {
                json!({"targets": [address.to_string()], "labels": {"namespace": namespace, "job": job}})
            })
            .collect();
        let config = json!({
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{"job_name": "failover", "static_configs": scraped}],
        });
        file("prometheus.yaml", &config.to_string());
        let address = free_address();
        let child = Command::new(prometheus.server())
            .current_dir(folder.path())
            .args([
                "--config.file=prometheus.yaml",
                "--storage.tsdb.path=data",
                "--log.level=warn",
            ])
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        Self {
            child,
            address,
            _folder: folder,
        }
    }

    /// What an address of its API answers; nothing while it does not.
    async fn ask(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(self.address).await.ok()?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: prometheus\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        let text = String::from_utf8(answer).ok()?;
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }

    /// Whether a query returns any data now.
    pub async fn has_data(&self, query: &str) -> bool {
        let encoded: String = query
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect();
        let Some(answer) = self.ask(&format!("/api/v1/query?query={encoded}")).await else {
            return false;
        };
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"]
            .as_array()
            .is_some_and(|result| !result.is_empty())
    }

    /// The alerts that fire now: name and labels.
    pub async fn firing(&self) -> Vec<(String, String)> {
        let answer = self.ask("/api/v1/alerts").await.unwrap_or_default();
        let alerts = answer["data"]["alerts"].as_array().cloned().unwrap_or_default();
        let firing = alerts.into_iter().filter(|alert| alert["state"] == "firing");
        firing
            .map(|alert| {
                let name = alert["labels"]["alertname"].as_str().unwrap().to_owned();
                assert!(!alert["annotations"].to_string().contains("<no value>"), "{alert}");
                (name, alert["labels"].to_string())
            })
            .collect()
    }
}

/// So that it is soon seen that a leader is gone.
const SHORT_LEASES: [&str; 3] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
];

/// Windows and thresholds of a second.
pub const PACE: Pace = Pace {
    probe_seconds: 1,
    threshold_seconds: 1,
    add_on_match_seconds: 1,
    remove_on_mismatch_seconds: 1,
    evictions_per_second: 0.3,
};

pub async fn run(world: &World, identity: &str, controllers: &str, more: &[&str]) -> Running {
    let mut flags = PACE.health_flags();
    flags.extend([
        format!("--controllers={controllers}"),
        "--leader-grace=1s".to_owned(),
        "--cluster-monitor-grace-period=4s".to_owned(),
    ]);
    if !more.iter().any(|flag| flag.starts_with("--admin-bind-address")) {
        flags.push("--admin-bind-address=127.0.0.1:0".to_owned());
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
    world.run(identity, &flags).await
}

fn taint_policy(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": name},
        "spec": {
            "targetClusters": {"clusterNames": ["member4"]},
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
            "taintsToAdd": [{
                "key": "example.io/mood", "value": value, "effect": "NoSchedule",
                "addOnMatchSeconds": 1, "removeOnMismatchSeconds": 1,
            }],
        },
    })
}

/// What has fired and what has returned data so far.
#[derive(Default)]
pub struct Seen {
    /// Alerts, with their labels.
    pub fired: BTreeSet<(String, String)>,
    answered: BTreeSet<String>,
}

impl Seen {
    /// Looks until all of these alerts have fired; fails after two minutes.
    pub async fn until(&mut self, watching: &Watching, alerts: &[(&str, &str)]) {
        let limit = tokio::time::Instant::now() + Duration::from_secs(120);
        loop {
            self.look(watching).await;
            let missing: Vec<_> = alerts
                .iter()
                .filter(|(name, label)| !self.has_fired(name, label))
                .collect();
            if missing.is_empty() {
                return;
            }
            assert!(
                tokio::time::Instant::now() < limit,
                "{missing:?} did not fire; what did: {:#?}",
                self.fired
            );
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    async fn look(&mut self, watching: &Watching) {
        self.fired.extend(watching.firing().await);
        for query in alerts::queries() {
            let asked = query.replace("$namespace", ".*").replace("$__rate_interval", "5s");
            if !self.answered.contains(&query) && watching.has_data(&asked).await {
                self.answered.insert(query);
            }
        }
    }

    pub fn has_fired(&self, name: &str, label: &str) -> bool {
        self.fired
            .iter()
            .any(|(fired, labels)| fired == name && labels.contains(&format!("\"{label}\"")))
    }
}

/// Two control planes in trouble. In the north clusters fail until the brake holds, a workload fits nowhere, a pause is
/// forgotten, two policies disagree, a cluster flaps and in the end nobody probes; in the south there is no queue, and a
/// stranger holds a Lease. An agent of the south's stands in a namespace that is called as the north's.
async fn scene(prometheus: &Prometheus) {
    let north = World::watched(
        &["member1", "member2", "member3", "member4"],
        Settings::real_time(PACE.evictions_per_second),
    );
    let south = World::watched(&["member9"], Settings::real_time(1.0));
    south.create(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"namespace": "karmada-system", "name": "application-failover"},
        "spec": {
            "holderIdentity": "a stranger", "leaseDurationSeconds": 3600, "leaseTransitions": 1,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
        },
    }));
    let all = run(&north, "all", "*,-clusterStatus,-applicationFailover", &SHORT_LEASES).await;
    let reporter = run(&north, "reporter", "clusterStatus", &SHORT_LEASES).await;
    let lonely = run(
        &south,
        "lonely",
        "taintManager,evictor,applicationFailover",
        &SHORT_LEASES,
    )
    .await;
    let flags = [&SHORT_LEASES[..], &["--admin-bind-address=127.0.0.1:0"]].concat();
    let agent = run_agent(&south, &flags).await;
    let targets = [
        ("north", "taint-manager", &all),
        ("north", "cluster-health-controller", &reporter),
        ("north", "agent", &agent),
        ("south", "taint-manager", &lonely),
    ];
    let targets = targets.map(|(namespace, job, process)| (namespace, job, process.admin_address().unwrap()));
    let watching = Watching::start(prometheus, &BOUNDS, &targets);
    let mut seen = Seen::default();

    // member3 comes and goes, each time for longer than the thresholds, and stays away in the end.
    let member3 = north.fleet.member("member3").unwrap();
    let tasks = controller_kit::Tasks::new();
    let mut flapping = tasks.spawn("member3 comes and goes", async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        member3.stop();
        tokio::time::sleep(Duration::from_millis(3_300)).await;
        member3.resume();
        tokio::time::sleep(Duration::from_millis(3_300)).await;
        member3.stop();
    });
    north.create_example(&PACE);
    for name in ["db", "store", "files"] {
        north.create(deployment(name, 1));
        north.create(duplicated(name, &["member1"], 1));
    }
    // These can move, one after another.
    for name in ["one", "two", "three"] {
        north.create(deployment(name, 2));
        north.create(divided(name, &[("member1", 1), ("member2", 1)]));
    }
    north.create(taint_policy("old", "good"));
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    north.create(taint_policy("young", "bad"));
    north.create(json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "forgotten"},
        "spec": {"scope": "Namespaces", "namespaces": ["nowhere"], "reason": "an upgrade"},
    }));
    let quiet = [
        ("FailoverPoliciesConflict", "young"),
        ("FailoverPausedTooLong", "forgotten"),
        ("FailoverNoLeader", "applicationFailover"),
        ("FailoverQueueUnreachable", "lease"),
        ("FailoverQueueUnreachable", "publish"),
    ];
    seen.until(&watching, &quiet).await;
    let member1 = north.fleet.member("member1").unwrap();
    member1.stop();
    let alone = [("FailoverNoTarget", "north"), ("FailoverOldestReadyWaits", "north")];
    seen.until(&watching, &alone).await;

    seen.until(&watching, &[("FailoverClusterFlapping", "member3")]).await;
    flapping.ended().await;
    north.fleet.member("member2").unwrap().stop();
    seen.until(&watching, &[("FailoverHalted", "north")]).await;
    reporter.crash();
    let others: Vec<_> = FIRE.into_iter().filter(|alert| *alert != AGENT_GONE).collect();
    seen.until(&watching, &others).await;
    assert!(!seen.has_fired(AGENT_GONE.0, AGENT_GONE.1), "{:#?}", seen.fired);
    agent.crash();
    seen.until(&watching, &[AGENT_GONE]).await;

    for name in SILENT {
        assert!(
            !seen.fired.iter().any(|(fired, _)| fired == name),
            "{name} fired: {:#?}",
            seen.fired
        );
    }
    let unanswered: Vec<String> = alerts::queries()
        .into_iter()
        .filter(|query| !seen.answered.contains(query))
        .collect();
    assert!(
        unanswered.is_empty(),
        "queries of the dashboard that never returned data: {unanswered:#?}"
    );
    drop(watching);
    all.stop().await;
    lonely.stop().await;
    drop((reporter, agent));
}

/// Scenes in real time take all of a small machine, so one is played after the other.
static STAGE: Mutex<()> = Mutex::new(());

/// Plays a scene in real time.
pub fn play(scene: impl Future<Output = ()>) {
    let _alone = STAGE.lock();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(scene);
}

#[test]
fn alerts_fire_and_the_dashboard_shows() {
    let Some(prometheus) = prometheus() else { return };
    play(scene(&prometheus));
}
