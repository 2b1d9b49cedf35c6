//! What is played: the workloads, the times of the acts, and the steps by which a run is measured.

use std::time::Duration;

use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::{Line, Step};
use serde_json::{Value, json};

/// Short windows, but longer than most outages, so that an outage falls inside of one.
pub const PACE: Pace = Pace {
    probe_seconds: 2,
    threshold_seconds: 6,
    add_on_match_seconds: 40,
    remove_on_mismatch_seconds: 30,
    evictions_per_second: 0.5,
};

/// The member that fails.
pub const FAILING: &str = "member1";

/// A workload of the story.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub name: &'static str,
    /// For how long it bears its cluster's failure.
    pub tolerates_seconds: Option<i64>,
}

/// A run's script. The acts are at fixed times, so that the times of two runs can be compared.
#[derive(Clone, Debug)]
pub struct Story {
    pub workloads: Vec<Workload>,
    /// When a person creates the workloads, from the start: the fleet is ready, also when its health controller had to
    /// be started twice.
    pub created_at: Duration,
    /// When the member fails, from the start.
    pub fails_at: Duration,
    /// When it returns; a story without a return ends with the failover.
    pub returns_at: Option<Duration>,
    pub ends_at: Duration,
    /// Every request to the control plane takes up to 40 ms, by this seed.
    pub latency_seed: Option<u64>,
}

impl Story {
    /// One nginx; the member fails and returns. Every outage fits between the acts.
    pub fn worked_example() -> Self {
        Self {
            workloads: vec![Workload {
                name: "nginx",
                tolerates_seconds: None,
            }],
            created_at: Duration::from_secs(20),
            fails_at: Duration::from_secs(60),
            returns_at: Some(Duration::from_secs(220)),
            ends_at: Duration::from_secs(330),
            latency_seed: None,
        }
    }

    /// Several workloads on the failing member, which does not return. They become due at other times than their names
    /// say, and faster than the rate lets them go.
    pub fn several_workloads() -> Self {
        let workload = |name, tolerates_seconds| Workload {
            name,
            tolerates_seconds,
        };
        Self {
            workloads: vec![
                workload("app-a", Some(9)),
                workload("app-b", Some(3)),
                workload("app-c", Some(6)),
                workload("app-d", None),
                workload("app-e", Some(3)),
                workload("app-f", Some(0)),
            ],
            returns_at: None,
            ends_at: Duration::from_secs(240),
            ..Self::worked_example()
        }
    }

    /// In which order the workloads leave: by due time, then by name.
    pub fn order(&self) -> Vec<String> {
        let mut workloads = self.workloads.clone();
        workloads.sort_by_key(|workload| (workload.tolerates_seconds.unwrap_or(0), workload.name));
        workloads
            .iter()
            .map(|workload| format!("default/{}-deployment", workload.name))
            .collect()
    }

    /// How long all of them need to leave, one after the other, at a rate of 0.5/s.
    pub fn drained_in(&self) -> Duration {
        Duration::from_secs(2) * u32::try_from(self.workloads.len()).unwrap()
    }

    /// Flags of all components for this story.
    pub fn flags() -> Vec<String> {
        PACE.health_flags()
    }

    /// The objects that a person creates.
    pub fn objects(&self) -> Vec<Value> {
        let workloads = self.workloads.iter().flat_map(|workload| {
            let named = |mut object: Value, suffix: &str| {
                object["metadata"]["name"] = json!(format!("{}{suffix}", workload.name));
                object
            };
            let mut policy = named(example::propagation_policy(), "-propagation");
            policy["spec"]["resourceSelectors"][0]["name"] = json!(workload.name);
            if let Some(seconds) = workload.tolerates_seconds {
                policy["spec"]["placement"]["clusterTolerations"] =
                    json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]);
            }
            [named(example::deployment(), ""), policy]
        });
        example::taint_policies(&PACE).into_iter().chain(workloads).collect()
    }
}

/// A step of the story, told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    WorkloadRunning,
    ClusterFailed,
    ClusterNotReady,
    NoScheduleAdded,
    /// In the middle of the window of the NoExecute taint.
    WindowRuns,
    NoExecuteAdded,
    EvictionQueued,
    EvictionReleased,
    Evicted,
    Rescheduled,
    ReplacementHealthy,
    OldCopyKept,
    ClusterReturned,
    OldCopyRemoved,
    NoExecuteRemoved,
}

impl Moment {
    pub const ALL: [Self; 15] = [
        Self::WorkloadRunning,
        Self::ClusterFailed,
        Self::ClusterNotReady,
        Self::NoScheduleAdded,
        Self::WindowRuns,
        Self::NoExecuteAdded,
        Self::EvictionQueued,
        Self::EvictionReleased,
        Self::Evicted,
        Self::Rescheduled,
        Self::ReplacementHealthy,
        Self::OldCopyKept,
        Self::ClusterReturned,
        Self::OldCopyRemoved,
        Self::NoExecuteRemoved,
    ];

    /// How long after a line this moment is, if the line tells of it.
    pub fn after(self, line: &Line) -> Option<Duration> {
        let half_a_window = Duration::from_secs(20);
        let of_taint = |effect: &str| line.why.contains(&format!("not-ready:{effect}"));
        let (is_it, later) = match self {
            Self::WorkloadRunning => (line.step == Step::WorkloadRunning, Duration::ZERO),
            Self::ClusterFailed => (line.step == Step::ClusterFailed, Duration::ZERO),
            Self::ClusterNotReady => (line.step == Step::ClusterNotReady, Duration::ZERO),
            Self::NoScheduleAdded => (line.step == Step::TaintAdded && of_taint("NoSchedule"), Duration::ZERO),
            Self::WindowRuns => (line.step == Step::TaintAdded && of_taint("NoSchedule"), half_a_window),
            Self::NoExecuteAdded => (line.step == Step::TaintAdded && of_taint("NoExecute"), Duration::ZERO),
            Self::EvictionQueued => (line.step == Step::EvictionQueued, Duration::ZERO),
            Self::EvictionReleased => (line.step == Step::EvictionReleased, Duration::ZERO),
            Self::Evicted => (line.step == Step::ClusterEvicted, Duration::ZERO),
            Self::Rescheduled => (line.step == Step::Rescheduled, Duration::ZERO),
            Self::ReplacementHealthy => (line.step == Step::ReplacementHealthy, Duration::ZERO),
            Self::OldCopyKept => (line.step == Step::OldCopyKept, Duration::ZERO),
            Self::ClusterReturned => (line.step == Step::ClusterReturned, Duration::ZERO),
            Self::OldCopyRemoved => (line.step == Step::OldCopyRemoved, Duration::ZERO),
            Self::NoExecuteRemoved => (line.step == Step::TaintRemoved && of_taint("NoExecute"), Duration::ZERO),
        };
        is_it.then_some(later)
    }
}
