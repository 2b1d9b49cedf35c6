//! What people do to policies, switches, taints, records and clocks, at any moment of a history, against the words of
//! the rules and elapsed time.

use api_types::names::annotation;
use api_types::taint_policy::WindowedTaint;
use jiff::SignedDuration;
use serde_json::Value;

use super::*;

/// Something that happens.
#[derive(Clone, Debug)]
enum Edit {
    /// As in every history; a restart is one by the wall clock.
    Usual(Event),
    Create(Value),
    /// The policy at this place in the order of names, as far as there are so many, gets another spec.
    Spec(usize, Value),
    Delete(usize),
    Suspend(usize, bool),
    Target(usize, &'static str),
    Gate(FailoverGate),
    /// A taint that is not theirs is taken back by hand.
    TakeBack(usize),
    /// The same, and the record goes in the same edit.
    TakeBackWithRecord(usize),
    LoseRecord,
    /// The wall clock is so many milliseconds ahead of the time by which the process runs.
    SetClock(i64),
}

/// One or two conditions, and one or two taints, with windows of their own.
fn spec() -> impl Strategy<Value = Value> {
    let status = || prop::sample::subsequence(vec!["True", "False", "Unknown"], 1..3);
    let condition = |type_: &'static str| {
        (status(), prop::sample::select(vec!["In", "NotIn"])).prop_map(
            move |(values, operator)| json!({"conditionType": type_, "operator": operator, "statusValues": values}),
        )
    };
    let conditions = prop_oneof![
        condition("Ready").prop_map(|ready| json!([ready])),
        condition("Disk").prop_map(|disk| json!([disk])),
        (condition("Ready"), condition("Disk")).prop_map(|(ready, disk)| json!([ready, disk])),
    ];
    let taint = (
        prop::sample::select(vec!["k1", "k2"]),
        prop::sample::select(vec!["a", "b"]),
        prop::sample::select(vec!["NoExecute", "NoSchedule"]),
        1_i64..300,
        1_i64..300,
    );
    let taint = taint.prop_map(|(key, value, effect, add, remove)| {
        json!({"key": key, "value": value, "effect": effect, "addOnMatchSeconds": add, "removeOnMismatchSeconds": remove})
    });
    (conditions, prop::collection::vec(taint, 1..3))
        .prop_map(|(conditions, taints)| json!({"matchConditions": conditions, "taintsToAdd": taints}))
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = || 0_usize..3;
    let gate = prop::sample::select(vec![FailoverGate::Enabled, FailoverGate::Disabled]);
    prop_oneof![
        14 => event().prop_map(Edit::Usual),
        1 => spec().prop_map(Edit::Create),
        2 => (place(), spec()).prop_map(|(at, spec)| Edit::Spec(at, spec)),
        1 => place().prop_map(Edit::Delete),
        2 => (place(), prop::bool::ANY).prop_map(|(at, suspended)| Edit::Suspend(at, suspended)),
        2 => (place(), prop::sample::select(vec!["m1", "another"])).prop_map(|(at, name)| Edit::Target(at, name)),
        1 => gate.prop_map(Edit::Gate),
        2 => place().prop_map(Edit::TakeBack),
        1 => place().prop_map(Edit::TakeBackWithRecord),
        1 => Just(Edit::LoseRecord),
        1 => prop_oneof![-16_000_i64..16_000, -3_i64..4].prop_map(|steps| Edit::SetClock(steps * 450)),
    ]
}

/// What stands at the beginning, and what happens after how many seconds each.
fn edited_history() -> impl Strategy<Value = (Vec<ClusterTaintPolicy>, Vec<(i64, Edit)>)> {
    let policies = prop::collection::vec((spec(), 0_i64..3), 1..4).prop_map(|specs| {
        let specs = specs.into_iter().enumerate();
        specs
            .map(|(n, (spec, created))| policy(&format!("p{n}"), created, spec))
            .collect()
    });
    (policies, prop::collection::vec((1_i64..300, edit()), 1..40))
}

fn name(policy: &ClusterTaintPolicy) -> &str {
    policy.metadata.name.as_deref().unwrap()
}

