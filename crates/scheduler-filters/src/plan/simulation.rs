//! The clock and the queue: from one moment at which something happens to the next.

mod fates;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use api_types::work::Binding;
use api_types::{BindingKey, ClusterName};
use failover_core::eviction::desired_entry::{Wanted, same, wanted, withdraw_reason};
use failover_core::eviction::queue::{
    ClusterView, Completion, Effect, EntryKey, Event, GrantedLease, Leading, Moment, OutcomeKind, PauseView,
    ProducerEpoch, Published, Queue, QueueSettings, StreamId, WithdrawReason,
};
use failover_core::taint_policy::{Recovering, TaintId, recovering};
use jiff::{SignedDuration, Timestamp};

use super::input::{HORIZON, Settings};
use super::moving::{check, evicted, placed};
use super::outcome::{Move, NewPlace, Plan, PlannedTaint, RegimePhase, TaintedBy};
use super::propose::Proposed;
use super::room::occupied;
use super::taints::{AllWatched, Looked, Watched};
use crate::feasibility::{Outcome, PreEvictionCheck};
use crate::fleet::Fleet;
use crate::strategy;

const PRODUCER: StreamId = 1;
const CONSUMER: StreamId = 2;
/// The queue has led for so long that its bucket is full.
const PRIMED: Duration = Duration::from_secs(3_600);
/// What is asked to happen at once happens after this.
const STEP: Duration = Duration::from_millis(1);

/// A pair of cluster and binding.
type Pair = (ClusterName, BindingKey);

pub(super) struct Simulation<'a> {
    settings: &'a Settings,
    proposed: BTreeSet<String>,
    policies: Vec<api_types::taint_policy::ClusterTaintPolicy>,
    fleet: Fleet,
    watched: AllWatched,
    recovering: BTreeMap<ClusterName, BTreeMap<TaintId, Recovering>>,
    bindings: BTreeMap<BindingKey, Binding>,
    /// Who is on which cluster.
    on: BTreeMap<ClusterName, BTreeSet<BindingKey>>,
    published: BTreeMap<Pair, Published>,
    queue: Queue,
    inbox: VecDeque<Effect>,
    elapsed: Duration,
    moved: BTreeSet<Pair>,
    /// All moves, whichever cluster they leave.
    moves: Vec<Move>,
    plan: Plan,
}

impl<'a> Simulation<'a> {
    /// The queue has led for a while when the proposal comes.
    pub(super) fn begin(proposed: Proposed, settings: &'a Settings) -> Self {
        let world = proposed.world;
        let queue_settings = QueueSettings {
            regime: settings.regime.clone(),
            leader_grace: Duration::ZERO,
            // Nothing changes by being looked at again.
            no_target_recheck: HORIZON.unsigned_abs().saturating_mul(2),
            longest_wait: HORIZON.unsigned_abs(),
            changes_kept: 1,
            outcomes_kept: 1,
            ..QueueSettings::default()
        };
        let start = Moment {
            wall: settings.now,
            elapsed: Duration::ZERO,
            leading: Leading::Fresh,
        };
        let keys = &settings.regime.non_failure_taint_keys;
        let mut queue = Queue::new(queue_settings, start);
        for cluster in &proposed.before {
            queue.apply(Event::ClusterSeen(ClusterView::of(cluster, keys)), start);
        }
        for pause in &world.pauses {
            queue.apply(Event::PauseSeen(PauseView::of(pause)), start);
        }
        queue.apply(Event::ClustersSynced, start);
        queue.apply(Event::PausesSynced, start);
        let mut on: BTreeMap<ClusterName, BTreeSet<BindingKey>> = BTreeMap::new();
        let mut bindings = BTreeMap::new();
        for binding in world.bindings {
            for target in &binding.spec.clusters {
                let there = on.entry(target.name.as_str().into()).or_default();
                there.insert(binding.key());
            }
            bindings.insert(binding.key(), binding);
        }
        Self {
            settings,
            proposed: proposed.policies,
            policies: world.policies,
            watched: world
                .clusters
                .iter()
                .map(|c| (c.cluster_name(), Watched::default()))
                .collect(),
            fleet: world.clusters.into_iter().collect(),
            recovering: BTreeMap::new(),
            bindings,
            on,
            published: BTreeMap::new(),
            queue,
            inbox: VecDeque::new(),
            elapsed: PRIMED,
            moved: BTreeSet::new(),
            moves: Vec::new(),
            plan: Plan {
                clusters: proposed.clusters,
                taints: proposed.taints,
                ..Plan::default()
            },
        }
    }

