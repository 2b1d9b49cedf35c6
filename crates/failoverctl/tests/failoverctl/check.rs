//! `check`: each code shown fine and not fine, what is gathered, and how it is told.

use std::collections::{BTreeMap, BTreeSet};

use clap::Parser;
use failoverctl::Cli;
use failoverctl::check::facts::{Facts, Right, Stage, StockEvent, Trial};
use failoverctl::check::stock::Stock;
use failoverctl::check::verdict::State;
use failoverctl::check::{Code, check, gather, report};
use failoverctl::cli::{CheckArgs, Command};
use failoverctl::control_plane::ControlPlane;
use failoverctl::controllers::Mode;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::host::Host;
use failoverctl::output::Format;
use insta::assert_snapshot;
use k8s_openapi::api::apps::v1::Deployment;
use kube_sandbox::{Authorization, Effect, Match, Served};
use serde_json::{Value, json};

use crate::live::{LIMIT, World};
use crate::objects::{after, calm, lease, lease_in_mode, lease_of_version, leases, leases_without, now};
use crate::show;

/// The facts of a world in which nothing is wrong, as they are gathered there.
async fn standalone() -> Facts {
    let world = World::new(&[]);
    world.renew();
    let cli = Cli::try_parse_from(["failoverctl", "check"]).unwrap();
    let control_plane = ControlPlane::new(world.sandbox.client_named("failoverctl"), "karmada-system");
    let no_queue = Failure::new(ExitStatus::Unreachable, "no queue", "not here", "");
    let args = CheckArgs::default();
    let facts = gather(&control_plane, Err(no_queue), &args, &cli.target, &world.around);
    Facts {
        // What no API server in memory says.
        server_time: Ok(now()),
        queue: Ok(calm()),
        leases: Ok(leases()),
        ..facts.await.unwrap()
    }
}

/// The same beside a stock Karmada that leaves to us what is ours.
async fn beside() -> Facts {
    let standalone = standalone().await;
    let stocks = [
        "cluster-status",
        "cluster",
        "detector",
        "dependencies",
        "binding",
        "execution",
        "work-status",
        "binding-status",
        "namespace",
        "scheduler",
    ];
    Facts {
        mode: Mode::BesideStock,
        leases: Ok(leases_without(&stocks)),
        stock: Ok(stock(
            "v1.18.2",
            &["--controllers=*,-gracefulEviction,-applicationFailover"],
            &["--plugins=*"],
            &["--allow-no-execute-taint-policy=true"],
        )),
        schemas: narrowed(standalone.schemas.clone()),
        ..standalone
    }
}

fn stock(tag: &str, manager: &[&str], scheduler: &[&str], webhook: &[&str]) -> Stock {
    Stock::of(&deployments(tag, manager, scheduler, webhook))
}

fn deployments(tag: &str, manager: &[&str], scheduler: &[&str], webhook: &[&str]) -> Vec<Deployment> {
    let one = |name: &str, args: &[&str]| -> Deployment {
        let command: Vec<String> = [format!("/bin/{name}")]
            .into_iter()
            .chain(args.iter().map(ToString::to_string))
            .collect();
        serde_json::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "karmada-system"},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{
                    "name": name, "image": format!("docker.io/karmada/{name}:{tag}"), "command": command,
                }]}},
            },
        }))
        .unwrap()
    };
    vec![
        one("karmada-controller-manager", manager),
        one("karmada-scheduler", scheduler),
        one("karmada-webhook", webhook),
    ]
}

type Schemas = BTreeMap<String, Result<Value, String>>;

/// The schemas without what stock does not know.
fn narrowed(mut schemas: Schemas) -> Schemas {
    let ours = [
        "matchConditions",
        "taintsToAdd",
        "suspended",
        "tolerationSeconds",
        "preConditions",
        "blockPredecessorSeconds",
        "activeEvictionHistory",
        "settled",
    ];
    for document in schemas.values_mut().flatten() {
        remove(document, &ours);
        for schema in document["components"]["schemas"].as_object_mut().unwrap().values_mut() {
            if let Some(effect) = schema.pointer_mut("/properties/spec/properties/taints/items/properties/effect/enum")
            {
                *effect = json!(["NoSchedule", "NoExecute"]);
            }
        }
    }
    schemas
}

