//! Waiting for something to become so, with a limit and with what was seen last.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::process::Process;

/// How often a thing is looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// Looks again and again until `look` answers `Ok`, and gives back what it found. `Err` says how things stand, for the
/// message when the time is up.
///
/// # Errors
/// [`Error::TooLate`] after `limit`, with the last answer.
pub async fn eventually<T, F>(what: &str, limit: Duration, mut look: F) -> Result<T, Error>
where
    F: AsyncFnMut() -> Result<T, String>,
{
    let start = Instant::now();
    loop {
        let last = match look().await {
            Ok(found) => return Ok(found),
            Err(last) => last,
        };
        let waited = start.elapsed();
        if waited >= limit {
            return Err(Error::TooLate {
                what: what.to_owned(),
                waited,
                last,
            });
        }
        sleep(PERIOD).await;
    }
}

/// As [`eventually`], for something that `process` does: its end ends the waiting.
pub(crate) async fn while_it_runs<T, F>(
    process: &mut Process,
    what: &str,
    limit: Duration,
    mut look: F,
) -> Result<T, Error>
where
    F: AsyncFnMut() -> Result<T, String>,
{
    let start = Instant::now();
    loop {
        process.must_run()?;
        let last = match look().await {
            Ok(found) => return Ok(found),
            Err(last) => last,
        };
        let waited = start.elapsed();
        if waited >= limit {
            let last = format!(
                "{last}; the log of {} ends with:\n{}",
                process.name(),
                process.log_tail()
            );
            return Err(Error::TooLate {
                what: what.to_owned(),
                waited,
                last,
            });
        }
        sleep(PERIOD).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn gives_what_was_found_and_says_what_was_seen_last() {
        let mut looks = 0;
        let found = eventually("three looks", Duration::from_secs(1), async || {
            looks += 1;
            if looks == 3 {
                Ok(looks)
            } else {
                Err(format!("{looks} looks"))
            }
        });
        assert_eq!(found.await.unwrap(), 3);

        let never = eventually("a miracle", Duration::from_secs(1), async || {
            Err::<(), _>("nothing yet".to_owned())
        });
        let error = never.await.unwrap_err().to_string();
        assert_eq!(error, "a miracle not within 1.0 s: nothing yet");
    }
}
