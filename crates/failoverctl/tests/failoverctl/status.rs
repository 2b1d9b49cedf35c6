//! `status`.

use api_types::cluster::Cluster;
use controller_kit::leader::DISTURBANCES_ANNOTATION;
use eviction_queue_api::v1;
use failoverctl::controllers::{Mode, Severity};
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::output::{Colour, Format, Report, Screen, render};
use failoverctl::status::{FromQueue, Gathered, report};
use insta::assert_snapshot;
use k8s_openapi::api::coordination::v1::Lease;
use rstest::rstest;

use crate::objects::{
    self, busy, calm, fleet, lanes, lease, lease_of_version, leases, leases_without, now, proto, recent, tainted,
};
use crate::show;

fn gathered(clusters: Vec<Cluster>, leases: Vec<Lease>, queue: Result<FromQueue, Failure>) -> Gathered {
    Gathered {
        only: None,
        clusters,
        leases,
        mode: Mode::Standalone,
        system_namespace: "karmada-system".to_owned(),
        queue,
        stored_pauses: vec![],
    }
}

fn answers(status: v1::GetStatusResponse, lanes: Vec<v1::Lane>, recent: Vec<v1::RecentOutcome>) -> FromQueue {
    FromQueue {
        address: "127.0.0.1:9443".to_owned(),
        status,
        lanes,
        recent,
    }
}

fn well() -> Gathered {
    gathered(
        fleet(objects::cluster("member1", "True")),
        leases(),
        Ok(answers(calm(), vec![], vec![])),
    )
}

fn one_away() -> Gathered {
    let outcomes = vec![
        recent("nginx-deployment", v1::Outcome::Evicted, "evicted from member1"),
        recent(
            "db-statefulset",
            v1::Outcome::NoTarget,
            "no other cluster can take it: there is none",
        ),
    ];
    gathered(
        fleet(tainted("member1", "NoExecute")),
        leases(),
        Ok(answers(busy(), lanes(), outcomes)),
    )
}

fn no_leader() -> Failure {
    let controllers = failoverctl::controllers::controllers(&[], Mode::Standalone, now());
    failoverctl::queue::address(None, &controllers, "karmada-system").unwrap_err()
}

#[test]
fn all_is_well() {
    let report = report(&well(), now()).unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Fine);
    assert_snapshot!(show(&report, Format::Table));
}

/// Stock's taint manager was not switched off.
#[rstest]
#[case::one(1, "1 entry is held")]
#[case::more(3, "3 entries are held")]
fn a_second_owner_holds_some(#[case] entries: u64, #[case] expected: &str) {
    let held = |reason: v1::HoldReason, entries| v1::HeldEntries {
        reason: reason.into(),
        entries,
    };
    let status = v1::GetStatusResponse {
        held: vec![
            held(v1::HoldReason::NoTarget, 7),
            held(v1::HoldReason::SecondOwner, entries),
        ],
        ..calm()
    };
    let gathered = gathered(
        fleet(objects::cluster("member1", "True")),
        leases(),
        Ok(answers(status, vec![], vec![])),
    );
    let report = report(&gathered, now()).unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    let said = &report.not_done[0];
    assert_eq!(said.subject, "second-owner");
    assert_eq!(
        said.message,
        format!(
            "{expected} because a second controller does the same job there: failoverctl queue list --state held says where, \
             which one, and how it is switched off; they go on by themselves a while after that"
        )
    );
}

#[test]
fn one_cluster_is_away() {
    let report = report(&one_away(), now()).unwrap();
    assert_eq!(
        report.exit_status(),
        ExitStatus::Fine,
        "a failed cluster is what failover is for"
    );
    assert_snapshot!("one_cluster_is_away", show(&report, Format::Table));
    assert_snapshot!("one_cluster_is_away_wide", show(&report, Format::Wide));
    assert_snapshot!("one_cluster_is_away_json", show(&report, Format::Json));
    assert_eq!(
        show(&report, Format::Name),
        "cluster/member1\ncluster/member2\ncluster/member3\n"
    );
}