/// The policy at this place in the order of names.
fn at_place(world: &mut World, place: usize) -> Option<&mut ClusterTaintPolicy> {
    let mut policies: Vec<&mut ClusterTaintPolicy> = world.policies.iter_mut().collect();
    policies.sort_by(|a, b| name(a).cmp(name(b)));
    policies.into_iter().nth(place)
}

fn change_spec(world: &mut World, place: usize, change: impl FnOnce(&mut Value)) {
    if let Some(policy) = at_place(world, place) {
        let mut spec = serde_json::to_value(&policy.spec).unwrap();
        change(&mut spec);
        policy.spec = serde_json::from_value(spec).unwrap();
        policy.metadata.generation = policy.metadata.generation.map(|generation| generation + 1);
    }
}

/// `serial` is another one for each edit of a history.
fn apply_edit(world: &mut World, edit: &Edit, serial: usize) {
    match edit {
        Edit::Usual(Event::Restart) => world.restart_by_the_wall_clock(),
        Edit::Usual(event) => apply(world, event),
        Edit::Create(spec) => {
            world.policies.push(policy(
                &format!("q{serial}"),
                i64::try_from(serial).unwrap(),
                spec.clone(),
            ));
        }
        Edit::Spec(place, other) => change_spec(world, *place, |spec| *spec = other.clone()),
        Edit::Delete(place) => {
            if let Some(gone) = at_place(world, *place).map(|policy| name(policy).to_owned()) {
                world.policies.retain(|policy| name(policy) != gone);
            }
        }
        Edit::Suspend(place, suspended) => change_spec(world, *place, |spec| spec["suspended"] = json!(suspended)),
        Edit::Target(place, cluster) => {
            change_spec(world, *place, |spec| {
                spec["targetCluster"] = json!({"clusterNames": [cluster]});
            });
        }
        Edit::Gate(gate) => world.gate = *gate,
        Edit::TakeBack(place) => take_back(world, *place),
        Edit::TakeBackWithRecord(place) => {
            take_back(world, *place);
            lose_record(world);
        }
        Edit::LoseRecord => lose_record(world),
        Edit::SetClock(ahead) => world.wall_ahead = SignedDuration::from_millis(*ahead),
    }
}

fn take_back(world: &mut World, place: usize) {
    if let Some(id) = standing(world).into_iter().nth(place) {
        world.cluster.spec.taints.retain(|taint| TaintId::of(taint) != id);
    }
}

fn lose_record(world: &mut World) {
    if let Some(annotations) = &mut world.cluster.metadata.annotations {
        annotations.remove(annotation::MANAGED_TAINTS);
    }
}

/// The taints that nobody but us added.
fn standing(world: &World) -> Vec<TaintId> {
    let ids = world.cluster.spec.taints.iter().map(TaintId::of);
    ids.filter(|id| !world.theirs.contains(id)).collect()
}

/// What becomes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Written,
    /// Nothing is stored, and we know it.
    Refused,
    /// Nothing is stored, and nobody answers.
    Unheard,
    /// It is stored, and the answer is lost.
    Lost,
}

fn answers() -> impl Strategy<Value = Vec<Answer>> {
    let answer = prop_oneof![
        7 => Just(Answer::Written),
        2 => Just(Answer::Refused),
        1 => Just(Answer::Unheard),
        1 => Just(Answer::Lost),
    ];
    prop::collection::vec(answer, 1..60)
}

/// Whether the policy is judged: it targets the Cluster, or is suspended and keeps what stands for it.
fn is_judged(policy: &ClusterTaintPolicy, world: &World, recorded: &ManagedTaints) -> bool {
    let keeps = |(id, entry): (&TaintId, &ManagedTaint)| {
        let mut taints = world.cluster.spec.taints.iter();
        entry.policies.contains_key(name(policy)) && taints.any(|taint| TaintId::of(taint) == *id && entry.is(taint))
    };
    targets(policy) || (policy.spec.suspended && recorded.taints.iter().any(keeps))
}

/// What follows from the events of the history alone.
#[derive(Default)]
struct Held {
    /// Since when, by elapsed time, each policy that is judged has been matching, or not, under its conditions.
    since: BTreeMap<String, (bool, String, i64)>,
    /// The taints that were taken back from each policy while it matched, with its generation then.
    dismissed: BTreeMap<(String, TaintId), Option<i64>>,
    /// What we last stored of whose a taint is, whatever was made of the record since.
    recorded: ManagedTaints,
}