    pub(super) fn run(mut self) -> Plan {
        let present = self.present();
        self.connect();
        loop {
            self.work();
            let Some(next) = self.next() else { break };
            self.elapsed = next;
            // Before the queue releases anything at this moment.
            self.look(|watched, now| watched.next_look.is_some_and(|at| at <= now));
            self.tell(Event::Tick);
        }
        self.finish(&present)
    }

    /// The pairs that there are before anything moves.
    fn present(&self) -> BTreeSet<Pair> {
        let pairs = self
            .on
            .iter()
            .flat_map(|(cluster, there)| there.iter().map(move |binding| (cluster.clone(), binding.clone())));
        let leaving = self.bindings.values().flat_map(|binding| {
            let tasks = binding.spec.graceful_eviction_tasks.iter();
            tasks.map(move |task| (ClusterName::from(task.from_cluster.as_str()), binding.key()))
        });
        pairs.chain(leaving).collect()
    }

    /// The policies look at every cluster, and the queue is told of all, before anything is released.
    fn connect(&mut self) {
        self.look_without_publishing();
        self.tell(Event::ProducerHello {
            stream: PRODUCER,
            producer: "taintManager".to_owned(),
            epoch: ProducerEpoch::default(),
            identity: "plan".to_owned(),
        });
        let pairs: Vec<Pair> = self.present().into_iter().collect();
        self.publish(pairs);
        self.tell(Event::SnapshotComplete { stream: PRODUCER });
        self.tell(Event::ConsumerHello {
            stream: CONSUMER,
            identity: "plan".to_owned(),
        });
        self.tell(Event::Credit {
            stream: CONSUMER,
            leases: u32::MAX,
        });
    }

    fn look_without_publishing(&mut self) {
        let names: Vec<ClusterName> = self.watched.keys().cloned().collect();
        for name in names {
            self.look_at(&name);
            self.see(&name);
        }
    }

    /// Lets the policies look where `due` says so, and tells what changed.
    fn look(&mut self, due: impl Fn(&Watched, Timestamp) -> bool) {
        let now = self.now();
        let all = self.watched.iter();
        let names: Vec<ClusterName> = all
            .filter(|(_, watched)| due(watched, now))
            .map(|(name, _)| name.clone())
            .collect();
        // What happens to several clusters at one moment happens together: nothing is released in between.
        let mut changed = names;
        changed.retain(|name| self.look_at(name));
        for name in &changed {
            self.see(name);
        }
        let there = |name: &ClusterName| self.on.get(name).into_iter().flatten().cloned();
        let pairs = changed
            .iter()
            .flat_map(|name| there(name).map(|binding| (name.clone(), binding)));
        let pairs: Vec<Pair> = pairs.collect();
        self.publish(pairs);
    }

    /// Whether the look changed the cluster.
    fn look_at(&mut self, name: &ClusterName) -> bool {
        let now = self.now();
        let policies: Vec<_> = self.policies.iter().collect();
        let (Some(cluster), Some(watched)) = (self.fleet.get(name.as_str()), self.watched.get_mut(name)) else {
            return false;
        };
        let Looked { cluster, added } = watched.look(cluster, &policies, self.settings.policy_gate, now);
        let Some(cluster) = cluster else { return false };
        self.fleet = std::mem::take(&mut self.fleet).with(cluster);
        self.took_in(added);
        true
    }

    /// A cluster that a proposed policy taints is one that the proposal is about.
    fn took_in(&mut self, added: Vec<PlannedTaint>) {
        for taint in &added {
            if let TaintedBy::Policies { names, .. } = &taint.by
                && names.iter().any(|name| self.proposed.contains(name))
            {
                self.plan.clusters.insert(taint.cluster.clone());
            }
        }
        self.plan.taints.extend(added);
    }

