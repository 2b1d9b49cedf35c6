//! What a message may hold, and how long a stream may keep silent before it has said who it is.

use std::collections::HashSet;
use std::time::Duration;

use eviction_queue_api::ENTRIES_PER_MESSAGE;
use eviction_queue_api::convert::short_text;
use failover_core::eviction::queue::EntryKey;
use tonic::Status;

use super::refusal;

/// Leases renewed by one message.
pub(super) const MAX_LEASES_RENEWED: usize = 10_000;

/// The longest name of a producer, as that of a Lease's label. In bytes.
const MAX_PRODUCER_NAME: usize = 63;

/// How long a stream may take to say hello.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// The first message of a stream.
pub(super) async fn hello_in_time<T>(
    first: impl Future<Output = Result<Option<T>, Status>>,
) -> Result<Option<T>, Status> {
    match tokio::time::timeout(HELLO_WITHIN, first).await {
        Ok(first) => first.map_err(refusal::of_reading),
        Err(_) => Err(Status::deadline_exceeded(format!(
            "no hello within {} s: the first message says who it is",
            HELLO_WITHIN.as_secs()
        ))),
    }
}

/// The name of a producer: that of a controller, since it is also the name of the controller's Lease and a label of
/// metrics.
pub(super) fn producer_name(name: String) -> Result<String, Status> {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_plain = name.chars().all(|each| each.is_ascii_alphanumeric() || each == '-');
    if starts_well && is_plain && name.len() <= MAX_PRODUCER_NAME {
        return Ok(name);
    }
    Err(Status::invalid_argument(format!(
        "hello.producer: {:?} is no name of a controller: want a letter, then letters, digits and '-', at most {MAX_PRODUCER_NAME}",
        short_text(name)
    )))
}

/// Whether a message holds no more entries than allowed.
pub(super) fn few_enough(field: &'static str, entries: usize) -> Result<(), Status> {
    if entries > ENTRIES_PER_MESSAGE {
        return Err(Status::resource_exhausted(format!(
            "{field}: {entries} are too many in one message, at most {ENTRIES_PER_MESSAGE}; nothing of it was taken"
        )));
    }
    Ok(())
}

/// Whether each entry is named once: which of two would count is not to be guessed.
pub(super) fn no_duplicates<'a>(
    field: &'static str,
    mut keys: impl Iterator<Item = &'a EntryKey>,
) -> Result<(), Status> {
    let mut seen = HashSet::new();
    match keys.find(|key| !seen.insert(*key)) {
        None => Ok(()),
        Some(twice) => Err(Status::invalid_argument(format!(
            "{field}: {twice} is there twice; nothing of this message was taken"
        ))),
    }
}
