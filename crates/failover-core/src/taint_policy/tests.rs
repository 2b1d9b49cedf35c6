//! The engine, rule by rule, on a Cluster that is edited as an API server would.

use std::collections::BTreeMap;

use api_types::cluster::{Cluster, ClusterStatus};
use api_types::names::annotation;
use api_types::taint_policy::{ClusterTaintPolicy, PolicyClusterState};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};

use super::*;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_225_600_000 + second * 1000).unwrap()
}

/// A Cluster, the policies, and a process that looks at them.
pub(super) struct World {
    pub cluster: Cluster,
    pub policies: Vec<ClusterTaintPolicy>,
    pub memory: Option<Memory>,
    pub gate: FailoverGate,
    pub now: Timestamp,
    pub writes: usize,
    pub last: Option<Evaluation>,
}

impl World {
    pub fn new(policies: &[ClusterTaintPolicy]) -> Self {
        let cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1", "uid": "cluster-1", "labels": {"tier": "prod"}},
            "spec": {"syncMode": "Push"}
        }))
        .unwrap();
        Self {
            cluster,
            policies: policies.to_vec(),
            memory: None,
            gate: FailoverGate::Enabled,
            now: at(0),
            writes: 0,
            last: None,
        }
    }

    /// Sets a condition now.
    pub fn condition(&mut self, type_: &str, status: &str) {
        let conditions = &mut self
            .cluster
            .status
            .get_or_insert_with(ClusterStatus::default)
            .conditions;
        match conditions.iter_mut().find(|c| c.type_ == type_) {
            Some(c) if c.status == status => {}
            found => {
                let fresh = Condition {
                    type_: type_.to_owned(),
                    status: status.to_owned(),
                    reason: "R".to_owned(),
                    message: String::new(),
                    observed_generation: None,
                    last_transition_time: Time(Timestamp::from_second(self.now.as_second()).unwrap()),
                };
                match found {
                    Some(c) => *c = fresh,
                    None => conditions.push(fresh),
                }
            }
        }
    }

    pub fn restart(&mut self) {
        self.memory = None;
    }

    pub fn evaluate(&self) -> Evaluation {
        let policies: Vec<&ClusterTaintPolicy> = self.policies.iter().collect();
        evaluate(Input {
            policies: &policies,
            cluster: &self.cluster,
            memory: self.memory.as_ref(),
            gate: self.gate,
            now: self.now,
            wall: self.now,
        })
    }

    /// Looks without being able to write.
    pub fn look_only(&mut self) -> &Evaluation {
        let evaluation = self.evaluate();
        self.memory = Some(evaluation.memory.clone());
        self.last.insert(evaluation)
    }

    /// Looks and writes.
    pub fn look(&mut self) -> &Evaluation {
        let evaluation = self.evaluate();
        self.memory = Some(evaluation.memory.clone());
        if evaluation.has_changes() {
            self.writes += 1;
            apply(&mut self.cluster, &evaluation);
        }
        self.last.insert(evaluation)
    }

    /// Lets the time pass to `second`, looking whenever the engine asked for it, then looks.
    pub fn until(&mut self, second: i64) -> &Evaluation {
        while let Some(next) = self
            .last
            .as_ref()
            .and_then(|e| e.next_look)
            .filter(|next| *next <= at(second))
        {
            assert!(next > self.now, "asked to look again at {next}, and it is {}", self.now);
            self.now = next;
            self.look();
        }
        self.now = at(second);
        self.look()
    }

    pub fn taints(&self) -> Vec<String> {
        self.cluster
            .spec
            .taints
            .iter()
            .map(|t| TaintId::of(t).to_string())
            .collect()
    }

    pub fn has(&self, id: &str) -> bool {
        self.taints().iter().any(|t| t == id)
    }

    pub fn annotation(&self, name: &str) -> Option<&String> {
        self.cluster.metadata.annotations.as_ref()?.get(name)
    }

    pub fn set_annotation(&mut self, name: &str, text: &str) {
        self.cluster
            .metadata
            .annotations
            .get_or_insert_default()
            .insert(name.to_owned(), text.to_owned());
    }

    pub fn state(&self, policy: &str) -> Option<PolicyClusterState> {
        self.last.as_ref()?.reports.get(policy)?.state.clone()
    }
}

