//! `explain cluster`.

use api_types::cluster::Cluster;
use api_types::work::Binding;
use eviction_queue_api::v1;
use failoverctl::controllers::{Mode, Severity};
use failoverctl::entry::{EntryView, MoveView};
use failoverctl::explain::cluster::{ClusterExplanation, FromQueue, Gathered, ReporterState, report};
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::output::Format;
use insta::assert_snapshot;
use k8s_openapi::api::core::v1::Event;
use rstest::rstest;
use serde_json::json;

use crate::objects::{
    NOT_READY, after, binding, busy, calm, cluster, entry, lanes, lease, leases, leases_without, now, recent,
};
use crate::show;
use crate::taints::{
    NO_EXECUTE, NO_SCHEDULE, failed, failing, failing_restlessly, not_ready, ours, policies, policy, recorded,
    recovering, since, window,
};

fn event(reason: &str, message: &str, at: i64) -> Event {
    serde_json::from_value(json!({
        "metadata": {"name": format!("e{at}"), "resourceVersion": (1000 + at).to_string()},
        "involvedObject": {"kind": "Cluster", "name": "member1"},
        "reason": reason, "message": message, "type": "Normal", "count": 1, "lastTimestamp": after(at),
    }))
    .unwrap()
}

fn queue(status: v1::GetStatusResponse) -> FromQueue {
    FromQueue {
        status,
        lane: None,
        entries: vec![],
        total: 0,
        recent: vec![],
    }
}

/// One that leaves at once, one that leaves later, and one that stays.
fn workloads() -> Vec<Binding> {
    let tolerating = |name: &str, seconds: serde_json::Value| {
        let mut binding = binding();
        binding.metadata.name = Some(name.to_owned());
        binding.spec.placement.as_mut().unwrap().cluster_tolerations = serde_json::from_value(json!([
            {"key": NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds},
        ]))
        .unwrap();
        binding
    };
    vec![
        binding(),
        tolerating("patient-deployment", json!(60)),
        tolerating("loyal-deployment", json!(null)),
    ]
}

fn gathered(cluster: Cluster) -> Gathered {
    Gathered {
        cluster,
        policies: policies(),
        events: vec![],
        agent_lease: None,
        leases: leases(),
        mode: Mode::Standalone,
        system_namespace: "karmada-system".to_owned(),
        queue: Ok(queue(calm())),
        bindings: None,
    }
}

fn explained(gathered: &Gathered) -> ClusterExplanation {
    report(gathered, now())
}

fn sentence(gathered: &Gathered) -> String {
    explained(gathered).conclusion.sentence()
}

fn gate_off() -> Vec<k8s_openapi::api::coordination::v1::Lease> {
    let rest = leases_without(&["cluster-taint-policy", "taint-manager"]).into_iter();
    rest.chain([
        lease("cluster-taint-policy", -3, "Failover=false"),
        lease("taint-manager", -3, "Failover=false"),
    ])
    .collect()
}

#[test]
fn a_window_runs() {
    let report = explained(&Gathered {
        events: vec![
            event(
                "ClusterNotReady",
                "Ready is False after 30s: GET /readyz got no answer: connection refused",
                -100,
            ),
            event(
                "TaintClusterSucceed",
                "added cluster.karmada.io/not-ready:NoSchedule",
                -99,
            ),
            event("CreateExecutionSpaceSucceed", "of no interest here", -98),
        ],
        bindings: Some(workloads()),
        ..gathered(failing())
    });
    assert_eq!(report.exit_status(), ExitStatus::Fine);
    assert_snapshot!("a_window_runs", show(&report, Format::Table));
    assert_snapshot!("a_window_runs_json", show(&report, Format::Json));
    assert_eq!(show(&report, Format::Name), "cluster/member1\n");
}

#[test]
fn the_history_tells_what_moves_workloads_and_what_keeps_them() {
    let reasons = [
        "ClusterNeverReported",
        "EvictionSwitchedOff",
        "EvictionsQueued",
        "DeletionNotAwaited",
    ];
    let times = [-100, -90, -80, -70];
    let events = reasons.iter().zip(times).map(|(reason, at)| event(reason, "", at));
    let report = explained(&Gathered {
        events: events.collect(),
        ..gathered(failing())
    });
    let told: Vec<&str> = report.history.iter().map(|happened| happened.reason.as_str()).collect();
    assert_eq!(told, reasons);
}

