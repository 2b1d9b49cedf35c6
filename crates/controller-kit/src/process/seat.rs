//! One controller's way through its process: wait for the lease, work, drain, hand the lease back.
//!
//! Guarantees: the lease is renewed for as long as any task of the controller may still write, and is handed back only
//! after the last of them is gone; when it is lost, the tasks are ended at once.

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::DRAIN_LIMIT;
use super::controller::Controller;
use super::whose::{Refusal, Whose};
use crate::context::Context;
use crate::leader::{Elector, Held, Leadership};
use crate::tasks::{Failure, Tasks};

pub(crate) struct Seat {
    pub(crate) controller: Controller,
    /// `None` for a controller that needs no lease.
    pub(crate) elector: Option<Elector>,
    /// Whose control plane it is; one for all controllers of the process.
    pub(crate) whose: Whose,
    /// The group of the whole process, for failures.
    pub(crate) process: Tasks,
    /// The parent of all controllers' groups; its token is cancelled at shutdown.
    pub(crate) controllers: Tasks,
}

enum End {
    Drained,
    LeaseLost(String),
    ProcessFails,
    Overdue,
}

impl Seat {
    /// `context` makes what the controller gets, out of its lease and its group of tasks; `beside` what the part gets
    /// that runs on every replica.
    pub(crate) async fn run(
        self,
        context: impl FnOnce(Leadership, Tasks) -> Context,
        beside: impl FnOnce(Tasks) -> Context,
    ) {
        let Self {
            mut controller,
            elector,
            whose,
            process,
            controllers,
        } = self;
        let name = controller.name;
        let stop = controllers.shutdown().clone();
        match whose.admits(controller.place, &stop).await {
            Ok(()) => {}
            Err(Refusal::Stopped) => return,
            Err(refusal @ (Refusal::Stocks | Refusal::Dropped(_))) => {
                process.fail(Failure::Failed {
                    task: name.to_owned(),
                    message: refusal.to_string(),
                });
                return;
            }
        }
        if let Some(run) = controller.beside.take() {
            let group = controllers.subgroup();
            group.spawn_critical(format!("{name} on every replica"), run(beside(group.clone())));
        }
        let mut held: Option<Held> = None;
        if let Some(elector) = &elector {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                won = elector.acquire() => held = Some(won),
            }
        }
        let leadership = held
            .as_ref()
            .map_or_else(Leadership::not_needed, |held| held.leadership.clone());
        let group = controllers.subgroup();
        tracing::info!(controller = name, "starting");
        let ctx = context(leadership, group.clone());
        let mut main = group.spawn_critical(name, (controller.run)(ctx));

        let end = tokio::select! {
            biased;
            why = keep(elector.as_ref(), held.as_mut()) => End::LeaseLost(why),
            _ = process.failed() => End::ProcessFails,
            () = async { main.ended().await; group.ended().await } => End::Drained,
            () = overdue(&stop) => End::Overdue,
        };
        match end {
            End::LeaseLost(reason) => {
                process.fail(Failure::LeaseLost {
                    controller: name.to_owned(),
                    reason,
                });
                group.abort();
                return;
            }
            End::Drained => tracing::info!(controller = name, "stopped"),
            End::ProcessFails => {}
            End::Overdue => {
                tracing::warn!(controller = name, tasks = ?group.running(), "still busy at the end of the grace time");
            }
        }
        group.abort();
        group.ended().await;
        if let (Some(elector), Some(held)) = (&elector, held)
            && held.leadership.is_fresh()
        {
            elector.release(held).await;
        }
    }
}

async fn keep(elector: Option<&Elector>, held: Option<&mut Held>) -> String {
    match (elector, held) {
        (Some(elector), Some(held)) => elector.keep(held).await,
        _ => std::future::pending().await,
    }
}

async fn overdue(stop: &CancellationToken) {
    stop.cancelled().await;
    // Two steps, so that tasks that end at this very moment are seen as ended.
    sleep_until(Instant::now() + DRAIN_LIMIT).await;
    sleep(std::time::Duration::from_millis(1)).await;
}
