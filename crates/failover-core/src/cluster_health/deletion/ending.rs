//! How long a deletion waits, and what ends the wait.

use std::time::Duration;

use api_types::cluster::{Cluster, condition};
use api_types::names::annotation;
use jiff::{SignedDuration, Timestamp};

/// Why a deletion waits no longer for the bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A person said so by the annotation.
    ByForce,
    /// `--cluster-deletion-timeout` has passed, and the member is not Ready.
    ByTimeout,
}

/// Whether a deletion waits, and for how long at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It waits no longer.
    Over(Ended),
    /// It waits, and ends after this time if the member is not Ready; none: as long as it takes.
    For(Option<Duration>),
}

/// Since when the deletion waits, as far as that is written: when our own condition `DeletionBlocked` became True.
#[must_use]
pub fn waits_since(cluster: &Cluster) -> Option<Timestamp> {
    let blocked = cluster.condition(condition::DELETION_BLOCKED);
    let blocked = blocked.filter(|blocked| blocked.status == "True")?;
    Some(blocked.last_transition_time.0)
}

/// How long the deletion of `cluster` waits that has `waited` since [`waits_since`]; `timeout` zero is none. A member that
/// is Ready is waited for, whatever the time.
#[must_use]
pub fn patience(cluster: &Cluster, timeout: Duration, waited: Option<Duration>) -> Patience {
    let annotations = cluster.metadata.annotations.as_ref();
    let forced = annotations
        .and_then(|all| all.get(annotation::FORCE_DELETE))
        .is_some_and(|value| value == "true");
    if forced {
        return Patience::Over(Ended::ByForce);
    }
    if timeout.is_zero() {
        return Patience::For(None);
    }
    match waited.map(|waited| timeout.saturating_sub(waited)) {
        Some(Duration::ZERO) if !cluster.is_ready() => Patience::Over(Ended::ByTimeout),
        // Its end is seen by the member's Ready, not by a time.
        left => Patience::For(left.filter(|left| !left.is_zero())),
    }
}

/// How a person, or time, ends a deletion that waits: the last words of `DeletionBlocked`.
#[must_use]
pub fn how_it_ends(timeout: Duration) -> String {
    let by_hand = format!(
        "to end this at once, annotate the Cluster with {}=true",
        annotation::FORCE_DELETE
    );
    if timeout.is_zero() {
        return by_hand;
    }
    let shown = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
    format!("{by_hand}; if the member is not Ready it ends by itself after {shown:#} (--cluster-deletion-timeout)")
}
