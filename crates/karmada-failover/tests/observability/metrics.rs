//! The list of metrics in `docs/metrics.md` is true, and every metric keeps to the conventions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use karmada_failover::story::example::Pace;
use karmada_failover::story::scenario::objects::{binding_of, deployment, duplicated};
use karmada_failover::story::scenario::{self, Scenario};
use karmada_failover::story::theatre::set_simulated_cpus;
use kube::api::DeleteParams;
use kube::{Api, Client, Config};
use kube_sandbox::rules::Settings;
use kube_sandbox::{Effect, Match, Verb};
use parking_lot::Mutex;
use serde_json::{Value, json};
use test_bench::{Authority, Of, free_address};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::common::{World, simulate};
use crate::stage::play;
use crate::{catalogue, prometheus, scan, scene};

/// Names that the proposal for the eviction queue fixes, although they end in `_total` and count up and down.
const FIXED: [&str; 2] = ["evict_total", "evict_kind_total"];
/// Counters of stock's, by stock's names.
const STOCKS: [&str; 3] = [
    "create_resource_to_cluster",
    "update_resource_to_cluster",
    "delete_resource_from_cluster",
];
/// Labels that Prometheus itself gives to what it scrapes: a metric's own would be renamed.
const TARGET_LABELS: [&str; 7] = [
    "job",
    "instance",
    "namespace",
    "pod",
    "service",
    "endpoint",
    "container",
];

/// The labels of every family in a scrape.
pub fn labels(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let types: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').unwrap();
        let (name, shown) = series.split_once('{').unwrap_or((series, "}"));
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .filter_map(|part| name.strip_suffix(part))
            .find(|family| types.contains_key(family))
            .unwrap_or(name);
        let known = all.entry(family.to_owned()).or_default();
        let names = shown
            .trim_end_matches('}')
            .split("\",")
            .filter_map(|pair| pair.split_once("=\""));
        known.extend(names.map(|(name, _)| name.to_owned()).filter(|name| name != "le"));
    }
    all
}

/// The windows of a real fleet.
pub const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 300,
    remove_on_mismatch_seconds: 180,
    evictions_per_second: 0.5,
};

/// Metrics that nothing here shows, and for each the test that shows it, by which its labels are known.
const UNSEEN: [(&str, &str); 8] = [
    (
        "evictor_conflicts_total",
        "crates/taint-manager/tests/evictions/faults.rs",
    ),
    (
        "evictor_mirrors_total",
        "crates/taint-manager/tests/evictions/mirrors.rs",
    ),
    ("failover_file_refused", "crates/eviction-queue/tests/queue/rate.rs"),
    (
        "failover_queue_forgotten_entries_total",
        "crates/eviction-queue/tests/queue/streams.rs",
    ),
    (
        "failover_queue_outdated_upserts_total",
        "crates/eviction-queue/tests/queue/refusals.rs",
    ),
    (
        "failover_queue_producer_takeovers_total",
        "crates/eviction-queue/tests/queue/refusals.rs",
    ),
    (
        "failover_queue_refused_total",
        "crates/eviction-queue/tests/queue/refusals.rs",
    ),
    (
        "taint_manager_evictions_switched_off",
        "crates/taint-manager/tests/evictions/switches.rs",
    ),
];

/// The stories in which the most different things happen.
const STORIES: [fn(Pace) -> Scenario; 4] = [
    scenario::worked_example::scenario,
    scenario::no_target::scenario,
    scenario::application_failover::scenario,
    scenario::flapping::scenario,
];

/// What was seen in scrapes: the labels of every family, and the families that agents have.
struct Seen {
    labels: BTreeMap<String, BTreeSet<String>>,
    of_agents: BTreeSet<String>,
}

