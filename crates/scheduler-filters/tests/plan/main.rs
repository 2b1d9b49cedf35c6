//! What a plan foretells, by the public functions alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "helpers of tests may fail the test"
)]

mod against_the_functions;
mod objects;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::Binding;
use failover_core::eviction::FailoverGate;
use failover_core::eviction::regime::Regime;
use failover_core::taint_policy::FailoverGate as PolicyGate;
use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};

use scheduler_filters::plan::*;
use scheduler_filters::{FewerCopies, PreEvictionCheck};

use objects::{now, one_to_two, shown};

fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn cluster(name: &str) -> Cluster {
    objects::cluster(name, json!({"metadata": {"uid": format!("uid-{name}")}}))
}

fn clusters(count: usize) -> Vec<Cluster> {
    (1..=count).map(|number| cluster(&format!("member{number}"))).collect()
}

/// A binding of a Deployment with `spec` merged over it.
fn binding(name: &str, spec: Value) -> Binding {
    let mut binding = objects::deployment(spec);
    binding.metadata.name = Some(name.to_owned());
    binding.metadata.uid = Some(format!("uid-{name}"));
    binding.metadata.resource_version = Some("10".to_owned());
    binding.spec.resource.name = name.to_owned();
    binding.status = serde_json::from_value(json!({
        "schedulerObservedGeneration": 1,
        "conditions": [{
            "type": "Scheduled", "status": "True", "reason": "Success", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    }))
    .unwrap();
    binding
}

fn on(name: &str, clusters: &[&str]) -> Binding {
    let there: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"name": name, "replicas": 3}))
        .collect();
    binding(
        name,
        json!({"clusters": there, "placement": {"spreadConstraints": [
            {"spreadByField": "cluster", "minGroups": clusters.len(), "maxGroups": clusters.len()},
        ]}}),
    )
}

/// Not Ready for 300 s: NoExecute.
fn policy(more: &Value) -> ClusterTaintPolicy {
    let mut policy = json!({
        "metadata": {"name": "not-ready", "uid": "uid-p", "generation": 1, "creationTimestamp": "2025-01-01T00:00:00Z"},
        "spec": {
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
            "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": 300, "removeOnMismatchSeconds": 180}],
        },
    });
    for (field, value) in more.as_object().unwrap() {
        policy["spec"][field] = value.clone();
    }
    serde_json::from_value(policy).unwrap()
}

fn failing(names: &[&str]) -> Proposal {
    Proposal {
        failing: names.iter().map(|name| (*name).into()).collect(),
        ..Proposal::default()
    }
}

fn draining(names: &[&str]) -> Proposal {
    Proposal {
        draining: names
            .iter()
            .map(|name| ((*name).into(), FewerCopies::Refused))
            .collect(),
        ..Proposal::default()
    }
}

fn world(clusters: Vec<Cluster>, bindings: Vec<Binding>) -> World {
    World {
        clusters,
        bindings,
        policies: vec![policy(&json!({}))],
        pauses: vec![],
    }
}

fn planned(world: World, proposal: &Proposal) -> Plan {
    plan(world, proposal, &Settings::defaults(now())).unwrap()
}

/// Each move as `binding from>gains at seconds`.
fn told(plan: &Plan) -> Vec<String> {
    let one = |one: &Move| {
        let to = match &one.to {
            NewPlace::Found { gains, .. } => shown(gains),
            NewPlace::NotFound { .. } => "nowhere".to_owned(),
            NewPlace::Nobody { .. } => "nobody".to_owned(),
        };
        let seconds = one.leaves_at.duration_since(now()).as_secs_f64();
        format!("{} {}>{to} at {seconds}", one.binding.name, one.from)
    };
    plan.moves.iter().map(one).collect()
}

