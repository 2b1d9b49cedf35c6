//! What one policy wants of one of its taints, now.

use jiff::Timestamp;

use super::form::{Form, PolicyTaint};
use super::input::FailoverGate;
use super::records::Window;
use super::windows::after;

/// What the policy wants. Whether the taint stands for the policy already is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Nothing.
    Nothing,
    /// The taint, once the window has passed.
    AddAt(Timestamp),
    /// The taint.
    Have,
    /// The taint for now: the removal window runs.
    RemoveAt(Timestamp),
    /// The removal window has passed.
    Remove,
    /// It would have the taint, but a person took it back.
    Dismissed,
    /// It would have the taint from this time on, but the Failover gate is off.
    HeldByGate(Timestamp),
    /// It does nothing; the taint that stands for it stays.
    FrozenWith,
    /// It does nothing; without that, the taint would stand from this time on.
    FrozenWithout(Timestamp),
}

impl Want {
    /// Whether the policy is one for which the taint is to stand.
    pub fn is_wanted(self) -> bool {
        matches!(self, Self::Have | Self::RemoveAt(_) | Self::FrozenWith)
    }

    /// Whether it waits for the end of the policy's window.
    pub fn waits(self) -> bool {
        matches!(self, Self::AddAt(_) | Self::RemoveAt(_))
    }

    /// When this can change by time alone.
    pub fn changes_at(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::AddAt(at) | Self::RemoveAt(at) | Self::HeldByGate(at) | Self::FrozenWithout(at) => {
                Some(at).filter(|at| *at > now)
            }
            _ => None,
        }
    }
}

/// Whether the taint stands for the policy already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Yes,
    No,
}

pub(super) fn want(
    form: &Form<'_>,
    taint: &PolicyTaint,
    window: &Window,
    standing: Standing,
    gate: FailoverGate,
    now: Timestamp,
) -> Want {
    let add_at = after(window.since, taint.add_after);
    let remove_at = after(window.since, taint.remove_after);
    match (form.is_frozen(), window.matching, standing) {
        (_, true, Standing::No) if window.held_back => Want::Nothing,
        (true, _, Standing::Yes) => Want::FrozenWith,
        (true, true, Standing::No) => Want::FrozenWithout(add_at),
        (false, true, Standing::No) if window.dismissed.contains_key(&taint.id) => Want::Dismissed,
        (false, true, Standing::No) if gate == FailoverGate::Disabled && taint.moves_workloads() => {
            Want::HeldByGate(add_at)
        }
        (false, true, Standing::No) if now < add_at => Want::AddAt(add_at),
        (false, true, _) => Want::Have,
        (false, false, Standing::Yes) if now < remove_at => Want::RemoveAt(remove_at),
        (false, false, Standing::Yes) => Want::Remove,
        (_, false, Standing::No) => Want::Nothing,
    }
}
