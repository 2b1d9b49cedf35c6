//! The eviction queue as a gRPC service: controller `evictionQueue`.
//!
//! Every decision is the pure model `failover_core::eviction::queue`; here are its sockets, its clock and its eyes:
//! [`incoming`] takes connections and [`access`] lets calls in; [`shell`] holds the model and carries out what it wants,
//! [`service`] translates gRPC, [`eyes`] tells it about
//! Clusters and FailoverPauses, [`rates`] about what the administrator chose, [`pauses`] writes what a pause holds back, [`server`] listens on every replica and answers for the leader.

pub mod access;
pub mod cli;
pub mod eyes;
pub mod flags;
mod forgotten;
pub mod incoming;
pub mod metrics;
pub mod outlet;
pub mod pauses;
pub mod rates;
pub mod server;
pub mod service;
pub mod shell;
mod standstill;
pub mod streams;

use std::sync::Arc;

use controller_kit::{Context, Controller};

pub use flags::{Flags, Transport};

use crate::rates::Rates;
use crate::server::Server;
use crate::shell::Shell;

/// The controllers of this crate.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    let (problems, warnings) = (flags.problems(), flags.warnings());
    let (server, rates) = (Arc::new(Server::new(&flags)), Arc::new(Rates::of(&flags)));
    let on_every_replica = (server.clone(), rates.clone());
    let controller = Controller::new(eviction_queue_api::QUEUE_CONTROLLER, move |ctx| {
        lead(ctx, flags, server, rates)
    })
    .on_every_replica(move |ctx| async move {
        let (server, rates) = on_every_replica;
        tokio::select! {
            biased;
            () = rates.watch(&ctx) => Ok(()),
            served = server.run(ctx.clone()) => served,
        }
    })
    .problems(problems)
    .warn(warnings);
    vec![controller]
}

/// The leader's part: a queue of this term, served until the term ends.
async fn lead(ctx: Context, flags: Flags, server: Arc<Server>, rates: Arc<Rates>) -> anyhow::Result<()> {
    let shell = Shell::new(&ctx, flags.settings().with_rates(&rates.in_force()));
    metrics::register(&ctx, &shell);
    let address = server.address().await;
    ctx.leadership
        .set_annotation(controller_kit::leader::ADDRESS_ANNOTATION, address);
    let _leading = server.lead(shell.clone()).await;
    tokio::select! {
        biased;
        () = ctx.shutdown.cancelled() => {}
        () = eyes::watch(&ctx, &shell) => {}
        () = pauses::report(&ctx, &shell) => {}
        () = rates.tell(&shell) => {}
        () = shell.run() => {}
    }
    // Streams end first, or those who hold them would wait for a server that does not answer any more.
    shell.close();
    metrics::unregister(&ctx);
    Ok(())
}
