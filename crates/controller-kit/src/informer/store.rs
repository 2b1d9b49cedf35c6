//! What a controller holds of an informer: before sync to wait and to subscribe, after it to read.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::cache::Cache;
use super::changes::Changes;
use super::key::ObjectKey;
use super::status::{ReadFailure, Stage, Status};

/// The informer no longer runs, because its process or its member connection stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the informer has stopped")]
pub struct Stopped;

pub(crate) struct Shared<K> {
    pub(crate) cache: Arc<Cache<K>>,
    pub(crate) status: Arc<Status>,
}

/// One kind, followed. `K` is what is kept of each object. Clones are the same informer.
pub struct Informer<K> {
    pub(super) shared: Arc<Shared<K>>,
    pub(super) give_up: CancellationToken,
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            give_up: self.give_up.clone(),
        }
    }
}

impl<K> Informer<K> {
    /// Waits for the first complete list and gives the store, the only way to read.
    ///
    /// # Errors
    /// [`Stopped`] when the process or the member connection stops first.
    pub async fn synced(&self) -> Result<Store<K>, Stopped> {
        let stage = tokio::select! {
            biased;
            stage = self.shared.status.settled() => stage,
            () = self.give_up.cancelled() => Stage::Stopped,
        };
        match stage {
            Stage::Synced => Ok(Store {
                shared: self.shared.clone(),
            }),
            Stage::Unsynced | Stage::Stopped => Err(Stopped),
        }
    }

    /// The store, when there was a complete list already.
    #[must_use]
    pub fn store_if_synced(&self) -> Option<Store<K>> {
        (self.shared.status.stage() == Stage::Synced).then(|| Store {
            shared: self.shared.clone(),
        })
    }

    /// Why the last try to read failed, while nothing was read since.
    pub(super) fn failure(&self) -> Option<ReadFailure> {
        self.shared.status.failure()
    }

    /// Everything known, each as a change with nothing before it, and then what changes.
    ///
    /// May be called before and after sync. Subscribed after [`Informer::synced`], the first changes are a complete
    /// picture.
    #[must_use]
    pub fn changes(&self) -> Changes<K> {
        self.shared.cache.subscribe()
    }

    /// Adds a secondary index: an object is found under each value the function returns for it. The function must
    /// depend on the object alone. Another index of the same name is ignored: the first one counts.
    pub fn index(&self, name: &'static str, values_of: impl Fn(&K) -> Vec<String> + Send + Sync + 'static) {
        self.shared.cache.add_index(name, Box::new(values_of));
    }

    /// Time since the server was last heard from (an event, a bookmark, or a list).
    #[must_use]
    pub fn age(&self) -> Duration {
        self.shared.status.age()
    }
}

/// Read access to an informer that has synced.
pub struct Store<K> {
    shared: Arc<Shared<K>>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<K> Store<K> {
    /// The object, or `None` when there is none.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.shared.cache.get(key)
    }

    /// All objects, ordered by key.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.shared.cache.list()
    }

    /// All keys with their objects, in order: for kept parts that do not know their names.
    #[must_use]
    pub fn entries(&self) -> Vec<(ObjectKey, Arc<K>)> {
        self.shared.cache.entries()
    }

    /// All keys in order.
    #[must_use]
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.shared.cache.keys()
    }

    /// How many objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.cache.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects under a value of an index, ordered by key.
    ///
    /// Asking for an index that was never added is a mistake in the program: it fails in debug builds and is an error
    /// in the log otherwise.
    #[must_use]
    pub fn by_index(&self, index: &str, value: &str) -> Vec<Arc<K>> {
        self.under(index, value, |_, object| object.clone())
    }

    /// The same with their keys.
    #[must_use]
    pub fn entries_by_index(&self, index: &str, value: &str) -> Vec<(ObjectKey, Arc<K>)> {
        self.under(index, value, |key, object| (key.clone(), object.clone()))
    }

    fn under<T>(&self, index: &str, value: &str, of: impl Fn(&ObjectKey, &Arc<K>) -> T) -> Vec<T> {
        let found = self.shared.cache.by_index(index, value, of);
        debug_assert!(found.is_some(), "no index {index:?}");
        found.unwrap_or_else(|| {
            tracing::error!(index, "no such index");
            Vec::new()
        })
    }

    /// Time since the server was last heard from.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.shared.status.age()
    }
}
