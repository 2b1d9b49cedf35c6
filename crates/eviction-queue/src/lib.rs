//! The eviction queue as a gRPC service: controller `evictionQueue`.
//!
//! Every decision is the pure model `failover_core::eviction::queue`; here are its sockets, its clock and its eyes:
//! [`incoming`] takes connections and [`access`] lets calls in; [`shell`] holds the model and carries out what it wants,
//! [`service`] translates gRPC, [`eyes`] tells it about
//! Clusters and FailoverPauses, [`pauses`] writes what a pause holds back, [`server`] listens on every replica and answers for the leader.

pub mod access;
pub mod eyes;
pub mod flags;
pub mod incoming;
pub mod metrics;
pub mod outlet;
pub mod pauses;
pub mod server;
pub mod service;
pub mod shell;
mod standstill;
pub mod streams;

use std::sync::Arc;

use controller_kit::{Context, Controller};

pub use flags::{Flags, Transport};

use crate::server::Server;
use crate::shell::Shell;

/// The controllers of this crate.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    let (problems, warnings) = (flags.problems(), flags.warnings());
    let server = Arc::new(Server::new(&flags));
    let on_every_replica = server.clone();
    let controller = Controller::new(eviction_queue_api::QUEUE_CONTROLLER, move |ctx| {
        lead(ctx, flags, server)
    })
    .on_every_replica(move |ctx| async move { on_every_replica.run(ctx).await })
    .problems(problems)
    .warn(warnings);
    vec![controller]
}

/// The leader's part: a queue of this term, served until the term ends.
async fn lead(ctx: Context, flags: Flags, server: Arc<Server>) -> anyhow::Result<()> {
    let shell = Shell::new(&ctx, flags.settings());
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
        () = shell.run() => {}
    }
    // Streams end first, or those who hold them would wait for a server that does not answer any more.
    shell.close();
    metrics::unregister(&ctx);
    Ok(())
}
