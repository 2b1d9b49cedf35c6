//! Looks at the eviction queue: its entries, and the regime it is in.

use std::collections::BTreeSet;
use std::time::Duration;

use eviction_queue_api::QueueClient;
use eviction_queue_api::v1::watch_entries_response::Message;
use eviction_queue_api::v1::{
    Entry, EntryRemoved, EntryState, GetStatusRequest, HoldReason, Regime, RemovedReason, WatchEntriesRequest,
};

use super::observer::Told;
use super::teller::{EntrySeen, EntryStands};

/// The pause before the queue is dialled again.
const REDIAL: Duration = Duration::from_millis(300);
/// How often the queue is asked for its regime.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Tells what happens to entries. The queue moves with its leader: a broken stream is dialled again, and begins with
/// all entries.
pub(super) async fn entries(queue: QueueClient, told: Told) {
    loop {
        if let Err(status) = watch(&queue, &told).await {
            queue.learn(&status);
        }
        told.tell(|teller, at| teller.see_queue(None, at));
        tokio::time::sleep(REDIAL).await;
    }
}

/// Tells the regime.
pub(super) async fn regimes(queue: QueueClient, told: Told) {
    loop {
        if let Err(status) = ask_regime(&queue, &told).await {
            queue.learn(&status);
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn ask_regime(queue: &QueueClient, told: &Told) -> Result<(), tonic::Status> {
    let mut client = queue.inspection().await.map_err(unavailable)?;
    let status = client.get_status(GetStatusRequest::default()).await?.into_inner();
    if let Some(name) = regime_name(status.regime()) {
        told.tell(|teller, at| teller.see_regime(name, status.evictions_per_second, status.reason.clone(), at));
    }
    Ok(())
}

async fn watch(queue: &QueueClient, told: &Told) -> Result<(), tonic::Status> {
    let mut client = queue.inspection().await.map_err(unavailable)?;
    let mut steps = client.watch_entries(WatchEntriesRequest::default()).await?.into_inner();
    // The stream begins with all entries.
    let mut first = Some(BTreeSet::new());
    while let Some(step) = steps.message().await? {
        match step.message {
            Some(Message::Changed(entry)) => {
                if let (Some(entries), Some((cluster, binding))) = (&mut first, named(&entry)) {
                    entries.insert((cluster.to_owned(), binding));
                }
                if entry.state() == EntryState::Leased {
                    // What was released is told under the regime that released it.
                    ask_regime(queue, told).await?;
                }
                see(&entry, stand(&entry), told);
            }
            Some(Message::Removed(removed)) => {
                if let Some(entry) = &removed.entry {
                    see(entry, end(&removed), told);
                    if let Some((cluster, binding)) = named(entry) {
                        told.tell(|teller, at| teller.see_left(cluster, &binding, at));
                    }
                }
            }
            Some(Message::Synced(_)) => {
                if let Some(entries) = first.take() {
                    told.tell(|teller, at| teller.see_queue(Some(entries), at));
                }
            }
            None => {}
        }
    }
    Ok(())
}

fn unavailable(error: impl std::fmt::Display) -> tonic::Status {
    tonic::Status::unavailable(error.to_string())
}

/// Where an entry stands beyond being there, and why.
fn stand(entry: &Entry) -> Option<(EntryStands, String)> {
    match entry.state() {
        EntryState::Leased => Some(released(entry)),
        EntryState::Held => match entry.hold.as_ref() {
            // What the producer saw first, the queue sees a moment later.
            Some(hold) if hold.reason() == HoldReason::CauseNotSeen => None,
            Some(hold) => Some((EntryStands::Held, hold.message.clone())),
            None => None,
        },
        EntryState::Waiting | EntryState::Ready | EntryState::Unspecified => None,
    }
}

/// How an entry left, as far as the story tells it.
fn end(removed: &EntryRemoved) -> Option<(EntryStands, String)> {
    let entry = removed.entry.as_ref()?;
    match removed.reason() {
        // An entry that was evicted was released, even if its lease was too short to be seen.
        RemovedReason::Evicted => Some(released(entry)),
        RemovedReason::Leaving | RemovedReason::Replaced | RemovedReason::Unspecified => None,
        _ => Some((EntryStands::Abandoned, removed.message.clone())),
    }
}

fn released(entry: &Entry) -> (EntryStands, String) {
    let cause = entry
        .published
        .as_ref()
        .and_then(|published| published.key.as_ref())
        .map(|key| key.cause.as_str());
    let why = format!("its turn came; it will be evicted for {}", cause.unwrap_or("no cause"));
    (EntryStands::Released, why)
}

/// Cluster and binding of an entry, this as `namespace/name`.
fn named(entry: &Entry) -> Option<(&str, String)> {
    let key = entry.published.as_ref()?.key.as_ref()?;
    let binding = match key.namespace.as_str() {
        "" => key.name.clone(),
        namespace => format!("{namespace}/{}", key.name),
    };
    Some((&key.cluster, binding))
}

fn see(entry: &Entry, stands: Option<(EntryStands, String)>, told: &Told) {
    let Some(published) = &entry.published else { return };
    let Some(key) = &published.key else { return };
    let Some((cluster, binding)) = named(entry) else { return };
    let seen = |stands, why: String| EntrySeen {
        cluster: key.cluster.clone(),
        binding: binding.clone(),
        cause: key.cause.clone(),
        stands,
        why,
    };
    told.tell(|teller, at| {
        teller.see_queued(cluster, &binding);
        if matches!(
            entry.state(),
            EntryState::Waiting | EntryState::Ready | EntryState::Held
        ) {
            teller.see_waiting(&key.cause, &key.cluster, &binding);
        }
        teller.see_entry(&seen(EntryStands::Queued, published.reason.clone()), at);
        if let Some((stands, why)) = stands {
            teller.see_entry(&seen(stands, why), at);
        }
    });
}

fn regime_name(regime: Regime) -> Option<&'static str> {
    match regime {
        Regime::Unspecified => None,
        Regime::Starting => Some("Starting"),
        Regime::Paused => Some("Paused"),
        Regime::AllFaulty => Some("AllFaulty"),
        Regime::Halted => Some("Halted"),
        Regime::Reduced => Some("Reduced"),
        Regime::Normal => Some("Normal"),
    }
}
