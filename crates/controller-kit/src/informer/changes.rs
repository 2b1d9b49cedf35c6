//! What a subscriber of an informer receives.
//!
//! Guarantees: first every known object with nothing before it, then what changes; per object the `before` of a
//! change is the `after` of the one received before it. A slow subscriber skips intermediate versions of an object
//! but never its deletion while it knows the object, nor the line between two objects of one name (deleted and made
//! anew are two changes). What waits is bounded by the number of objects, not by the number of events.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use futures::task::AtomicWaker;
use parking_lot::Mutex;

use super::key::ObjectKey;
use crate::room;

/// One object that appeared, changed or went away.
pub struct Change<K> {
    /// Which object.
    pub key: ObjectKey,
    /// What this subscriber saw of it last; `None` = it appeared.
    pub before: Option<Arc<K>>,
    /// What it is now; `None` = it is gone.
    pub after: Option<Arc<K>>,
}

impl<K> Change<K> {
    /// The newest known version: `after`, or `before` when it is gone.
    #[must_use]
    pub fn newest(&self) -> Option<&Arc<K>> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

impl<K> std::fmt::Debug for Change<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match (&self.before, &self.after) {
            (None, Some(_)) => "appeared",
            (Some(_), Some(_)) => "changed",
            (_, None) => "gone",
        };
        write!(f, "Change({} {what})", self.key)
    }
}

/// The subscriber's end. A stream, too.
pub struct Changes<K> {
    mailbox: Arc<Mailbox<K>>,
}

impl<K> Changes<K> {
    pub(crate) fn new(mailbox: Arc<Mailbox<K>>) -> Self {
        Self { mailbox }
    }

    /// The next change; `None` once the informer has stopped.
    pub async fn recv(&mut self) -> Option<Change<K>> {
        std::future::poll_fn(|cx| self.mailbox.poll(cx)).await
    }

    /// A change that waits already.
    pub fn try_recv(&mut self) -> Option<Change<K>> {
        self.mailbox.state.lock().pop()
    }
}

impl<K> Stream for Changes<K> {
    type Item = Change<K>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change<K>>> {
        self.mailbox.poll(cx)
    }
}

pub(crate) struct Mailbox<K> {
    state: Mutex<Waiting<K>>,
    waker: AtomicWaker,
}

type Versions<K> = (Option<Arc<K>>, Option<Arc<K>>);

struct Waiting<K> {
    by_key: BTreeMap<Arc<ObjectKey>, VecDeque<Versions<K>>>,
    order: VecDeque<Arc<ObjectKey>>,
    closed: bool,
}

impl<K> Mailbox<K> {
    pub(crate) fn new() -> Self {
        let state = Waiting {
            by_key: BTreeMap::new(),
            order: VecDeque::new(),
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            waker: AtomicWaker::new(),
        }
    }

