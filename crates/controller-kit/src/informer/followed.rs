//! One object of a known name, followed for as long as anybody wants it: for objects that other objects name, so that
//! nobody can make a process read or hold more than it needs.
//!
//! Guarantees: one list and watch per object and process, of that object alone; both end with the last who holds it, and
//! so does everything that was known of it; readiness does not wait for it, since whoever wrote the name may have been
//! wrong.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use k8s_openapi::serde::de::DeserializeOwned;
use kube::Resource;
use tokio_util::sync::CancellationToken;

use super::cache::Identity;
use super::changes::Changes;
use super::key::{ObjectKey, Scope};
use super::status::ReadFailure;
use super::store::{Informer, Shared, Stopped, Store};
use super::{Informers, Inner, Life, Reflected, Waits, kind_label};
use crate::metrics::Family;

/// Its address, and what is kept of it.
type Id = (String, TypeId);

/// One object, followed. Clones are the same.
pub struct Followed<K> {
    informer: Informer<K>,
    key: ObjectKey,
    _loan: Arc<Loan>,
}

impl<K> Clone for Followed<K> {
    fn clone(&self) -> Self {
        Self {
            informer: self.informer.clone(),
            key: self.key.clone(),
            _loan: self._loan.clone(),
        }
    }
}

impl<K> Followed<K> {
    /// Its name.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The object as it was last read, `None` when there is none; waits until it was read once.
    ///
    /// # Errors
    /// [`Stopped`] when the process stops first.
    pub async fn read(&self) -> Result<Option<Arc<K>>, Stopped> {
        Ok(self.informer.synced().await?.get(&self.key))
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// [`NotRead`] when it was not read yet, with the reason as far as it is known.
    pub fn as_read(&self) -> Result<Option<Arc<K>>, NotRead> {
        let store: Option<Store<K>> = self.informer.store_if_synced();
        let store = store.ok_or_else(|| NotRead {
            failure: self.informer.failure(),
        })?;
        Ok(store.get(&self.key))
    }

    /// What it is, when there is one, and then what changes.
    #[must_use]
    pub fn changes(&self) -> Changes<K> {
        self.informer.changes()
    }
}

/// An object that was not read yet, so that nothing can be said of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .failure.as_ref().map_or("nothing was answered yet", |failure| failure.words.as_str()))]
pub struct NotRead {
    /// Why not; absent before the first answer.
    pub failure: Option<ReadFailure>,
}

/// The objects that are followed.
pub(super) type Lent = BTreeMap<Id, Entry>;

pub(super) struct Entry {
    kind: String,
    loan: Weak<Loan>,
    informer: Arc<dyn Any + Send + Sync>,
}

/// Held by all who want an object; ends its informer.
struct Loan {
    of: Weak<Inner>,
    id: Id,
    stop: CancellationToken,
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.stop.cancel();
        let Some(inner) = self.of.upgrade() else { return };
        let mut lent = inner.lent.lock();
        // Unless somebody has begun to follow it again meanwhile.
        if lent.get(&self.id).is_some_and(|entry| entry.loan.strong_count() == 0) {
            lent.remove(&self.id);
        }
    }
}

impl Informers {
    /// The object of this name, whether it exists or not; followed from the first who asks until the last lets go.
    #[must_use]
    pub fn object<K>(&self, key: &ObjectKey, dyntype: &K::DynamicType) -> Followed<K>
    where
        K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
    {
        let url = K::url_path(dyntype, key.namespace.as_deref());
        let id = (format!("{url}/{}", key.name), TypeId::of::<K>());
        let mut lent = self.inner.lent.lock();
        let known = lent.get(&id).and_then(|entry| {
            let shared = entry.informer.clone().downcast::<Shared<K>>().ok()?;
            Some((entry.loan.upgrade()?, shared))
        });
        let (loan, shared) = known.unwrap_or_else(|| {
            let kind = kind_label::<K>(dyntype, &Scope::all());
            let stop = self.inner.stop.child_token();
            let scope = Scope {
                namespace: key.namespace.clone(),
                ..Scope::all().fields(format!("metadata.name={}", key.name))
            };
            let reflected = Reflected {
                kind: kind_label::<K>(dyntype, &scope),
                // Names come and go: what is counted of them is counted together.
                counted: kind.clone(),
                member: self.inner.member.clone(),
            };
            let life = Life {
                stop: stop.clone(),
                waits: Waits::Nobody,
            };
            let shared = self.start(scope, url, &reflected, life, |object: K, _: &Identity| object);
            let loan = Arc::new(Loan {
                of: Arc::downgrade(&self.inner),
                id: id.clone(),
                stop,
            });
            let entry = Entry {
                kind,
                loan: Arc::downgrade(&loan),
                informer: shared.clone(),
            };
            lent.insert(id, entry);
            (loan, shared)
        });
        drop(lent);
        Followed {
            informer: self.informer(shared),
            key: key.clone(),
            _loan: loan,
        }
    }
}

/// How many single objects are followed.
pub(super) fn family(inner: &Inner) -> Family {
    let family = Family::gauge(
        "failover_informer_single_objects",
        "Objects that are followed by name, because other objects name them.",
    );
    let mut by_kind: BTreeMap<String, u32> = BTreeMap::new();
    for entry in inner.lent.lock().values() {
        *by_kind.entry(entry.kind.clone()).or_default() += 1;
    }
    by_kind.iter().fold(family, |family, (kind, count)| {
        let labels = [("kind", kind.as_str()), ("member", inner.member.as_str())];
        family.with(&labels, f64::from(*count))
    })
}
