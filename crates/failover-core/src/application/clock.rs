//! Since when copies are unhealthy, kept on the binding: the annotation `failover.karmada.io/health-clock`.
//!
//! Guarantees: a restart of whoever keeps it changes nothing, so that a failover comes neither later nor earlier for it
//! (karmada PR#7181). Times of another copy, or of another binding of this name, do not count (karmada PR#3500). What
//! cannot be read is told, and starts anew. No due time rests on another clock than that of whoever keeps this: the time
//! that a cluster writes beside its Ready only shows that something changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::names::annotation::HEALTH_CLOCK;
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::health::{Reported, is_collected, ready_mark, seen_since};
use super::rules::{Counting, RETURN_SECONDS, Rules};
use crate::eviction::cause::to_the_second;

/// What must outlive a restart, by cluster.
///
/// JSON: `{"m1":{"unhealthySince":"…Z","settled":true,"firstCollected":"…Z","readyMark":"…Z","readySince":"…Z"}}`; what is
/// absent is left out, and an empty clock is no annotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthClock(BTreeMap<ClusterName, CopyClock>);

/// What is kept of one copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CopyClock {
    /// Unhealthy since then, to the second, and not healthy in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unhealthy_since: Option<Timestamp>,
    /// It was once healthy since it is there. Kept only where that counts and the status does not say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    settled: bool,
    /// When a status of it was first collected, to the second. Kept only where that counts and the status does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_collected: Option<Timestamp>,
    /// What the cluster writes beside its Ready, as of when this was written: another value shows that it was not Ready in
    /// between. By a clock that is not ours, so it is compared and never counted from. Kept while it is unhealthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ready_mark: Option<Timestamp>,
    /// Since when the cluster is Ready again, by our clock, to the second. Kept while it is unhealthy, and only if the cluster
    /// returned meanwhile or shortly before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ready_since: Option<Timestamp>,
}

/// What the clock says of how long the cluster is Ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyCount {
    /// All the time that the copy is unhealthy.
    Throughout,
    /// Since then.
    Since(Timestamp),
    /// It returned, and when is not written down yet.
    NotCounted,
}

/// A binding's clock as it was read.
pub type ReadClock = Result<HealthClock, UnreadableClock>;

/// The annotation is no clock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the annotation {HEALTH_CLOCK} cannot be read, so the time that copies are unhealthy is counted anew: {why}")]
pub struct UnreadableClock {
    /// The parser's words.
    pub why: String,
}

impl HealthClock {
    /// The clock that a binding carries. Absent and blank are an empty one.
    ///
    /// # Errors
    /// [`UnreadableClock`]; an empty clock is what to go on from.
    pub fn of(binding: &Binding) -> ReadClock {
        Self::read(text(binding))
    }

    /// Reads a text.
    fn read(text: &str) -> Result<Self, UnreadableClock> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let copies: BTreeMap<String, CopyClock> =
            serde_json::from_str(text).map_err(|error| UnreadableClock { why: error.to_string() })?;
        Ok(Self(
            copies
                .into_iter()
                .map(|(cluster, copy)| (ClusterName::from(cluster), copy))
                .collect(),
        ))
    }

    /// What is kept of the copy on `cluster`.
    #[must_use]
    pub fn copy(&self, cluster: &ClusterName) -> Option<&CopyClock> {
        self.0.get(cluster)
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The clock as it should be stored now, from this one.
    ///
    /// Rules: Unhealthy starts it, Healthy ends it, and what nobody knows does neither (karmada#7431). While the cluster
    /// is not Ready nothing starts or ends; when it is back that is noted. A copy that the binding does not have, or that leaves already, has none; nor
    /// has a binding without `failover.application`.
    #[must_use]
    pub fn next(
        &self,
        binding: &Binding,
        cluster: &dyn Fn(&ClusterName) -> Option<Arc<Cluster>>,
        now: Timestamp,
    ) -> Self {
        let Some(rules) = Rules::of(binding) else {
            return Self::default();
        };
        let spec = &binding.spec;
        let names = spec
            .clusters
            .iter()
            .map(|target| ClusterName::from(target.name.as_str()));
        let staying = names.filter(|name| spec.task(name).is_none());
        let kept = staying.filter_map(|name| {
            let ready = cluster(&name).and_then(|cluster| ready_mark(&cluster));
            let copy = self.current(binding, &name);
            let next = match ready {
                Some(mark) => copy.next(&rules, binding, &name, mark, now),
                None => copy,
            };
            (next != CopyClock::default()).then_some((name, next))
        });
        Self(kept.collect())
    }

    /// What is kept of the copy that is on `cluster` now: nothing of one before it.
    #[must_use]
    pub fn current(&self, binding: &Binding, cluster: &ClusterName) -> CopyClock {
        let kept = self.0.get(cluster).cloned().unwrap_or_default();
        let earliest = seen_since(binding, cluster);
        let is_older = |time: Option<Timestamp>| time.zip(earliest).is_some_and(|(time, earliest)| time < earliest);
        if is_older(kept.unhealthy_since) || is_older(kept.first_collected) {
            return CopyClock::default();
        }
        kept
    }

    /// The clock without the copy on `cluster`: it is over when the copy leaves.
    #[must_use]
    pub fn without(&self, cluster: &ClusterName) -> Self {
        let mut rest = self.clone();
        rest.0.remove(cluster);
        rest
    }

    /// The text to store; nothing where there is nothing to keep.
    #[must_use]
    pub fn annotation(&self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let copies: BTreeMap<&str, &CopyClock> = self.0.iter().map(|(name, copy)| (name.as_str(), copy)).collect();
        serde_json::to_string(&copies).ok()
    }
}