fn remove(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                properties.retain(|name, _| !names.contains(&name.as_str()));
            }
            object.values_mut().for_each(|value| remove(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove(item, names)),
        _ => {}
    }
}

type Change = fn(&mut Facts);

/// What is changed about facts in which all is well, and what the check then says.
const STANDALONE: &[(Code, Change, State)] = &[
    (Code::Kinds, |_| {}, State::Fine),
    (
        Code::Kinds,
        |facts| drop(facts.served.as_mut().unwrap().remove("failover.karmada.io/v1alpha1")),
        State::Problem,
    ),
    (Code::Kinds, |facts| facts.served = Ok(BTreeMap::new()), State::Problem),
    (
        Code::Kinds,
        |facts| facts.served = Err("refused".to_owned()),
        State::NotSeen,
    ),
    (Code::Mode, |_| {}, State::Fine),
    (
        Code::Mode,
        |facts| facts.meant = Some(Mode::BesideStock),
        State::Problem,
    ),
    (Code::Mode, |facts| facts.mode = Mode::Unknown, State::NotSeen),
    (
        Code::Mode,
        |facts| facts.leases = Ok(vec![lease_in_mode("taint-manager", "standalone")]),
        State::Fine,
    ),
    (
        Code::Mode,
        |facts| facts.leases = Ok(vec![lease_in_mode("taint-manager", "beside")]),
        State::Problem,
    ),
    // Whoever may not know what it is sees all the same that the two cannot both be right.
    (
        Code::Mode,
        |facts| {
            facts.mode = Mode::Unknown;
            let (manager, graceful) = ("taint-manager", "graceful-eviction");
            facts.leases = Ok(vec![
                lease_in_mode(manager, "beside"),
                lease_in_mode(graceful, "standalone"),
            ]);
        },
        State::Problem,
    ),
    (Code::Fields, |_| {}, State::Fine),
    (
        Code::Fields,
        |facts| facts.schemas = narrowed(facts.schemas.clone()),
        State::Problem,
    ),
    (Code::Annotations, |_| {}, State::Fine),
    (
        Code::Annotations,
        |facts| facts.unreadable = Ok(vec!["Cluster m1: no JSON".to_owned()]),
        State::Problem,
    ),
    (Code::PreferNoExecute, |_| {}, State::Fine),
    (
        Code::PreferNoExecute,
        |facts| facts.schemas = narrowed(facts.schemas.clone()),
        State::Problem,
    ),
    (Code::NoExecutePolicies, |_| {}, State::Fine),
    (
        Code::NoExecutePolicies,
        |facts| facts.no_execute_policy = Ok(Trial::Refused("not allowed".to_owned())),
        State::Problem,
    ),
    (Code::Clock, |_| {}, State::Fine),
    (Code::Clock, |facts| facts.server_time = Ok(after(-5)), State::Note),
    (Code::Clock, |facts| facts.server_time = Ok(after(11)), State::Problem),
    (
        Code::Clock,
        |facts| facts.leases = Ok(vec![lease("evictor", 12, "")]),
        State::Problem,
    ),
    (Code::StaysStock, |_| {}, State::NotApplicable),
    (Code::SecondOwner, |_| {}, State::Fine),
    (
        Code::SecondOwner,
        |facts| {
            facts
                .leases
                .as_mut()
                .unwrap()
                .push(lease("karmada-controller-manager", -1, ""));
        },
        State::Problem,
    ),
    (Code::Controllers, |_| {}, State::Fine),
    (
        Code::Controllers,
        |facts| facts.leases = Ok(leases_without(&["evictor"])),
        State::Problem,
    ),
    (
        Code::Queue,
        |facts| facts.queue.as_mut().unwrap().consumers = 0,
        State::Problem,
    ),
    (
        Code::Queue,
        |facts| facts.queue = Err("no eviction queue runs".to_owned()),
        State::Problem,
    ),
    (Code::Queue, |_| {}, State::Fine),
    (Code::Policies, |_| {}, State::Fine),
    (Code::Policies, |facts| facts.policies = Ok(Vec::new()), State::Note),
];