/// What the whole system shows over the stories, beside a stock one, in a Pull member, and where it is called by others.
fn seen() -> Seen {
    let scrapes = Mutex::new(Vec::new());
    for story in STORIES {
        simulate(|| async {
            let played = play(&story(PACE)).await.scrapes;
            scrapes.lock().extend(played);
        });
    }
    simulate(|| async {
        let world = World::new(&["member1"]);
        let beside = world.run("beside", &["--beside-stock"]).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        scrapes.lock().push(beside.metrics().render());
        world.finish(vec![beside]).await;
    });
    simulate(|| async {
        let text = of_a_bad_day().await;
        scrapes.lock().push(text);
    });
    let of_agents = Mutex::new(BTreeSet::new());
    simulate(|| async {
        let [agent, plane] = of_an_agent_and_its_plane().await;
        of_agents.lock().extend(labels(&agent).into_keys());
        scrapes.lock().extend([agent, plane]);
    });
    prometheus::play(async {
        let text = of_a_webhook().await;
        scrapes.lock().push(text);
    });

    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for text in &scrapes.into_inner() {
        assert_eq!(controller_kit::metrics::complaints(text), [""; 0]);
        for (name, labels) in labels(text) {
            all.entry(name).or_default().extend(labels);
        }
    }
    assert!(all.contains_key("failover_second_owner"));
    Seen {
        labels: all,
        of_agents: of_agents.into_inner(),
    }
}

/// What the system shows of a pause, of a move whose record cannot be written, of a slow API server and of a clock that was set.
async fn of_a_bad_day() -> String {
    let world = World::new(&["member1", "member2", "member3"]);
    let process = world.run("all-in-one", &[]).await;
    world.create(json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "forgotten"},
        "spec": {"scope": "Namespaces", "namespaces": ["nowhere"], "reason": "an upgrade"},
    }));
    scene::begin(&world).await;
    let faults = world.plane().faults();
    let unwell = Effect::Error {
        code: 500,
        reason: "InternalError".to_owned(),
        message: "unwell".to_owned(),
    };
    let records = Match::any().verb(Verb::Create).resource("failoverrecords");
    faults.inject_times(records, 0, 1, unwell);
    faults.inject_times(
        Match::writes().resource("works"),
        0,
        1,
        Effect::Latency(Duration::from_secs(2)),
    );
    scene::fail(&world).await;
    world.step_clock(SignedDuration::from_secs(30));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let text = process.metrics().render();
    world.finish(vec![process]).await;
    text
}

/// What an agent shows to whose member a workload comes, and what the control plane does to which it reports.
async fn of_an_agent_and_its_plane() -> [String; 2] {
    let world = World::new(&[]);
    let plane = world.run("all-in-one", &[]).await;
    let agent = scene::run_agent(&world, &["--admin-bind-address=0"]).await;
    // A member whose room was set has Pods.
    set_simulated_cpus(&world.fleet, "pull", 8).unwrap();
    let mut web = deployment("web", 2);
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1", "memory": "64Mi"}});
    world.create(web);
    world.create(duplicated("web", &["pull"], 1));
    world.create(deployment("gone", 1));
    world.create(duplicated("gone", &["pull"], 1));
    let runs = || async {
        let binding = world.binding(&binding_of("web")).await?;
        let health = binding.status_on(&"pull".into())?.health.as_ref()?;
        (health.as_str() == "Healthy").then_some(())
    };
    world
        .wait_for("web on the Pull member", Duration::from_secs(600), runs)
        .await;
    let deployments: Api<Deployment> = Api::namespaced(world.client(), "default");
    deployments.delete("gone", &DeleteParams::default()).await.unwrap();
    // Until it is gone there, and what the other one takes has been reported.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let texts = [&agent, &plane].map(|process| process.metrics().render());
    world.finish(vec![agent, plane]).await;
    texts
}

