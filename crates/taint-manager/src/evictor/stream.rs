//! Leases in, outcomes out.
//!
//! Guarantee: the queue never has more credit than there are free workers. Work on a lease goes on when the stream
//! breaks, while another is opened, and for as long as the lease may be used; on the next stream the leases in hand are
//! renewed first, so that what the queue revoked meanwhile is heard, and those of a term that is over are over. An outcome
//! goes to whoever leads, who knows whether it still counts.

use std::collections::BTreeMap;
use std::time::Duration;

use eviction_queue_api::status::Advice;
use eviction_queue_api::v1::{
    CompleteRequest, LeaseCredit, LeaseHello, LeaseRenewal, LeaseRequest, Outcome, lease_request, lease_response,
};
use eviction_queue_api::{Link, QueueClient, convert};
use failover_core::eviction::queue::{Completion, NoTargetRestsOn, OutcomeKind};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use tracing::{debug, warn};

use super::lease::{Keeper, Lease, term};
use super::trace;
use super::work::{Bench, Done};

/// How long the queue may take to accept a stream.
const ACCEPT_WITHIN: Duration = Duration::from_secs(10);
/// How long an outcome is tried to be told: the lease has lapsed by then.
const COMPLETE_WITHIN: Duration = Duration::from_secs(40);
/// Room for a hello, renewals and credit of every worker: sending never waits.
const MESSAGES_PER_WORKER: usize = 4;

/// Names a lease across terms of the queue.
type LeaseName = (String, u64);

/// Works on leases until shutdown.
pub(crate) struct Evictor {
    bench: Bench,
    client: QueueClient,
    workers: u32,
}

/// The leases in hand.
#[derive(Default)]
struct Hands<'a> {
    jobs: FuturesUnordered<BoxFuture<'a, LeaseName>>,
    keepers: BTreeMap<LeaseName, Keeper>,
}

impl Hands<'_> {
    /// Waits for `what`, while the work goes on.
    async fn meanwhile<T>(&mut self, what: impl Future<Output = T>) -> T {
        tokio::pin!(what);
        loop {
            tokio::select! {
                biased;
                Some(name) = self.jobs.next() => { self.keepers.remove(&name); }
                done = &mut what => return done,
            }
        }
    }

    /// How many workers have something to do.
    fn busy(&self) -> u32 {
        u32::try_from(self.jobs.len()).unwrap_or(u32::MAX)
    }

    /// The queue speaks in this term: nobody tells any more what becomes of the leases of another one.
    fn in_term(&self, queue_epoch: &str) {
        let others = self.keepers.iter().filter(|((term, _), _)| term != queue_epoch);
        others.for_each(|(_, keeper)| keeper.over("another term of the queue began"));
    }

    /// Asks on a new stream for every lease in hand to be renewed, term by term.
    fn renew(&mut self, up: &mpsc::Sender<LeaseRequest>) {
        let mut terms = BTreeMap::<String, Vec<u64>>::new();
        for ((term, id), keeper) in &mut self.keepers {
            keeper.ask_again();
            terms.entry(term.clone()).or_default().push(*id);
        }
        for (queue_epoch, lease_ids) in terms {
            let renewal = LeaseRenewal { lease_ids, queue_epoch };
            send(up, lease_request::Message::Renewal(renewal));
        }
    }
}

impl Evictor {
    pub fn new(bench: Bench, client: QueueClient, workers: u32) -> Self {
        Self { bench, client, workers }
    }

    pub async fn run(&self) {
        let link = Link::new(&self.bench.ctx, "lease");
        let shutdown = self.bench.ctx.shutdown.clone();
        let mut hands = Hands::default();
        {
            let forever = async {
                loop {
                    let why = self.session(&link, &mut hands).await;
                    link.down(&why);
                    hands.meanwhile(self.client.back_off()).await;
                }
            };
            tokio::select! {
                biased;
                () = shutdown.cancelled() => {}
                () = forever => {}
            }
        }
        // What was begun is brought to its end.
        while hands.jobs.next().await.is_some() {}
    }