const BESIDE: &[(Code, Change, State)] = &[
    (
        Code::Mode,
        |facts| facts.leases = Ok(vec![lease_in_mode("taint-manager", "beside")]),
        State::Fine,
    ),
    (
        Code::Mode,
        |facts| facts.leases = Ok(vec![lease_in_mode("taint-manager", "standalone")]),
        State::Problem,
    ),
    (Code::Fields, |_| {}, State::Fine),
    // What was not seen is not said to be kept.
    (
        Code::Fields,
        |facts| {
            let unseen = Err("refused".to_owned());
            drop(facts.schemas.insert("work.karmada.io/v1alpha2".to_owned(), unseen));
        },
        State::NotSeen,
    ),
    // Its address is one of the host cluster's, to which no way has to lead from here.
    (
        Code::Queue,
        |facts| facts.queue = Err("no route".to_owned()),
        State::NotSeen,
    ),
    (
        Code::Queue,
        |facts| {
            facts.queue = Err("no route".to_owned());
            facts.way_to_queue_named = true;
        },
        State::Problem,
    ),
    (
        Code::Queue,
        |facts| {
            facts.queue = Err("no eviction queue runs".to_owned());
            facts.leases = Ok(leases_without(&["eviction-queue"]));
        },
        State::Problem,
    ),
    (Code::PreferNoExecute, |_| {}, State::Fine),
    (Code::StockVersion, |_| {}, State::Fine),
    (
        Code::StockVersion,
        |facts| facts.stock = Ok(stock("v1.15.0", &[], &[], &[])),
        State::Problem,
    ),
    (
        Code::StockVersion,
        |facts| facts.stock = Ok(stock("v1.20.0", &[], &[], &[])),
        State::Problem,
    ),
    (
        Code::StockVersion,
        |facts| facts.stock = Ok(stock("latest", &[], &[], &[])),
        State::NotSeen,
    ),
    (
        Code::StockVersion,
        |facts| facts.stock = Err("give --host-kubeconfig".to_owned()),
        State::NotSeen,
    ),
    (Code::StockFailover, |_| {}, State::Fine),
    (
        Code::StockFailover,
        |facts| facts.stock = Ok(stock("v1.18.0", &["--feature-gates=Failover=true"], &[], &[])),
        State::Problem,
    ),
    (Code::StockGracefulEviction, |_| {}, State::Fine),
    (
        Code::StockGracefulEviction,
        |facts| facts.stock = Ok(stock("v1.18.0", &["--controllers=*,-applicationFailover"], &[], &[])),
        State::Problem,
    ),
    (Code::StockApplicationFailover, |_| {}, State::Fine),
    (
        Code::StockApplicationFailover,
        |facts| facts.stock = Ok(stock("v1.18.0", &[], &[], &[])),
        State::Problem,
    ),
    (Code::StockDuties, |_| {}, State::Fine),
    (
        Code::StockDuties,
        |facts| facts.stock = Ok(stock("v1.18.0", &["--controllers=*,-workStatus"], &[], &[])),
        State::Problem,
    ),
    (
        Code::StockDuties,
        |facts| facts.stock = Ok(Stock::default()),
        State::NotSeen,
    ),
    (
        Code::StockDuties,
        |facts| facts.stock = Ok(Stock::of(&deployments("v1.18.0", &[], &[], &[])[..1])),
        State::NotSeen,
    ),
    (Code::StockScheduler, |_| {}, State::Fine),
    (
        Code::StockScheduler,
        |facts| facts.stock = Ok(stock("v1.18.0", &[], &["--plugins=*,-ClusterEviction"], &[])),
        State::Problem,
    ),
    (Code::StaysStock, |_| {}, State::Note),
    (Code::SecondOwner, |_| {}, State::Fine),
    (
        Code::SecondOwner,
        |facts| facts.leases.as_mut().unwrap().push(lease("binding", -1, "")),
        State::Problem,
    ),
    (Code::SecondOwner, |facts| told(facts, 10), State::Problem),
    (Code::SecondOwner, |facts| told(facts, -4_000), State::Fine),
    (Code::Gates, |_| {}, State::Fine),
    (
        Code::Gates,
        |facts| facts.leases = Ok(vec![lease("taint-manager", -1, "Failover=false")]),
        State::Note,
    ),
    (
        Code::Gates,
        |facts| facts.leases = Ok(vec![lease("taint-manager", -1, "Failover=maybe")]),
        State::Problem,
    ),
    (Code::Versions, |_| {}, State::Fine),
    (Code::Versions, |facts| of_version(facts, "0.2.0"), State::Note),
    (Code::Versions, |facts| of_version(facts, "0.3.0"), State::Problem),
    (Code::Versions, |facts| agent_of_version(facts, "0.2.0"), State::Note),
    (Code::Versions, |facts| agent_of_version(facts, "0.3.0"), State::Problem),
    (Code::Caches, |_| {}, State::Fine),
    (Code::Caches, disturbed, State::Note),
];