/// What a webhook shows that was asked for a review, and called by somebody who speaks no TLS.
async fn of_a_webhook() -> String {
    let world = World::watched(&[], Settings::real_time(PACE.evictions_per_second));
    let (authority, folder) = (Authority::new("webhooks"), tempfile::tempdir().unwrap());
    let (certificate, key) = authority.issue("webhook", Of::Server).write(folder.path(), "webhook");
    let authority_file = folder.path().join("ca.crt");
    std::fs::write(&authority_file, authority.pem()).unwrap();
    let address = free_address();
    let flags = [
        "--controllers=webhook".to_owned(),
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-key-file={}", key.display()),
        format!("--webhook-bind-address={address}"),
    ];
    let process = world.run("webhook", &flags.each_ref().map(String::as_str)).await;
    let kubeconfig = json!({
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": format!("https://{address}"), "certificate-authority": authority_file}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    });
    let config = Config::from_custom_kubeconfig(serde_json::from_value(kubeconfig).unwrap(), &Default::default()).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let pause = json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "p"},
        "spec": {"scope": "All", "reason": "an upgrade"},
    });
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": "CREATE", "name": "p", "object": pause, "oldObject": null},
    });
    let answered = || async {
        let request = http::Request::post("/validate/failoverpauses.failover.karmada.io")
            .header("content-type", "application/json")
            .body(review.to_string().into_bytes());
        client.request::<Value>(request.unwrap()).await.ok()
    };
    world.wait_for("an answer", Duration::from_secs(60), answered).await;
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let refused = || async {
        let labels = [("reason", "HandshakeFailed")];
        process
            .metrics()
            .value("failover_webhook_connections_refused_total", &labels)
    };
    world.wait_for("the refusal", Duration::from_secs(60), refused).await;
    let text = process.metrics().render();
    world.finish(vec![process]).await;
    text
}

#[test]
fn the_list_of_metrics_is_true() {
    let (
        coded,
        Seen {
            labels: seen,
            of_agents,
        },
    ) = (scan::metrics(), seen());
    let unknown: Vec<&String> = seen.keys().filter(|name| !coded.contains_key(*name)).collect();
    assert!(unknown.is_empty(), "shown, and not found in the code: {unknown:?}");
    let unseen: Vec<&str> = coded
        .keys()
        .filter(|name| !seen.contains_key(*name))
        .map(String::as_str)
        .collect();
    assert_eq!(
        unseen,
        UNSEEN.map(|(name, _)| name),
        "every metric is seen here, or shown by a test that is named"
    );
    let wanted = catalogue::wanted(&coded, &seen, &of_agents);
    if std::env::var_os("KARMADA_FAILOVER_WRITE_DOCS").is_some() {
        catalogue::write(&wanted);
    }
    let listed = catalogue::rows();
    let stale: Vec<String> = wanted
        .iter()
        .filter(|(name, row)| listed.get(*name) != Some(row))
        .map(|(name, row)| format!("{name}: {row:?}, listed: {:?}", listed.get(name)))
        .chain(
            listed
                .keys()
                .filter(|name| !wanted.contains_key(*name))
                .map(|name| format!("{name} is no more")),
        )
        .collect();
    assert!(
        stale.is_empty(),
        "docs/metrics.md: run this test with KARMADA_FAILOVER_WRITE_DOCS=1, fill in the labels of what it did not see, \
         and run it again: {stale:#?}"
    );
}

/// What is not seen here is read by a test of its own, which names it and its labels.
#[test]
fn what_is_unseen_is_shown_elsewhere() {
    let listed = catalogue::rows();
    for (name, test) in UNSEEN {
        let text = std::fs::read_to_string(scan::root().join(test)).unwrap();
        assert!(text.contains(name), "{test} does not ask for {name}");
        for label in &listed[name].labels {
            let named = [format!("\"{label}\""), format!("{label}=")]
                .iter()
                .any(|named| text.contains(named));
            assert!(named, "{test} does not ask for {name} by its label {label}");
        }
    }
}

#[test]
fn every_metric_keeps_to_the_conventions() {
    let explained = catalogue::explained_labels();
    let mut wrong = Vec::new();
    for (name, row) in catalogue::rows() {
        let counts = row.kind == "counter" && !STOCKS.contains(&name.as_str());
        if counts != name.ends_with("_total") && !FIXED.contains(&name.as_str()) {
            wrong.push(format!("{name} is a {}", row.kind));
        }
        if ["_milliseconds", "_ms", "_minutes", "_kib", "_mib", "_percent"]
            .iter()
            .any(|unit| name.ends_with(unit))
        {
            wrong.push(format!("{name} is not in a base unit"));
        }
        if row.help.is_empty() {
            wrong.push(format!("{name} has no help"));
        }
        for label in &row.labels {
            if TARGET_LABELS.contains(&label.as_str()) {
                wrong.push(format!("{name}: label {label} belongs to Prometheus"));
            }
            if !explained.contains(label) {
                wrong.push(format!(
                    "{name}: docs/metrics.md does not say what bounds label {label}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
