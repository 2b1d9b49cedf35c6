//! What a pause holds back, as the queue sees it.

use std::time::Duration;

use api_types::failover::{FailoverPauseSpec, PauseScope};
use eviction_queue_api::v1;
use serde::Serialize;

use crate::change::entries;
use crate::failure::Failure;
use crate::queue::Queue;

/// For so long the queue is asked whether it has seen a new pause: it needs moments.
const SEEN_WITHIN: Duration = Duration::from_secs(5);
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Entries in the scope of a pause that would leave the queue without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holding {
    /// Due later.
    pub waiting: u64,
    /// Due.
    pub ready: u64,
    /// With the evictor: they are called back, and only a write that has been sent may still land.
    pub leased: u64,
}

impl Holding {
    fn of(totals: Option<&v1::Totals>) -> Self {
        totals.map_or_else(Self::default, |totals| Self {
            waiting: totals.waiting,
            ready: totals.ready,
            leased: totals.leased,
        })
    }

    fn and(self, other: Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            ready: self.ready + other.ready,
            leased: self.leased + other.leased,
        }
    }

    /// As in `14 entries: 9 ready, 5 waiting; 1 more is with the evictor and is called back; …`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let held = self.waiting + self.ready;
        let mut text = entries(held);
        if held > 0 {
            text.push_str(&format!(": {} ready, {} waiting", self.ready, self.waiting));
        }
        match self.leased {
            0 => {}
            1 => text
                .push_str("; 1 more is with the evictor and is called back; a write that has been sent may still land"),
            more => text.push_str(&format!(
                "; {more} more are with the evictor and are called back; a write that has been sent may still land"
            )),
        }
        text
    }
}

/// What a pause with this spec would hold back now.
pub(super) async fn now(queue: &mut Queue, spec: &FailoverPauseSpec) -> Result<Holding, Failure> {
    match spec.scope {
        PauseScope::Clusters => {
            let lanes = queue.lanes().await?;
            let covered = lanes.iter().filter(|lane| spec.clusters.contains(&lane.cluster));
            Ok(covered.fold(Holding::default(), |sum, lane| {
                sum.and(Holding::of(lane.totals.as_ref()))
            }))
        }
        PauseScope::Namespaces => {
            let mut sum = Holding::default();
            for namespace in &spec.namespaces {
                sum = sum.and(in_namespace(queue, namespace).await?);
            }
            Ok(sum)
        }
        _ => Ok(Holding::of(queue.status().await?.totals.as_ref())),
    }
}

async fn in_namespace(queue: &mut Queue, namespace: &str) -> Result<Holding, Failure> {
    let mut count = async |state: v1::EntryState| {
        let filter = v1::EntryFilter {
            namespace: namespace.to_owned(),
            state: state.into(),
            ..v1::EntryFilter::default()
        };
        Ok::<u64, Failure>(queue.list(&filter, 1).await?.total)
    };
    Ok(Holding {
        waiting: count(v1::EntryState::Waiting).await?,
        ready: count(v1::EntryState::Ready).await?,
        leased: count(v1::EntryState::Leased).await?,
    })
}

/// Whether the queue goes by a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "state")]
pub enum Effect {
    /// The queue says that it is in effect.
    Seen {
        /// Entries that it holds because of it.
        held_entries: u64,
    },
    /// The queue has not said so.
    NotSeen,
}

/// Waits until the queue goes by the pause of this name, for a few seconds.
pub(super) async fn taken_over(queue: &mut Queue, name: &str) -> Result<Effect, Failure> {
    let asking = async {
        loop {
            let status = queue.status().await?;
            if let Some(pause) = status.pauses.iter().find(|pause| pause.name == name) {
                return Ok(Effect::Seen {
                    held_entries: pause.held_entries,
                });
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    tokio::time::timeout(SEEN_WITHIN, asking)
        .await
        .unwrap_or(Ok(Effect::NotSeen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing((0, 0, 0), "0 entries")]
    #[case::held((5, 9, 0), "14 entries: 9 ready, 5 waiting")]
    #[case::one_in_hand(
        (0, 1, 1),
        "1 entry: 1 ready, 0 waiting; 1 more is with the evictor and is called back; a write that has been sent may still land"
    )]
    #[case::some_in_hand(
        (0, 0, 3),
        "0 entries; 3 more are with the evictor and are called back; a write that has been sent may still land"
    )]
    fn in_words(#[case] (waiting, ready, leased): (u64, u64, u64), #[case] expected: &str) {
        let holding = Holding { waiting, ready, leased };
        assert_eq!(holding.in_words(), expected);
    }
}