#[test]
fn only_one_cluster() {
    let gathered = Gathered {
        only: Some("member1".to_owned()),
        ..one_away()
    };
    let report = report(&gathered, now()).unwrap();
    assert_eq!(report.names(), ["cluster/member1"]);
    let unknown = Gathered {
        only: Some("member9".to_owned()),
        ..one_away()
    };
    let failure = failoverctl::status::report(&unknown, now()).unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Problem);
    assert_snapshot!(failure.to_string(), @r"
    cannot show the status of Cluster member9: there is no such Cluster
      next: choose one of those that there are: member1, member2, member3
    ");
}

#[test]
fn nobody_runs() {
    let report = report(
        &gathered(fleet(tainted("member1", "NoExecute")), vec![], Err(no_leader())),
        now(),
    )
    .unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!("nobody_runs", show(&report, Format::Table));
    assert_snapshot!("nobody_runs_json", show(&report, Format::Json));
}

#[test]
fn the_evictor_is_off() {
    let status = v1::GetStatusResponse { consumers: 0, ..busy() };
    let gathered = Gathered {
        queue: Ok(answers(status, lanes(), vec![])),
        leases: leases_without(&["evictor"]),
        ..one_away()
    };
    let report = report(&gathered, now()).unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    let messages: Vec<&str> = report.not_done.iter().map(|item| item.message.as_str()).collect();
    assert_eq!(
        messages,
        ["nothing is evicted: controller evictor is not running \
          (nobody holds Lease evictor in namespace karmada-system)"],
        "said once, not again by the queue that has no consumer"
    );
}

#[test]
fn a_controller_that_stopped_is_named_with_its_last_holder() {
    let mut leases = leases_without(&["evictor"]);
    leases.push(lease("evictor", -40, "Failover=true"));
    let report = report(&Gathered { leases, ..one_away() }, now()).unwrap();
    assert_eq!(
        report.not_done[0].message,
        "nothing is evicted: controller evictor is not running (host-a_7f3c last renewed Lease evictor 40s ago)"
    );
}

#[test]
fn the_gate_is_off() {
    let leases = objects::CONTROLLERS
        .iter()
        .map(|name| lease(name, -3, "Failover=false"))
        .collect();
    let report = report(&Gathered { leases, ..well() }, now()).unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Fine, "off is a choice");
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn an_agents_gates_are_nobodys_business() {
    let mut leases = objects::leases();
    leases.push(lease("cluster-status-member1", -3, "Failover=false"));
    let report = report(&Gathered { leases, ..well() }, now()).unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Fine);
}

#[test]
fn components_that_disagree() {
    let mut leases = leases_without(&["evictor"]);
    leases.push(lease("evictor", -3, "Failover=false"));
    let report = report(&Gathered { leases, ..well() }, now()).unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert!(
        report.not_done[0]
            .message
            .starts_with("the components do not agree: gates are Failover=false for evictor; "),
        "{:?}",
        report.not_done
    );
}

/// A rolling upgrade is no problem while it goes on, whoever of the components is first, members' agents or a controller; more
/// than one minor version is one.
#[rstest]
#[case::controller("evictor", "0.2.0", ExitStatus::Fine, &["an upgrade is not finished: versions, at most one minor apart, are "])]
#[case::agent("execution-member1", "0.2.0", ExitStatus::Fine, &["an upgrade is not finished: versions, at most one minor apart, are "])]
#[case::controller_too_far("evictor", "0.3.0", ExitStatus::Problem, &["the components are not known to work together, "])]
#[case::agent_too_far("execution-member1", "0.3.0", ExitStatus::Problem, &["the components are not known to work together, "])]
#[case::the_same("execution-member1", "0.1.0", ExitStatus::Fine, &[])]
fn versions_side_by_side(
    #[case] name: &str,
    #[case] version: &str,
    #[case] expected: ExitStatus,
    #[case] told: &[&str],
) {
    let mut leases = leases_without(&[name]);
    leases.push(lease_of_version(name, version));
    let report = report(&Gathered { leases, ..well() }, now()).unwrap();
    assert_eq!(report.exit_status(), expected, "{:?}", report.not_done);
    assert_eq!(report.not_done.len(), told.len(), "{:?}", report.not_done);
    for (item, begins) in report.not_done.iter().zip(told) {
        assert_eq!(item.subject, "versions");
        assert_eq!(item.severity == Severity::Problem, expected == ExitStatus::Problem);
        assert!(item.message.starts_with(begins), "{}", item.message);
        assert!(
            item.message.contains("0.1.0 for applicationFailover, "),
            "{}",
            item.message
        );
        assert!(
            item.message.ends_with(&format!("; {version} for {name}")),
            "{}",
            item.message
        );
    }
}