/// What the API server makes of the changes: times lose their fractions.
fn apply(cluster: &mut Cluster, evaluation: &Evaluation) {
    let find = |taints: &[Taint], id: &TaintId| taints.iter().position(|t| TaintId::of(t) == *id).unwrap();
    let taints = &mut cluster.spec.taints;
    for change in &evaluation.taints {
        match change {
            TaintChange::Add { taint, .. } => {
                assert!(
                    !taints.iter().any(|t| TaintId::of(t) == TaintId::of(taint)),
                    "{taint:?} stands already"
                );
                taints.push(taint.clone());
            }
            TaintChange::Remove { id, .. } => {
                taints.remove(find(taints, id));
            }
            TaintChange::SetValue { id, value, .. } => {
                let index = find(taints, id);
                taints[index].value = Some(value.clone());
            }
            TaintChange::Stamp { id, time_added } => {
                let index = find(taints, id);
                taints[index].time_added = Some(time_added.clone());
            }
        }
    }
    let annotations = cluster.metadata.annotations.get_or_insert_default();
    for change in &evaluation.annotations {
        match &change.value {
            Some(text) => annotations.insert(change.name.to_owned(), text.clone()),
            None => annotations.remove(change.name),
        };
    }
    *cluster = serde_json::from_value(serde_json::to_value(&*cluster).unwrap()).unwrap();
}

#[expect(clippy::needless_pass_by_value, reason = "specs are written in place")]
pub(super) fn policy(name: &str, created: i64, spec: Value) -> ClusterTaintPolicy {
    serde_json::from_value(json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "generation": 1, "creationTimestamp": at(created - 10_000)},
        "spec": spec
    }))
    .unwrap()
}

fn edit(world: &mut World, name: &str, spec: Value) {
    let policy = world
        .policies
        .iter_mut()
        .find(|p| p.metadata.name.as_deref() == Some(name))
        .unwrap();
    policy.spec = serde_json::from_value(spec).unwrap();
    policy.metadata.generation = policy.metadata.generation.map(|g| g + 1);
}

fn not_ready_spec(value: &str, effect: &str) -> Value {
    json!({
        "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
        "taintsToAdd": [{"key": "not-ready", "value": value, "effect": effect, "addOnMatchSeconds": 300, "removeOnMismatchSeconds": 180}]
    })
}

/// NoExecute after 300 s, away after 180 s.
fn not_ready(name: &str, created: i64) -> ClusterTaintPolicy {
    policy(name, created, not_ready_spec("", "NoExecute"))
}

fn stock(name: &str) -> ClusterTaintPolicy {
    policy(
        name,
        0,
        json!({
            "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
            "removeOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
            "taints": [{"key": "not-ready", "effect": "NoExecute"}]
        }),
    )
}

const TAINT: &str = "not-ready:NoExecute";

/// A world in which `not-ready` has put its taint at second 310.
fn tainted(policies: &[ClusterTaintPolicy]) -> World {
    let mut world = World::new(policies);
    world.condition("Ready", "True");
    world.look();
    world.now = at(10);
    world.condition("Ready", "False");
    world.look();
    world.until(310);
    assert_eq!(world.taints(), [TAINT]);
    world
}

#[test]
fn added_after_its_window_and_removed_after_its_window() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(world.writes, 0, "a healthy cluster is not written");
    world.now = at(10);
    world.condition("Ready", "False");
    assert_eq!(world.look().next_look, Some(at(310)));
    assert_eq!(world.state("p"), Some(PolicyClusterState::PendingAdd));
    world.until(309);
    assert!(world.taints().is_empty());
    world.until(310);
    assert_eq!(world.taints(), [TAINT]);
    assert_eq!(world.cluster.spec.taints[0].time_added, Some(Time(at(310))));
    let writes = world.writes;
    world.until(10_000);
    assert_eq!(
        (world.writes, writes),
        (2, 2),
        "opened and fired: nothing else is written"
    );
    assert_eq!(world.state("p"), Some(PolicyClusterState::Tainted));

    world.condition("Ready", "True");
    assert_eq!(world.look().next_look, Some(at(10_180)));
    world.until(10_179);
    assert_eq!(
        (world.taints().len(), world.state("p")),
        (1, Some(PolicyClusterState::PendingRemove))
    );
    world.until(10_180);
    assert!(world.taints().is_empty());
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
    assert_eq!(world.annotation(annotation::MANAGED_TAINTS), None);
    assert_eq!(world.state("p"), None);
}

