//! The document's table of recovery outcomes: a cluster failed, its copy became a task, and the cluster recovers. The task
//! "cleared" rows have no task any more, so nothing is judged there.

use super::*;

/// Whether the new instance runs.
#[derive(Clone, Copy)]
enum NewCopy {
    Running,
    NotRunning,
    None,
}

/// What the scheduler said.
#[derive(Clone, Copy)]
enum Scheduled {
    Success,
    Empty,
    Failure,
    /// It has not looked yet.
    Pending,
}

fn after_failure(scheduled: Scheduled, new: NewCopy, more: Value) -> Binding {
    let clusters = match scheduled {
        Scheduled::Success | Scheduled::Pending => json!([{"name": "m2", "replicas": 3}]),
        Scheduled::Failure => json!([{"name": "m2", "replicas": 2}]),
        Scheduled::Empty => json!([]),
    };
    let mut items = vec![copy("m1", "Healthy", 1)];
    items.extend(match new {
        NewCopy::Running => Some(copy("m2", "Healthy", 3)),
        NewCopy::NotRunning => Some(copy("m2", "Unhealthy", 0)),
        NewCopy::None => None,
    });
    let mut binding = binding(clusters, json!([task("m1", more)]), json!(items));
    let status = binding.status.as_mut().unwrap();
    match scheduled {
        Scheduled::Success | Scheduled::Empty => {}
        Scheduled::Failure => "False".clone_into(&mut status.conditions[0].status),
        Scheduled::Pending => status.scheduler_observed_generation = Some(3),
    }
    binding
}

fn in_a_word(fate: &Fate) -> &'static str {
    match fate {
        Fate::Stays { .. } => "goes on",
        Fate::Ends(End::Replaced { .. }) => "complete",
        Fate::Ends(_) => "ends otherwise",
        Fate::Restored { .. } => "restored",
        Fate::LeavesResult { .. } | Fate::TurnsGraceful { .. } => "something else",
    }
}

// Row by row: "wait until the migration is complete" for every scheduling that succeeded, and "restore to the scheduling
// result before the cluster failure" for one that is complete and empty, and for one that failed.
#[rstest]
#[case::success_and_running(Scheduled::Success, NewCopy::Running, "complete", "complete")]
#[case::success_and_failed_to_start(Scheduled::Success, NewCopy::NotRunning, "goes on", "goes on")]
#[case::success_and_to_be_deployed(Scheduled::Success, NewCopy::None, "goes on", "goes on")]
#[case::complete_and_empty(Scheduled::Empty, NewCopy::None, "goes on", "restored")]
#[case::failure(Scheduled::Failure, NewCopy::None, "goes on", "restored")]
#[case::failure_beside_a_copy_that_runs(Scheduled::Failure, NewCopy::Running, "goes on", "restored")]
// Not in the table: what the scheduler has not looked at may be the replacement that it has just found.
#[case::not_looked_at_yet(Scheduled::Pending, NewCopy::None, "goes on", "goes on")]
fn outcomes(
    #[case] scheduled: Scheduled,
    #[case] new: NewCopy,
    #[case] while_it_lasts: &str,
    #[case] when_it_recovers: &str,
) {
    for more in [
        json!({}),
        json!({"purgeMode": "Directly"}),
        json!({"gracePeriodSeconds": 600}),
    ] {
        let binding = after_failure(scheduled, new, more.clone());
        let judge = |clusters: &[Arc<Cluster>]| in_a_word(&judged(&binding, clusters, noon())).to_owned();
        assert_eq!(judge(&m1_down()), while_it_lasts, "{more}");
        assert_eq!(judge(&all_up()), when_it_recovers, "{more}");
    }
}

// What keeps the copy keeps it from going, not from coming back.
#[rstest]
#[case::never(json!({"purgeMode": "Never"}))]
#[case::suppressed(json!({"suppressDeletion": true}))]
fn a_copy_that_is_kept_comes_back_too(#[case] more: Value) {
    let empty = after_failure(Scheduled::Empty, NewCopy::None, more.clone());
    assert_eq!(in_a_word(&judged(&empty, &all_up(), noon())), "restored");
    let moved = after_failure(Scheduled::Success, NewCopy::Running, more);
    assert_eq!(in_a_word(&judged(&moved, &all_up(), noon())), "goes on");
}

// Ready again, and the taint not gone yet: that is no recovery. Nor is a taint gone from a cluster that is not Ready.
#[rstest]
#[case::the_taint_stands(cluster("m1", "True", &no_execute()))]
#[case::not_ready(cluster("m1", "False", &json!([])))]
#[case::nobody_knows(cluster("m1", "Unknown", &json!([])))]
fn half_a_recovery_is_none(#[case] m1: Arc<Cluster>) {
    let empty = after_failure(Scheduled::Empty, NewCopy::None, json!({}));
    let clusters = [m1, cluster("m2", "True", &json!([]))];
    assert_eq!(in_a_word(&judged(&empty, &clusters, noon())), "goes on");
}
