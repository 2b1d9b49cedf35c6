//! Whether the queue that granted a lease still leads: its term, compared with the Kubernetes Lease as stored now.

use std::time::Duration;

use controller_kit::Context;
use controller_kit::leader::lease_name;
use eviction_queue_api::QUEUE_CONTROLLER;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A read of the Lease counts for so long.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// Why nothing may be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fenced {
    /// Another term began.
    #[error("the lease is of the queue's term {granted}, and the term is {now} now")]
    OtherTerm {
        /// The lease's term.
        granted: String,
        /// The term now.
        now: String,
    },
    /// The Lease cannot be read.
    #[error("cannot read the queue's Lease to see whether it still leads: {0}")]
    Unknown(#[from] kube::Error),
}

/// Reads the Lease of the queue, at most once a second.
pub(crate) struct Fence {
    client: Client,
    namespace: String,
    last: Mutex<Option<(Instant, String)>>,
}

impl Fence {
    pub fn new(ctx: &Context) -> Self {
        Self {
            client: ctx.client.clone(),
            namespace: ctx.system_namespace.to_string(),
            last: Mutex::default(),
        }
    }

    /// Whether `term` is the queue's term; when that was asked.
    pub async fn check(&self, term: &str) -> Result<Instant, Fenced> {
        if without_lease(term) {
            return Ok(Instant::now());
        }
        let (read_at, now) = self.term().await?;
        if now == term {
            return Ok(read_at);
        }
        Err(Fenced::OtherTerm {
            granted: term.to_owned(),
            now,
        })
    }

    async fn term(&self) -> Result<(Instant, String), kube::Error> {
        let mut last = self.last.lock().await;
        if let Some(read) = last.as_ref().filter(|(read_at, _)| read_at.elapsed() < SHARED_FOR) {
            return Ok(read.clone());
        }
        let read_at = Instant::now();
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), &self.namespace);
        let lease = leases.get_opt(&lease_name(QUEUE_CONTROLLER)).await?;
        let term = lease.map_or_else(|| "gone".to_owned(), |lease| term_of(&lease));
        Ok(last.insert((read_at, term)).clone())
    }
}

/// A queue that runs without leader election is the only one, by its administrator's word.
fn without_lease(term: &str) -> bool {
    term.starts_with('/')
}

fn term_of(lease: &Lease) -> String {
    let uid = lease.metadata.uid.as_deref().unwrap_or_default();
    let transitions = lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
    format!("{uid}/{}", transitions.unwrap_or_default())
}
