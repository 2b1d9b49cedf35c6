//! The rules that count now: scripts of the stored ResourceInterpreterCustomizations before the native rules.
//!
//! Guarantees: nothing is interpreted before the stored customizations were read; a kind whose scripts have changed is
//! told to everybody who asked.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use api_types::config::ResourceInterpreterCustomization;
use controller_kit::informer::Stopped;
use controller_kit::{Context, RequireError, RequiredKind};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Interpreter, Native};

/// Names a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindName {
    /// API version, such as `apps/v1`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
}

/// The rules that count now, and news of their changes. Cheap to clone.
#[derive(Clone)]
pub struct Interpreting {
    rules: Arc<dyn Interpreter>,
    subscribers: Arc<Subscribers>,
}

/// The rules as the API server's customizations have them, once these were read.
///
/// Where the server does not serve the kind the native rules count alone, which is logged once.
///
/// # Errors
/// [`Stopped`] when the process stops first.
pub async fn of(ctx: &Context) -> Result<Interpreting, Stopped> {
    let native = Interpreting {
        rules: Arc::new(Native),
        subscribers: Arc::default(),
    };
    match ctx
        .require_kinds(&[RequiredKind::of::<ResourceInterpreterCustomization>()])
        .await
    {
        Ok(()) => {
            ctx.informers.of::<ResourceInterpreterCustomization>().synced().await?;
            Ok(native)
        }
        Err(RequireError::Stopped) => Err(Stopped),
        Err(missing) => {
            tracing::info!(why = %missing, "objects are read by the native rules alone");
            Ok(native)
        }
    }
}

impl Interpreting {
    /// The rules. They change in place.
    #[must_use]
    pub fn interpreter(&self) -> Arc<dyn Interpreter> {
        self.rules.clone()
    }

    /// Kinds whose rules change from now on: their objects are to be looked at again.
    #[must_use]
    pub fn changes(&self) -> KindChanges {
        let subscriber = Arc::new(Subscriber::default());
        self.subscribers.0.lock().push(Arc::downgrade(&subscriber));
        KindChanges {
            subscriber,
            _all: self.subscribers.clone(),
        }
    }
}

/// Kinds whose rules have changed since they were last taken.
pub struct KindChanges {
    subscriber: Arc<Subscriber>,
    _all: Arc<Subscribers>,
}

impl KindChanges {
    /// The next kind whose rules have changed; waits while there is none. Cancel-safe.
    pub async fn recv(&mut self) -> KindName {
        loop {
            let told = self.subscriber.told.notified();
            if let Some(kind) = self.subscriber.waiting.lock().pop_first() {
                return kind;
            }
            told.await;
        }
    }
}

#[derive(Default)]
struct Subscribers(Mutex<Vec<Weak<Subscriber>>>);

#[derive(Default)]
struct Subscriber {
    waiting: Mutex<BTreeSet<KindName>>,
    told: Notify,
}