#[test]
fn the_worked_example_moves_when_the_window_has_ended() {
    let spec = json!({
        "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2}], "placement": one_to_two(),
    });
    let plan = planned(world(clusters(3), vec![binding("nginx", spec)]), &failing(&["member1"]));
    assert_eq!(told(&plan), ["nginx member1>member2:1 at 300"]);
    let taint = &plan.taints[0];
    assert_eq!(
        (taint.cluster.as_str(), taint.id.to_string().as_str(), taint.at),
        ("member1", "k:NoExecute", after(300))
    );
    let TaintedBy::Policies { names, .. } = &taint.by else {
        panic!("{taint:?}")
    };
    assert_eq!(names, &["not-ready"]);
    assert_eq!(plan.last_move_at, Some(after(300)));
    let regimes: Vec<_> = plan
        .regimes
        .iter()
        .map(|phase| (phase.from, phase.verdict.regime))
        .collect();
    assert_eq!(
        regimes,
        [(now(), Regime::Normal), (after(300), Regime::Normal)],
        "the share changes"
    );
    let NewPlace::Found { result, kept, .. } = &plan.moves[0].to else {
        panic!("{plan:?}")
    };
    assert_eq!((shown(result).as_str(), kept), ("member2:3", &None));
}

#[test]
fn the_queue_paces_and_orders() {
    let mut bindings: Vec<Binding> = (0..3).map(|n| on(&format!("a{n}"), &["member1"])).collect();
    let mut urgent = on("urgent", &["member1"]);
    urgent.spec.schedule_priority = serde_json::from_value(json!({"priority": 7})).unwrap();
    bindings.push(urgent);
    bindings.push(on("b", &["member2"]));
    let plan = planned(world(clusters(3), bindings), &draining(&["member1", "member2"]));
    let gone: Vec<String> = told(&plan)
        .iter()
        .map(|line| line.replace(">member3:3 at", ""))
        .collect();
    // Two lanes take turns; a bucket that is full goes at once, then one in two seconds.
    assert_eq!(
        gone,
        [
            "urgent member1 0",
            "b member2 2",
            "a0 member1 4",
            "a1 member1 6",
            "a2 member1 8"
        ]
    );
    // Drained clusters are not faulty: all of them would be AllFaulty otherwise.
    assert!(plan.regimes.iter().all(|phase| phase.verdict.faulty == 0));
    assert!(
        plan.taints
            .iter()
            .all(|taint| taint.by == TaintedBy::Drain && taint.at == now())
    );
}

#[rstest]
#[case::a_small_fleet_is_halted(3, 2, Regime::Halted, 0)]
#[case::all_of_it(2, 2, Regime::AllFaulty, 0)]
#[case::a_large_one_goes_on_slowly(11, 7, Regime::Reduced, 7)]
fn the_regime_is_that_which_results(
    #[case] count: usize,
    #[case] fail: usize,
    #[case] regime: Regime,
    #[case] moves: usize,
) {
    let names: Vec<String> = (1..=fail).map(|number| format!("member{number}")).collect();
    let bindings = names.iter().map(|name| on(&format!("on-{name}"), &[name])).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let plan = planned(world(clusters(count), bindings), &failing(&names));
    assert_eq!(plan.regimes.last().unwrap().verdict.regime, regime);
    assert_eq!((plan.moves.len(), plan.remaining.len()), (moves, fail - moves));
    for stuck in &plan.remaining {
        let NotGoing::Standstill { why } = &stuck.why else {
            panic!("{stuck:?}")
        };
        assert!(why.contains(regime.as_str()), "{why}");
    }
    if let [first, .., last] = &plan.moves[..] {
        let between = last.leaves_at.duration_since(first.leaves_at).as_secs_f64();
        assert!((between - 60.0).abs() < 0.01, "six more at 0.1/s: {between}");
    }
}