fn targets(policy: &ClusterTaintPolicy) -> bool {
    let target = policy.spec.target_cluster.as_ref();
    target.is_none_or(|target| target.cluster_names.iter().any(|name| name == "m1"))
}

/// The taint of this key and effect that the policy names first.
fn named<'a>(policy: &'a ClusterTaintPolicy, id: &TaintId) -> Option<&'a WindowedTaint> {
    let mut taints = policy.spec.taints_to_add.iter();
    taints.find(|taint| taint.key == id.key && taint.effect.as_str() == id.effect)
}

impl Held {
    /// `taken` are the taints of ours that a person took away since the last look.
    fn look(&mut self, world: &World, taken: &[TaintId], elapsed: i64) {
        let judged = world
            .policies
            .iter()
            .filter(|policy| is_judged(policy, world, &self.recorded));
        let judged: Vec<&ClusterTaintPolicy> = judged.collect();
        self.since
            .retain(|known, _| judged.iter().any(|policy| name(policy) == known));
        for policy in judged {
            let conditions = policy.spec.match_conditions.as_deref().unwrap();
            let matching = super::super::conditions::all_hold(conditions, &world.cluster);
            let rule = serde_json::to_string(conditions).unwrap();
            let fresh = (matching, rule, elapsed);
            let since = self
                .since
                .entry(name(policy).to_owned())
                .or_insert_with(|| fresh.clone());
            if (since.0, &since.1) != (fresh.0, &fresh.1) {
                *since = fresh;
            }
            for id in taken.iter().filter(|id| matching && named(policy, id).is_some()) {
                if self.recorded.taints[id].policies.contains_key(name(policy)) {
                    let key = (name(policy).to_owned(), id.clone());
                    self.dismissed.insert(key, policy.metadata.generation);
                }
            }
        }
        let mut dismissed = std::mem::take(&mut self.dismissed);
        dismissed.retain(|(holder, id), generation| {
            let policy = world.policies.iter().find(|policy| name(policy) == holder);
            policy.is_some_and(|policy| {
                let over =
                    |taint: &WindowedTaint| self.has_not_matched(policy, taint.remove_on_mismatch_seconds, elapsed);
                policy.metadata.generation == *generation && named(policy, id).is_some_and(|taint| !over(taint))
            })
        });
        self.dismissed = dismissed;
    }

    /// Whether a person took the taint back from the policy, and that still counts.
    fn is_dismissed(&self, policy: &ClusterTaintPolicy, id: &TaintId) -> bool {
        self.dismissed.contains_key(&(name(policy).to_owned(), id.clone()))
    }

    /// Whether the policy, as it is, has matched for so many seconds.
    fn has_matched(&self, policy: &ClusterTaintPolicy, seconds: i32, elapsed: i64) -> bool {
        let held = self.since.get(name(policy));
        held.is_some_and(|(matching, _, since)| *matching && elapsed - since >= i64::from(seconds))
    }

    /// Whether the policy, as it is, has not matched for so many seconds.
    fn has_not_matched(&self, policy: &ClusterTaintPolicy, seconds: i32, elapsed: i64) -> bool {
        let held = self.since.get(name(policy));
        held.is_some_and(|(matching, _, since)| !*matching && elapsed - since >= i64::from(seconds))
    }

    /// The policies that have matched for this taint's window, and that neither a suspension nor the gate nor a person who
    /// took it back keeps from adding it.
    fn wanting<'a>(&self, world: &'a World, id: &TaintId, elapsed: i64) -> Vec<&'a ClusterTaintPolicy> {
        let allowed = world.gate == FailoverGate::Enabled || id.effect == "NoSchedule";
        let wants = |policy: &&ClusterTaintPolicy| {
            let taint = named(policy, id);
            allowed
                && !policy.spec.suspended
                && !self.is_dismissed(policy, id)
                && taint.is_some_and(|taint| self.has_matched(policy, taint.add_on_match_seconds, elapsed))
        };
        world.policies.iter().filter(wants).collect()
    }
}