/// The annotation as it is written; absent is empty.
#[must_use]
pub fn text(binding: &Binding) -> &str {
    let annotations = binding.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(HEALTH_CLOCK))
        .map_or("", String::as_str)
}

impl CopyClock {
    /// Since when the copy is unhealthy, to the second.
    #[must_use]
    pub fn unhealthy_since(&self) -> Option<Timestamp> {
        self.unhealthy_since.map(to_the_second)
    }

    /// Whether the copy was once healthy, as far as is kept here.
    #[must_use]
    pub fn settled(&self) -> bool {
        self.settled
    }

    /// When a status of it was first collected, as far as is kept here.
    #[must_use]
    pub fn first_collected(&self) -> Option<Timestamp> {
        self.first_collected
    }

    /// For how long the cluster is Ready that shows this mark beside it. A clock without a mark was not written by this
    /// version: the cluster's own word stands in until it is written again.
    #[must_use]
    pub fn ready(&self, mark: Timestamp) -> ReadyCount {
        match (self.ready_mark, self.ready_since) {
            (None, _) => ReadyCount::Since(mark),
            (Some(noted), _) if noted != mark => ReadyCount::NotCounted,
            (Some(_), None) => ReadyCount::Throughout,
            (Some(_), Some(since)) => ReadyCount::Since(to_the_second(since)),
        }
    }

    /// Since when a cluster with this mark is Ready, as far as that matters, by our clock. Where the copy was not unhealthy
    /// before, the mark is asked whether the cluster has just returned, after the copy was first `seen`; a mark by a clock that is wrong delays by no more
    /// than that, and hastens nothing.
    fn noted_ready_since(&self, mark: Timestamp, seen: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        if self.unhealthy_since.is_some() {
            return if self.ready_mark == Some(mark) {
                self.ready_since.map(|since| since.min(now))
            } else {
                Some(now)
            };
        }
        let just_now = now.saturating_sub(SignedDuration::from_secs(RETURN_SECONDS));
        let is_recent = just_now.is_ok_and(|just_now| mark > just_now);
        let is_after_the_copy = seen.is_none_or(|seen| mark > seen);
        (is_recent && is_after_the_copy).then(|| mark.min(now))
    }

    /// On a cluster that is Ready, with this mark beside it.
    fn next(&self, rules: &Rules, binding: &Binding, cluster: &ClusterName, mark: Timestamp, now: Timestamp) -> Self {
        let reported = Reported::of(binding, cluster);
        let item = binding.status_on(cluster);
        // Whole seconds, so that it reads back as it was; rounded up, so that nothing is due too early.
        let now = next_second(now).max(seen_since(binding, cluster).unwrap_or(Timestamp::MIN));
        let unhealthy_since = match reported {
            // A time to come was written by a clock that went ahead of this one.
            Reported::Unhealthy => Some(self.unhealthy_since.map_or(now, |since| since.min(now))),
            Reported::Healthy => None,
            Reported::Nothing | Reported::Unknown => self.unhealthy_since,
        };
        let ready_mark = unhealthy_since.map(|_| mark);
        let ready_since = ready_mark.and_then(|mark| self.noted_ready_since(mark, seen_since(binding, cluster), now));
        let says_settled = item.is_some_and(|item| item.settled == Some(true));
        let settled = rules.counting == Counting::OnceHealthy
            && (self.settled || (reported == Reported::Healthy && !says_settled));
        let says_when = item.is_some_and(|item| item.creation_timestamp.is_some());
        let collected = item.is_some_and(is_collected) && !says_when;
        // What was once healthy has to be told from a copy that comes after it.
        let matters = rules.delay_seconds.is_some() || settled;
        let first_collected = matters
            .then(|| self.first_collected.or_else(|| collected.then_some(now)))
            .flatten();
        Self {
            unhealthy_since,
            settled,
            first_collected,
            ready_mark,
            ready_since,
        }
    }
}

/// The time itself if it is a whole second, or else the next one.
fn next_second(at: Timestamp) -> Timestamp {
    let whole = to_the_second(at);
    if whole == at {
        return at;
    }
    // Before 1970 seconds are cut off towards 1970.
    if whole > at {
        return whole;
    }
    whole.saturating_add(SignedDuration::from_secs(1)).unwrap_or(whole)
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