#[test]
fn the_change_names_policy_and_conditions() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.now = at(300);
    world.look();
    let TaintChange::Add { why, .. } = &world.last.as_ref().unwrap().taints[0] else {
        panic!("added at 300")
    };
    assert_eq!(why, "policy p: Ready=False for 300 s");
}

#[test]
fn a_blip_leaves_nothing_but_the_count() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    world.now = at(10);
    world.condition("Ready", "False");
    world.look();
    world.until(309);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
    assert_eq!(world.last.as_ref().unwrap().next_look, None);
    world.until(1000);
    assert!(world.taints().is_empty());
    assert_eq!(world.memory.as_ref().unwrap().transitions("uid-p"), 2);
}

#[test]
fn one_listed_value_after_another_keeps_the_window() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.until(200);
    world.condition("Ready", "Unknown");
    assert_eq!(world.look().next_look, Some(at(300)));
    assert_eq!(world.writes, 2, "the new transition time is recorded");
    world.restart();
    world.until(300);
    assert_eq!(
        world.taints(),
        [TAINT],
        "the recorded time lets a restarted process keep the window"
    );
}

#[test]
fn a_merged_blip_starts_the_window_anew() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.until(200);
    world.condition("Ready", "True");
    world.now = at(205);
    world.condition("Ready", "False");
    assert_eq!(world.look().next_look, Some(at(505)));
}

#[test]
fn a_restart_keeps_the_due_time_unless_a_condition_changed_meanwhile() {
    for (changed_meanwhile, fires) in [(false, 310), (true, 550)] {
        let mut world = World::new(&[not_ready("p", 0)]);
        world.now = at(10);
        world.condition("Ready", "False");
        world.look();
        world.restart();
        world.now = at(200);
        if changed_meanwhile {
            world.condition("Ready", "Unknown");
        }
        world.now = at(250);
        assert_eq!(world.look().next_look, Some(at(fires)));
        world.until(fires - 1);
        assert!(world.taints().is_empty());
        world.until(fires);
        assert_eq!(world.taints(), [TAINT]);
    }
}

#[test]
fn a_restart_keeps_the_removal_window_too() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.until(400);
    world.condition("Ready", "True");
    world.look();
    world.restart();
    world.now = at(500);
    assert_eq!(world.look().next_look, Some(at(580)));
}

// C59: a window that ran out while nobody looked fires at the first look.
#[test]
fn what_became_due_during_an_outage_is_done_at_once() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.restart();
    world.now = at(5000);
    world.look();
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn a_window_that_could_not_be_written_still_counts() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look_only();
    world.now = at(100);
    assert_eq!(world.look().next_look, Some(at(300)));
    world.now = at(200);
    world.condition("Ready", "True");
    world.look_only();
    world.now = at(210);
    world.condition("Ready", "False");
    assert_eq!(
        world.look().next_look,
        Some(at(510)),
        "the blip was seen though not written"
    );
}

#[test]
fn what_others_added_stays() {
    let mut world = World::new(&[not_ready("p", 0)]);
    let theirs = Taint {
        key: "not-ready".into(),
        value: Some("mine".into()),
        effect: "NoExecute".into(),
        time_added: Some(Time(at(-5))),
    };
    world.cluster.spec.taints.push(theirs.clone());
    world.condition("Ready", "False");
    world.look();
    world.until(400);
    assert_eq!(world.cluster.spec.taints, std::slice::from_ref(&theirs));
    assert!(
        world.last.as_ref().unwrap().reports["p"]
            .message
            .contains("is not ours")
    );
    world.condition("Ready", "True");
    world.look();
    world.until(1000);
    assert_eq!(world.cluster.spec.taints, [theirs]);
}

