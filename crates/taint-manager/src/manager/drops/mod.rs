//! Drops of operators, written down as items of the annotation `failover.karmada.io/stay`, and taken away again.
//!
//! Guarantees: an order that was heard is written until that succeeds, whatever becomes of the queue; each write is made
//! on the version that was read live, and none says what is said already; the queue hears of it only after it is
//! written. What a person wrote is left as it is, and a text that cannot be read is never written over: the queue goes
//! on holding the entry, and a Warning says why. Items whose cause is over are removed, also those that an earlier
//! process left; that is judged on live objects.

mod complaints;
mod orders;
mod over;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use api_types::names::annotation::STAY;
use api_types::work::Binding;
use binding_writer::{BindingWriter, WriteError, WriteOutcome};
use controller_kit::{Context, EventType, Next, WorkQueue};
use eviction_queue_api::v1::{self, watch_entries_response::Message as Step};
use eviction_queue_api::{QueueClient, convert};
use failover_core::eviction::queue::{EntryKey, OrderKind};
use failover_core::eviction::stay;
use failover_core::eviction::stay_edit::{self, StayEdit};
use parking_lot::Mutex;
use tracing::{info, warn};

use super::index::Stores;
use super::judged_part::{JudgedPart, may_have_drops};
use super::pending::Pace;
use crate::objects::binding_reference;
use complaints::Complaints;
use orders::{Order, Orders};

/// Annotations that are written at the same time; the pace is set elsewhere.
const WRITERS: usize = 2;
/// After a conflict the binding is read again.
const AFTER_CONFLICT: Duration = Duration::from_millis(100);
/// The server refuses the annotation: it may be too large.
const AFTER_REFUSAL: Duration = Duration::from_secs(60);

/// Follows orders and keeps the annotation. Clones are the same.
#[derive(Clone)]
pub(crate) struct Drops {
    ctx: Context,
    stores: Stores,
    client: QueueClient,
    writer: BindingWriter,
    pace: Arc<Pace>,
    orders: Arc<Mutex<Orders>>,
    /// Bindings that have items of drops, as far as is known.
    marked: Arc<Mutex<BTreeSet<BindingKey>>>,
    complaints: Arc<Mutex<Complaints>>,
    work: WorkQueue<BindingKey>,
}

/// What became of one order.
enum Done {
    /// It is written, and the queue knows. What is stored is another version now.
    Written,
    /// Somebody else wrote, or the binding is gone: it is to be read again.
    Outdated,
    /// It cannot be written until the binding changes.
    Unreadable,
    /// The API server does not take it; it may later.
    Refused,
}

/// An order that is not written yet, or not told to be.
#[derive(Debug, thiserror::Error)]
enum DropError {
    #[error("cannot read binding {binding}: {source}")]
    Read { binding: String, source: Box<kube::Error> },
    #[error("cannot read Cluster {cluster}: {source}")]
    ReadCluster { cluster: String, source: Box<kube::Error> },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot tell the eviction queue that an order on {binding} is written: {why}")]
    Tell { binding: String, why: String },
}

impl Drops {
    pub fn new(ctx: &Context, stores: Stores, client: QueueClient, pace: Arc<Pace>) -> Self {
        let drops = Self {
            work: WorkQueue::new("drops", ctx),
            writer: BindingWriter::new(ctx.client.clone()),
            ctx: ctx.clone(),
            stores,
            client,
            pace,
            orders: Arc::default(),
            marked: Arc::default(),
            complaints: Arc::default(),
        };
        for (key, binding) in drops.stores.bindings() {
            drops.binding_changed(&key, &binding);
        }
        drops
    }

    /// A watch over the queue begins that tells everything first.
    pub fn begin(&self) {
        self.orders.lock().begin();
    }

    /// Takes in a step of the watch.
    pub fn hear(&self, step: &Step) {
        let heard = {
            let mut orders = self.orders.lock();
            let heard = orders.hear(step);
            self.complaints.lock().keep(&orders);
            heard
        };
        match heard {
            Ok(bindings) => bindings.into_iter().for_each(|binding| self.work.add(binding)),
            Err(error) => warn!("the queue tells of an order that cannot be understood: {error}"),
        }
    }

    /// A binding is there or changed.
    pub fn binding_changed(&self, key: &BindingKey, binding: &JudgedPart) {
        let is_marked = may_have_drops(binding.stay());
        if is_marked {
            self.marked.lock().insert(key.clone());
        } else {
            self.marked.lock().remove(key);
        }
        // What could not be written may be written now.
        if is_marked || self.complaints.lock().is_about(key) {
            self.work.add(key.clone());
        }
    }

    /// A cluster changed in something that matters for evictions.
    pub fn cluster_changed(&self) {
        let marked = self.marked.lock().clone();
        marked.into_iter().for_each(|key| self.work.add(key));
    }

    /// Runs until shutdown.
    pub async fn run(&self) {
        let drops = self.clone();
        let writers = self.work.run(&self.ctx, WRITERS, move |key| {
            let drops = drops.clone();
            async move { drops.bring_up_to_date(&key).await }
        });
        writers.await;
    }