    /// The queue sees the cluster, and which of its taints are about to go is judged anew.
    fn see(&mut self, name: &ClusterName) {
        let Some(cluster) = self.fleet.get(name.as_str()) else {
            return;
        };
        let policies: Vec<_> = self.policies.iter().collect();
        let about_to_go = recovering(cluster, &policies);
        let view = ClusterView::of(cluster, &self.settings.regime.non_failure_taint_keys);
        self.recovering.insert(name.clone(), about_to_go);
        self.tell(Event::ClusterSeen(view));
    }

    /// Judges these pairs, and tells the queue what is different.
    fn publish(&mut self, pairs: impl IntoIterator<Item = Pair>) {
        let nothing = BTreeMap::new();
        let (mut upserts, mut withdrawn): (Vec<Published>, Vec<(EntryKey, WithdrawReason)>) = (Vec::new(), Vec::new());
        for pair in pairs {
            let (name, key) = &pair;
            let cluster = self.fleet.get(name.as_str());
            let about_to_go = self.recovering.get(name).unwrap_or(&nothing);
            let now_wanted = wanted(self.bindings.get(key), cluster, about_to_go, &self.settings.switches);
            let before = self.published.get(&pair);
            let replaced = before.filter(|before| match &now_wanted {
                Wanted::Entry(entry) => entry.key != before.key,
                Wanted::Nothing(_) => true,
            });
            if let Some(before) = replaced {
                let why = withdraw_reason(&before.key, &now_wanted, cluster);
                withdrawn.push((EntryKey::clone(&before.key), why));
            }
            match now_wanted {
                Wanted::Entry(entry) => {
                    if !before.is_some_and(|before| same(before, &entry)) {
                        upserts.push((*entry).clone());
                    }
                    self.published.insert(pair, *entry);
                }
                Wanted::Nothing(_) => {
                    self.published.remove(&pair);
                }
            }
        }
        if !withdrawn.is_empty() {
            self.tell(Event::Withdraw {
                stream: PRODUCER,
                entries: withdrawn,
            });
        }
        if !upserts.is_empty() {
            self.tell(Event::Upsert {
                stream: PRODUCER,
                entries: upserts,
            });
        }
    }

    fn tell(&mut self, event: Event) {
        let effects = self.queue.apply(event, self.moment());
        self.inbox.extend(effects);
        self.note_regime();
    }

    /// Carries out what the queue releases, until it releases nothing more at this moment.
    fn work(&mut self) {
        while let Some(effect) = self.inbox.pop_front() {
            if let Effect::Grant { lease, .. } = effect {
                self.carry_out(&lease);
            }
        }
    }

    fn carry_out(&mut self, lease: &GrantedLease) {
        let (entry, now) = (&lease.published, self.now());
        let complete = |outcome: OutcomeKind, message: String| Event::Complete {
            lease: lease.id,
            key: entry.key.clone(),
            consumer: None,
            completion: Completion {
                reason: outcome.as_str().to_owned(),
                outcome,
                message,
            },
        };
        let Some(binding) = self.bindings.get(&entry.key.binding) else {
            self.tell(complete(OutcomeKind::Failed, "there is no such binding".to_owned()));
            return;
        };
        let answer = check(binding, entry, &self.fleet, self.settings, now);
        if let Outcome::NoTarget { why } = answer.outcome {
            let outcome = OutcomeKind::NoTarget {
                recheck_at: answer.recheck_at,
                rests_on: answer.rests_on,
            };
            self.tell(complete(outcome, why));
            return;
        }
        let before = binding.clone();
        let mut after = evicted(&before, entry, now);
        let to = placed(&mut after, &self.fleet, self.settings, now);
        let counts = self.settings.check == PreEvictionCheck::Capacity || strategy::counts_room(&after.spec);
        if let NewPlace::Found { gains, .. } = &to
            && counts
        {
            for gain in gains {
                let taken = self
                    .fleet
                    .get(&gain.name)
                    .and_then(|c| occupied(c, &after, gain.replicas));
                if let Some(cluster) = taken {
                    self.fleet = std::mem::take(&mut self.fleet).with(cluster);
                }
            }
        }
        self.moves.push(Move {
            binding: entry.key.binding.clone(),
            template: entry.template.clone(),
            from: entry.key.cluster.clone(),
            replicas: entry.replicas,
            cause: (*entry.key.cause).clone(),
            reason: entry.reason.to_string(),
            due_at: entry.due_at,
            leaves_at: now,
            purge_mode: entry.purge_mode.into(),
            to,
        });
        let done = complete(OutcomeKind::Evicted, String::new());
        self.moved
            .insert((entry.key.cluster.clone(), entry.key.binding.clone()));
        self.published
            .remove(&(entry.key.cluster.clone(), entry.key.binding.clone()));
        self.write(&before, after);
        self.tell(done);
        self.judge_anew(&lease.published.key.binding, &before);
    }