#[test]
fn missing_times_are_stamped_where_they_decide() {
    let mut world = World::new(&[]);
    for effect in ["NoExecute", "PreferNoExecute", "NoSchedule"] {
        world.cluster.spec.taints.push(Taint {
            key: "k".into(),
            value: None,
            effect: effect.into(),
            time_added: None,
        });
    }
    world.now = at(7);
    world.look();
    let times: Vec<_> = world.cluster.spec.taints.iter().map(|t| t.time_added.clone()).collect();
    assert_eq!(times, [Some(Time(at(7))), Some(Time(at(7))), None]);
    world.until(100);
    assert_eq!(world.writes, 1);
}

#[test]
fn our_own_lost_time_is_put_back() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints[0].time_added = None;
    world.until(900);
    assert_eq!(world.cluster.spec.taints[0].time_added, Some(Time(at(310))));
}

#[test]
fn the_older_of_two_values_wins_and_both_are_told() {
    let policies = [
        policy("young", 5, not_ready_spec("b", "NoExecute")),
        policy("old", 1, not_ready_spec("a", "NoExecute")),
    ];
    let mut world = World::new(&policies);
    world.condition("Ready", "False");
    world.look();
    world.until(300);
    assert_eq!(world.cluster.spec.taints[0].value.as_deref(), Some("a"));
    for name in ["young", "old"] {
        let conflict = world.last.as_ref().unwrap().reports[name].conflict.clone().unwrap();
        assert!(conflict.contains("old is the oldest and wins"), "{conflict}");
    }
    // Without the older one the younger's value comes, and the taint keeps its time.
    world.policies.remove(1);
    world.until(400);
    assert_eq!(world.cluster.spec.taints[0].value.as_deref(), Some("b"));
    assert_eq!(world.cluster.spec.taints[0].time_added, Some(Time(at(300))));
    assert_eq!(world.last.as_ref().unwrap().reports["young"].conflict, None);
}

#[test]
fn wanted_by_any_is_wanted() {
    let mut slow = not_ready_spec("", "NoExecute");
    slow["taintsToAdd"][0]["removeOnMismatchSeconds"] = json!(600);
    let mut world = tainted(&[not_ready("p", 0), policy("slow", 1, slow)]);
    world.until(1000);
    world.condition("Ready", "True");
    world.look();
    world.until(1599);
    assert_eq!(world.taints(), [TAINT]);
    world.until(1600);
    assert!(world.taints().is_empty());
}

// C57: stock keeps the taint for ever; here a person's act takes it away at once.
#[test]
fn a_deleted_or_edited_policy_takes_its_taint_along_at_once() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.policies.clear();
    world.until(320);
    assert!(world.taints().is_empty());

    let mut world = tainted(&[not_ready("p", 0)]);
    let mut spec = not_ready_spec("", "NoExecute");
    spec["taintsToAdd"][0]["key"] = json!("other");
    edit(&mut world, "p", spec);
    world.until(320);
    assert_eq!(
        world.taints(),
        ["other:NoExecute"],
        "the conditions have held for long enough"
    );
}

// C56: the case says that the taint stays; the specification says that it goes, since a person acted.
#[test]
fn a_cluster_that_is_no_longer_targeted_loses_the_taint_at_once() {
    let mut spec = not_ready_spec("", "NoExecute");
    spec["targetCluster"] = json!({"labelSelector": {"matchLabels": {"tier": "prod"}}});
    let mut world = tainted(&[policy("p", 0, spec)]);
    world.cluster.metadata.labels = None;
    world.until(320);
    assert!(world.taints().is_empty());
    let changes = &world.last.as_ref().unwrap().taints;
    assert!(matches!(&changes[0], TaintChange::Remove { why, .. } if why == "policy p no longer targets the cluster"));
}

