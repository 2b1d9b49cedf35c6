//! What the monitor knows of those who report: it feeds [`failover_core::cluster_health::watch`] with what the informers
//! show and holds what follows. No network; its time is this process's own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition};
use failover_core::cluster_health::on_leases::probes_overdue;
use failover_core::cluster_health::silence::{LeaseMark, ReadyMark, Sight};
use failover_core::cluster_health::standing::{LeaseNames, Probed, ReportedBy, Standing, standing};
use failover_core::cluster_health::watch::{Graces, Hearing, Noted, Rule, Seen, Source, Stake, Voice, Watch};
use failover_core::cluster_health::{StoredReady, words};
use k8s_openapi::api::coordination::v1::Lease;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Whether anybody holds Leases on this control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Election {
    /// Controllers hold Leases.
    On,
    /// `--leader-elect=false`: nothing can be read from a Lease that is not there.
    Off,
}

/// Clones are the same monitor.
#[derive(Clone)]
pub(super) struct Monitor {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    started: Instant,
    election: Election,
    names: LeaseNames,
    /// Somebody noted something that changes the judgement.
    again: Notify,
}

struct State {
    watch: Watch,
    probed: Probed,
    clusters: BTreeMap<ClusterName, Known>,
    /// Leases of the control plane's own controllers, by name.
    controllers: BTreeMap<String, Sight>,
}

struct Known {
    uid: Option<String>,
    by: ReportedBy,
    stake: Stake,
    /// What its conditions say of the trouble of all.
    said: Trouble,
    /// At the last judgement.
    standing: Standing,
}

/// Trouble of all clusters together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    pub reporter_down: bool,
    pub monitor_isolated: bool,
}

impl Trouble {
    fn said_by(cluster: &Cluster) -> Self {
        let says = |type_| cluster.condition(type_).filter(|found| found.status == "True");
        Self {
            // One that can ask nobody renews its Lease all the same: the Lease has no end of a silence to tell then.
            reporter_down: says(condition::REPORTER_DOWN).is_some_and(|found| found.reason != words::NOTHING_PROBED),
            monitor_isolated: says(condition::MONITOR_ISOLATED).is_some(),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            reporter_down: self.reporter_down || other.reporter_down,
            monitor_isolated: self.monitor_isolated || other.monitor_isolated,
        }
    }
}

/// What a judgement changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Clusters whose standing is another one now.
    pub clusters: BTreeSet<ClusterName>,
    /// After which time to judge again.
    pub again_in: Option<Duration>,
}

/// What goes for all clusters together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Overall {
    pub reporter: Option<Voice>,
    pub hearing: Hearing,
    /// Whether anybody gives signs of life.
    pub somebody_heard: bool,
}