#[test]
fn what_stays_says_why() {
    let tolerations = |seconds: Value| {
        json!({"placement": {"clusterTolerations": [
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds},
        ]}})
    };
    let with = |name: &str, more: Value| {
        let mut binding = on(name, &["member1"]);
        let spec: Binding = self::binding(name, more);
        binding.spec.placement = spec.spec.placement;
        binding
    };
    let mut stays = on("stays", &["member1"]);
    stays.metadata.annotations = Some(
        [(
            "failover.karmada.io/stay".to_owned(),
            r#"[{"cluster":"member1"}]"#.to_owned(),
        )]
        .into(),
    );
    let bindings = vec![
        with("tolerates", tolerations(Value::Null)),
        with("for-a-while", tolerations(json!(60))),
        with("for-years", tolerations(json!(400 * 86_400))),
        with(
            "nowhere-else",
            json!({"placement": {"clusterAffinity": {"clusterNames": ["member1"]}}}),
        ),
        stays,
        on("elsewhere", &["member2"]),
    ];
    let plan = planned(world(clusters(3), bindings), &failing(&["member1"]));
    let [moved] = &plan.moves[..] else { panic!("{plan:?}") };
    assert_eq!(
        (moved.binding.name.as_str(), moved.leaves_at),
        ("for-a-while", after(360))
    );
    let remaining: Vec<(&str, &NotGoing)> = plan
        .remaining
        .iter()
        .map(|r| (r.binding.name.as_str(), &r.why))
        .collect();
    let [
        ("nowhere-else", NotGoing::NoTarget { why }),
        ("stays", NotGoing::Held { reason, .. }),
        ("for-years", NotGoing::Later),
    ] = &remaining[..]
    else {
        panic!("{remaining:?}")
    };
    assert!(
        why.starts_with("no other cluster can take it") || why.starts_with("0/"),
        "{why}"
    );
    assert_eq!(reason.as_str(), "Stay");
    let [stays] = &plan.staying[..] else { panic!("{plan:?}") };
    assert_eq!(
        (stays.binding.name.as_str(), stays.why.word()),
        ("tolerates", "Tolerated")
    );
}

#[test]
fn who_has_not_opted_in_stays() {
    let mut opted_in = on("opted-in", &["member1"]);
    opted_in.spec.failover = serde_json::from_value(json!({"cluster": {"tolerationSeconds": 30}})).unwrap();
    let world = World {
        policies: vec![policy(
            &json!({"taintsToAdd": [{"key": "k", "effect": "PreferNoExecute", "addOnMatchSeconds": 10}]}),
        )],
        ..world(clusters(3), vec![opted_in, on("other", &["member1"])])
    };
    let plan = planned(world, &failing(&["member1"]));
    assert_eq!(told(&plan), ["opted-in member1>member2:3 at 40"]);
    assert_eq!(plan.staying[0].why.word(), "NotOptedIn");
}

#[test]
fn with_the_gate_off_nothing_moves() {
    let mut settings = Settings::defaults(now());
    settings.policy_gate = PolicyGate::Disabled;
    let held = plan(
        world(clusters(3), vec![on("web", &["member1"])]),
        &failing(&["member1"]),
        &settings,
    )
    .unwrap();
    assert!(held.moves.is_empty() && held.taints.is_empty());
    assert_eq!(
        held.held_taints[0].state,
        failover_core::taint_policy::TaintState::HeldByGate
    );
    settings.switches.failover = FailoverGate::Off;
    let drained = plan(
        world(clusters(3), vec![on("web", &["member1"])]),
        &draining(&["member1"]),
        &settings,
    )
    .unwrap();
    assert!(drained.moves.is_empty());
    assert_eq!(drained.staying[0].why.word(), "FailoverGateOff");
}

#[test]
fn a_pause_holds_until_it_ends() {
    let pause = |until: Value| {
        serde_json::from_value(json!({
            "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "p"},
            "spec": {"scope": "Clusters", "clusters": ["member1"], "reason": "a freeze", "until": until},
        }))
        .unwrap()
    };
    let paused = |until: Value| World {
        pauses: vec![pause(until)],
        ..world(clusters(3), vec![on("web", &["member1"])])
    };
    let ends = planned(paused(json!(after(600))), &draining(&["member1"]));
    assert_eq!(told(&ends), ["web member1>member2:3 at 600"]);
    let for_ever = planned(paused(Value::Null), &draining(&["member1"]));
    let NotGoing::Held { reason, why } = &for_ever.remaining[0].why else {
        panic!("{for_ever:?}")
    };
    assert_eq!(reason.as_str(), "Paused");
    assert!(why.contains("a freeze"), "{why}");
}

