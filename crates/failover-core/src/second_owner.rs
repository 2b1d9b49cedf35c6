//! Signs that somebody else does a job that only one may do: a stock controller that was not switched off.
//!
//! Nothing that somebody else wrote is undone: two that undo each other's writes are worse than one too many. It is told, and
//! evictions are held as far as the writer of the sign reaches ([`Signs`]). What stock's controllers write looks as ours
//! does, on purpose; what tells them apart is what ours always say and stock's never do.

mod hold;

use api_types::work::{Binding, GracefulEvictionTask, task};
use jiff::Timestamp;

pub use hold::{Reach, Sign, Signs};

/// Why a lease ends whose entry a second owner holds, and why the entry is held, in a word.
pub const REASON: &str = "SecondOwner";

/// A job that only one may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Job {
    /// Taints move workloads.
    TaintManager,
    /// The failure of an application moves it.
    ApplicationFailover,
    /// Old copies are let go.
    GracefulEviction,
    /// ClusterTaintPolicies taint clusters.
    ClusterTaintPolicy,
}

impl Job {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::TaintManager,
        Self::ApplicationFailover,
        Self::GracefulEviction,
        Self::ClusterTaintPolicy,
    ];

    /// The job as metrics and conditions name it: the name of our controller.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TaintManager => "taintManager",
            Self::ApplicationFailover => "applicationFailover",
            Self::GracefulEviction => "gracefulEviction",
            Self::ClusterTaintPolicy => "clusterTaintPolicy",
        }
    }

    /// How stock's controller for it is switched off.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::TaintManager | Self::ClusterTaintPolicy => {
                "run karmada-controller-manager with --feature-gates=Failover=false"
            }
            Self::ApplicationFailover => "run karmada-controller-manager with --controllers=*,-applicationFailover,…",
            Self::GracefulEviction => "run karmada-controller-manager with --controllers=*,-gracefulEviction,…",
        }
    }

    /// The sources of the Events that stock's controller for it writes.
    #[must_use]
    pub fn sources(self) -> &'static [&'static str] {
        match self {
            Self::TaintManager => &["taint-manager"],
            Self::ApplicationFailover => &[task::APPLICATION_FAILOVER, task::CLUSTER_APPLICATION_FAILOVER],
            Self::GracefulEviction => &[
                "resource-binding-graceful-eviction-controller",
                "cluster-resource-binding-graceful-eviction-controller",
            ],
            Self::ClusterTaintPolicy => &["cluster-taint-policy-controller"],
        }
    }
}

/// Whether a task was there when we began to look, or was seen to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It belongs to the hand-over, whatever time it says: stock's taint manager writes none, and ours fills in the present.
    Found,
    /// It was seen to come.
    Seen,
}

/// A task that a stock controller wrote, by all that it says, as far as it tells one of them from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StocksTask {
    /// Whose job it is.
    pub job: Job,
    /// The cluster that is left.
    pub cluster: Box<str>,
    /// When it says that it was written.
    pub at: Option<Timestamp>,
}

impl StocksTask {
    /// Ours give each task a message, stock's none.
    #[must_use]
    pub fn of(written: &GracefulEvictionTask) -> Option<Self> {
        let job = match written.producer.as_str() {
            task::TAINT_MANAGER => Job::TaintManager,
            task::APPLICATION_FAILOVER | task::CLUSTER_APPLICATION_FAILOVER => Job::ApplicationFailover,
            _ => return None,
        };
        let is_stocks = written.message.as_deref().is_none_or(str::is_empty);
        is_stocks.then(|| Self {
            job,
            cluster: written.from_cluster.as_str().into(),
            at: written.creation_timestamp.as_ref().map(|at| at.0),
        })
    }

    /// All of a binding.
    #[must_use]
    pub fn all_of(binding: &Binding) -> Box<[Self]> {
        binding
            .spec
            .graceful_eviction_tasks
            .iter()
            .filter_map(Self::of)
            .collect()
    }

    /// Stock's taint manager writes no time: such a task is as young as it was seen to come.
    fn came_after(&self, since: Timestamp) -> bool {
        self.at.is_none_or(|at| at > since)
    }

    fn is_of_the_same_move_as(&self, other: &Self) -> bool {
        (self.job, &self.cluster) == (other.job, &other.cluster)
    }
}

/// Whose job this task is, if a stock controller wrote it after `since`. What was there before belongs to the hand-over.
#[must_use]
pub fn of_task(written: &GracefulEvictionTask, arrival: Arrival, since: Timestamp) -> Option<Job> {
    if arrival == Arrival::Found {
        return None;
    }
    let task = StocksTask::of(written).filter(|task| task.came_after(since))?;
    Some(task.job)
}