const RIGHTS: &[(Code, Change, State)] = &[
    (Code::Rights, |_| {}, State::Fine),
    (
        Code::Rights,
        |facts| facts.rights = Ok(vec![right("drain", true)]),
        State::Note,
    ),
    (
        Code::Rights,
        |facts| facts.rights = Ok(vec![right("list", false)]),
        State::Problem,
    ),
];

fn right(verb: &str, to_change: bool) -> Right {
    Right {
        verb: verb.to_owned(),
        what: "clusters.cluster.karmada.io".to_owned(),
        to_change,
        allowed: false,
    }
}

/// Stock told something so many seconds from now; ours took over an hour ago.
fn told(facts: &mut Facts, seconds: i64) {
    for lease in facts.leases.as_mut().unwrap() {
        let at = format!("{:.6}", after(-3_600));
        lease.spec.as_mut().unwrap().acquire_time = serde_json::from_value(json!(at)).unwrap();
    }
    facts.stock_events = Ok(vec![StockEvent {
        source: "resource-binding-graceful-eviction-controller".to_owned(),
        about: "ResourceBinding default/web".to_owned(),
        at: after(seconds),
    }]);
}

fn annotate(facts: &mut Facts, name: &str, value: &str) {
    let lease = &mut facts.leases.as_mut().unwrap()[0];
    let annotations = lease.metadata.annotations.as_mut().unwrap();
    annotations.insert(name.to_owned(), value.to_owned());
}

fn of_version(facts: &mut Facts, version: &str) {
    annotate(facts, "failover.karmada.io/version", version);
}

fn agent_of_version(facts: &mut Facts, version: &str) {
    let leases = facts.leases.as_mut().unwrap();
    leases.push(lease_of_version("execution-member1", version));
}

fn disturbed(facts: &mut Facts) {
    annotate(facts, "failover.karmada.io/disturbances", "lists show the past");
}

#[tokio::test(start_paused = true)]
async fn each_check_says_when_something_is_wrong() {
    let (standalone, beside) = (standalone().await, beside().await);
    let mut seen: BTreeMap<Code, BTreeSet<&str>> = BTreeMap::new();
    let rows = STANDALONE.iter().chain(RIGHTS).map(|row| (&standalone, row));
    for (facts, (code, change, state)) in rows.chain(BESIDE.iter().map(|row| (&beside, row))) {
        let mut facts = facts.clone();
        change(&mut facts);
        let verdict = check(*code, &facts);
        assert_eq!(verdict.state, *state, "{code}: {verdict:?}");
        if *state == State::Problem {
            assert!(verdict.next.is_some(), "{code} says what to do");
        }
        seen.entry(*code).or_default().insert(state.word());
    }
    for code in Code::ALL {
        assert!(seen[code].len() > 1, "{code} is shown one way only");
    }
    // Nothing is wrong where all is well.
    for facts in [&standalone, &beside] {
        let wrong: Vec<Code> = Code::ALL
            .iter()
            .copied()
            .filter(|code| check(*code, facts).state == State::Problem)
            .collect();
        assert_eq!(wrong, []);
    }
}

#[test]
fn each_code_has_a_section() {
    let page = include_str!("../../../../docs/checks.md");
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(sections, codes, "docs/checks.md has the codes in their order");
    assert_eq!("kinds".parse(), Ok(Code::Kinds));
    assert!("kind".parse::<Code>().unwrap_err().contains("kinds, mode"));
}