/// A Duplicated workload without another candidate stays, unless fewer copies are accepted and a healthy one runs.
#[rstest]
#[case::refused(FewerCopies::Refused, 0)]
#[case::accepted(FewerCopies::AcceptedIfOneIsHealthy, 1)]
fn fewer_copies_go_where_a_healthy_one_runs(#[case] fewer_copies: FewerCopies, #[case] moves: usize) {
    let mut web = on("web", &["member1", "member2"]);
    web.spec.placement.as_mut().unwrap().spread_constraints.clear();
    web.status.as_mut().unwrap().aggregated_status = serde_json::from_value(json!([
        {"clusterName": "member2", "applied": true, "health": "Healthy", "status": {"availableReplicas": 3}},
    ]))
    .unwrap();
    let proposal = Proposal {
        draining: [("member1".into(), fewer_copies)].into(),
        ..Proposal::default()
    };
    let plan = planned(world(clusters(2), vec![web]), &proposal);
    assert_eq!(plan.moves.len(), moves, "{plan:?}");
    if let [one] = &plan.moves[..] {
        let NewPlace::Found { gains, .. } = &one.to else {
            panic!("{one:?}")
        };
        assert!(gains.is_empty());
    }
}

#[test]
fn a_proposed_policy_is_played_through() {
    let mut silent = cluster("member1");
    silent.status.as_mut().unwrap().conditions[0].status = "Unknown".to_owned();
    let fleet = vec![silent, cluster("member2"), cluster("member3")];
    let bare = || World {
        policies: vec![],
        ..world(fleet.clone(), vec![on("web", &["member1"])])
    };
    let mut proposed = policy(&json!({}));
    proposed.metadata.uid = None;
    let proposal = |policy: ClusterTaintPolicy| Proposal {
        policies: vec![policy],
        ..Proposal::default()
    };
    let played = planned(bare(), &proposal(proposed.clone()));
    assert_eq!(told(&played), ["web member1>member2:3 at 300"]);
    assert!(played.clusters.contains("member1") && played.clusters.len() == 1);

    proposed.spec.suspended = true;
    let tried = planned(bare(), &proposal(proposed.clone()));
    assert!(tried.moves.is_empty() && tried.taints.is_empty());

    // One that exists is replaced: its window does not begin anew when only its taint becomes another.
    proposed.spec.suspended = false;
    let both = Proposal {
        policies: vec![proposed.clone(), proposed],
        ..Proposal::default()
    };
    let refused = plan(bare(), &both, &Settings::defaults(now())).unwrap_err();
    assert_eq!(refused.to_string(), "ClusterTaintPolicy not-ready is proposed twice");
}

/// What leaves other clusters takes turns with what is planned, and is only counted.
#[test]
fn what_leaves_already_goes_its_way() {
    let faulty = objects::cluster(
        "member2",
        json!({"metadata": {"uid": "uid-member2"}, "spec": {"taints": [
            {"key": "old", "effect": "NoExecute", "timeAdded": "2026-01-01T11:00:00Z"},
        ]}}),
    );
    let fleet = vec![cluster("member1"), faulty, cluster("member3")];
    let bindings = vec![on("a", &["member1"]), on("b", &["member2"]), on("c", &["member2"])];
    let plan = planned(world(fleet, bindings), &draining(&["member1"]));
    assert_eq!(told(&plan), ["a member1>member3:3 at 0"]);
    assert_eq!((plan.others.moves, plan.others.remaining), (2, 0));
}