    pub(crate) fn push(&self, key: &Arc<ObjectKey>, before: Option<Arc<K>>, after: Option<Arc<K>>) {
        self.state.lock().push(key, before, after);
        self.waker.wake();
    }

    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.waker.wake();
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<Change<K>>> {
        self.waker.register(cx.waker());
        let mut state = self.state.lock();
        match state.pop() {
            Some(change) => Poll::Ready(Some(change)),
            None if state.closed => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl<K> Waiting<K> {
    fn push(&mut self, key: &Arc<ObjectKey>, before: Option<Arc<K>>, after: Option<Arc<K>>) {
        let Some(waiting) = self.by_key.get_mut(key) else {
            self.by_key.insert(key.clone(), VecDeque::from([(before, after)]));
            self.order.push_back(key.clone());
            return;
        };
        match waiting.back_mut() {
            // Still the same object: only its newest version is of interest.
            Some((_, newest)) if newest.is_some() => {
                *newest = after;
                if let Some((None, None)) = waiting.back() {
                    // It came and went unseen.
                    waiting.pop_back();
                }
                if waiting.is_empty() {
                    self.by_key.remove(key);
                    self.order.retain(|waiting| waiting != key);
                }
            }
            // Deleted, and now a new object of that name.
            _ => waiting.push_back((before, after)),
        }
    }

    fn pop(&mut self) -> Option<Change<K>> {
        let key = room::pop_front(&mut self.order)?;
        let waiting = self.by_key.get_mut(&key)?;
        let versions = waiting.pop_front();
        if waiting.is_empty() {
            self.by_key.remove(&key);
        } else {
            self.order.push_back(key.clone());
        }
        let (before, after) = versions?;
        Some(Change {
            key: key.as_ref().clone(),
            before,
            after,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(name: &str) -> Arc<ObjectKey> {
        Arc::new(ObjectKey::cluster_scoped(name))
    }

    fn drain(mailbox: &Mailbox<u32>) -> Vec<(String, Option<u32>, Option<u32>)> {
        let mut state = mailbox.state.lock();
        std::iter::from_fn(|| state.pop())
            .map(|change| (change.key.name, change.before.map(|v| *v), change.after.map(|v| *v)))
            .collect()
    }

    #[test]
    fn the_newest_version_waits_once() {
        let mailbox = Mailbox::new();
        mailbox.push(&key("a"), None, Some(Arc::new(1)));
        mailbox.push(&key("b"), None, Some(Arc::new(7)));
        mailbox.push(&key("a"), Some(Arc::new(1)), Some(Arc::new(2)));
        assert_eq!(
            drain(&mailbox),
            [("a".into(), None, Some(2)), ("b".into(), None, Some(7))]
        );
    }

    #[test]
    fn a_deletion_is_seen_before_the_new_object_of_that_name() {
        let mailbox = Mailbox::new();
        mailbox.push(&key("a"), Some(Arc::new(1)), None);
        mailbox.push(&key("a"), None, Some(Arc::new(2)));
        mailbox.push(&key("a"), Some(Arc::new(2)), Some(Arc::new(3)));
        assert_eq!(
            drain(&mailbox),
            [("a".into(), Some(1), None), ("a".into(), None, Some(3))]
        );
    }

    #[test]
    fn what_came_and_went_unseen_is_nothing() {
        let mailbox = Mailbox::new();
        mailbox.push(&key("a"), None, Some(Arc::new(1)));
        mailbox.push(&key("a"), Some(Arc::new(1)), None);
        assert_eq!(drain(&mailbox), []);
    }

    proptest! {
        // Whatever is pushed and whenever it is read: the reader's picture of each object ends equal to the truth,
        // and each change continues the one before.
        #[test]
        fn the_reader_ends_with_the_truth(steps in proptest::collection::vec((0_u8..3, any::<bool>(), any::<bool>()), 0..60)) {
            let mailbox = Mailbox::new();
            let mut truth: BTreeMap<u8, u32> = BTreeMap::new();
            let mut seen: BTreeMap<u8, u32> = BTreeMap::new();
            let read = |seen: &mut BTreeMap<u8, u32>, limit: usize| -> Result<(), TestCaseError> {
                for _ in 0..limit {
                    let Some(change) = mailbox.state.lock().pop() else { break };
                    let name: u8 = change.key.name.parse().unwrap();
                    prop_assert_eq!(seen.get(&name).copied(), change.before.as_deref().copied());
                    match change.after {
                        Some(after) => { seen.insert(name, *after); }
                        None => { seen.remove(&name); }
                    }
                }
                Ok(())
            };
            for (version, (name, delete, read_one)) in (0_u32..).zip(steps) {
                let before = truth.get(&name).copied();
                let after = (!delete).then_some(version);
                if before.is_some() || after.is_some() {
                    mailbox.push(&key(&name.to_string()), before.map(Arc::new), after.map(Arc::new));
                }
                match after {
                    Some(after) => { truth.insert(name, after); }
                    None => { truth.remove(&name); }
                }
                if read_one {
                    read(&mut seen, 1)?;
                }
            }
            read(&mut seen, usize::MAX)?;
            prop_assert_eq!(seen, truth);
            prop_assert!(mailbox.state.lock().order.is_empty());
        }
    }
}