#[tokio::test(start_paused = true)]
async fn how_it_is_told() {
    let mut fine = standalone().await;
    assert_snapshot!("check_fine", show(&report(&fine, &[]), Format::Table));
    fine.policies = Ok(Vec::new());
    fine.leases = Ok(leases_without(&["evictor", "taint-manager"]));
    let told = report(&fine, &[Code::Clock]);
    assert_snapshot!("check_not_running", show(&told, Format::Table));
    assert_eq!(show(&told, Format::Name), "check/controllers\n");

    let mut stock_on = beside().await;
    stock_on.stock = Ok(stock(
        "v1.14.1",
        &["--feature-gates=Failover=true"],
        &["--plugins=*,-ClusterEviction"],
        &[],
    ));
    stock_on.stage = Stage::BeforeInstall;
    stock_on.no_execute_policy = Ok(Trial::Refused("NoExecute is not allowed".to_owned()));
    assert_snapshot!("check_stock_is_on", show(&report(&stock_on, &[]), Format::Table));
    let beside = report(&beside().await, &[]);
    assert_snapshot!("check_beside_wide", show(&beside, Format::Wide));
    assert_snapshot!("check_beside_json", show(&beside, Format::Json));
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_is_looked_at() {
    tokio::time::timeout(LIMIT, async {
        let mut world = World::new(&[]);
        let host = World::new(&[]);
        for deployment in deployments("v1.17.0", &[], &[], &[]) {
            host.put(json!(deployment));
        }
        let told = world.ask_json(&["check"]).await;
        let state = |told: &Value, code: &str| {
            let checks = told["checks"].as_array().unwrap();
            checks.iter().find(|check| check["code"] == code).unwrap()["state"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(told["mode"], "standalone");
        for (code, expected) in [
            ("kinds", "Fine"),
            ("fields", "Fine"),
            ("prefer-no-execute", "Fine"),
            ("no-execute-policies", "Fine"),
            ("rights", "Fine"),
            ("stock-version", "NotApplicable"),
            // The World renews no Lease of the queue.
            ("queue", "Problem"),
            ("controllers", "Problem"),
        ] {
            assert_eq!(state(&told, code), expected, "{code}: {told:#}");
        }
        world.around.host = Some(Host::new(host.sandbox.client(), "karmada-system"));
        let told = world
            .ask(&["check", "--mode", "beside", "--before-install", "-o", "json"])
            .await;
        assert_eq!(told.status, ExitStatus::Problem);
        let told: Value = serde_json::from_str(&told.text).unwrap();
        assert_eq!(told["mode"], "besideStock");
        assert_eq!(state(&told, "mode"), "Problem", "no stock Karmada serves Clusters");
        assert_eq!(state(&told, "stock-version"), "Fine");
        assert_eq!(state(&told, "stock-graceful-eviction"), "Problem");
        assert_eq!(state(&told, "controllers"), "NotApplicable");
    })
    .await
    .unwrap();
}

/// A kubeconfig with this token, on a server that knows `t` as that of `bob`, who has no rights.
async fn kubeconfig_of_bob(world: &World, token: &str) -> (tempfile::NamedTempFile, Served) {
    world.sandbox.set_access(|access| {
        access.authorization = Authorization::Rbac;
        access.tokens.insert("t".to_owned(), "bob".to_owned());
    });
    let served = world.sandbox.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut kubeconfig: Value = serde_saphyr::from_str(&served.kubeconfig()).unwrap();
    kubeconfig["users"] = json!([{"name": "bob", "user": {"token": token}}]);
    kubeconfig["contexts"][0]["context"]["user"] = json!("bob");
    std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
    (file, served)
}

#[tokio::test(start_paused = true)]
async fn somebody_without_rights_is_told_which() {
    let world = World::new(&[]);
    let (file, _served) = kubeconfig_of_bob(&world, "t").await;
    let path = file.path().to_str().unwrap();
    let cli = Cli::try_parse_from(["failoverctl", "--kubeconfig", path, "check", "-o", "json"]).unwrap();
    assert!(matches!(cli.command, Command::Check(_)));
    let answer = failoverctl::run(&cli, &world.around).await.unwrap();
    let told: Value = serde_json::from_str(&answer.text).unwrap();
    let rights = told["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["code"] == "rights")
        .unwrap();
    assert_eq!(rights["state"], "Problem", "{rights:#}");
    let details = rights["details"].as_array().unwrap();
    assert!(
        details.contains(&json!("may not list clusters.cluster.karmada.io")),
        "{rights:#}"
    );
    assert!(
        !details.iter().any(|detail| detail.as_str().unwrap().contains("patch")),
        "{rights:#}"
    );
}

/// A token that has expired, or that nobody knows: the server answers no question, and nothing was checked.
#[tokio::test(start_paused = true)]
async fn somebody_who_is_not_known_is_told_so() {
    let world = World::new(&[]);
    let (file, _served) = kubeconfig_of_bob(&world, "expired").await;
    let path = file.path().to_str().unwrap();
    for args in [
        &["check"][..],
        &["check", "--before-install"],
        &["status"],
        &["queue", "list"],
    ] {
        let args = [&["failoverctl", "--kubeconfig", path], args].concat();
        let cli = Cli::try_parse_from(&args).unwrap();
        let failure = failoverctl::run(&cli, &world.around).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Unreachable, "{args:?}");
        let told = failure.to_string();
        assert!(
            told.contains("the API server does not know who asks: HTTP 401"),
            "{told}"
        );
        assert!(told.contains("token or certificate is not accepted"), "{told}");
        assert!(!told.contains("whose user may"), "{told}");
    }
}

/// Another server than was meant: nothing of Karmada, and an answer in a line.
#[tokio::test(start_paused = true)]
async fn the_wrong_server_is_told() {
    let sandbox = kube_sandbox::Sandbox::new(kube_sandbox::SandboxOptions::new(std::sync::Arc::new(now)));
    let world = World::new(&[]);
    let cli = Cli::try_parse_from(["failoverctl", "check"]).unwrap();
    let control_plane = ControlPlane::new(sandbox.client(), "karmada-system");
    let answer = failoverctl::run::answer(&cli, &control_plane, &world.around)
        .await
        .unwrap();
    assert_eq!(answer.status, ExitStatus::Problem);
    assert!(answer.text.contains("10 of 10 kinds are not served"), "{}", answer.text);
    assert!(
        answer
            .text
            .contains("this does not look like a Karmada control plane at all"),
        "{}",
        answer.text
    );
}

/// A webhook that refuses is told from an API server that did not come to an answer.
#[tokio::test(start_paused = true)]
async fn a_trial_that_fails_is_no_refusal() {
    tokio::time::timeout(LIMIT, async {
        for (code, message, expected) in [
            (
                400,
                "admission webhook \"x\" denied the request: NoExecute is not allowed",
                "Problem",
            ),
            (403, "clustertaintpolicies is forbidden", "NotSeen"),
            (429, "too many requests", "NotSeen"),
            (500, "failed calling webhook \"x\"", "NotSeen"),
            (503, "unavailable", "NotSeen"),
        ] {
            let world = World::new(&[]);
            let effect = Effect::Error {
                code,
                reason: "Some".to_owned(),
                message: message.to_owned(),
            };
            let trials = Match::writes().client("failoverctl").resource("clustertaintpolicies");
            world.sandbox.faults().inject(trials, effect);
            let told = world.ask_json(&["check"]).await;
            let checks = told["checks"].as_array().unwrap();
            let check = checks
                .iter()
                .find(|check| check["code"] == "no-execute-policies")
                .unwrap();
            assert_eq!(check["state"], expected, "{code}: {check:#}");
        }
    })
    .await
    .unwrap();
}

/// A host cluster that somebody named and that is not there is no "not seen".
#[tokio::test]
async fn a_named_host_that_does_not_answer_is_an_error() {
    let mut world = World::new(&[]);
    let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    world.around.host = Some(Host::new(kube::Client::try_from(config).unwrap(), "karmada-system"));
    let failure = world
        .try_ask(&["check", "--mode", "beside", "--before-install"])
        .await
        .unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert!(failure.to_string().contains("of the host cluster"), "{failure}");
}