#[test]
fn a_gate_that_only_a_newer_program_has_hides_nothing() {
    let with = |gates| {
        let mut leases = leases_without(&["taint-manager"]);
        leases.push(lease("taint-manager", -3, gates));
        report(&Gathered { leases, ..well() }, now()).unwrap().not_done
    };
    assert_eq!(with("Failover=true,Telepathy=true"), vec![], "no disagreement");
    let off = with("Failover=false,Telepathy=true");
    assert!(off.iter().any(|item| item.subject == "gate/Failover"), "{off:?}");
}

#[test]
fn gates_that_cannot_be_read_are_told() {
    let mut leases = leases_without(&["taint-manager"]);
    leases.push(lease("taint-manager", -3, "Failover=perhaps"));
    let report = report(&Gathered { leases, ..well() }, now()).unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    let told: Vec<&str> = report.not_done.iter().map(|item| item.subject.as_str()).collect();
    assert_eq!(told, ["gates/taintManager"], "{:?}", report.not_done);
    assert!(
        report.not_done[0].message.starts_with(
            "whether feature gate Failover is on for taintManager is not known: in its Lease \"Failover=perhaps\""
        ),
        "{:?}",
        report.not_done
    );
}

// By the process, which runs many controllers, and not by each of them; what a holder said that is gone is of yesterday.
#[test]
fn what_disturbs_a_process_is_told_once() {
    let disturbed = |name: &str, seconds: i64| {
        let mut lease = lease(name, seconds, "Failover=true");
        let text = "conflicts since 2026-01-01T00:00:00Z: 6 of 12 writes within 2m";
        let annotations = lease.metadata.annotations.get_or_insert_default();
        annotations.insert(DISTURBANCES_ANNOTATION.to_owned(), text.to_owned());
        lease
    };
    let with = |seconds| {
        let mut leases = leases_without(&["evictor", "scheduler"]);
        leases.extend([disturbed("evictor", seconds), disturbed("scheduler", seconds)]);
        let report = report(&Gathered { leases, ..well() }, now()).unwrap();
        let told = report.not_done.into_iter();
        told.filter(|item| item.subject.starts_with("process/"))
            .inspect(|item| assert_eq!(item.severity, Severity::Note, "it is over sooner than it is forgotten"))
            .map(|item| item.message)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        with(-3),
        [
            "what host-a_7f3c does may be late or fail for a while: it is disturbed by conflicts since 2026-01-01T00:00:00Z: \
          6 of 12 writes within 2m"
        ]
    );
    assert_eq!(with(-40), [""; 0]);
}

#[test]
fn beside_stock_its_controllers_are_not_missed() {
    let ours = [
        "cluster-taint-policy",
        "taint-manager",
        "eviction-queue",
        "evictor",
        "application-failover",
        "graceful-eviction",
    ];
    let leases = ours.iter().map(|name| lease(name, -3, "Failover=true")).collect();
    let report = report(
        &Gathered {
            leases,
            mode: Mode::Beside,
            ..well()
        },
        now(),
    )
    .unwrap();
    assert_eq!(report.not_done, []);
    assert_eq!(report.controllers.len(), ours.len());
}

