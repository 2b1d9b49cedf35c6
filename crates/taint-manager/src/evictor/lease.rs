//! One lease, and until when it may be used.
//!
//! The duration counts by this process's own monotonic clock, from the moment at which the renewal was asked for that
//! the queue confirmed: never from an answer, whose way here nobody measured.

use std::time::Duration;

use eviction_queue_api::convert::{self, Malformed};
use eviction_queue_api::{InCommon, v1::LeaseGranted};
use failover_core::eviction::queue::Published;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// How long the queue may take to confirm a renewal.
const RENEWED_WITHIN: Duration = Duration::from_secs(5);

/// A lease as granted.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    /// Names it within the queue's term.
    pub id: u64,
    /// The queue's term.
    pub queue_epoch: String,
    /// How long it lasts from a renewal.
    pub duration: Duration,
    /// The entry.
    pub entry: Published,
    /// Who published it.
    pub producer: String,
    /// When it entered the queue.
    pub queued_at: Timestamp,
    /// When it was released.
    pub released_at: Timestamp,
}

impl Lease {
    /// Reads a lease from its message.
    pub fn read(granted: LeaseGranted) -> Result<Self, Malformed> {
        let missing = |field| Malformed::Missing { field };
        let duration = granted.duration.ok_or(missing("duration"))?;
        let queued_at = granted.queued_at.ok_or(missing("queued_at"))?;
        let released_at = granted.released_at.ok_or(missing("released_at"))?;
        Ok(Self {
            id: granted.lease_id,
            queue_epoch: granted.queue_epoch,
            duration: Duration::try_from(duration).map_err(|error| Malformed::Invalid {
                field: "duration",
                why: error.to_string(),
            })?,
            entry: convert::from_published(granted.entry.ok_or(missing("entry"))?, &mut InCommon::default())?,
            producer: granted.producer,
            queued_at: convert::from_time("queued_at", &queued_at)?,
            released_at: convert::from_time("released_at", &released_at)?,
        })
    }
}

/// What is known of a lease's life.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Life {
    /// A renewal was asked for.
    Asked,
    /// It may be used until then.
    Until(Instant),
    /// It is over, for this reason.
    Over(String),
}

/// The stream's side: learns of renewals and revocations.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// When the renewal was asked for that the queue has yet to confirm.
    asked_at: Instant,
    duration: Duration,
    life: watch::Sender<Life>,
}

/// The worker's side.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    life: watch::Receiver<Life>,
}

/// A lease that must not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease is over: {why}")]
pub(crate) struct Over {
    /// Why.
    pub why: String,
}

/// The two sides of a lease for which a renewal is asked now.
pub(crate) fn term(duration: Duration) -> (Keeper, Term) {
    let (sender, receiver) = watch::channel(Life::Asked);
    let keeper = Keeper {
        asked_at: Instant::now(),
        duration,
        life: sender,
    };
    (keeper, Term { life: receiver })
}

impl Keeper {
    /// Another renewal is asked for now, on a new stream. Until it is confirmed, what was confirmed before counts.
    pub fn ask_again(&mut self) {
        self.asked_at = Instant::now();
    }

    /// The queue confirms the renewal.
    pub fn renewed(&self) {
        let until = self.asked_at + self.duration;
        self.life.send_if_modified(|life| {
            let lives = !matches!(life, Life::Over(_));
            if lives {
                *life = Life::Until(until);
            }
            lives
        });
    }

    /// The stream is gone: what it has not confirmed it will not confirm.
    pub fn cut_off(&self) {
        self.life.send_if_modified(|life| {
            let waits = *life == Life::Asked;
            if waits {
                *life = Life::Over("the stream ended before the queue confirmed it".to_owned());
            }
            waits
        });
    }

    /// The lease must not be used any more.
    pub fn over(&self, why: &str) {
        self.life.send_replace(Life::Over(why.to_owned()));
    }
}

impl Term {
    /// Waits for the renewal; then until when the lease may be used.
    pub async fn usable_until(&mut self) -> Result<Instant, Over> {
        let waited = timeout(RENEWED_WITHIN, self.life.wait_for(|life| *life != Life::Asked)).await;
        let life = match waited {
            Ok(Ok(life)) => life.clone(),
            Ok(Err(_)) => Life::Over("the stream ended before the queue confirmed it".to_owned()),
            Err(_) => Life::Over("the queue did not confirm it in time".to_owned()),
        };
        match life {
            Life::Until(until) if Instant::now() < until => Ok(until),
            Life::Until(_) => Err(Over {
                why: "its duration has passed".to_owned(),
            }),
            Life::Over(why) => Err(Over { why }),
            Life::Asked => Err(Over {
                why: "it was not confirmed".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_duration_counts_from_the_question() {
        let (keeper, mut term) = term(Duration::from_secs(30));
        let asked = Instant::now();
        tokio::time::sleep(Duration::from_secs(3)).await;
        keeper.renewed();
        assert_eq!(term.usable_until().await, Ok(asked + Duration::from_secs(30)));
        tokio::time::sleep(Duration::from_secs(28)).await;
        assert!(term.usable_until().await.unwrap_err().why.contains("passed"));
    }

    #[tokio::test(start_paused = true)]
    async fn another_renewal_counts_once_it_is_confirmed() {
        let (mut keeper, mut term) = term(Duration::from_secs(30));
        keeper.renewed();
        let first = Instant::now();
        tokio::time::sleep(Duration::from_secs(20)).await;
        keeper.ask_again();
        assert_eq!(term.usable_until().await, Ok(first + Duration::from_secs(30)));
        keeper.renewed();
        assert_eq!(term.usable_until().await, Ok(first + Duration::from_secs(50)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_confirmed_or_revoked_is_not_used() {
        let (_keeper, mut unconfirmed) = term(Duration::from_secs(30));
        assert!(unconfirmed.usable_until().await.is_err());

        let (keeper, mut revoked) = term(Duration::from_secs(30));
        keeper.renewed();
        keeper.over("the cluster recovered");
        assert_eq!(revoked.usable_until().await.unwrap_err().why, "the cluster recovered");

        let (keeper, mut abandoned) = term(Duration::from_secs(30));
        drop(keeper);
        assert!(abandoned.usable_until().await.is_err());

        let (keeper, mut late) = term(Duration::from_secs(30));
        keeper.over("revoked");
        keeper.renewed();
        assert!(late.usable_until().await.is_err(), "a renewal does not revive it");
    }
}
