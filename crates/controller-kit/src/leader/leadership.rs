//! What a controller may know about its lease.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// One reign: no two leaders of a controller ever have the same one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch {
    /// UID of the Lease object; a Lease that is deleted and made anew has another.
    pub lease_uid: String,
    /// How often the Lease changed hands before.
    pub transitions: i32,
}

/// A controller's view of its lease. Clones are the same view.
#[derive(Clone)]
pub struct Leadership {
    inner: Arc<Inner>,
}

struct Inner {
    epoch: Epoch,
    /// `None` for controllers that run on every replica.
    renewal: Option<Renewal>,
    annotations: Mutex<BTreeMap<String, String>>,
    annotations_changed: Notify,
}

struct Renewal {
    last: Mutex<Instant>,
    deadline: Duration,
}

impl Leadership {
    /// For controllers without leader election: always fresh.
    #[must_use]
    pub fn not_needed() -> Self {
        Self::build(Epoch::default(), None)
    }

    pub(crate) fn won(epoch: Epoch, renewed: Instant, deadline: Duration) -> Self {
        Self::build(
            epoch,
            Some(Renewal {
                last: Mutex::new(renewed),
                deadline,
            }),
        )
    }

    fn build(epoch: Epoch, renewal: Option<Renewal>) -> Self {
        let inner = Inner {
            epoch,
            renewal,
            annotations: Mutex::default(),
            annotations_changed: Notify::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Which reign this is.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.inner.epoch.clone()
    }

    /// Whether the last renewal is younger than the renew deadline. While it is, nobody else can have the lease.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        match &self.inner.renewal {
            None => true,
            Some(renewal) => renewal.last.lock().elapsed() < renewal.deadline,
        }
    }

    /// Puts an annotation on the Lease, with the next renewal, which this brings forward. The next leader removes it
    /// when its name begins with `failover.karmada.io/`.
    pub fn set_annotation(&self, name: impl Into<String>, value: impl Into<String>) {
        self.inner.annotations.lock().insert(name.into(), value.into());
        self.inner.annotations_changed.notify_one();
    }

    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        self.inner.annotations.lock().clone()
    }

    pub(crate) async fn annotations_changed(&self) {
        self.inner.annotations_changed.notified().await;
    }

    pub(crate) fn renewed(&self, at: Instant) {
        if let Some(renewal) = &self.inner.renewal {
            *renewal.last.lock() = at;
        }
    }

    pub(crate) fn last_renewal(&self) -> Option<Instant> {
        self.inner.renewal.as_ref().map(|renewal| *renewal.last.lock())
    }
}

impl std::fmt::Debug for Leadership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leadership")
            .field("epoch", &self.inner.epoch)
            .field("fresh", &self.is_fresh())
            .finish()
    }
}
