//! The writer of `EvictionPending`: conditional, only what changes; and the pace of its writes.

use std::time::Duration;

use api_types::conditions::Say;
use api_types::work::Binding;
use api_types::work::condition::EVICTION_PENDING;
use binding_writer::{BindingWriter, WriteError, WriteOutcome};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use super::say::Saying;
use crate::manager::judged_part::PendingSaid;

/// Lets so many writes a second pass, evenly spaced.
pub(crate) struct Pace {
    gap: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    pub fn per_second(writes: u32) -> Self {
        Self {
            gap: Duration::from_secs(1) / writes.max(1),
            next: Mutex::default(),
        }
    }

    pub async fn wait(&self) {
        let mut next = self.next.lock().await;
        if let Some(at) = *next {
            sleep_until(at).await;
        }
        *next = Some(Instant::now() + self.gap);
    }
}

/// Whether what the condition says is something else than it should.
pub(crate) fn differs(said: Option<&PendingSaid>, wanted: Option<&Saying>) -> bool {
    match (said, wanted) {
        (None, None) => false,
        (Some(said), Some(saying)) => {
            said.status != "True" || said.reason != saying.reason || said.message != saying.message
        }
        _ => true,
    }
}

/// Writes or clears the condition.
pub(crate) async fn write(
    writer: &BindingWriter,
    read: &Binding,
    wanted: Option<&Saying>,
    now: Timestamp,
) -> Result<WriteOutcome, WriteError> {
    match wanted {
        Some(saying) => {
            let say = Say {
                type_: EVICTION_PENDING,
                status: "True",
                reason: saying.reason,
                message: &saying.message,
            };
            writer.set_condition(read, say, now).await
        }
        None => writer.clear_condition(read, EVICTION_PENDING).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn writes_are_spaced() {
        let pace = Pace::per_second(20);
        let start = Instant::now();
        for _ in 0..41 {
            pace.wait().await;
        }
        let took = start.elapsed();
        assert!(
            took >= Duration::from_secs(2) && took < Duration::from_millis(2_200),
            "{took:?}"
        );
    }
}
