//! The worked example while every process is killed once, at the step in which it has work in hand, and started again.
//!
//! What is expected is what the undisturbed story expects: a restart costs time, and changes nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::ensure;
use e2e_harness::available;
use karmada_failover::story::example::Pace;
use karmada_failover::story::scenario::MemberState;
use karmada_failover::story::{Line, Step, Theatre};
use kube::Client;

use crate::components::SHORT_LEASES;
use crate::fleet::Fleet;
use crate::worked_example::Telling;

/// How much longer the story may take for each kill: the Lease of the dead process runs out, and the new one finds
/// its way.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who is killed at which step; the words are in the line of the step that is meant.
const KILLS: [(Step, &str, &str); 7] = [
    (Step::ClusterFailed, "", "cluster-health-controller"),
    (Step::TaintAdded, ":NoSchedule", "taint-policy-controller"),
    (Step::TaintAdded, ":NoExecute", "taint-manager"),
    (Step::EvictionQueued, "", "eviction-queue"),
    (Step::ClusterEvicted, "", "scheduler"),
    (Step::Rescheduled, "", "propagation-controllers"),
    (Step::ReplacementHealthy, "", "graceful-eviction-controller"),
];

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    if available("restarts on real API servers").is_none() {
        return Ok(true);
    }
    let fleet = Fleet::start(&Pace::FAST, &SHORT_LEASES).await?;
    let telling = Telling::begin(&fleet, Pace::FAST).await?;
    let mut killers = Killers {
        fleet,
        killed: BTreeSet::new(),
    };
    let came_out_right = telling.play(&mut killers).await?;
    ensure!(
        killers.killed.len() == KILLS.len(),
        "only these were killed at their step: {:?}",
        killers.killed
    );
    killers.fleet.stop().await?;
    Ok(came_out_right)
}

/// A fleet whose processes die at their cues.
struct Killers {
    fleet: Fleet,
    killed: BTreeSet<&'static str>,
}

impl Theatre for Killers {
    async fn control_plane(&mut self) -> anyhow::Result<Client> {
        Theatre::control_plane(&mut self.fleet).await
    }

    async fn set_member(&mut self, name: &str, to: MemberState) -> anyhow::Result<()> {
        self.fleet.set_member(name, to).await
    }

    #[expect(clippy::print_stdout, reason = "the story is told on standard output")]
    async fn hear(&mut self, line: &Line) -> anyhow::Result<Duration> {
        let mut longer = Duration::ZERO;
        for (step, words, component) in KILLS {
            if line.step == step && line.why.contains(words) && self.killed.insert(component) {
                println!("            {component} is killed, and started again");
                let process = self.fleet.process_mut(component)?;
                process.must_run()?;
                process.kill()?;
                process.start_again()?;
                longer += PATIENCE;
            }
        }
        Ok(longer)
    }
}