impl Monitor {
    pub fn new(graces: Graces, names: LeaseNames, election: Election) -> Self {
        let state = State {
            watch: Watch::new(graces),
            probed: Probed::default(),
            clusters: BTreeMap::new(),
            controllers: BTreeMap::new(),
        };
        let inner = Inner {
            state: Mutex::new(state),
            started: Instant::now(),
            election,
            names,
            again: Notify::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn names(&self) -> &LeaseNames {
        &self.inner.names
    }

    pub fn election(&self) -> Election {
        self.inner.election
    }

    fn now(&self) -> Duration {
        self.inner.started.elapsed()
    }

    /// Waits until something was noted that changes the judgement.
    pub async fn noted(&self) {
        self.inner.again.notified().await;
    }

    fn wants(&self, noted: Noted) {
        if noted == Noted::Judge {
            self.inner.again.notify_one();
        }
    }

    /// The Cluster as it is now, with its agent's Lease if it has one.
    pub fn note_cluster(&self, cluster: &Cluster, lease: Option<&Lease>) {
        let now = self.now();
        let mut state = self.inner.state.lock();
        let name = cluster.cluster_name();
        let by = ReportedBy::from(&cluster.spec.sync_mode);
        let known = state.clusters.get(&name);
        if known.is_some_and(|known| known.uid != cluster.metadata.uid || known.by != by) {
            state.forget(&name);
        }
        let ready = cluster.condition(condition::READY);
        let stake = match (StoredReady::from(ready), ready.map(|ready| ready.status.as_str())) {
            (StoredReady::NeverObserved, _) => Stake::Never,
            (_, Some("Unknown")) => Stake::Unknown,
            _ => Stake::Reported,
        };
        let mark = ReadyMark::of(ready);
        let noted = match by {
            ReportedBy::Agent => {
                let seen = Seen {
                    lease: lease.map(LeaseMark::from),
                    ready: mark,
                    stake,
                };
                state.watch.note(Source::Agent(name.clone()), seen, now)
            }
            ReportedBy::Reporter => {
                state.probed.note(&name, mark, now);
                Noted::Later
            }
        };
        let before = state.clusters.get(&name).map(|known| known.stake);
        let known = state.clusters.entry(name).or_insert_with(|| Known {
            uid: cluster.metadata.uid.clone(),
            by,
            stake,
            said: Trouble::default(),
            standing: Standing::NotKnown,
        });
        known.stake = stake;
        known.said = Trouble::said_by(cluster);
        let noted = if before == Some(stake) { noted } else { Noted::Judge };
        drop(state);
        self.wants(noted);
    }

    /// The Cluster is gone.
    pub fn forget_cluster(&self, name: &ClusterName) {
        self.inner.state.lock().forget(name);
        self.wants(Noted::Judge);
    }

    /// The push reporter's Lease as it is now.
    pub fn note_reporter(&self, lease: Option<&Lease>) {
        if self.inner.election == Election::Off {
            return;
        }
        let now = self.now();
        let mut state = self.inner.state.lock();
        let changed = state.probed.overdue(lease.map(probes_overdue).unwrap_or_default());
        let stake = state.stake_of_the_reporter();
        let Some(stake) = stake.or_else(|| lease.map(|_| Stake::Unknown)) else {
            // Nobody needs one, and there is none.
            state.watch.forget(&Source::Reporter);
            return;
        };
        let seen = Seen {
            lease: lease.map(LeaseMark::from),
            ready: None,
            stake,
        };
        let mut noted = state.watch.note(Source::Reporter, seen, now);
        if !(changed.is_empty() && state.probed.is_quiet()) {
            noted = Noted::Judge;
        }
        drop(state);
        self.wants(noted);
    }

    /// The Lease of a controller of the control plane as it is now.
    pub fn note_controller(&self, name: &str, lease: Option<&Lease>) {
        let now = self.now();
        let mut state = self.inner.state.lock();
        match (state.controllers.get_mut(name), lease) {
            (_, None) => drop(state.controllers.remove(name)),
            (Some(sight), Some(lease)) => drop(sight.look(Some(LeaseMark::from(lease)), None, now)),
            (None, Some(lease)) => {
                let sight = Sight::first(Some(LeaseMark::from(lease)), None, now);
                state.controllers.insert(name.to_owned(), sight);
            }
        }
    }

    /// How long the Lease of a controller has stood unchanged before our eyes.
    pub fn controller_silent_for(&self, lease_name: &str) -> Option<Duration> {
        let now = self.now();
        let state = self.inner.state.lock();
        state.controllers.get(lease_name).map(|sight| sight.silent_for(now))
    }

    /// Judges everybody anew.
    pub fn judge(&self, rule: Rule) -> Changed {
        let now = self.now();
        let mut state = self.inner.state.lock();
        let again_in = state.watch.judge(rule, now);
        let State {
            watch,
            probed,
            clusters,
            ..
        } = &mut *state;
        let mut changed = BTreeSet::new();
        for (name, known) in clusters {
            let found = standing(watch, probed, name, known.by, now);
            if found != known.standing {
                known.standing = found;
                changed.insert(name.clone());
            }
        }
        Changed {
            clusters: changed,
            again_in,
        }
    }

    /// What is thought of the cluster now.
    pub fn standing(&self, name: &ClusterName) -> Standing {
        let now = self.now();
        let state = self.inner.state.lock();
        state.clusters.get(name).map_or(Standing::NotKnown, |known| {
            standing(&state.watch, &state.probed, name, known.by, now)
        })
    }

    /// What goes for all clusters together.
    pub fn overall(&self) -> Overall {
        let now = self.now();
        let state = self.inner.state.lock();
        let needed = state.clusters.values().any(|known| known.by == ReportedBy::Reporter);
        Overall {
            reporter: state.watch.voice(&Source::Reporter, now).filter(|_| needed),
            hearing: state.watch.hearing(),
            somebody_heard: state.watch.hears_somebody(now),
        }
    }

    /// The trouble that is written in conditions.
    pub fn said(&self) -> Trouble {
        let state = self.inner.state.lock();
        let all = state.clusters.values().map(|known| known.said);
        all.fold(Trouble::default(), Trouble::or)
    }

    /// How long each agent has been silent.
    pub fn silences(&self) -> Vec<(ClusterName, Duration)> {
        let now = self.now();
        let state = self.inner.state.lock();
        let sights = state.clusters.keys().filter_map(|name| {
            let sight = state.watch.sight(&Source::Agent(name.clone()))?;
            Some((name.clone(), sight.silent_for(now)))
        });
        sights.collect()
    }
}

impl State {
    fn forget(&mut self, name: &ClusterName) {
        self.clusters.remove(name);
        self.probed.forget(name);
        self.watch.forget(&Source::Agent(name.clone()));
    }

    /// What there is to lose by the reporter: none without Push clusters.
    fn stake_of_the_reporter(&self) -> Option<Stake> {
        let pushed = || self.clusters.values().filter(|known| known.by == ReportedBy::Reporter);
        if pushed().any(|known| known.stake == Stake::Reported) {
            Some(Stake::Reported)
        } else {
            pushed().next().map(|_| Stake::Unknown)
        }
    }
}