    /// One stream, until it ends; says why it did.
    async fn session<'a>(&'a self, link: &Link, hands: &mut Hands<'a>) -> String {
        let mut service = match hands.meanwhile(self.client.queue()).await {
            Ok(service) => service,
            Err(error) => return error.to_string(),
        };
        let room = MESSAGES_PER_WORKER * (1 + usize::try_from(self.workers).unwrap_or(usize::MAX / 8));
        let (up, requests) = mpsc::channel(room);
        let busy = hands.busy();
        let hello = LeaseHello {
            identity: self.bench.ctx.identity.to_string(),
        };
        send(&up, lease_request::Message::Hello(hello));
        hands.renew(&up);
        credit(&up, self.workers.saturating_sub(busy));
        let accepted = tokio::time::timeout(ACCEPT_WITHIN, service.lease(ReceiverStream::new(requests)));
        let granted = match hands.meanwhile(accepted).await {
            Ok(Ok(granted)) => granted.into_inner(),
            Ok(Err(status)) => return self.ended(&status),
            Err(_) => return self.ended(&Status::cancelled("the queue does not accept the stream")),
        };
        self.client.succeeded();
        link.up();
        credit(&up, busy.saturating_sub(hands.busy()));
        let status = self.serve(&up, granted, hands).await;
        hands.keepers.values().for_each(Keeper::cut_off);
        self.ended(&status)
    }

    fn ended(&self, status: &Status) -> String {
        self.client.learn(status);
        format!("{:?}: {}", status.code(), status.message())
    }

    async fn serve<'a>(
        &'a self,
        up: &mpsc::Sender<LeaseRequest>,
        mut granted: Streaming<eviction_queue_api::v1::LeaseResponse>,
        hands: &mut Hands<'a>,
    ) -> Status {
        loop {
            let message = tokio::select! {
                biased;
                Some(name) = hands.jobs.next() => {
                    hands.keepers.remove(&name);
                    credit(up, 1);
                    continue;
                }
                message = granted.message() => message,
            };
            match message {
                Ok(Some(response)) => match response.message {
                    Some(lease_response::Message::Granted(lease)) => match Lease::read(lease) {
                        Ok(lease) => {
                            hands.in_term(&lease.queue_epoch);
                            self.take(up, hands, lease);
                        }
                        Err(error) => {
                            warn!("the queue grants a lease that cannot be understood: {error}");
                            credit(up, 1);
                        }
                    },
                    Some(lease_response::Message::Renewed(renewed)) => {
                        hands.in_term(&renewed.queue_epoch);
                        for id in renewed.lease_ids {
                            if let Some(keeper) = hands.keepers.get(&(renewed.queue_epoch.clone(), id)) {
                                keeper.renewed();
                            }
                        }
                    }
                    Some(lease_response::Message::Revoked(revoked)) => {
                        if let Some(keeper) = hands.keepers.get(&(revoked.queue_epoch, revoked.lease_id)) {
                            keeper.over(&revoked.reason);
                        }
                    }
                    None => {}
                },
                Ok(None) => return Status::unavailable("the queue has closed the stream"),
                Err(status) => return status,
            }
        }
    }

    fn take<'a>(&'a self, up: &mpsc::Sender<LeaseRequest>, hands: &mut Hands<'a>, lease: Lease) {
        let (keeper, mut term) = term(lease.duration);
        let renewal = LeaseRenewal {
            lease_ids: vec![lease.id],
            queue_epoch: lease.queue_epoch.clone(),
        };
        send(up, lease_request::Message::Renewal(renewal));
        let name = (lease.queue_epoch.clone(), lease.id);
        hands.keepers.insert(name.clone(), keeper);
        hands.jobs.push(Box::pin(async move {
            let clock = &self.bench.ctx.clock;
            let began = clock.now();
            let done = self.bench.work(&lease, &mut term).await;
            for span in trace::spans(&lease, &done, began, clock.now()) {
                self.bench.ctx.traces.tell(span);
            }
            self.complete(&lease, done).await;
            name
        }));
    }

    // ---- outcomes

    async fn complete(&self, lease: &Lease, done: Done) {
        let key = &lease.entry.key;
        let completion = match done {
            Done::Complete(completion) => completion,
            Done::Lapses(why) => {
                warn!(binding = %key.binding, cluster = %key.cluster, "the lease lapses, what happened is not known: {why}");
                self.count("Unknown", "Unknown");
                return;
            }
        };
        debug!(
            binding = %key.binding, cluster = %key.cluster,
            outcome = completion.outcome.as_str(), reason = completion.reason, "{}", completion.message
        );
        self.count(completion.outcome.as_str(), &completion.reason);
        let request = request(lease, completion, &self.bench.ctx.identity);
        let told = async {
            loop {
                match self.client.queue().await {
                    Ok(mut service) => match service.complete(request.clone()).await {
                        Ok(_) => return,
                        Err(status) if self.client.learn(&status) == Advice::GiveUp => {
                            warn!(binding = %key.binding, "the queue does not take the outcome: {}", status.message());
                            return;
                        }
                        Err(status) => debug!("outcome not told yet: {}", status.message()),
                    },
                    Err(error) => debug!("outcome not told yet: {error}"),
                }
                self.client.back_off().await;
            }
        };
        if tokio::time::timeout(COMPLETE_WITHIN, told).await.is_err() {
            warn!(binding = %key.binding, cluster = %key.cluster, "the queue was not reached to tell the outcome");
        }
    }

    fn count(&self, outcome: &str, reason: &str) {
        let labels = [("outcome", outcome), ("reason", reason)];
        self.bench
            .ctx
            .metrics
            .counter("evictor_leases_total", &labels)
            .increment(1);
    }
}

fn request(lease: &Lease, completion: Completion, identity: &str) -> CompleteRequest {
    let mut request = CompleteRequest {
        queue_epoch: lease.queue_epoch.clone(),
        lease_id: lease.id,
        key: Some(convert::to_key(&lease.entry.key)),
        consumer_identity: identity.to_owned(),
        reason: completion.reason,
        message: completion.message,
        ..CompleteRequest::default()
    };
    let outcome = match completion.outcome {
        OutcomeKind::Evicted => Outcome::Evicted,
        OutcomeKind::NotNeeded {
            binding_version,
            cluster_version,
        } => {
            request.binding_resource_version = binding_version;
            request.cluster_resource_version = cluster_version;
            Outcome::NotNeeded
        }
        OutcomeKind::NoTarget { recheck_at, rests_on } => {
            request.capacity_checked = rests_on == NoTargetRestsOn::PlacesAndResources;
            request.wait_until = recheck_at.map(convert::to_time);
            Outcome::NoTarget
        }
        OutcomeKind::Failed => Outcome::Failed,
        OutcomeKind::Wait { until } => {
            request.wait_until = Some(convert::to_time(until));
            Outcome::Wait
        }
    };
    request.set_outcome(outcome);
    request
}

/// There is room for everything that is ever sent; a stream that has ended is found out by who reads it.
fn send(up: &mpsc::Sender<LeaseRequest>, message: lease_request::Message) {
    if let Err(error) = up.try_send(LeaseRequest { message: Some(message) }) {
        debug!("not sent to the queue: {error}");
    }
}

fn credit(up: &mpsc::Sender<LeaseRequest>, leases: u32) {
    if leases > 0 {
        send(up, lease_request::Message::Credit(LeaseCredit { leases }));
    }
}