#[test]
fn a_changed_window_or_condition_keeps_the_taint() {
    let mut world = tainted(&[not_ready("p", 0)]);
    let mut spec = not_ready_spec("", "NoExecute");
    spec["taintsToAdd"][0]["addOnMatchSeconds"] = json!(3000);
    edit(&mut world, "p", spec.clone());
    world.until(400);
    assert_eq!(world.taints(), [TAINT]);
    spec["matchConditions"][0]["statusValues"] = json!(["Unknown"]);
    edit(&mut world, "p", spec);
    assert_eq!(
        world.look().next_look,
        Some(at(580)),
        "it no longer matches: the removal window runs"
    );
    world.until(580);
    assert!(world.taints().is_empty());
}

#[test]
fn a_renamed_policy_makes_nothing_flicker() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.policies = vec![not_ready("q", 5)];
    world.until(320);
    assert_eq!(world.taints(), [TAINT]);
    assert_eq!(world.cluster.spec.taints[0].time_added, Some(Time(at(310))));
    world.condition("Ready", "True");
    world.look();
    world.until(500);
    assert!(world.taints().is_empty());
}

#[test]
fn stocks_form_is_latched() {
    let mut world = World::new(&[stock("s")]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!(world.taints(), [TAINT], "no window");
    world.now = at(10);
    world.condition("Ready", "Unknown");
    world.look();
    world.restart();
    world.until(500);
    assert_eq!(
        world.taints(),
        [TAINT],
        "neither list matches: it stays, also over a restart"
    );
    world.condition("Ready", "True");
    world.look();
    assert!(world.taints().is_empty());
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
}

#[test]
fn with_both_lists_matching_removal_wins() {
    let mut policy = stock("s");
    policy.spec.remove_on_conditions = policy.spec.add_on_conditions.clone();
    let mut world = World::new(&[policy]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!((world.taints().len(), world.writes), (0, 0));
}

#[test]
fn with_the_gate_off_only_what_moves_nothing_is_added() {
    let mut spec = not_ready_spec("", "NoExecute");
    let no_schedule =
        json!({"key": "not-ready", "effect": "NoSchedule", "addOnMatchSeconds": 5, "removeOnMismatchSeconds": 5});
    spec["taintsToAdd"].as_array_mut().unwrap().push(no_schedule);
    let mut world = World::new(&[policy("p", 0, spec)]);
    world.gate = FailoverGate::Disabled;
    world.condition("Ready", "False");
    world.look();
    world.until(1000);
    assert_eq!(world.taints(), ["not-ready:NoSchedule"]);
    let report = &world.last.as_ref().unwrap().reports["p"];
    assert!(report.held_by_gate && report.message.contains("feature gate Failover is off"));
    let status = status::of_policy(&world.policies[0], &[("m1", report)], world.gate, world.now);
    let ready = api_types::conditions::get(&status.conditions, "Ready").unwrap();
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "FailoverGateOff")
    );

    // Switched on, what is due is due; switched off again, what stands is removed as usual.
    world.gate = FailoverGate::Enabled;
    world.until(1001);
    assert!(world.has(TAINT));
    world.gate = FailoverGate::Disabled;
    world.until(1100);
    assert!(world.has(TAINT));
    world.condition("Ready", "True");
    world.look();
    world.until(1280);
    assert!(world.taints().is_empty());
}

#[test]
fn a_suspended_policy_reports_and_does_nothing() {
    let mut spec = not_ready_spec("", "NoExecute");
    spec["suspended"] = json!(true);
    let mut world = World::new(&[policy("p", 0, spec.clone())]);
    world.condition("Ready", "False");
    world.look();
    world.until(1000);
    assert!(world.taints().is_empty());
    let report = &world.last.as_ref().unwrap().reports["p"];
    assert!(
        report.matching && report.message.contains("suspended"),
        "{}",
        report.message
    );

    let mut world = tainted(&[not_ready("p", 0)]);
    edit(&mut world, "p", spec);
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(world.taints(), [TAINT], "it removes nothing either");
    edit(&mut world, "p", not_ready_spec("", "NoExecute"));
    world.until(5001);
    assert!(world.taints().is_empty(), "the window ran meanwhile");
}

