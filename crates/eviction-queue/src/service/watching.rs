//! `WatchEntries`: everything known, then what changes; a watcher that reads slowly slows down only itself, and is told of
//! an entry that changed several times meanwhile what it came to.

use std::sync::Arc;

use eviction_queue_api::convert::{to_entry, to_removed_reason};
use eviction_queue_api::v1;
use eviction_queue_api::v1::watch_entries_response::Message;
use failover_core::eviction::queue::{Change, Entry, Removed, WithdrawReason};
use futures::StreamExt;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::refusal;
use crate::outlet::Down;
use crate::shell::Shell;
use crate::streams::StreamKind;

const AT_ONCE: usize = 500;

/// Serves a watch.
pub(super) fn serve(
    shell: &Arc<Shell>,
    caller: Arc<str>,
    request: v1::WatchEntriesRequest,
) -> Result<Down<v1::WatchEntriesResponse>, Status> {
    let slot = shell.streams().slot(StreamKind::WatchEntries, caller)?;
    let (down, received) = mpsc::channel(StreamKind::WatchEntries.unread());
    let term = shell.clone();
    shell.tasks().spawn("watch of entries", async move {
        tokio::select! {
            biased;
            () = term.closed().cancelled() => {}
            () = down.closed() => {}
            result = follow(&term, &request, &down) => {
                if let Err(status) = result {
                    refusal::count(term.metrics(), StreamKind::WatchEntries.as_str(), &status);
                    let _ = down.send(Err(status)).await;
                }
            }
        }
    });
    // The slot is taken for as long as somebody may read.
    Ok(Box::pin(ReceiverStream::new(received).inspect(move |_| {
        let _ = &slot;
    })))
}

type DownSender = mpsc::Sender<Result<v1::WatchEntriesResponse, Status>>;

async fn follow(shell: &Shell, request: &v1::WatchEntriesRequest, down: &DownSender) -> Result<(), Status> {
    let gone = |_| Status::cancelled("the watcher is gone");
    let mut revisions = shell.revisions();
    let mut position = if request.after_revision == 0 {
        let (entries, revision) =
            shell.look(|queue, _| (queue.entries().cloned().collect::<Vec<_>>(), queue.revision()));
        for entry in entries {
            down.send(Ok(changed(&entry, revision))).await.map_err(gone)?;
        }
        revision
    } else if request.queue_epoch == shell.epoch() {
        request.after_revision
    } else {
        return Err(Status::out_of_range(
            "the revision is of another term of the queue: watch from the start",
        ));
    };
    let synced = v1::WatchSynced {
        queue_epoch: shell.epoch().to_owned(),
    };
    let synced = v1::WatchEntriesResponse {
        revision: position,
        message: Some(Message::Synced(synced)),
    };
    down.send(Ok(synced)).await.map_err(gone)?;
    loop {
        revisions.borrow_and_update();
        let after = shell.look(|queue, _| queue.changes_after(position, AT_ONCE));
        let after = after.map_err(|too_far| Status::out_of_range(format!("{too_far}: watch from the start")))?;
        if after.up_to == position {
            if revisions.changed().await.is_err() {
                return Ok(());
            }
            continue;
        }
        position = after.up_to;
        for change in after.changes {
            down.send(Ok(step(&change))).await.map_err(gone)?;
        }
    }
}

fn changed(entry: &Entry, revision: u64) -> v1::WatchEntriesResponse {
    v1::WatchEntriesResponse {
        revision,
        message: Some(Message::Changed(to_entry(entry))),
    }
}

fn step(change: &Change) -> v1::WatchEntriesResponse {
    let Some(removed) = change.removed else {
        return changed(&change.entry, change.revision);
    };
    let removed = v1::EntryRemoved {
        entry: Some(to_entry(&change.entry)),
        reason: to_removed_reason(removed).into(),
        message: why(removed).to_owned(),
    };
    v1::WatchEntriesResponse {
        revision: change.revision,
        message: Some(Message::Removed(removed)),
    }
}

fn why(removed: Removed) -> &'static str {
    match removed {
        Removed::Evicted => "evicted",
        Removed::ProducerGone => "its producer did not come back in time",
        Removed::Withdrawn(reason) => match reason {
            WithdrawReason::NotPublished => "its producer does not publish it any more",
            WithdrawReason::ClusterRecovered => "the cluster recovered",
            WithdrawReason::Tolerated => "the workload tolerates the cause now",
            WithdrawReason::BindingGone => "the binding left the cluster or is gone",
            WithdrawReason::Leaving => "the copy leaves the cluster already",
            WithdrawReason::Replaced => "another cause is due earlier",
            WithdrawReason::SwitchedOff => "a switch is off",
            WithdrawReason::ApplicationRecovered => "the application does not fail any more",
            WithdrawReason::ClusterNotReady => "the cluster is not Ready, so that nobody knows how the application is",
        },
    }
}