fn managed(world: &World) -> ManagedTaints {
    ManagedTaints::read(world.cluster.metadata.annotations.as_ref()).unwrap()
}

/// One look, held against the rules. Whether there is to be another one soon, because of the answer.
fn check(
    world: &mut World,
    held: &mut Held,
    taken: &[TaintId],
    elapsed: i64,
    answer: Answer,
) -> Result<bool, TestCaseError> {
    held.look(world, taken, elapsed);
    let foreign = theirs(world);
    let mut found = changes_are_due(world, held, elapsed, answer);
    world.let_the_restored_end(|world| {
        let more = changes_are_due(world, held, elapsed, answer);
        found = found.clone().and_then(|before| Ok(before | more?));
    });
    let again = found?;
    theirs_are_theirs(&foreign, world)?;
    if again && matches!(answer, Answer::Refused | Answer::Unheard) {
        return Ok(true);
    }
    held.recorded = managed(world);
    nothing_of_theirs_is_recorded(world)?;
    stands_for_reasons(world)?;
    is_wanted_by_any(world, held, elapsed)?;
    dismissals_are_told(world, held)?;
    settled(world, elapsed)?;
    Ok(again && answer == Answer::Lost)
}

/// One look. Whether there was something to write.
fn changes_are_due(world: &mut World, held: &Held, elapsed: i64, answer: Answer) -> Result<bool, TestCaseError> {
    let evaluation = match answer {
        Answer::Written => world.look(),
        Answer::Refused => world.look_only(),
        Answer::Unheard => world.look_unheard(),
        Answer::Lost => world.look_unanswered(),
    };
    let (changes, again) = (evaluation.taints.clone(), evaluation.has_changes());
    for change in &changes {
        match change {
            TaintChange::Add { taint, .. } => {
                let wanting = held.wanting(world, &TaintId::of(taint), elapsed);
                prop_assert!(
                    !wanting.is_empty(),
                    "{:?} at {} is early, or was taken back",
                    taint,
                    elapsed
                );
            }
            TaintChange::Remove { id, .. } => removed_in_time(world, held, id, elapsed)?,
            TaintChange::SetValue { id, .. } => prop_assert!(!world.theirs.contains(id)),
            TaintChange::Stamp { id, .. } => prop_assert!(world.theirs.contains(id), "ours have their times"),
        }
    }
    Ok(again)
}

/// What goes has no policy any more, or none of its policies has matched for its window.
fn removed_in_time(world: &World, held: &Held, id: &TaintId, elapsed: i64) -> Result<(), TestCaseError> {
    for holder in held.recorded.taints[id].policies.keys() {
        let policy = world.policies.iter().find(|policy| name(policy) == holder);
        let Some((policy, taint)) = policy.and_then(|policy| Some((policy, named(policy, id)?))) else {
            continue;
        };
        prop_assert!(
            !policy.spec.suspended,
            "{} removed in spite of the suspended {}",
            id,
            holder
        );
        let over = held.has_not_matched(policy, taint.remove_on_mismatch_seconds, elapsed);
        prop_assert!(
            over || !targets(policy),
            "{} removed at {} too early for {}",
            id,
            elapsed,
            holder
        );
    }
    Ok(())
}

/// What we added is known as ours and stands for policies that exist, name it, and target the Cluster or are suspended:
/// what stood for others alone is gone at once.
fn stands_for_reasons(world: &World) -> Result<(), TestCaseError> {
    let managed = managed(world);
    for id in standing(world) {
        let Some(entry) = managed.taints.get(&id) else {
            return Err(TestCaseError::fail(format!("{id} is not known as ours any more")));
        };
        for holder in entry.policies.keys() {
            let policy = world.policies.iter().find(|policy| name(policy) == holder);
            let speaks = policy.is_some_and(|p| named(p, &id).is_some() && (p.spec.suspended || targets(p)));
            prop_assert!(speaks, "{} stands for {}", id, holder);
        }
    }
    Ok(())
}

