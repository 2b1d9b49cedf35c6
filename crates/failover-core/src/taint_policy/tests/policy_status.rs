//! What the status of a policy says.

use super::*;

#[test]
fn a_condition_that_nobody_writes_never_matches_and_is_counted() {
    let spec = |operator: &str| {
        json!({"matchConditions": [{"conditionType": "Raedy", "operator": operator, "statusValues": ["True"]}],
               "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": 1, "removeOnMismatchSeconds": 1}]})
    };
    for operator in ["In", "NotIn"] {
        let mut world = World::new(&[policy("p", 0, spec(operator))]);
        world.condition("Ready", "False");
        world.look();
        world.until(100);
        assert!(world.taints().is_empty());
        let report = &world.last.as_ref().unwrap().reports["p"];
        let status = status::of_policy(&world.policies[0], &[("m1", report)], world.gate, world.now);
        let ready = api_types::conditions::get(&status.conditions, "Ready").unwrap();
        assert!(
            ready.message.contains("1 of 1 clusters lack condition Raedy"),
            "{}",
            ready.message
        );
    }
}

#[test]
fn a_status_lists_only_clusters_that_are_not_quiet() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.until(400);
    let tainted_report = world.last.as_ref().unwrap().reports["p"].clone();
    let mut quiet = World::new(&[not_ready("p", 0)]);
    quiet.condition("Ready", "True");
    quiet.look();
    let quiet_report = quiet.last.as_ref().unwrap().reports["p"].clone();
    let reports = [("m2", &quiet_report), ("m1", &tainted_report)];
    let mut policy = world.policies[0].clone();
    let status = status::of_policy(&policy, &reports, world.gate, world.now);
    let counts = (status.target_clusters, status.matching, status.tainted, status.pending);
    assert_eq!((counts, status.clusters.len()), ((2, 1, 1, 0), 1));
    assert_eq!(status.clusters[0].name, "m1");
    // Stored and computed again later, it is the same: nothing to write.
    policy.status = Some(serde_json::from_value(serde_json::to_value(&status).unwrap()).unwrap());
    assert_eq!(
        status::of_policy(&policy, &reports, world.gate, at(900)),
        policy.status.clone().unwrap()
    );
    let stored: BTreeMap<String, Value> = serde_json::from_value(serde_json::to_value(&status).unwrap()).unwrap();
    assert!(!stored.contains_key("clustersOmitted"));
}

#[test]
fn of_very_many_clusters_five_hundred_are_named_and_the_rest_is_counted() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    let leaving = world.report("p").clone();
    let mut pending = World::new(&[not_ready("p", 0)]);
    pending.condition("Ready", "False");
    pending.look();
    let names: Vec<String> = (0..1200).map(|n| format!("m{n:04}")).collect();
    let reports: Vec<(&str, &Report)> = names
        .iter()
        .enumerate()
        .map(|(n, name)| (name.as_str(), if n % 2 == 0 { pending.report("p") } else { &leaving }))
        .collect();
    let status = status::of_policy(&world.policies[0], &reports, world.gate, world.now);
    assert_eq!((status.clusters.len(), status.clusters_omitted), (500, 700));
    let counts = (status.target_clusters, status.matching, status.tainted, status.pending);
    assert_eq!(counts, (1200, 600, 600, 1200), "all are counted");
    assert_eq!(status.clusters[0].name, "m0000", "named in the order of their names");
    assert_eq!(status.next_change_at, Some(Time(at(300))), "the earliest of all");
}

#[test]
fn a_cluster_says_what_will_happen_and_when() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    let report = world.report("p");
    assert_eq!(
        report.message,
        "Ready=False; not-ready:NoExecute is added at 2026-01-01T00:05:00Z"
    );
    let mut world = tainted(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(
        world.report("p").message,
        "Ready=True; not-ready:NoExecute is removed at 2026-01-01T00:08:10Z unless another policy wants it"
    );
}

#[test]
fn everything_that_is_amiss_is_in_the_message_and_the_gravest_is_the_reason() {
    let mut spec = not_ready_spec("", "NoExecute");
    spec["matchConditions"] = json!([]);
    let mut world = World::new(&[policy("p", 0, spec)]);
    world.look();
    world.until(300);
    world.cluster.spec.taints.clear();
    world.until(301);
    world.gate = FailoverGate::Disabled;
    let ready = world.policy_condition("p", "Ready");
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "FailoverGateOff")
    );
    assert!(
        ready.message.contains("; taken back by hand") && ready.message.contains("m1"),
        "{}",
        ready.message
    );
}

#[test]
fn somebody_elses_taint_in_place_of_ours_is_named_with_its_clusters() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.add_theirs("not-ready", "NoExecute", Some(at(-5)));
    world.condition("Ready", "False");
    world.look();
    assert_eq!(
        world.policy_condition("p", "Ready").reason,
        "Evaluated",
        "not wanted yet"
    );
    world.until(300);
    let ready = world.policy_condition("p", "Ready");
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("True", "ForeignTaint"));
    assert_eq!(
        ready.message,
        "somebody else's taint stands already, and stays when the policy stops matching: not-ready:NoExecute on m1"
    );
    world.condition("Ready", "True");
    world.look();
    assert_eq!(world.policy_condition("p", "Ready").reason, "Evaluated");
}