#[test]
fn tainted_and_workloads_leave() {
    let leaving = EntryView::of(&entry("nginx-deployment", 30, v1::EntryState::Waiting));
    let report = explained(&Gathered {
        queue: Ok(FromQueue {
            lane: lanes().pop(),
            entries: vec![leaving],
            total: 12,
            recent: vec![MoveView::of(&recent(
                "web-deployment",
                v1::Outcome::Evicted,
                "evicted from member1",
            ))],
            ..queue(busy())
        }),
        ..gathered(failed())
    });
    assert_snapshot!("tainted_and_workloads_leave", show(&report, Format::Table));
    assert_snapshot!("tainted_and_workloads_leave_json", show(&report, Format::Json));
    assert_snapshot!("tainted_and_workloads_leave_wide", show(&report, Format::Wide));
}

#[test]
fn the_queue_does_not_answer() {
    let failure = Failure::new(
        ExitStatus::Unreachable,
        "cannot reach the eviction queue at q:1",
        "refused",
        "start it",
    );
    let report = explained(&Gathered {
        queue: Err(failure),
        ..gathered(failed())
    });
    assert_eq!(
        report.exit_status(),
        ExitStatus::Fine,
        "the queue is not what was asked about"
    );
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn the_removal_window_runs() {
    assert_snapshot!(show(&explained(&gathered(recovering())), Format::Table));
}

#[test]
fn nothing_is_wrong() {
    assert_snapshot!(show(&explained(&gathered(cluster("member1", "True"))), Format::Table));
}

#[test]
fn the_controller_is_off() {
    let gathered = Gathered {
        leases: leases_without(&["cluster-taint-policy"]),
        ..gathered(failing())
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn the_gate_is_off() {
    let cluster = cluster("member1", "False");
    let windows = vec![
        window(&cluster, NO_EXECUTE, true, -600),
        window(&cluster, NO_SCHEDULE, true, -600),
    ];
    let taints = vec![ours("NoSchedule", NO_SCHEDULE, -599)];
    let gathered = Gathered {
        leases: gate_off(),
        ..gathered(recorded(cluster, windows, taints))
    };
    let report = explained(&gathered);
    assert_eq!(report.conclusion.severity, Some(Severity::Note));
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn nobody_reports() {
    let gathered = Gathered {
        leases: leases_without(&["cluster-status"]),
        ..gathered(cluster("member1", "True"))
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn nobody_evicts() {
    let gathered = Gathered {
        leases: leases_without(&["taint-manager"]),
        ..gathered(failed())
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn a_taint_that_evicts_comes_before_one_that_is_kept_away() {
    let mut spec = not_ready("PreferNoExecute", 60, 180);
    spec["suspended"] = json!(true);
    let mut gathered = gathered(failed());
    gathered.policies.push(policy("trial", &spec));
    assert!(
        sentence(&gathered).starts_with("member1 has "),
        "{}",
        sentence(&gathered)
    );
}

#[test]
fn a_taint_from_before_the_gate_was_switched_off() {
    assert_snapshot!(sentence(&Gathered {
        leases: gate_off(),
        ..gathered(failed())
    }));
}

#[test]
fn a_person_took_it_back() {
    let cluster = cluster("member1", "False");
    let (uid, mut dismissed) = window(&cluster, NO_EXECUTE, true, -600);
    dismissed["dismissed"] = json!({format!("{NOT_READY}:NoExecute"): {"at": after(-200), "generation": 1}});
    let gathered = Gathered {
        policies: vec![policy(NO_EXECUTE, &not_ready("NoExecute", 300, 180))],
        ..gathered(recorded(cluster, vec![(uid, dismissed)], vec![]))
    };
    assert_snapshot!(show(&explained(&gathered), Format::Table));
}

#[test]
fn a_policy_is_only_tried_out() {
    let mut spec = not_ready("NoExecute", 300, 180);
    spec["suspended"] = json!(true);
    let cluster = cluster("member1", "False");
    let windows = vec![window(&cluster, NO_EXECUTE, true, -600)];
    let gathered = Gathered {
        policies: vec![policy(NO_EXECUTE, &spec)],
        ..gathered(recorded(cluster, windows, vec![]))
    };
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn two_policies_disagree() {
    let mut one = not_ready("NoExecute", 300, 180);
    one["taintsToAdd"][0]["value"] = json!("a");
    let mut two = not_ready("NoExecute", 60, 180);
    two["taintsToAdd"][0]["value"] = json!("b");
    let cluster = cluster("member1", "False");
    let windows = vec![window(&cluster, "one", true, -600), window(&cluster, "two", true, -600)];
    let gathered = Gathered {
        policies: vec![policy("one", &one), policy("two", &two)],
        ..gathered(recorded(cluster, windows, vec![]))
    };
    assert_eq!(explained(&gathered).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&gathered));
}

#[test]
fn nobody_reacts() {
    let gathered = Gathered {
        policies: vec![],
        ..gathered(cluster("member1", "False"))
    };
    assert_snapshot!(show(&explained(&gathered), Format::Table));
}

#[test]
fn taints_of_others() {
    let mut cluster = cluster("member1", "True");
    cluster.spec.taints = serde_json::from_value(json!([
        {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"},
        {"key": "mine", "value": "v", "effect": "NoExecute"},
        {"key": NOT_READY, "effect": "NoSchedule", "timeAdded": after(-60)},
    ]))
    .unwrap();
    let fates = |mode| -> Vec<String> {
        let gathered = Gathered {
            mode,
            ..gathered(cluster.clone())
        };
        explained(&gathered)
            .taints
            .into_iter()
            .map(|taint| taint.fate)
            .collect()
    };
    assert_snapshot!(fates(Mode::Standalone).join("\n"), @r"
    a person cordoned the cluster: it stays until it is uncordoned
    not ours: it stays until whoever added it takes it away; without timeAdded, which controller clusterTaintPolicy stamps, it moves nothing
    not ours: it stays until whoever added it takes it away
    ");
    assert_eq!(
        fates(Mode::Beside)[2],
        "stock Karmada's: it goes when the cluster is Ready again"
    );
}

#[test]
fn the_policy_of_a_taint_was_deleted() {
    let gathered = Gathered {
        policies: vec![],
        ..gathered(failed())
    };
    let fate = &explained(&gathered).taints[1].fate;
    assert_eq!(
        fate,
        "goes with the controller's next look: policy not-ready-no-execute was deleted"
    );
}

#[test]
fn it_was_deleted() {
    let mut cluster = cluster("member1", "True");
    cluster.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(after(-90)));
    assert_snapshot!(sentence(&gathered(cluster.clone())));
    let beside = Gathered {
        mode: Mode::Beside,
        ..gathered(cluster.clone())
    };
    assert_snapshot!(sentence(&beside), @"member1 was deleted 1m30s ago: stock Karmada's scheduler places its workloads anew at once, past the eviction queue and its rate.");
    let blocked = json!({
        "type": "DeletionBlocked", "status": "True", "reason": "WorkloadsRemain", "message": "2 bindings find no place",
        "lastTransitionTime": after(-60),
    });
    cluster
        .status
        .as_mut()
        .unwrap()
        .conditions
        .push(serde_json::from_value(blocked).unwrap());
    assert_snapshot!("it_was_deleted_and_is_blocked", sentence(&gathered(cluster)));
}

/// What the monitor says of a Cluster whose reporter is silent.
fn reporter_down(mut cluster: Cluster) -> Cluster {
    let down = json!({
        "type": "ReporterDown", "status": "True", "reason": "LeaseNotRenewed", "message": "Lease cluster-status was last renewed 12:00",
        "lastTransitionTime": after(-60),
    });
    cluster
        .status
        .as_mut()
        .unwrap()
        .conditions
        .push(serde_json::from_value(down).unwrap());
    cluster
}

#[test]
fn its_health_is_not_known() {
    let report = explained(&gathered(reporter_down(cluster("member1", "True"))));
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!(show(&report, Format::Table));
}

#[test]
fn a_window_runs_on_although_nobody_is_heard() {
    let coming = gathered(reporter_down(failing()));
    assert_eq!(explained(&coming).exit_status(), ExitStatus::Problem);
    assert_snapshot!(sentence(&coming));
    let going = gathered(reporter_down(recovering()));
    assert_eq!(explained(&going).exit_status(), ExitStatus::Problem);
    assert_snapshot!("a_removal_window_runs_on_although_nobody_is_heard", sentence(&going));
}

#[test]
fn a_conflict_does_not_hide_what_comes() {
    let mut other = not_ready("NoSchedule", 1, 1);
    other["taintsToAdd"][0]["value"] = json!("a");
    let cluster = since(cluster("member1", "False"), -100);
    let windows = [NO_EXECUTE, NO_SCHEDULE, "other"].map(|policy| window(&cluster, policy, true, -100));
    let taints = vec![ours("NoSchedule", NO_SCHEDULE, -99)];
    let mut gathered = gathered(recorded(cluster, windows.to_vec(), taints));
    gathered.policies.push(policy("other", &other));
    let said = sentence(&gathered);
    assert!(said.starts_with("policies disagree about member1: "), "{said}");
    assert!(
        said.contains("member1 gets taint cluster.karmada.io/not-ready:NoExecute of policy not-ready-no-execute at "),
        "{said}"
    );
}

#[test]
fn what_is_assumed_about_what_would_leave_is_said() {
    let with = |leases| {
        explained(&Gathered {
            leases,
            bindings: Some(workloads()),
            ..gathered(failing())
        })
    };
    let gate = "feature gate Failover is on for the taint manager";
    let known = with(leases());
    assert!(!known.conclusion.summary.contains(gate), "{:?}", known.conclusion);
    let rest = leases_without(&["taint-manager"]).into_iter();
    let unreadable = with(rest.chain([lease("taint-manager", -3, "Failover=perhaps")]).collect());
    for report in [with(leases_without(&["taint-manager"])), unreadable] {
        let expected = format!("have to leave, if {gate} and --enable-no-execute-taint-eviction is on");
        assert!(report.conclusion.summary.contains(&expected), "{:?}", report.conclusion);
        let text = show(&report, Format::Table);
        assert!(text.contains(&format!("Would leave it (if {gate} and ")), "{text}");
    }
}

#[rstest]
#[case::heard(-5, ReporterState::Fresh)]
#[case::silent(-50, ReporterState::Silent)]
fn an_agent_is_heard_by_its_lease(#[case] renewed: i64, #[case] expected: ReporterState) {
    let mut pull = cluster("member1", "True");
    pull.spec.sync_mode = api_types::cluster::ClusterSyncMode::Pull;
    let mut lease = lease("member1", renewed, "");
    lease.spec.as_mut().unwrap().lease_duration_seconds = Some(40);
    let with = |agent_lease| Gathered {
        agent_lease,
        ..gathered(pull.clone())
    };
    let reporter = explained(&with(Some(lease))).reporter;
    assert_eq!(
        (reporter.state, reporter.lease.as_str()),
        (expected, "karmada-cluster/member1")
    );
    assert_eq!(explained(&with(None)).reporter.state, ReporterState::Unknown);
}

#[test]
fn a_probe_is_overdue() {
    let mut leases = leases();
    for lease in leases
        .iter_mut()
        .filter(|lease| lease.metadata.name.as_deref() == Some("cluster-status"))
    {
        let annotations = lease.metadata.annotations.as_mut().unwrap();
        annotations.insert(
            "failover.karmada.io/probes-overdue".to_owned(),
            "member1,member9".to_owned(),
        );
    }
    let gathered = Gathered {
        leases,
        ..gathered(cluster("member1", "True"))
    };
    assert_eq!(explained(&gathered).reporter.state, ReporterState::ProbeOverdue);
}

#[test]
fn a_blip_that_nobody_recorded_is_told_as_such() {
    let report = explained(&gathered(since(cluster("member1", "False"), -2)));
    assert!(report.policies.iter().all(|row| !row.recorded));
    assert!(
        show(&report, Format::Table).contains("the controller has not recorded this window yet"),
        "{}",
        show(&report, Format::Table)
    );
}

#[test]
fn a_window_that_starts_anew_again_and_again_is_told_with_what_helps() {
    let report = explained(&gathered(failing_restlessly()));
    let why =
        "the window starts anew whenever lastTransitionTime of Ready moves without another status, as it did 12 times";
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    let sentence = report.conclusion.sentence();
    assert!(sentence.contains(&format!("; but {why}")), "{sentence}");
    assert!(sentence.contains("let whoever writes the condition"), "{sentence}");
    let table = show(&report, Format::Table);
    let held = table
        .lines()
        .find(|line| line.contains("NoExecute") && line.contains("is added"));
    assert!(held.unwrap().contains(why), "{table}");
    assert!(show(&report, Format::Json).contains(&format!("\"restless\": \"{why}\"")));
}
