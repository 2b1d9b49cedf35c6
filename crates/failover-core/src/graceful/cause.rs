//! Whether the cause of a graceful eviction task is gone. One function for everybody who asks: graceful eviction (may
//! the copy stay after all?), restore, and the scheduler (may the workload go back there?).

use std::collections::BTreeSet;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, GracefulEvictionTask, ResourceHealth, task as task_words};
use jiff::{SignedDuration, Timestamp};

use crate::eviction::{Cause, NotAffected, Switches, Verdict, cause_on_cluster, stay};

/// Default of `failover.application.blockPredecessorSeconds`.
pub const DEFAULT_BLOCK_PREDECESSOR_SECONDS: i32 = 600;

/// Whether a cause is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CauseState {
    /// It is gone, for this reason.
    Gone(String),
    /// It stands, for this reason.
    Stands {
        /// Why, in words.
        why: String,
        /// When it ends by itself, if a time is known.
        until: Option<Timestamp>,
    },
}

impl CauseState {
    /// Whether the cause is gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone(_))
    }

    fn stands(why: impl Into<String>) -> Self {
        Self::Stands {
            why: why.into(),
            until: None,
        }
    }
}

/// Judges the cause of `task` on `cluster`, the task's own.
///
/// Rules: a task for a taint or a deletion: nothing on the cluster would move this binding now (the gate `Failover` is
/// not considered), and Ready is True. A task for an application failure: Ready is True and the copy there Healthy, or
/// the cluster is not blocked for the application any more.
#[must_use]
pub fn gone(binding: &Binding, task: &GracefulEvictionTask, cluster: &Cluster, now: Timestamp) -> CauseState {
    if task.reason == task_words::APPLICATION_FAILURE {
        application_gone(binding, cluster, now)
    } else {
        cluster_gone(binding, cluster)
    }
}

fn cluster_gone(binding: &Binding, cluster: &Cluster) -> CauseState {
    match cause_on_cluster(binding, cluster, &Switches::all_on(PurgeMode::Gracefully)) {
        Verdict::Affected(affected) => CauseState::stands(affected.reason()),
        // A taint that nobody has stamped yet is a taint all the same.
        Verdict::NotAffected(reason @ NotAffected::NotStamped) => CauseState::stands(reason.to_string()),
        Verdict::NotAffected(_) if !cluster.is_ready() => CauseState::stands("the cluster is not Ready"),
        Verdict::NotAffected(reason) => CauseState::Gone(format!("{reason}, and it is Ready")),
    }
}

fn application_gone(binding: &Binding, cluster: &Cluster, now: Timestamp) -> CauseState {
    let name = cluster.cluster_name();
    let healthy = binding
        .status_on(&name)
        .is_some_and(|item| item.health == Some(ResourceHealth::Healthy));
    if cluster.is_ready() && healthy {
        return CauseState::Gone("the application is healthy there again".to_owned());
    }
    match block(binding, name.as_str(), now) {
        Block::None => CauseState::Gone("the application is not blocked there any more".to_owned()),
        Block::Until(until) => CauseState::Stands {
            why: format!("the application failed there and is blocked until {until}"),
            until: Some(until),
        },
        Block::UntilCleared => CauseState::stands(format!(
            "the application failed there and is blocked until a person removes {}",
            what_blocks(binding, name.as_str())
        )),
    }
}

/// What a person removes to lift a block without an end.
fn what_blocks(binding: &Binding, cluster: &str) -> &'static str {
    let in_history = failed_at(binding, cluster).is_some();
    match (in_history, blocking_tasks(binding, cluster).next().is_some()) {
        (true, true) => "its item in spec.activeEvictionHistory and its task",
        (false, true) => "its task",
        (_, false) => "its item in spec.activeEvictionHistory",
    }
}

/// Whether an application is kept off a cluster that it left because it failed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// It may go there.
    None,
    /// It may go there from then on.
    Until(Timestamp),
    /// It may go there when a person has lifted it (`blockPredecessorSeconds: 0`).
    UntilCleared,
}

