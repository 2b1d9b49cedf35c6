//! `check`: each code shown fine and not fine, what is gathered, and how it is told. Rows lie by the file of their rule.

mod asked;
mod live;
mod rights;
mod server;
mod stock;

use std::collections::{BTreeMap, BTreeSet};

use clap::Parser;
use failoverctl::Cli;
use failoverctl::check::facts::{Facts, Stage, Trial};
use failoverctl::check::stock::Stock;
use failoverctl::check::verdict::State;
use failoverctl::check::{Code, check, gather, report};
use failoverctl::cli::CheckArgs;
use failoverctl::control_plane::ControlPlane;
use failoverctl::controllers::Mode;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::output::Format;
use insta::assert_snapshot;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};
use test_bench::stock::stocks_crds;

use crate::live::World;
use crate::objects::{calm, leases, leases_without, now};
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
        mode: Mode::Beside,
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

/// The schemas of a stock Karmada.
fn narrowed(mut schemas: Schemas) -> Schemas {
    const IS: &str = "x-kubernetes-group-version-kind";
    let stocks = stocks_crds();
    for document in schemas.values_mut().flatten() {
        for schema in document["components"]["schemas"].as_object_mut().unwrap().values_mut() {
            let is = schema[IS].take();
            let of_kind = stocks.iter().find(|crd| crd["spec"]["names"]["kind"] == is[0]["kind"]);
            if let Some(crd) = of_kind {
                *schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
            }
            schema[IS] = is;
        }
    }
    schemas
}

/// What is changed about facts in which all is well, and what the check then says.
type Row = (Code, fn(&mut Facts), State);

const STANDALONE: [&[Row]; 4] = [
    server::STANDALONE,
    stock::STANDALONE,
    live::STANDALONE,
    rights::STANDALONE,
];
const BESIDE: [&[Row]; 3] = [server::BESIDE, stock::BESIDE, live::BESIDE];

#[tokio::test(start_paused = true)]
async fn each_check_says_when_something_is_wrong() {
    let (standalone, beside) = (standalone().await, beside().await);
    let mut seen: BTreeMap<Code, BTreeSet<&str>> = BTreeMap::new();
    let rows = STANDALONE.into_iter().flatten().map(|row| (&standalone, row));
    for (facts, (code, change, state)) in rows.chain(BESIDE.into_iter().flatten().map(|row| (&beside, row))) {
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
