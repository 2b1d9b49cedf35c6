//! Times as they are stored and shown.

use jiff::{SignedDuration, Timestamp};

/// Windows are stored to the millisecond; rounded up, so that none ends early by what was cut off.
pub(super) fn round_up_to_millis(time: Timestamp) -> Timestamp {
    let nanos = time.as_nanosecond();
    Timestamp::from_millisecond(
        i64::try_from(nanos.div_euclid(1_000_000) + i128::from(nanos % 1_000_000 != 0)).unwrap_or(i64::MAX),
    )
    .unwrap_or(time)
}

/// `since + duration`, within what a time can be.
pub(super) fn after(since: Timestamp, duration: SignedDuration) -> Timestamp {
    since.checked_add(duration).unwrap_or(if duration.is_negative() {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

/// A beginning, as it is shown. The API's times have whole seconds too: a fraction would look like a change after the
/// next read.
pub(super) fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// The end of a window, as it is shown: rounded up, for nothing happens before it.
pub(super) fn whole_second_up(time: Timestamp) -> Timestamp {
    let seconds = time.as_second() + i64::from(time.subsec_nanosecond() > 0);
    Timestamp::from_second(seconds).unwrap_or(time)
}
