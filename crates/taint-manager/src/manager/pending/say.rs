//! The condition `EvictionPending` that follows from what the queue holds for a binding. Pure.

use std::collections::BTreeMap;

use eviction_queue_api::v1::EntryState;
use failover_core::eviction::queue::EntryKey;
use failover_core::text::shorten;
use jiff::{SignedDuration, Timestamp};

use super::book::{Seen, hold_word};

/// What the condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saying {
    /// One word.
    pub reason: &'static str,
    /// A sentence: the cluster, since when it is due, and why.
    pub message: String,
    /// Nothing is said for the first time before.
    pub not_before: Option<Timestamp>,
}

/// How long what has just become due and may go is not spoken of: that it leaves within seconds is the rule, and then the
/// condition would be two more writes a move.
const READY_SETTLES: SignedDuration = SignedDuration::from_secs(5);

/// Says the most urgent entry: what may go before what is held, then what is due first. Entries that are due later are
/// not pending. No place in the order is named, since it changes all the time.
pub(crate) fn saying(entries: &BTreeMap<EntryKey, Seen>) -> Option<Saying> {
    let pending = entries.iter().filter_map(|(key, seen)| {
        let rank = match seen.state {
            EntryState::Ready | EntryState::Leased => 0,
            EntryState::Held => 1,
            EntryState::Waiting | EntryState::Unspecified => return None,
        };
        Some(((rank, seen.due_at, key), seen))
    });
    let ((_, due_at, key), seen) = pending.min_by(|(a, _), (b, _)| a.cmp(b))?;
    let cluster = &key.cluster;
    let saying = match &seen.hold {
        Some(hold) => Saying {
            reason: hold_word(hold.reason),
            message: format!(
                "stays on {cluster} for now: {}; due since {due_at}: {}",
                hold.message, seen.reason
            ),
            not_before: None,
        },
        None => Saying {
            reason: "Ready",
            message: format!(
                "leaves {cluster} when its turn comes; due since {due_at}: {}",
                seen.reason
            ),
            not_before: due_at.saturating_add(READY_SETTLES).ok(),
        },
    };
    Some(Saying {
        message: shorten(saying.message),
        ..saying
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::pending::book::Held;
    use eviction_queue_api::v1::HoldReason;
    use failover_core::eviction::Cause;

    fn key(cluster: &str) -> EntryKey {
        EntryKey {
            cluster: cluster.into(),
            cluster_uid: "c".into(),
            binding: api_types::BindingKey::namespaced("n", "b"),
            binding_uid: "b".into(),
            cause: "k:NoExecute@2026-01-01T00:00:00Z".parse::<Cause>().unwrap().into(),
        }
    }

    fn seen(state: EntryState, hold: Option<HoldReason>, due_second: i64) -> Seen {
        let hold = hold.map(|reason| Held {
            reason,
            message: "why".into(),
            by_drop: false,
        });
        Seen {
            state,
            hold,
            due_at: jiff::Timestamp::from_second(due_second).unwrap(),
            reason: "cause".into(),
        }
    }

    #[test]
    fn the_most_urgent_entry_is_said() {
        let mut entries = BTreeMap::from([
            (key("m1"), seen(EntryState::Held, Some(HoldReason::NoTarget), 1)),
            (key("m2"), seen(EntryState::Ready, None, 3)),
            (key("m3"), seen(EntryState::Ready, None, 2)),
            (key("m4"), seen(EntryState::Waiting, None, 0)),
        ]);
        let said = saying(&entries).unwrap();
        assert_eq!(said.reason, "Ready");
        assert_eq!(
            said.message,
            "leaves m3 when its turn comes; due since 1970-01-01T00:00:02Z: cause"
        );
        assert_eq!(said.not_before, Timestamp::from_second(7).ok(), "five seconds to go");
        entries.retain(|key, _| matches!(key.cluster.as_str(), "m1" | "m4"));
        let said = saying(&entries).unwrap();
        assert_eq!(said.reason, "NoTarget");
        assert_eq!(
            said.message,
            "stays on m1 for now: why; due since 1970-01-01T00:00:01Z: cause"
        );
        assert_eq!(said.not_before, None, "what does not go is said at once");
        entries.remove(&key("m1"));
        assert_eq!(saying(&entries), None, "what is due later is not pending");
    }
}
