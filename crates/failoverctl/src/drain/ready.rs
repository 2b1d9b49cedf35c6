//! Whether anything would leave a cluster that is drained. Pure.

use eviction_queue_api::v1;
use failover_core::eviction::FailoverGate;

use crate::controllers::{self, ControllerView};
use crate::failure::{ExitStatus, Failure};

/// Without one of these nothing leaves.
const NEEDED: [(&str, &str); 3] = [
    ("taintManager", "no taint puts a workload into the eviction queue"),
    ("evictionQueue", "nothing is queued or released"),
    ("evictor", "nothing is evicted"),
];

/// # Errors
/// A taint would stand and nothing would leave: which controller or gate is off.
pub(super) fn check(
    what: &str,
    controllers: &[ControllerView],
    queue: Option<&v1::GetStatusResponse>,
) -> Result<(), Failure> {
    let mut why: Vec<String> = NEEDED
        .iter()
        .filter(|(name, _)| !controllers::is_running(controllers, name))
        .map(|(name, undone)| format!("controller {name} is not running, so {undone}"))
        .collect();
    let evictor_runs = controllers::is_running(controllers, "evictor");
    if evictor_runs && queue.is_some_and(|status| status.consumers == 0) {
        why.push("no evictor is connected to the eviction queue".to_owned());
    }
    if controllers::is_running(controllers, "taintManager") {
        match controllers::failover_gate(controllers) {
            Some(FailoverGate::On) => {}
            Some(FailoverGate::Off) => why.push(
                "feature gate Failover is off for taintManager (to switch it on: --feature-gates=Failover=true)"
                    .to_owned(),
            ),
            None => why.push("the Lease of taintManager does not say whether feature gate Failover is on".to_owned()),
        }
    }
    if why.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        ExitStatus::Problem,
        format!("cannot {what}"),
        format!("nothing would leave it: {}", why.join("; ")),
        "start what does not run and switch on what is off, then drain; who runs: failoverctl status",
    ))
}
