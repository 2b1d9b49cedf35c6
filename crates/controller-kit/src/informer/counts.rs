//! What informers count. Kept here and not in the registry, so that the series of a member go with the member.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::metrics::Family;

/// Kind, request, reason.
type ErrorKey = (String, &'static str, &'static str);

/// The counts of one API server.
#[derive(Default)]
pub(crate) struct Counts {
    relists: Mutex<BTreeMap<(String, &'static str), u64>>,
    errors: Mutex<BTreeMap<ErrorKey, u64>>,
}

impl Counts {
    pub(crate) fn relist(&self, kind: &str, reason: &'static str) {
        *self.relists.lock().entry((kind.to_owned(), reason)).or_default() += 1;
    }

    pub(crate) fn error(&self, kind: &str, request: &'static str, reason: &'static str) {
        *self
            .errors
            .lock()
            .entry((kind.to_owned(), request, reason))
            .or_default() += 1;
    }
}

/// The counts of all servers, by member; the control plane has the empty name. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct MemberCounts {
    by_member: Arc<Mutex<BTreeMap<String, Arc<Counts>>>>,
}

impl MemberCounts {
    pub(crate) fn of(&self, member: &str) -> Arc<Counts> {
        self.by_member.lock().entry(member.to_owned()).or_default().clone()
    }

    pub(crate) fn forget(&self, member: &str) {
        self.by_member.lock().remove(member);
    }

    #[allow(clippy::cast_precision_loss, reason = "nothing fails 2^52 times")]
    pub(crate) fn families(&self) -> Vec<Family> {
        let mut relists = Family::counter(
            "failover_informer_relists_total",
            "Lists after the first one, by reason.",
        );
        let mut errors = Family::counter(
            "failover_informer_errors_total",
            "What went wrong with lists and watches, by reason.",
        );
        for (member, counts) in self.by_member.lock().iter() {
            for ((kind, reason), count) in counts.relists.lock().iter() {
                let labels = [("kind", kind.as_str()), ("member", member), ("reason", reason)];
                relists = relists.with(&labels, *count as f64);
            }
            for ((kind, request, reason), count) in counts.errors.lock().iter() {
                let labels = [
                    ("kind", kind.as_str()),
                    ("member", member),
                    ("request", request),
                    ("reason", reason),
                ];
                errors = errors.with(&labels, *count as f64);
            }
        }
        vec![relists, errors]
    }
}
