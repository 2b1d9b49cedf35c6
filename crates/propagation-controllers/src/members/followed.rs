//! The objects of one kind in a member, followed while somebody needs them.

use std::time::Duration;

use controller_kit::informer::Stopped;
use controller_kit::{Changes, Informer, Informers, Scope, Store};
use kube::core::DynamicObject;
use tokio::time::Instant;

use super::session::{BY_WORK, MANAGED_OBJECTS, work_of};
use crate::kinds::Kind;

/// What the control plane made of one kind in a member. Followed until this is dropped.
pub struct FollowedKind {
    kind: Kind,
    informers: Informers,
    informer: Informer<DynamicObject>,
    since: Instant,
}

/// Why it is not known what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There was no complete list in all the time that it is followed; one may come.
    NotInTime,
    /// The connection to the member has ended.
    Stopped,
}

impl FollowedKind {
    /// Begins to follow the kind by informers that are for nothing else.
    pub(super) fn begin(kind: &Kind, informers: Informers) -> Self {
        let scope = Scope::all().labels(MANAGED_OBJECTS);
        let informer = informers.get::<DynamicObject>(scope, &kind.api_resource());
        informer.index(BY_WORK, |object: &DynamicObject| {
            work_of(object).map(|key| key.to_string()).into_iter().collect()
        });
        Self {
            kind: kind.clone(),
            informers,
            informer,
            since: Instant::now(),
        }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// What is there, each object as a change with nothing before it, and then what changes.
    #[must_use]
    pub fn changes(&self) -> Changes<DynamicObject> {
        self.informer.changes()
    }

    /// What is there, if it was read.
    #[must_use]
    pub fn store_if_read(&self) -> Option<Store<DynamicObject>> {
        self.informer.store_if_synced()
    }

    /// What is there. Waits for the first complete list until `patience` is over, which begins with the following: of
    /// many who ask for a kind that cannot be listed only the first ones wait.
    ///
    /// # Errors
    /// [`Unread`].
    pub async fn read(&self, patience: Duration) -> Result<Store<DynamicObject>, Unread> {
        match tokio::time::timeout_at(self.since + patience, self.informer.synced()).await {
            Ok(Ok(store)) => Ok(store),
            Ok(Err(Stopped)) => Err(Unread::Stopped),
            Err(_) => Err(Unread::NotInTime),
        }
    }
}

impl Drop for FollowedKind {
    fn drop(&mut self) {
        self.informers.stop();
    }
}