/// With the capacity check each move takes its room from those after it.
#[test]
fn moves_take_room_from_each_other() {
    let summary =
        json!({"status": {"resourceSummary": {"allocatable": {"pods": "4", "cpu": "4"}, "allocated": {"pods": "0"}}}});
    let mut small = objects::cluster("member2", summary);
    small.metadata.uid = Some("uid-member2".to_owned());
    let mut first = on("first", &["member1"]);
    first.spec.replica_requirements = serde_json::from_value(json!({"resourceRequest": {"cpu": "1"}})).unwrap();
    let mut second = first.clone();
    second.metadata.name = Some("second".to_owned());
    second.metadata.uid = Some("uid-second".to_owned());
    let mut settings = Settings::defaults(now());
    settings.check = PreEvictionCheck::Capacity;
    let plan = plan(
        world(vec![cluster("member1"), small], vec![first, second]),
        &draining(&["member1"]),
        &settings,
    )
    .unwrap();
    assert_eq!(told(&plan), ["first member1>member2:3 at 0"]);
    let NotGoing::NoTarget { why } = &plan.remaining[0].why else {
        panic!("{plan:?}")
    };
    assert!(why.contains("member2 has room for 1 of 3"), "{why}");
}

#[test]
fn what_nobody_places_is_said() {
    let mut suspended = on("suspended", &["member1"]);
    suspended.spec.suspension = serde_json::from_value(json!({"scheduling": true})).unwrap();
    let plan = planned(world(clusters(3), vec![suspended]), &draining(&["member1"]));
    assert_eq!(told(&plan), ["suspended member1>nobody at 0"]);
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let empty = plan(
        world(clusters(1), vec![]),
        &Proposal::default(),
        &Settings::defaults(now()),
    );
    assert_eq!(empty.unwrap_err(), BadProposal::Nothing);
    let unknown = plan(
        world(clusters(1), vec![]),
        &failing(&["member9"]),
        &Settings::defaults(now()),
    );
    assert_eq!(unknown.unwrap_err().to_string(), "there is no Cluster member9");
}

/// A cluster that fails already keeps the window that runs.
#[test]
fn a_cluster_that_fails_already_keeps_its_window() {
    let mut fleet = clusters(3);
    let ready = &mut fleet[0].status.as_mut().unwrap().conditions[0];
    ready.status = "False".to_owned();
    let since = serde_json::to_value(&ready.last_transition_time).unwrap();
    let window = json!({"cluster": "uid-member1", "windows": {"uid-p": {
        "policy": "not-ready", "matching": true, "since": after(-250), "rule": "Ready In False,Unknown",
        "conditions": {"Ready": {"status": "False", "lastTransitionTime": since}},
    }}});
    fleet[0].metadata.annotations = Some([("failover.karmada.io/taint-windows".to_owned(), window.to_string())].into());
    let plan = planned(world(fleet, vec![on("web", &["member1"])]), &failing(&["member1"]));
    let left = plan.moves[0].leaves_at.duration_since(now()).as_secs_f64();
    assert!((50.0..51.0).contains(&left), "the rest of 300 s: {left}");
}

/// What is divided by room goes where room is, and a move takes it from those after it; without any left nothing goes.
#[test]
fn moves_that_count_room_leave_less_of_it() {
    let with_room = |name: &str, pods: u32| {
        objects::cluster(
            name,
            json!({
                "metadata": {"uid": format!("uid-{name}")},
                "status": {"resourceSummary": {"allocatable": {"pods": pods.to_string()}}},
            }),
        )
    };
    let aggregated = |name: &str| {
        let scheduling = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"});
        binding(
            name,
            json!({"clusters": [{"name": "member1", "replicas": 3}], "placement": {"replicaScheduling": scheduling}}),
        )
    };
    let fleet = vec![cluster("member1"), with_room("member2", 4), with_room("member3", 3)];
    let plan = planned(
        world(fleet, vec![aggregated("a"), aggregated("b"), aggregated("c")]),
        &failing(&["member1"]),
    );
    let told = told(&plan);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("member1>member2:3"), "{told:?}");
    assert!(told[1].contains("member1>member3:3"), "{told:?}");
    let why = &plan.remaining[0].why;
    assert!(
        matches!(why, NotGoing::NoTarget { why } if why.contains("3 replicas want a place, and the other clusters have room for 1")),
        "{why:?}"
    );
}
