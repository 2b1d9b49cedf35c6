//! What a watcher knows of the queue, and what it makes of each step of a watch. Pure.
//!
//! The queue's revisions belong to one term. A watch that breaks goes on after the last revision; where that is not
//! possible (another leader, or too far back) everything is sent again and compared with what was known. The first
//! entries of a new leader are not all there are: its producers tell it within moments. So what it does not name counts
//! as gone only when the entry's producer has told its whole set.

use std::collections::{BTreeMap, BTreeSet};

use eviction_queue_api::v1;
use eviction_queue_api::v1::watch_entries_response::Message;

use super::what::{Event, QueueChange, happened, standing};
use crate::cli::FilterArgs;
use crate::entries::{CLUSTER_SCOPE, state_of};
use crate::entry::{EntryView, State};

/// All parts of an entry's key.
type Key = [String; 6];

/// What a watch begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The entries that are there are told.
    WithWhatIsThere,
    /// Only changes are told.
    FromNow,
}

/// Whether the queue has named an entry since the watch began anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Yes,
    NotYet,
}

struct Known {
    entry: EntryView,
    named: Named,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first entries come.
    First,
    /// All entries come again.
    Again,
    /// Changes come.
    Live,
}

/// That everything known was sent, and what that means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synced {
    /// The watch has begun.
    Began,
    /// It goes on where it broke off.
    WentOn,
    /// It was too far back: all was compared.
    Compared,
    /// Another leader: all is compared.
    NewTerm,
}

/// What comes of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// What is told.
    pub changes: Vec<QueueChange>,
    /// Everything known was sent.
    pub synced: Option<Synced>,
}

/// A watcher's knowledge.
pub struct Follow {
    wanted: FilterArgs,
    beginning: Beginning,
    known: BTreeMap<Key, Known>,
    stage: Stage,
    /// The queue's term, once known.
    term: Option<String>,
    /// The last revision of that term that was seen; nothing while entries come again.
    revision: Option<u64>,
}

impl Follow {
    /// Knows nothing yet.
    #[must_use]
    pub fn new(wanted: &FilterArgs, beginning: Beginning) -> Self {
        Self {
            wanted: wanted.clone(),
            beginning,
            known: BTreeMap::new(),
            stage: Stage::First,
            term: None,
            revision: None,
        }
    }

    /// What to ask for next.
    #[must_use]
    pub fn request(&self) -> v1::WatchEntriesRequest {
        match (&self.term, self.revision) {
            (Some(term), Some(revision)) if revision > 0 => v1::WatchEntriesRequest {
                after_revision: revision,
                queue_epoch: term.clone(),
            },
            _ => v1::WatchEntriesRequest::default(),
        }
    }

    /// The queue cannot go on after the last revision, or the watch broke while entries came again.
    pub fn begin_anew(&mut self) {
        self.revision = None;
        if self.stage == Stage::First {
            self.known.clear();
            return;
        }
        self.stage = Stage::Again;
        for known in self.known.values_mut() {
            known.named = Named::NotYet;
        }
    }

    /// The stream broke.
    pub fn broke(&mut self) {
        if self.revision.is_none() || self.revision == Some(0) {
            self.begin_anew();
        }
    }

    /// Takes a step of the watch.
    pub fn step(&mut self, step: v1::WatchEntriesResponse) -> Step {
        let revision = step.revision;
        let result = match step.message {
            Some(Message::Changed(entry)) => self.changed(&entry, revision),
            Some(Message::Removed(removed)) => self.removed(&removed, revision),
            Some(Message::Synced(synced)) => return self.synced(synced.queue_epoch, revision),
            None => None,
        };
        if self.stage == Stage::Live {
            self.revision = Some(revision);
        }
        Step {
            changes: result.into_iter().collect(),
            synced: None,
        }
    }

    fn changed(&mut self, entry: &v1::Entry, revision: u64) -> Option<QueueChange> {
        let key = key_of(entry);
        let now = EntryView::of(entry);
        if !self.is_of_interest(&now) {
            return None;
        }
        let before = self.known.get(&key).map(|known| &known.entry);
        let shown = self.is_shown(&now) || before.is_some_and(|before| self.is_shown(before));
        let what = match (self.stage, self.beginning) {
            (Stage::First, Beginning::FromNow) => None,
            (Stage::First, Beginning::WithWhatIsThere) => Some((Event::Present, standing(&now))),
            (Stage::Again | Stage::Live, _) => happened(before, &now),
        };
        let change = what.map(|(event, why)| QueueChange::of(event, why, now.clone(), revision));
        let named = Named::Yes;
        self.known.insert(key, Known { entry: now, named });
        change.filter(|_| shown)
    }