#[test]
fn a_queue_that_does_not_answer() {
    let failure = Failure::new(
        ExitStatus::Unreachable,
        "cannot reach the eviction queue at 10.0.0.7:9443",
        "Connection refused (os error 111)",
        "check that the queue runs",
    );
    let report = report(
        &Gathered {
            queue: Err(failure),
            ..one_away()
        },
        now(),
    )
    .unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Unreachable);
    assert_snapshot!(show(&report, Format::Table));
}

/// Who asks why nothing moves is told of the pauses also while the queue is away; of those that are over, never.
#[test]
fn stored_pauses_are_told_when_the_queue_is_silent() {
    let pause = |name: &str, until: i64| {
        let until = objects::after(until);
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": name}, "status": {"active": true, "heldEntries": 4},
            "spec": {"scope": "All", "reason": "network works", "until": until},
        }))
        .unwrap()
    };
    let gathered = Gathered {
        queue: Err(no_leader()),
        stored_pauses: vec![pause("now", 3_600), pause("over", -1)],
        ..one_away()
    };
    let text = show(&report(&gathered, now()).unwrap(), Format::Table);
    let line = "Pauses     now (scope All) until 2026-01-31T13:00:00Z (in 1h), holds 4 entries: network works\n";
    assert!(text.contains(line) && !text.contains("over (scope All)"), "{text}");
}

#[test]
fn brakes_pauses_and_lost_producers() {
    let status = v1::GetStatusResponse {
        regime: v1::Regime::Halted.into(),
        reason: "2 of 3 clusters are faulty, a share of 0.67 above 0.55, and the fleet is small".to_owned(),
        evictions_per_second: 0.0,
        consumers: 0,
        pauses: vec![v1::PauseStatus {
            name: "maintenance".to_owned(),
            scope: "Namespaces".to_owned(),
            reason: "network works".to_owned(),
            until: proto(3600),
            held_entries: 4,
        }],
        producers: vec![v1::ProducerStatus {
            producer: "taintManager".to_owned(),
            gone_since: proto(-120),
            entries: 4,
            ..v1::ProducerStatus::default()
        }],
        ..busy()
    };
    let report = report(
        &Gathered {
            queue: Ok(answers(status, lanes(), vec![])),
            ..one_away()
        },
        now(),
    )
    .unwrap();
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn a_rate_of_0_is_what_is_in_the_way() {
    for regime in [v1::Regime::Normal, v1::Regime::Reduced] {
        let status = v1::GetStatusResponse {
            regime: regime.into(),
            reason: "--resource-eviction-rate is 0; 1 of 3 clusters is faulty".to_owned(),
            evictions_per_second: 0.0,
            ..busy()
        };
        let gathered = Gathered {
            queue: Ok(answers(status, lanes(), vec![])),
            ..one_away()
        };
        let text = show(&report(&gathered, now()).unwrap(), Format::Table);
        let note = "nothing is released: --resource-eviction-rate is 0; 1 of 3 clusters is faulty\n";
        assert!(text.contains(note), "{text}");
        assert!(!text.contains("slowed down"), "{text}");
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    let coloured = Screen {
        colour: Colour::On,
        ..Screen::NONE
    };
    let report = report(&one_away(), now()).unwrap();
    assert!(!show(&report, Format::Table).contains('\x1b'));
    assert!(
        render(&report, Format::Table, now(), coloured)
            .unwrap()
            .contains("\x1b[32mNormal\x1b[0m")
    );
    assert!(!render(&report, Format::Json, now(), coloured).unwrap().contains('\x1b'));
}

#[test]
fn yaml_says_the_same_as_json() {
    let report = report(&one_away(), now()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&show(&report, Format::Json)).unwrap();
    let yaml: serde_json::Value = serde_saphyr::from_str(&show(&report, Format::Yaml)).unwrap();
    assert_eq!(json, yaml);
}