#[test]
fn a_person_may_take_it_back() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.now = at(400);
    world.cluster.spec.taints.clear();
    world.look();
    assert_eq!(world.last.as_ref().unwrap().notices[0].reason, "TaintDismissed");
    assert_eq!(world.state("p"), Some(PolicyClusterState::Dismissed));
    let writes = world.writes;
    world.restart();
    world.until(5000);
    assert_eq!(
        (world.taints().len(), world.writes),
        (0, writes),
        "not again, also after a restart"
    );

    // Shorter than the removal window: still dismissed.
    world.condition("Ready", "True");
    world.look();
    world.until(5100);
    world.condition("Ready", "False");
    world.look();
    world.until(6000);
    assert!(world.taints().is_empty());

    // Longer: forgotten, and the next failure counts.
    world.condition("Ready", "True");
    world.look();
    world.until(6180);
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
    world.condition("Ready", "False");
    world.look();
    world.until(6480);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn an_edited_policy_ends_a_dismissal() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints.clear();
    world.until(400);
    assert!(world.taints().is_empty());
    edit(&mut world, "p", not_ready_spec("v", "NoExecute"));
    world.until(401);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn a_taint_put_in_place_of_ours_is_theirs() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints[0].value = Some("mine".to_owned());
    world.until(400);
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(world.cluster.spec.taints[0].value.as_deref(), Some("mine"));
}

#[test]
fn a_taint_removed_while_the_policy_no_longer_matches_is_just_gone() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.until(400);
    world.condition("Ready", "True");
    world.look();
    world.cluster.spec.taints.clear();
    world.until(410);
    assert_eq!(world.annotation(annotation::MANAGED_TAINTS), None);
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
}

#[test]
fn a_cluster_joined_anew_starts_clean() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.now = at(200);
    world.cluster.metadata.uid = Some("cluster-2".to_owned());
    assert_eq!(world.look().next_look, Some(at(500)));

    // An old manifest, with our annotations and without the taint: nobody took anything back.
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.metadata.uid = Some("cluster-2".to_owned());
    world.cluster.spec.taints.clear();
    world.now = at(400);
    world.look();
    assert_eq!(world.state("p"), Some(PolicyClusterState::PendingAdd));
    world.until(700);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn edited_annotations_are_replaced_with_a_warning() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.set_annotation(annotation::MANAGED_TAINTS, "oops");
    world.set_annotation(annotation::TAINT_WINDOWS, "oops");
    world.restart();
    world.now = at(400);
    world.look();
    let warnings: Vec<_> = world
        .last
        .as_ref()
        .unwrap()
        .notices
        .iter()
        .filter(|n| n.is_warning)
        .collect();
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].text.contains("failover.karmada.io/managed-taints"));
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(
        world.taints(),
        [TAINT],
        "whose it is cannot be known any more: it stays"
    );
    assert!(world.last.as_ref().unwrap().notices.is_empty(), "said once");
}

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
fn without_conditions_a_policy_always_matches() {
    let spec = json!({"taintsToAdd": [{"key": "k", "effect": "NoSchedule", "addOnMatchSeconds": 60, "removeOnMismatchSeconds": 1}]});
    let mut world = World::new(&[policy("p", 0, spec)]);
    world.look();
    world.until(60);
    assert_eq!(world.taints(), ["k:NoSchedule"]);
}

#[test]
fn ready_crossings_are_scored_across_restarts() {
    let mut world = World::new(&[]);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(world.writes, 0);
    world.now = at(100);
    world.condition("Ready", "False");
    world.look_only();
    world.look();
    world.restart();
    world.now = at(200);
    world.condition("Ready", "True");
    world.look();
    let score = FlapScore::read(world.cluster.metadata.annotations.as_ref()).unwrap();
    assert!(score.score > 1.9 && score.score < 2.0, "{score:?}");
    let writes = world.writes;
    world.until(5000);
    assert_eq!(world.writes, writes);
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
