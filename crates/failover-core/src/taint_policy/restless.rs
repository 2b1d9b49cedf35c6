//! Windows that cannot end, because somebody gives a condition another `lastTransitionTime` and not another status.
//!
//! Another time says that the condition was something else in between, so the window starts anew. A reporter that writes
//! a new time with each of its heartbeats, though nothing changes, thereby keeps every longer window from ending, in
//! silence. The rule stays; how often it happened is counted by condition while something waits for the window's end,
//! and from the third time on it is said. What is shown of such a window stops moving then: its end is no promise, and a
//! status that was written with each heartbeat, for each policy, would be of no use to anybody.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::records::{SeenCondition, Window};

/// So often is no accident any more.
const OFTEN: u32 = 3;

/// How often a window that starts anew now has done so, by the conditions that moved. One of another status is no part
/// of it: there the window starts anew for a reason.
pub(super) fn count(before: &Window, now: &BTreeMap<String, SeenCondition>) -> BTreeMap<String, u32> {
    let mut counts = before.started_anew.clone();
    for (type_, now) in now {
        let moved = |before: &&SeenCondition| before.status == now.status && !before.is_as_old_as(now);
        if before.conditions.get(type_).filter(moved).is_some() {
            let count = counts.entry(type_.clone()).or_default();
            *count = count.saturating_add(1);
        }
    }
    counts
}

/// The condition that keeps the window from ending, and how often it did.
fn culprit(window: &Window) -> Option<(&String, u32)> {
    let often = window.started_anew.iter().filter(|(_, count)| **count >= OFTEN);
    let (type_, count) = often.max_by_key(|(_, count)| **count)?;
    Some((type_, *count))
}

/// What keeps the window from ending, in words, with how often that happened.
pub(super) fn restless(window: &Window) -> Option<String> {
    let (_, count) = culprit(window)?;
    Some(format!("{}, as it did {count} times", lasting(window)?))
}

/// The same for what is stored: it stays as it is while that goes on.
pub(super) fn lasting(window: &Window) -> Option<String> {
    let (type_, _) = culprit(window)?;
    Some(format!(
        "the window starts anew whenever lastTransitionTime of {type_} moves without another status"
    ))
}

/// Since when the window runs, as it is shown: of one that cannot end, since when it would.
pub(super) fn shown_since(window: &Window) -> Timestamp {
    let first = window.first_started.filter(|_| culprit(window).is_some());
    first.unwrap_or(window.since)
}
