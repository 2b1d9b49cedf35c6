//! How a controller finds its way to the queue.

use std::sync::Arc;

use clap::Args;
use controller_kit::{Clock, Context};

use crate::client::QueueClient;
use crate::security::ConnectionFlags;

/// Makes the client by which a controller reaches the queue.
pub type QueueConnector = Arc<dyn Fn(&Context) -> QueueClient + Send + Sync>;

/// Flags of a component that works with the queue.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[group(skip)]
#[command(next_help_heading = "Connection to the eviction queue")]
pub struct QueueFlags {
    /// Where the eviction queue is. Unset: where its Lease says.
    #[arg(long, env = "KARMADA_FAILOVER_EVICTION_QUEUE_ADDRESS", value_name = "HOST:PORT")]
    pub eviction_queue_address: Option<String>,

    /// How the eviction queue is called.
    #[command(flatten)]
    pub connection: ConnectionFlags,
}

impl QueueFlags {
    /// The way that these flags tell: a fixed address, or the one that stands in the queue's Lease.
    #[must_use]
    pub fn connector(&self) -> QueueConnector {
        let Self {
            eviction_queue_address,
            connection,
        } = self.clone();
        Arc::new(move |ctx| {
            let client = match &eviction_queue_address {
                Some(address) => QueueClient::at(address.clone()),
                None => QueueClient::by_lease(ctx.client.clone(), &ctx.system_namespace, &ctx.identity),
            };
            let security = connection.security(&ctx.clock).shown_in(&ctx.metrics);
            client.secured(security.watched_by(&ctx.tasks))
        })
    }

    /// What makes no sense; the process does not start with it.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        // Flags are judged before there is a process with a clock of its own.
        self.connection.problems(&Clock::system())
    }
}