    fn write(&mut self, before: &Binding, after: Binding) {
        let key = after.key();
        for target in &before.spec.clusters {
            if let Some(there) = self.on.get_mut(target.name.as_str()) {
                there.remove(&key);
            }
        }
        for target in &after.spec.clusters {
            self.on
                .entry(target.name.as_str().into())
                .or_default()
                .insert(key.clone());
        }
        self.bindings.insert(key, after);
    }

    /// A binding that changed is judged on every cluster where it is or was.
    fn judge_anew(&mut self, key: &BindingKey, before: &Binding) {
        let now = self.bindings.get(key).map(|binding| &binding.spec.clusters);
        let names: BTreeSet<ClusterName> = before
            .spec
            .clusters
            .iter()
            .chain(now.into_iter().flatten())
            .map(|target| ClusterName::from(target.name.as_str()))
            .collect();
        let pairs: Vec<Pair> = names.into_iter().map(|name| (name, key.clone())).collect();
        self.publish(pairs);
    }

    /// The next moment at which something happens; nothing when nothing does before the horizon.
    fn next(&self) -> Option<Duration> {
        let wake = self.queue.next_wake(self.moment());
        let looks = self.watched.values().filter_map(|watched| watched.next_look);
        let by_the_wall = looks.chain(wake.wall).min().map(|at| self.elapsed_at(at));
        let next = by_the_wall.into_iter().chain(wake.elapsed).min()?;
        let next = whole_millis(next).max(self.elapsed + STEP);
        (next <= PRIMED + HORIZON.unsigned_abs()).then_some(next)
    }

    fn elapsed_at(&self, at: Timestamp) -> Duration {
        let ahead = at.duration_since(self.settings.now);
        PRIMED + Duration::try_from(ahead).unwrap_or(Duration::ZERO)
    }

    fn now(&self) -> Timestamp {
        let since = SignedDuration::try_from(self.elapsed.saturating_sub(PRIMED)).unwrap_or(SignedDuration::MAX);
        self.settings.now.saturating_add(since).unwrap_or(Timestamp::MAX)
    }

    fn moment(&self) -> Moment {
        Moment {
            wall: self.now(),
            elapsed: self.elapsed,
            leading: Leading::Fresh,
        }
    }

    fn note_regime(&mut self) {
        let verdict = self.queue.verdict();
        if self.plan.regimes.last().is_some_and(|last| last.verdict == *verdict) {
            return;
        }
        let from = self.now();
        let verdict = verdict.clone();
        // What lasts no time is not told.
        self.plan.regimes.retain(|phase| phase.from < from);
        if self.plan.regimes.last().is_none_or(|last| last.verdict != verdict) {
            self.plan.regimes.push(RegimePhase { from, verdict });
        }
    }
}

/// A time is told in whole milliseconds, and nothing happens before it.
fn whole_millis(at: Duration) -> Duration {
    let whole = Duration::new(at.as_secs(), at.subsec_millis() * 1_000_000);
    if whole < at { whole + STEP } else { whole }
}
