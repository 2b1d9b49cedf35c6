//! Windows run by elapsed time and are stored and told by the wall clock: the next process has no other, nor have people.
//!
//! A process takes over by how much the wall clock is ahead of its own time: at its first look, whenever it stores windows
//! anyway, and as soon as that has moved by [`CLOCK_STEP`], for then somebody set the clock. The windows that it remembers
//! move along, and are stored again. So neither a clock that was set while a process looked nor a restart after that moves
//! the end of a window by elapsed time, and a clock that is kept in step by small nudges causes no write. Only a clock that
//! is set while nobody looks is taken for time that passed.
//!
//! What is stored may be off by less than such a step. A window that an earlier process stored is therefore judged that
//! much behind: it ends up to a step late, and not early.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::input::Input;
use super::records::Window;
use super::times::{after, round_up_to_millis};
use super::windows::{Memory, Source};

/// A step of the wall clock that is worth storing windows again; one that is kept in step moves by far less. Clients of
/// NTP step a clock that is off by more than they care to make up for slowly: from a tenth of a second on, or later.
pub const CLOCK_STEP: SignedDuration = SignedDuration::from_millis(200);

/// By how much the wall clock is ahead of the process's time; to the millisecond, as windows are stored, and rounded up as
/// they are.
pub(super) fn ahead(input: Input<'_>) -> SignedDuration {
    let ahead = input.wall.duration_since(input.now);
    let millis = ahead.as_nanos().div_euclid(1_000_000) + i128::from(ahead.as_nanos().rem_euclid(1_000_000) != 0);
    i64::try_from(millis).map_or(ahead, SignedDuration::from_millis)
}

/// By how much it counts as ahead while nothing has to be stored.
pub(super) fn taken_over(ahead: SignedDuration, memory: Option<&Memory>) -> SignedDuration {
    let before = memory.map(|memory| memory.wall_ahead);
    let still_near = |before: &SignedDuration| (ahead - *before).abs() < CLOCK_STEP;
    before.filter(still_near).unwrap_or(ahead)
}

/// The windows to go on from, by the wall clock: this process's own, else those stored for this very Cluster.
pub(super) fn previous_windows<'a>(
    memory: Option<&'a Memory>,
    stored: impl FnOnce() -> Option<&'a BTreeMap<String, Window>>,
    ahead: SignedDuration,
) -> (Cow<'a, BTreeMap<String, Window>>, Source) {
    let Some(memory) = memory else {
        let stored = stored().map(Cow::Borrowed);
        return (stored.unwrap_or_default(), Source::Stored);
    };
    let by = ahead - memory.wall_ahead;
    let windows = if by.is_zero() {
        Cow::Borrowed(&memory.windows)
    } else {
        let windows = memory.windows.iter();
        Cow::Owned(windows.map(|(uid, window)| (uid.clone(), moved(window, by))).collect())
    };
    (windows, Source::Observed)
}

/// The same window by a clock that was set by `by`.
fn moved(window: &Window, by: SignedDuration) -> Window {
    let mut window = window.clone();
    let to = |time| round_up_to_millis(after(time, by));
    window.since = to(window.since);
    window.first_started = window.first_started.map(to);
    for dismissed in window.dismissed.values_mut() {
        dismissed.at = to(dismissed.at);
    }
    window
}