    async fn bring_up_to_date(&self, key: &BindingKey) -> Result<Next, DropError> {
        let orders = self.orders.lock().of(key);
        if orders.is_empty() {
            return self.clean(key).await;
        }
        let Some(live) = self.read(key).await? else {
            orders.iter().for_each(|(entry, order)| self.over(entry, order));
            return Ok(Next::Done);
        };
        let mut next = Next::Done;
        for (entry, order) in &orders {
            // What has left the cluster meanwhile, or is another binding, has nothing to be kept.
            let is_there = live.spec.target(&entry.cluster).is_some();
            if !is_there || !entry.binding_uid.is(live.metadata.uid.as_deref()) {
                self.over(entry, order);
                continue;
            }
            match self.write(&live, entry, order).await? {
                // The next one of the same binding is written on what is stored now.
                Done::Written => return Ok(Next::After(Duration::ZERO)),
                Done::Outdated => return Ok(Next::After(AFTER_CONFLICT)),
                // One that cannot be written keeps none of the others waiting.
                Done::Unreadable => {}
                Done::Refused => next = Next::After(AFTER_REFUSAL),
            }
        }
        Ok(next)
    }

    /// There is nothing to be written for an order any more.
    fn over(&self, entry: &EntryKey, order: &Order) {
        self.orders.lock().done(entry, order);
        self.complaints.lock().over(entry);
    }

    /// Writes one order and tells the queue.
    async fn write(&self, live: &Binding, entry: &EntryKey, order: &Order) -> Result<Done, DropError> {
        let text = stay::text(live);
        let edit = match order.kind {
            OrderKind::Drop => stay_edit::add(
                text,
                stay_edit::Drop {
                    cluster: &entry.cluster,
                    cause: &entry.cause,
                    caller: &order.caller,
                    reason: &order.reason,
                },
            ),
            OrderKind::Undrop => stay_edit::remove(text, &entry.cluster, &entry.cause),
        };
        let edit = match edit {
            Ok(edit) => edit,
            Err(unreadable) => {
                self.complain(entry, order, &unreadable.to_string());
                return Ok(Done::Unreadable);
            }
        };
        let written_in = match self.send(live, &edit).await {
            Ok(WriteOutcome::NotNeeded) => live.metadata.resource_version.clone().unwrap_or_default(),
            Ok(WriteOutcome::Written(now)) => {
                self.say(entry, order);
                now.metadata.resource_version.clone().unwrap_or_default()
            }
            Ok(WriteOutcome::Conflict | WriteOutcome::Gone) => return Ok(Done::Outdated),
            Err(WriteError::Refused { source, .. }) => {
                self.complain(entry, order, &format!("the API server refuses it: {source}"));
                return Ok(Done::Refused);
            }
            Err(error) => return Err(error.into()),
        };
        self.tell(entry, order, written_in).await?;
        self.over(entry, order);
        Ok(Done::Written)
    }

    async fn send(&self, read: &Binding, edit: &StayEdit) -> Result<WriteOutcome, WriteError> {
        let value = match edit {
            StayEdit::AsItIs => return Ok(WriteOutcome::NotNeeded),
            StayEdit::Write(text) => Some(text.as_str()),
            StayEdit::Remove => None,
        };
        self.pace.wait().await;
        self.writer.annotate(read, STAY, value).await
    }

    /// The queue asks the entry's producer then to speak from a binding that has it, and holds the entry until it has.
    async fn tell(&self, entry: &EntryKey, order: &Order, written_in: String) -> Result<(), DropError> {
        let failed = |why: String| DropError::Tell {
            binding: entry.binding.to_string(),
            why,
        };
        let mut queue = self.client.queue().await.map_err(|error| failed(error.to_string()))?;
        let request = v1::OrderWrittenRequest {
            queue_epoch: order.queue_epoch.clone(),
            key: Some(convert::to_key(entry)),
            order_id: order.id,
            binding_resource_version: written_in,
        };
        match queue.order_written(request).await {
            Ok(_) => Ok(()),
            Err(status) => {
                self.client.learn(&status);
                Err(failed(status.message().to_owned()))
            }
        }
    }

    async fn read(&self, key: &BindingKey) -> Result<Option<Binding>, DropError> {
        let read = binding_writer::api(&self.ctx.client, key).get_opt(&key.name).await;
        read.map_err(|source| DropError::Read {
            binding: key.to_string(),
            source: Box::new(source),
        })
    }

    fn say(&self, entry: &EntryKey, order: &Order) {
        let Order { caller, reason, .. } = order;
        let cluster = &entry.cluster;
        let (word, note) = match order.kind {
            OrderKind::Drop => (
                "EvictionDropped",
                format!(
                    "stays on {cluster}: {caller} dropped the eviction for {}: {reason}",
                    entry.cause
                ),
            ),
            OrderKind::Undrop => {
                let why = if reason.is_empty() {
                    String::new()
                } else {
                    format!(": {reason}")
                };
                (
                    "EvictionUndropped",
                    format!(
                        "may leave {cluster} again: {caller} took the drop for {} back{why}",
                        entry.cause
                    ),
                )
            }
        };
        info!(binding = %entry.binding, cluster = %entry.cluster, cause = %entry.cause, caller, reason, "{word}");
        let about = binding_reference(&entry.binding, &entry.binding_uid.to_string());
        self.ctx.events.publish(&about, EventType::Normal, word, note);
    }

    fn complain(&self, entry: &EntryKey, order: &Order, why: &str) {
        if !self.complaints.lock().is_first(entry, order) {
            return;
        }
        let (word, what) = match order.kind {
            OrderKind::Drop => ("EvictionDropNotWritten", "drop"),
            OrderKind::Undrop => ("EvictionUndropNotWritten", "taking back of the drop"),
        };
        warn!(
            binding = %entry.binding, cluster = %entry.cluster, caller = order.caller,
            "the {what} is not written: {why}"
        );
        let note = format!(
            "the {what} by {} is not written, so only the eviction queue keeps the workload on {}, until it restarts: {why}",
            order.caller, entry.cluster
        );
        let about = binding_reference(&entry.binding, &entry.binding_uid.to_string());
        self.ctx.events.publish(&about, EventType::Warning, word, note);
    }
}