/// The tasks of a binding that stock wrote between two looks at it, and after `since`. One whose time was filled in meanwhile
/// is no other one.
pub fn arrived<'a>(
    before: &[StocksTask],
    now: &'a [StocksTask],
    since: Timestamp,
) -> impl Iterator<Item = &'a StocksTask> {
    now.iter()
        .filter(move |task| task.came_after(since) && !before.iter().any(|before| before.is_of_the_same_move_as(task)))
}

/// Whether an Event of one of a job's sources, of this time, is stock's: ours name the process that wrote them.
#[must_use]
pub fn is_stocks_event(instance: Option<&str>, at: Timestamp, since: Timestamp) -> bool {
    instance.is_none_or(str::is_empty) && at > since
}

/// What is told of it, on the object and in logs.
#[must_use]
pub fn in_words(job: Job, sign: &str) -> String {
    format!(
        "a second controller does the job of {}: {sign}; both stay on until one is switched off: {}",
        job.name(),
        job.remedy()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    // The tasks are those that stock wrote in a recorded run, with their times.
    #[rstest]
    #[case::stocks(json!({"producer": "TaintManager"}), Some(Job::TaintManager))]
    #[case::stocks_of_an_application(json!({"producer": "resource-binding-application-failover-controller", "reason": "ApplicationFailure",
        "clustersBeforeFailover": ["member1"], "purgeMode": "Directly", "preservedLabelState": {"a": "2"}}), Some(Job::ApplicationFailover))]
    #[case::stocks_of_cluster_scope(json!({"producer": "cluster-resource-binding-application-failover-controller"}), Some(Job::ApplicationFailover))]
    #[case::ours(json!({"producer": "TaintManager", "message": "taint k:NoExecute is not tolerated"}), None)]
    #[case::a_mirror(json!({"producer": "DependencyMirror"}), None)]
    #[case::a_persons(json!({"producer": "me"}), None)]
    #[case::without_a_time(json!({"producer": "TaintManager", "creationTimestamp": null}), Some(Job::TaintManager))]
    #[case::of_before(json!({"producer": "TaintManager", "creationTimestamp": "2026-01-01T00:00:00Z"}), None)]
    fn a_task_of_stock_that_came_after_the_start(#[case] more: Value, #[case] expected: Option<Job>) {
        let mut task = json!({
            "fromCluster": "member1", "purgeMode": "Gracefully", "reason": "TaintUntolerated", "replicas": 1,
            "creationTimestamp": "2026-01-01T00:00:01Z",
        });
        for (field, value) in more.as_object().unwrap() {
            task[field] = value.clone();
        }
        let task: GracefulEvictionTask = serde_json::from_value(task).unwrap();
        let since = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(of_task(&task, Arrival::Seen, since), expected);
        assert_eq!(
            of_task(&task, Arrival::Found, since),
            None,
            "it belongs to the hand-over"
        );
    }

    #[rstest]
    #[case::one_more(&[], &["1"], &["m1"])]
    #[case::the_same(&["1"], &["1"], &[])]
    #[case::its_time_was_filled_in(&["1"], &["1 00:00:09"], &[])]
    #[case::another_one_beside_it(&["1"], &["1", "2 00:00:09"], &["m2"])]
    #[case::from_before_the_start(&[], &["1 00:00:01"], &[])]
    #[case::it_is_gone(&["1"], &[], &[])]
    fn a_task_that_came_between_two_looks(#[case] before: &[&str], #[case] now: &[&str], #[case] expected: &[&str]) {
        let tasks = |told: &[&str]| -> Vec<StocksTask> {
            let task = |told: &&str| {
                let (cluster, at) = told.split_once(' ').unwrap_or((told, ""));
                let at = (!at.is_empty()).then(|| format!("2026-01-01T{at}Z"));
                let task = json!({"fromCluster": format!("m{cluster}"), "producer": "TaintManager",
                    "reason": "TaintUntolerated", "creationTimestamp": at});
                StocksTask::of(&serde_json::from_value(task).unwrap()).unwrap()
            };
            told.iter().map(task).collect()
        };
        let since = "2026-01-01T00:00:05Z".parse().unwrap();
        let (before, now) = (tasks(before), tasks(now));
        let came: Vec<&str> = arrived(&before, &now, since).map(|task| &*task.cluster).collect();
        assert_eq!(came, expected);
    }

    #[test]
    fn an_event_of_ours_names_its_process() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(is_stocks_event(None, at(5), at(4)) && is_stocks_event(Some(""), at(5), at(4)));
        assert!(!is_stocks_event(Some("pod-0_1"), at(5), at(4)) && !is_stocks_event(None, at(4), at(4)));
    }
}