/// The block of `cluster` for the application, of several the longest.
///
/// It is an item of `spec.activeEvictionHistory`, or a task that is itself the block
/// ([`GracefulEvictionTask::is_itself_the_block`]), from its own time on: the workload is not to go back at once to where it
/// failed, also where nobody keeps the history. A person lifts it by removing what blocks; what our evictor wrote, and all of
/// it is kept, is lifted by removing the item alone.
#[must_use]
pub fn block(binding: &Binding, cluster: &str, now: Timestamp) -> Block {
    let time_of = |task: &GracefulEvictionTask| task.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let by_task = blocking_tasks(binding, cluster).map(time_of).max();
    let Some(at) = failed_at(binding, cluster).max(by_task) else {
        return Block::None;
    };
    block_since(binding, at, now)
}

/// The clusters of `spec.activeEvictionHistory` whose items block nothing any more. They are to go before
/// `blockPredecessorSeconds` is made longer, or a block that is over would come back.
#[must_use]
pub fn past_blocks(binding: &Binding, now: Timestamp) -> BTreeSet<ClusterName> {
    let items = binding.spec.active_eviction_history.iter();
    let names = items.map(|item| item.cluster_name.as_str());
    names
        .filter(|name| failed_at(binding, name).is_some_and(|at| block_since(binding, at, now) == Block::None))
        .map(ClusterName::from)
        .collect()
}

/// The block by a failure at this time.
fn block_since(binding: &Binding, at: Timestamp, now: Timestamp) -> Block {
    let seconds = binding
        .spec
        .failover
        .as_ref()
        .and_then(|failover| failover.application.as_ref())
        .and_then(|application| application.block_predecessor_seconds)
        .unwrap_or(DEFAULT_BLOCK_PREDECESSOR_SECONDS);
    if seconds <= 0 {
        return Block::UntilCleared;
    }
    let until = at
        .saturating_add(SignedDuration::from_secs(i64::from(seconds)))
        .unwrap_or(Timestamp::MAX);
    if until <= now { Block::None } else { Block::Until(until) }
}

/// When the application failed on `cluster` last, by `spec.activeEvictionHistory`.
fn failed_at(binding: &Binding, cluster: &str) -> Option<Timestamp> {
    let items = binding.spec.active_eviction_history.iter();
    items
        .filter(|item| item.cluster_name == cluster)
        .map(|item| item.creation_timestamp.0)
        .max()
}

fn blocking_tasks<'a>(binding: &'a Binding, cluster: &'a str) -> impl Iterator<Item = &'a GracefulEvictionTask> {
    let tasks = binding.spec.graceful_eviction_tasks.iter();
    tasks.filter(move |task| task.from_cluster == cluster && task.is_itself_the_block())
}

/// Whether a person wants the binding to stay on the task's cluster whatever the cluster's state says now.
///
/// Rules: an item matches that names no cause, or the one that stands on the cluster now; for a task of an application's
/// failure also one that names the failure for which the task was written. Its message says which that is; of a task
/// without one nobody knows.
#[must_use]
pub fn stay_matches(binding: &Binding, cluster: &Cluster) -> bool {
    let name = cluster.cluster_name();
    if let Some(task) = binding.spec.task(&name) {
        let items = stay::read(binding).unwrap_or_default();
        let named = |item: &stay::StayItem| item.verdict.as_deref().is_some_and(|verdict| is_about(task, verdict));
        if items.iter().any(|item| item.cluster == name.as_str() && named(item)) {
            return true;
        }
    }
    match cause_on_cluster(binding, cluster, &Switches::all_on(PurgeMode::Gracefully)) {
        Verdict::Affected(affected) => stay::stays(binding, &cluster.cluster_name(), &affected.cause).holds(),
        Verdict::NotAffected(_) => {
            // Only an item that names no cause can match where there is none to name.
            stay::stays(
                binding,
                &cluster.cluster_name(),
                &Cause::Application {
                    since: Timestamp::UNIX_EPOCH,
                },
            )
            .holds()
        }
    }
}