/// What any policy has matched for stands, except what a person took back from it.
fn is_wanted_by_any(world: &World, held: &Held, elapsed: i64) -> Result<(), TestCaseError> {
    for (key, effect) in [
        ("k1", "NoExecute"),
        ("k1", "NoSchedule"),
        ("k2", "NoExecute"),
        ("k2", "NoSchedule"),
    ] {
        let id = TaintId {
            key: key.to_owned(),
            effect: effect.to_owned(),
        };
        for policy in held.wanting(world, &id, elapsed) {
            prop_assert!(
                world.has(&id.to_string()),
                "{} has matched for {}: it is not there",
                name(policy),
                id
            );
        }
    }
    Ok(())
}

/// What is said to have been taken back was, and is not there for this policy.
fn dismissals_are_told(world: &World, held: &Held) -> Result<(), TestCaseError> {
    for policy in world.policies.iter().filter(|policy| !policy.spec.suspended) {
        let Some(report) = world.last.as_ref().unwrap().reports.get(name(policy)) else {
            continue;
        };
        let has = |id: &TaintId| {
            let entry = held.recorded.taints.get(id);
            entry.is_some_and(|entry| entry.policies.contains_key(name(policy)))
        };
        let of_policy = held.dismissed.keys().filter(|(holder, _)| holder == name(policy));
        let expected = report.matching && of_policy.clone().any(|(_, id)| !has(id));
        prop_assert_eq!(
            report.dismissed,
            expected,
            "{}: {:?}",
            name(policy),
            of_policy.collect::<Vec<_>>()
        );
    }
    Ok(())
}

/// Nothing is left to be written at this instant, neither by this process nor by one that starts now; and what is to be
/// looked at again, is so later.
fn settled(world: &World, elapsed: i64) -> Result<(), TestCaseError> {
    let again = world.evaluate_later();
    prop_assert!(
        !again.has_changes(),
        "again at {}: {:?} {:?}",
        elapsed,
        again.taints,
        again.annotations
    );
    prop_assert!(again.next_look.is_none_or(|next| next > world.now));
    let fresh = world.evaluate_afresh();
    prop_assert!(
        !fresh.has_changes(),
        "afresh at {}: {:?} {:?}",
        elapsed,
        fresh.taints,
        fresh.annotations
    );
    wakes_alike(world, &again, &fresh)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Through whatever is edited, set and restarted: nothing of others is touched, nothing comes or goes early, what
    /// has no policy any more goes at once, what any policy wants stands, and a look leaves nothing to a second one.
    #[test]
    fn edits_break_no_rule((policies, history) in edited_history(), answers in answers()) {
        let mut world = World::new(&policies);
        let mut held = Held::default();
        let mut answers = answers.into_iter().cycle();
        let mut answer = || answers.next().unwrap_or(Answer::Written);
        let (mut elapsed, mut again) = (0, false);
        for (serial, (gap, edit)) in history.into_iter().enumerate() {
            for _ in 0..gap {
                elapsed += 1;
                world.now += SignedDuration::from_secs(1);
                let due = world.due_by(world.now + CLOCK_STEP);
                if due.is_some() || again {
                    again = check(&mut world, &mut held, &[], elapsed, answer())?;
                }
            }
            if again && matches!(edit, Edit::Usual(Event::Restart) | Edit::TakeBackWithRecord(_)) {
                // Of what a process saw and could not write, or wrote and never saw, nobody can know once this happened.
                check(&mut world, &mut held, &[], elapsed, Answer::Written)?;
            }
            let before = standing(&world);
            apply_edit(&mut world, &edit, serial);
            let mut taken = before;
            taken.retain(|id| !world.has(&id.to_string()));
            again = check(&mut world, &mut held, &taken, elapsed, answer())?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_order_of_policies_gives_the_same_through_edits((policies, history) in edited_history()) {
        let mut forward = World::new(&policies);
        let mut reversed = World::new(&policies.iter().rev().cloned().collect::<Vec<_>>());
        for (serial, (gap, edit)) in history.into_iter().enumerate() {
            for world in [&mut forward, &mut reversed] {
                world.pass(gap);
                apply_edit(world, &edit, serial);
                world.policies.reverse();
                world.look();
            }
            prop_assert_eq!(forward.last.as_ref(), reversed.last.as_ref());
            prop_assert_eq!(&forward.cluster, &reversed.cluster);
        }
    }
}
