//! Windows run by elapsed time and are stored and told by the wall clock: the next process has no other, nor have people.
//!
//! A process takes over by how much the wall clock is ahead of its own time: at its first look, and again when that has
//! moved by a second or more, for then somebody set the clock. The windows that it remembers move along, and are stored
//! again. So neither a clock that was set while a process looked nor a restart after that moves the end of a window by
//! elapsed time, and a clock that is kept in step by small nudges causes no write. Only a clock that is set while nobody
//! looks is taken for time that passed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::input::Input;
use super::records::Window;
use super::times::{after, round_up_to_millis};
use super::windows::{Memory, Source};

/// A difference that is taken over; a clock that is kept in step moves by far less.
const WORTH_STORING: SignedDuration = SignedDuration::from_secs(1);

/// By how much the wall clock counts as ahead of the process's time.
pub(super) fn ahead(input: Input<'_>, memory: Option<&Memory>) -> SignedDuration {
    let ahead = input.wall.duration_since(input.now);
    let taken_over = memory.map(|memory| memory.wall_ahead);
    let still_near = |before: &SignedDuration| (ahead - *before).abs() < WORTH_STORING;
    taken_over.filter(still_near).unwrap_or(ahead)
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
    for dismissed in window.dismissed.values_mut() {
        dismissed.at = to(dismissed.at);
    }
    window
}