/// Whether `task` was written for the failure of an application that has this identity.
fn is_about(task: &GracefulEvictionTask, identity: &str) -> bool {
    let Ok(Cause::Application { since }) = identity.parse() else {
        return false;
    };
    let named = format!("the application is unhealthy since {since}");
    let said = task.message.as_deref().unwrap_or_default();
    task.reason == task_words::APPLICATION_FAILURE && said.starts_with(&named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::verdict::DueBy;
    use crate::eviction::{Affected, Why};
    use rstest::rstest;
    use serde_json::{Value, json};

    const NOW: &str = "2026-01-01T00:09:00Z";

    /// A task of 00:00 for m1, with a health of the copy there and a history.
    fn binding(health: &str, seconds: &Value, history: &Value, stay: &str) -> Binding {
        serde_json::from_value(json!({
            "metadata": {"name": "b", "annotations": {"failover.karmada.io/stay": stay}},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"},
                "gracefulEvictionTasks": [{
                    "fromCluster": "m1", "reason": "ApplicationFailure", "producer": "p",
                    "creationTimestamp": "2026-01-01T00:00:00Z",
                }],
                "activeEvictionHistory": history,
                "failover": {"application": {"decisionConditions": {}, "blockPredecessorSeconds": seconds}},
            },
            "status": {"aggregatedStatus": [{"clusterName": "m1", "applied": true, "health": health}]},
        }))
        .unwrap()
    }

    fn cluster(ready: &str) -> Cluster {
        serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push"},
            "status": {"conditions": [{
                "type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": "2025-01-01T00:00:00Z",
            }]},
        }))
        .unwrap()
    }

    fn failed_at(time: &str) -> Value {
        json!([{"clusterName": "m1", "creationTimestamp": format!("2026-01-01T{time}Z")}])
    }

    #[rstest]
    #[case::fails_and_is_blocked("Unhealthy", "True", json!(600), failed_at("00:00:00"), false)]
    #[case::healthy_again("Healthy", "True", json!(600), failed_at("00:00:00"), true)]
    #[case::healthy_as_it_was_before_the_cluster_failed("Healthy", "False", json!(600), failed_at("00:00:00"), false)]
    #[case::nobody_knows("Unknown", "True", json!(600), failed_at("00:00:00"), false)]
    #[case::the_block_has_ended("Unhealthy", "True", json!(500), failed_at("00:00:00"), true)]
    #[case::absent_is_600("Unhealthy", "True", json!(null), failed_at("00:00:00"), false)]
    #[case::no_end("Unhealthy", "True", json!(0), failed_at("00:00:00"), false)]
    #[case::cleared("Unhealthy", "True", json!(0), json!([]), true)]
    #[case::cleared_before_its_end("Unhealthy", "True", json!(600), json!([]), true)]
    fn an_application_s_cause(
        #[case] health: &str,
        #[case] ready: &str,
        #[case] seconds: Value,
        #[case] history: Value,
        #[case] is_gone: bool,
    ) {
        let mut binding = binding(health, &seconds, &history, "[]");
        binding.spec.graceful_eviction_tasks[0].block_in_history = Some(true);
        let task = &binding.spec.graceful_eviction_tasks[0];
        let state = gone(&binding, task, &cluster(ready), NOW.parse().unwrap());
        assert_eq!(state.is_gone(), is_gone, "{state:?}");
    }

    // Taken over from a stock controller, which writes no history, and a time only later; or ours, of which a stock Karmada
    // kept neither the history nor the mark in the task (or the history alone, with a merge patch of the tasks).
    #[rstest]
    #[case::blocked(json!(600), json!("2026-01-01T00:00:00Z"), json!([]), false)]
    #[case::by_default(json!(null), json!("2026-01-01T00:00:00Z"), json!([]), false)]
    #[case::no_longer(json!(500), json!("2026-01-01T00:00:00Z"), json!([]), true)]
    #[case::not_stamped_yet(json!(500), json!(null), json!([]), false)]
    #[case::no_end(json!(0), json!("2026-01-01T00:00:00Z"), json!([]), false)]
    #[case::with_an_item_of_before(json!(500), json!("2026-01-01T00:05:00Z"), failed_at("00:00:00"), false)]
    #[case::with_an_item_of_after(json!(500), json!("2026-01-01T00:00:00Z"), failed_at("00:05:00"), false)]
    fn a_task_without_a_history_blocks_from_its_own_time_on(
        #[case] seconds: Value,
        #[case] time: Value,
        #[case] history: Value,
        #[case] is_gone: bool,
        #[values(
            None,
            Some("the application is unhealthy since 2025-12-31T23:59:00Z, tolerated for 60 s")
        )]
        message: Option<&str>,
    ) {
        let mut binding = binding("Unhealthy", &seconds, &history, "[]");
        let task = &mut binding.spec.graceful_eviction_tasks[0];
        task.creation_timestamp = serde_json::from_value(time).unwrap();
        task.message = message.map(str::to_owned);
        let task = &binding.spec.graceful_eviction_tasks[0];
        let state = gone(&binding, task, &cluster("True"), NOW.parse().unwrap());
        assert_eq!(state.is_gone(), is_gone, "{state:?}");
    }

    #[rstest]
    #[case::kept(Some(true), failed_at("00:00:00"), "removes its item in spec.activeEvictionHistory")]
    #[case::lost(None, json!([]), "removes its task")]
    #[case::half(None, failed_at("00:00:00"), "its item in spec.activeEvictionHistory and its task")]
    fn a_block_without_an_end_says_how_it_is_lifted(
        #[case] mark: Option<bool>,
        #[case] history: Value,
        #[case] how: &str,
    ) {
        let mut binding = binding("Unhealthy", &json!(0), &history, "[]");
        binding.spec.graceful_eviction_tasks[0].block_in_history = mark;
        let task = &binding.spec.graceful_eviction_tasks[0];
        let CauseState::Stands { why, until: None } = gone(&binding, task, &cluster("True"), NOW.parse().unwrap())
        else {
            panic!("it is blocked");
        };
        assert!(why.ends_with(how), "{why}");
    }

    #[rstest]
    #[case::the_first_is_over(json!(500), &["m1"])]
    #[case::both_are(json!(60), &["m1", "m2"])]
    #[case::none_by_default(json!(null), &[])]
    #[case::none_ever(json!(0), &[])]
    fn items_that_block_nothing_any_more(#[case] seconds: Value, #[case] expected: &[&str]) {
        let item = |cluster: &str, time: &str| json!({"clusterName": cluster, "creationTimestamp": format!("2026-01-01T{time}Z")});
        let history = json!([item("m1", "00:00:00"), item("m2", "00:00:00"), item("m2", "00:07:00")]);
        let binding = binding("Unhealthy", &seconds, &history, "[]");
        let over: Vec<_> = past_blocks(&binding, NOW.parse().unwrap()).into_iter().collect();
        assert_eq!(over.iter().map(ClusterName::as_str).collect::<Vec<_>>(), expected);
    }

    #[rstest]
    #[case::nobody("[]", false)]
    #[case::whatever_the_cause(r#"[{"cluster": "m1"}]"#, true)]
    #[case::the_failure_of_this_task(r#"[{"cluster": "m1", "verdict": "application@2025-12-31T23:59:00Z"}]"#, true)]
    #[case::in_another_zone(r#"[{"cluster": "m1", "verdict": "application@2026-01-01T00:59:00+01:00"}]"#, true)]
    #[case::a_later_failure(r#"[{"cluster": "m1", "verdict": "application@2026-01-01T00:00:01Z"}]"#, false)]
    #[case::an_earlier_failure(r#"[{"cluster": "m1", "verdict": "application@2025-12-01T00:00:00Z"}]"#, false)]
    #[case::a_taint(r#"[{"cluster": "m1", "verdict": "k:NoExecute@2025-12-31T23:59:00Z"}]"#, false)]
    #[case::another_cluster(r#"[{"cluster": "m2", "verdict": "application@2025-12-31T23:59:00Z"}]"#, false)]
    fn who_wants_a_failed_application_to_stay(#[case] stay: &str, #[case] expected: bool) {
        let mut binding = binding("Unhealthy", &json!(600), &failed_at("00:00:00"), stay);
        let failure = Affected {
            cause: "application@2025-12-31T23:59:00Z".parse().unwrap(),
            due_at: NOW.parse().unwrap(),
            purge_mode: PurgeMode::Gracefully,
            grace_period_seconds: None,
            why: Why::Unhealthy(DueBy::Toleration { seconds: 60 }),
        };
        binding.spec.graceful_eviction_tasks[0].message = Some(failure.reason());
        assert_eq!(stay_matches(&binding, &cluster("True")), expected);
    }
}