    fn removed(&mut self, removed: &v1::EntryRemoved, revision: u64) -> Option<QueueChange> {
        let entry = removed.entry.as_ref()?;
        let last = EntryView::of(entry);
        let before = self.known.remove(&key_of(entry)).map(|known| known.entry);
        let shown = self.is_shown(&last) || before.is_some_and(|before| self.is_shown(&before));
        (shown && self.is_of_interest(&last)).then(|| QueueChange::left(removed, last, revision))
    }

    fn synced(&mut self, term: String, revision: u64) -> Step {
        let same_term = self.term.as_ref().is_none_or(|before| *before == term);
        let (synced, changes) = match self.stage {
            Stage::First => (Synced::Began, Vec::new()),
            Stage::Live => (Synced::WentOn, Vec::new()),
            // One term's snapshot is whole.
            Stage::Again if same_term => (Synced::Compared, self.give_up(|_| true)),
            Stage::Again => (Synced::NewTerm, Vec::new()),
        };
        self.stage = Stage::Live;
        self.term = Some(term);
        self.revision = Some(revision);
        Step {
            changes,
            synced: Some(synced),
        }
    }

    /// Takes what the queue says of its producers: what those have not named that told their whole set is gone.
    pub fn told_by(&mut self, status: &v1::GetStatusResponse) -> Vec<QueueChange> {
        if !self.has_seen(status) {
            return Vec::new();
        }
        let told = |name: &str| {
            status
                .producers
                .iter()
                .any(|other| other.producer == name && other.synced)
        };
        self.give_up(|entry| told(&entry.producer))
    }

    /// Whether everything was seen that had happened when the queue said this.
    #[must_use]
    pub fn has_seen(&self, status: &v1::GetStatusResponse) -> bool {
        self.stage == Stage::Live
            && self.term.as_ref() == Some(&status.queue_epoch)
            && self.revision.is_some_and(|revision| revision >= status.revision)
    }

    fn give_up(&mut self, is_over: impl Fn(&EntryView) -> bool) -> Vec<QueueChange> {
        let gone: Vec<Key> = self
            .known
            .iter()
            .filter(|(_, known)| known.named == Named::NotYet && is_over(&known.entry))
            .map(|(key, _)| key.clone())
            .collect();
        let gone: Vec<EntryView> = gone
            .iter()
            .filter_map(|key| self.known.remove(key).map(|known| known.entry))
            .collect();
        let shown = gone.into_iter().filter(|entry| self.is_shown(entry));
        shown.map(QueueChange::unseen).collect()
    }

    /// How many entries are known that the queue has not named since the watch began anew.
    #[must_use]
    pub fn unnamed(&self) -> usize {
        self.known.values().filter(|known| known.named == Named::NotYet).count()
    }

    /// Those who published these and have not told their whole set since, by name.
    #[must_use]
    pub fn silent_producers(&self) -> BTreeSet<&str> {
        let unnamed = self.known.values().filter(|known| known.named == Named::NotYet);
        unnamed.map(|known| known.entry.producer.as_str()).collect()
    }

    /// The entries that match.
    pub fn matching(&self) -> impl Iterator<Item = &EntryView> {
        self.known
            .values()
            .map(|known| &known.entry)
            .filter(|entry| self.is_shown(entry))
    }

    /// Whether the cluster and the namespace are wanted, which do not change.
    fn is_of_interest(&self, entry: &EntryView) -> bool {
        let namespace = entry
            .binding
            .split_once('/')
            .map_or(CLUSTER_SCOPE, |(namespace, _)| namespace);
        let given = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        given(&self.wanted.cluster, &entry.cluster) && given(&self.wanted.namespace, namespace)
    }

    fn is_shown(&self, entry: &EntryView) -> bool {
        self.wanted
            .state
            .is_none_or(|wanted| State::of(state_of(wanted)) == entry.state)
    }
}

fn key_of(entry: &v1::Entry) -> Key {
    let key = entry
        .published
        .as_ref()
        .and_then(|published| published.key.clone())
        .unwrap_or_default();
    [
        key.cause,
        key.cluster,
        key.cluster_uid,
        key.namespace,
        key.name,
        key.uid,
    ]
}
