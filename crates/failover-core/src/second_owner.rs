//! Signs that somebody else does a job that only one may do: a stock controller that was not switched off.
//!
//! Nothing is done about it here but to tell: two that undo each other's writes are worse than one too many. What stock's
//! controllers write looks as ours does, on purpose; what tells them apart is what ours always say and stock's never do.

use api_types::work::{GracefulEvictionTask, task};
use jiff::Timestamp;

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

/// Whose job this task is, if a stock controller wrote it after `since`: ours give each task a message, stock's none. What was
/// there before belongs to the hand-over. Stock's taint manager writes no time: such a task is as young as it was seen to come.
#[must_use]
pub fn of_task(written: &GracefulEvictionTask, arrival: Arrival, since: Timestamp) -> Option<Job> {
    if arrival == Arrival::Found {
        return None;
    }
    let job = match written.producer.as_str() {
        task::TAINT_MANAGER => Job::TaintManager,
        task::APPLICATION_FAILOVER | task::CLUSTER_APPLICATION_FAILOVER => Job::ApplicationFailover,
        _ => return None,
    };
    let came_later = written.creation_timestamp.as_ref().is_none_or(|at| at.0 > since);
    let is_stocks = written.message.as_deref().is_none_or(str::is_empty);
    (is_stocks && came_later).then_some(job)
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

    #[test]
    fn an_event_of_ours_names_its_process() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(is_stocks_event(None, at(5), at(4)) && is_stocks_event(Some(""), at(5), at(4)));
        assert!(!is_stocks_event(Some("pod-0_1"), at(5), at(4)) && !is_stocks_event(None, at(4), at(4)));
    }
}
