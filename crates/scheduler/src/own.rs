//! What this scheduler itself has written.
//!
//! Guarantees: what comes back of an own write is no reason for a look, because the look that wrote it knew it; what would
//! be decided on a version that an own write has superseded waits until the cache shows what was written, and is then not
//! forgotten; a cluster that changed between a decision and the moment at which the cache shows it is reason for another look
//! where it concerns the binding as it is shown, because until then nobody could know that; what others write is always told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::BindingKey;
use api_types::work::Binding;
use binding_writer::{Cache, OwnWrites};
use parking_lot::Mutex;

use crate::news::News;

/// Clones share what they know.
#[derive(Clone, Default)]
pub(crate) struct Own {
    superseded: OwnWrites,
    results: Arc<Mutex<BTreeMap<BindingKey, Results>>>,
}

/// Of one binding.
#[derive(Default)]
struct Results {
    /// Versions that own writes made and that have not been shown yet.
    versions: BTreeSet<String>,
    /// A look waits until the cache shows them.
    look: Look,
    /// The news of clusters by which was decided.
    decided_by: News,
}

/// A decision, by the news that there were when it began.
pub(crate) struct Deciding<'a> {
    own: &'a Own,
    news: News,
}

impl Deciding<'_> {
    /// A write on the version `read` has made `written` of it.
    pub(crate) fn wrote(&self, read: &Binding, written: &Binding) {
        self.own.wrote(read, written, self.news);
    }
}

/// Whether a look waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Look {
    /// None does.
    #[default]
    Done,
    /// One does.
    Waits,
}

/// Whose a version of a binding is that the cache shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It was superseded by an own write, which is on its way.
    Superseded,
    /// It is what an own write made, and nobody waits for it.
    Own,
    /// It is what an own write made, and a look waits for it, or a cluster that concerns it has changed meanwhile.
    Awaited,
    /// Somebody else made it.
    Others,
}

impl Own {
    /// A decision begins, by these news.
    pub(crate) fn deciding(&self, news: News) -> Deciding<'_> {
        Deciding { own: self, news }
    }

    fn wrote(&self, read: &Binding, written: &Binding, news: News) {
        if read.metadata.resource_version == written.metadata.resource_version {
            // Nothing changed, so nothing will come back.
            return;
        }
        if let Some(version) = written.metadata.resource_version.clone() {
            let mut all = self.results.lock();
            let results = all.entry(written.key()).or_default();
            results.versions.insert(version);
            results.decided_by = news;
        }
        self.superseded.wrote(read);
    }

    /// Whether what the cache shows is worth a decision. Where it is not, the look comes when the cache has caught up.
    pub(crate) fn take_in(&self, cached: &Binding) -> Cache {
        let cache = self.superseded.take_in(cached);
        let mut results = self.results.lock();
        match cache {
            Cache::Behind => results.entry(cached.key()).or_default().look = Look::Waits,
            Cache::CaughtUp => {
                if let Some(results) = results.get_mut(&cached.key()) {
                    results.look = Look::Done;
                }
            }
        }
        cache
    }

    /// Takes in a change of a binding. `is_concerned_since` says whether what was heard after these news concerns it.
    pub(crate) fn saw(&self, shown: &Binding, is_concerned_since: impl FnOnce(News) -> bool) -> Shown {
        if self.superseded.take_in(shown) == Cache::Behind {
            return Shown::Superseded;
        }
        let Some(results) = self.results.lock().remove(&shown.key()) else {
            return Shown::Others;
        };
        let version = shown.metadata.resource_version.as_ref();
        let is_own = version.is_some_and(|version| results.versions.contains(version));
        match (is_own, results.look) {
            (_, Look::Waits) => Shown::Awaited,
            (true, Look::Done) if is_concerned_since(results.decided_by) => Shown::Awaited,
            (true, Look::Done) => Shown::Own,
            (false, Look::Done) => Shown::Others,
        }
    }

    /// Forgets a binding that is gone.
    pub(crate) fn forget(&self, key: &BindingKey) {
        self.results.lock().remove(key);
        self.superseded.forget(key);
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.superseded.is_empty() && self.results.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(version: &str) -> Binding {
        let mut binding = Binding::new(&BindingKey::namespaced("n", "b"), Default::default());
        binding.metadata.resource_version = Some(version.to_owned());
        binding
    }

    fn unconcerned(_: News) -> bool {
        false
    }

    #[test]
    fn what_comes_back_is_known() {
        let own = Own::default();
        own.wrote(&version("1"), &version("2"), 7);
        own.wrote(&version("2"), &version("3"), 7);
        assert_eq!(own.saw(&version("2"), unconcerned), Shown::Superseded);
        assert_eq!(own.saw(&version("3"), unconcerned), Shown::Own);
        assert!(own.is_empty());
        assert_eq!(own.saw(&version("4"), unconcerned), Shown::Others);
    }

    /// A watch that began anew shows only what somebody made of it afterwards.
    #[test]
    fn what_others_made_of_it_is_theirs() {
        let own = Own::default();
        own.wrote(&version("1"), &version("2"), 7);
        assert_eq!(own.saw(&version("7"), unconcerned), Shown::Others);
        assert!(own.is_empty());
    }

    #[test]
    fn a_look_that_waits_is_taken_when_the_cache_has_caught_up() {
        let own = Own::default();
        own.wrote(&version("1"), &version("2"), 7);
        assert_eq!(own.take_in(&version("1")), Cache::Behind);
        assert_eq!(own.saw(&version("2"), unconcerned), Shown::Awaited);
        assert!(own.is_empty());

        // The cache catches up between the two reads of one look: then this look is the one.
        own.wrote(&version("2"), &version("3"), 7);
        assert_eq!(own.take_in(&version("2")), Cache::Behind);
        assert_eq!(own.take_in(&version("3")), Cache::CaughtUp);
        assert_eq!(own.saw(&version("3"), unconcerned), Shown::Own);
    }

    #[test]
    fn what_concerns_it_since_the_decision_is_reason_for_a_look() {
        let own = Own::default();
        own.deciding(7).wrote(&version("1"), &version("2"));
        assert_eq!(own.saw(&version("2"), |since| since == 7), Shown::Awaited);
        assert!(own.is_empty());
    }

    #[test]
    fn a_write_that_changed_nothing_holds_nothing_up() {
        let own = Own::default();
        own.wrote(&version("1"), &version("1"), 7);
        assert_eq!(own.take_in(&version("1")), Cache::CaughtUp);
        assert!(own.is_empty());
    }
}
