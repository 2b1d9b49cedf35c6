//! Sixty workloads leave a failed cluster of a real control plane, while everything that has a part in it is disturbed:
//! the taint manager is killed, the queue's leader is suspended until another leads and wakes up again, an operator
//! pauses, and keeps one workload where it is. The queue is called by mutual TLS. Each workload leaves once, not faster than the rate, and in order.

mod certificates;
mod stage;

use anyhow::ensure;
use e2e_harness::available;

use crate::telling::{came_out_right, say, watch_rules};
use stage::{RATE, Stage, WORKLOADS};

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    if available("evictions on real API servers").is_none() {
        return Ok(true);
    }
    let mut stage = Stage::set().await?;
    let rules = watch_rules(&stage.client, RATE);
    stage.m1_fails().await?;
    stage.have_left(8).await?;
    stage.the_taint_manager_is_killed().await?;
    stage.have_left(18).await?;
    stage.the_leader_of_the_queue_sleeps().await?;
    stage.an_operator_pauses().await?;
    stage.an_operator_keeps_one().await?;
    stage.have_left(WORKLOADS).await?;
    let left: Vec<String> = rules.evictions().into_iter().map(|(_, key, _)| key.name).collect();
    ensure!(
        left.len() == WORKLOADS,
        "{} evictions of {WORKLOADS} workloads",
        left.len()
    );
    // The one that an operator kept for a while comes when its turn comes again.
    let kept = stage::workload(WORKLOADS - 1);
    let others: Vec<&String> = left.iter().filter(|name| **name != kept).collect();
    ensure!(others.is_sorted(), "not in order: {left:?}");
    stage.tell_of_the_end()?;
    stage.stop().await?;
    say("each of the workloads has left once, in order");
    came_out_right(rules)
}
