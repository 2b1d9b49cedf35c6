//! What is wrong right now with one server, so that it is logged when it begins and when it ends, and not at every
//! try of everybody who asks that server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

/// Different errors remembered; texts that differ every time are told every time.
const MAX_KINDS: usize = 64;

/// The troubles of all who ask one server. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Troubles {
    open: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
}

impl Troubles {
    /// `who` has failed with `error`. Whether that is news: nobody has said this since it was last well.
    pub(crate) fn begins(&self, who: &str, error: &str) -> bool {
        let mut open = self.open.lock();
        if !open.contains_key(error) && open.len() >= MAX_KINDS {
            open.clear();
        }
        let sufferers = open.entry(error.to_owned()).or_default();
        let news = sufferers.is_empty();
        sufferers.insert(who.to_owned());
        news
    }

    /// `who` got what it asked for. Whether that is news: it was the last that had not.
    pub(crate) fn ends(&self, who: &str) -> bool {
        let mut open = self.open.lock();
        let before = open.len();
        open.retain(|_, sufferers| {
            sufferers.remove(who);
            !sufferers.is_empty()
        });
        before > 0 && open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_when_it_begins_and_one_when_it_ends() {
        let troubles = Troubles::default();
        assert!(!troubles.ends("a"), "all was well");
        assert!(troubles.begins("a", "refused"));
        assert!(!troubles.begins("a", "refused"), "again");
        assert!(!troubles.begins("b", "refused"), "and others too");
        assert!(troubles.begins("b", "no answer within 3s"), "something else");
        assert!(!troubles.begins("b", "refused"), "and back: all is known");
        assert!(!troubles.ends("a"), "b has not come back");
        assert!(troubles.ends("b"));
        assert!(!troubles.ends("b"));
        assert!(troubles.begins("a", "refused"), "a new one");
    }
}
