//! What an informer tells of its lists and watches: counts, the log, its status and the disturbances of the process.
//!
//! Guarantees: trouble with a server is logged once, when it begins, and once when it is over; a view is called old only when reads
//! have failed for a while, however quiet the kind is and whether or not the server sends bookmarks.

use std::time::Duration;

use super::deep::DEEPEST_READ;
use super::key::ObjectKey;
use super::page::{Read, Unreadable};
use super::reflect::{ListError, Reflector, Relist, SHORTEST_GOOD_WATCH, SILENT};
use super::status::{ReadFailure, Stage};
use crate::api_errors;
use crate::disturbances::Disturbance;
use crate::echoes;

/// So many watches in a row that end before half their time are more than the restart of a server.
const SHORT_WATCHES_WORTH_A_WORD: u32 = 3;

/// What is known of a kind is old when reads of it have failed for so long.
const OLD_VIEW: Duration = Duration::from_secs(120);

impl<K, S> Reflector<K, S> {
    /// An object is known without what of it is too deep.
    pub(super) fn tell_cut(&self, request: &'static str, read: Read, key: &ObjectKey) {
        if read == Read::Cut {
            self.count_error(request, "too_deep");
            tracing::warn!(
                kind = %self.reflected.kind, member = self.member(), object = %key,
                "the object has more than {DEEPEST_READ} levels of fields in each other: what is deeper is not read"
            );
        }
    }

    /// An object stays as it was known.
    pub(super) fn tell_unreadable(&self, request: &'static str, unreadable: &Unreadable) {
        self.count_error(request, "unreadable");
        tracing::warn!(
            kind = %self.reflected.kind, member = self.member(), object = %unreadable.key,
            "{unreadable}; it stays as it was known"
        );
    }

    /// Everything up to this version is in the cache.
    pub(super) fn heard(&self, version: &str) {
        if let Some(late) = self.echo.as_ref().and_then(|echo| echo.heard(version)) {
            self.count_error("watch", "late_event");
            if let Some(disturbances) = &self.observers.disturbances {
                echoes::tell(disturbances, &self.reflected.kind, late);
            }
        }
    }

    /// A list had so many changes of which watches had told nothing, though they had told what came after them. A deletion
    /// leaves no version, so of those it is not known.
    pub(super) fn count_lost(&self, changes: usize) {
        for _ in 0..changes {
            self.count_error("watch", "lost_event");
        }
        if changes > 0 {
            let kind = &self.reflected.kind;
            self.observers.saw(Disturbance::LostEvents, &self.reflected.member, || {
                format!("a list of {kind} had {changes} changes that no watch had told")
            });
        }
    }

    /// The server ended a watch that lived so long.
    pub(super) fn closed_after(&mut self, lived: Duration) {
        if lived >= SHORTEST_GOOD_WATCH {
            self.status.contact();
        }
        if lived >= self.options.watch_timeout / 2 {
            self.short_watches = 0;
            return;
        }
        self.short_watches += 1;
        self.count_error("watch", "ended_early");
        if self.short_watches >= SHORT_WATCHES_WORTH_A_WORD {
            let (kind, lived) = (&self.reflected.kind, Duration::from_secs(lived.as_secs()));
            self.observers
                .saw(Disturbance::ShortWatches, &self.reflected.member, || {
                    let lived = crate::durations::format_duration(lived);
                    format!("one of {kind} ended after {lived}")
                });
        }
    }

    pub(super) fn report_list_error(&self, error: &ListError, failures: u32) {
        let text = match error {
            ListError::Api(api) if api_errors::is_not_found(api) => {
                format!(
                    "the API server does not serve {}: are its CRDs installed?",
                    self.reflected.kind
                )
            }
            ListError::Api(api) if api_errors::is_denied(api) => {
                let kind = &self.reflected.kind;
                // A member's answer has nothing to do with our own roles.
                if self.reflected.member.is_empty() {
                    format!("not allowed to list {kind}: {}", api_errors::with_advice(api))
                } else {
                    format!("not allowed to list {kind}: {error}")
                }
            }
            ListError::Api(api) if self.reflected.member.is_empty() => api_errors::with_advice(api),
            other => other.to_string(),
        };
        self.status.failed(ReadFailure::now(error.label(), &text));
        self.unread(error.label(), &text);
        self.trouble(&text, failures, "list failed, trying again");
        if matches!(error, ListError::Stale { .. }) {
            let kind = &self.reflected.kind;
            self.observers.saw(Disturbance::StaleLists, &self.reflected.member, || {
                format!("{kind}: {text}")
            });
        }
    }

    /// Nothing was read: nobody answered, or nothing that can be used, for so long that what is known is old. Of members that is
    /// said by their Clusters.
    pub(super) fn unread(&self, label: &str, error: &str) {
        if !self.reflected.member.is_empty() {
            return;
        }
        let (kind, age) = (&self.reflected.kind, self.status.age());
        let old_for = match label {
            // No server leaves a watch open without a word for so long: it was dead, nobody knows since when.
            SILENT => age,
            // Bookmarks are a courtesy, and of a quiet kind nothing else comes: that nothing came says nothing.
            _ => self.status.failing_for(),
        };
        match label {
            "unreachable" | "timeout" => self
                .observers
                .saw(Disturbance::Unanswered, "", || format!("{kind}: {error}")),
            // Told by itself.
            "stale" => {}
            // Where nothing is known yet, nothing is old: readiness tells that.
            _ if old_for < OLD_VIEW || self.status.stage() != Stage::Synced => {}
            _ => self.observers.saw(Disturbance::OldViews, "", || {
                let age = crate::durations::format_duration(Duration::from_secs(age.as_secs()));
                format!("nothing of {kind} was read for {age}: {error}")
            }),
        }
    }

    /// One line for all informers of the server, when the trouble begins.
    pub(super) fn trouble(&self, error: &str, failures: u32, what: &str) {
        let (kind, member) = (self.reflected.kind.as_str(), self.member());
        if self.troubles.begins(kind, error) {
            tracing::warn!(kind, member, error, "{what}");
        } else {
            tracing::debug!(kind, member, error, failures, "{what}");
        }
    }

    pub(super) fn relieved(&self) {
        if self.troubles.ends(&self.reflected.kind) {
            tracing::info!(
                kind = self.reflected.kind,
                member = self.member(),
                "lists and watches are answered again"
            );
        }
    }

    pub(super) fn member(&self) -> Option<&str> {
        Some(self.reflected.member.as_str()).filter(|member| !member.is_empty())
    }

    pub(super) fn count_relist(&self, why: Relist) {
        let reason = match why {
            Relist::Periodic => "periodic",
            Relist::Gone => "gone",
            Relist::WatchFails => "watch_fails",
        };
        self.counts.relist(&self.reflected.counted, reason);
    }

    pub(super) fn count_error(&self, request: &'static str, reason: &'static str) {
        self.counts.error(&self.reflected.counted, request, reason);
    }
}
