//! The rules that count now: scripts of the stored ResourceInterpreterCustomizations before the native rules.
//!
//! Guarantees: nothing is interpreted before the stored customizations were read; a kind whose scripts have changed is
//! told to everybody who asked; a script that does not load, and one that does not count because another does, is told
//! on its customization.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use api_types::config::ResourceInterpreterCustomization;
use controller_kit::informer::Stopped;
use controller_kit::{Context, EventType, RequireError, RequiredKind, Store};
use kube::ResourceExt;
use parking_lot::Mutex;
use tokio::sync::{Notify, OnceCell};

use super::rules::Rules;
use super::scripted::Scripted;
use super::{Interpreter, Native};

/// Who speaks in the events on customizations, whichever controller asked first.
const SOURCE: &str = "resource-interpreter";
/// Reason of the event on a customization whose script cannot be used.
const SCRIPT_INVALID: &str = "ScriptInvalid";
/// Reason of the event on a customization whose script does not count.
const SCRIPT_SHADOWED: &str = "ScriptShadowed";

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

/// The rules of a process, which its controllers share: each script is checked, loaded and told once. Clones are the same.
#[derive(Clone, Default)]
pub struct Interpreters {
    of_process: Arc<OnceCell<Interpreting>>,
}

impl Interpreters {
    /// The rules as the API server's customizations have them, once these were read. Whoever asks first reads them.
    ///
    /// # Errors
    /// [`Stopped`] when the process stops first.
    pub async fn of(&self, ctx: &Context) -> Result<Interpreting, Stopped> {
        self.of_process.get_or_try_init(|| of(ctx)).await.cloned()
    }
}

/// The rules as the API server's customizations have them, once these were read.
///
/// Where the server does not serve the kind the native rules count alone, which is logged once.
///
/// # Errors
/// [`Stopped`] when the process stops first.
async fn of(ctx: &Context) -> Result<Interpreting, Stopped> {
    let subscribers = Arc::<Subscribers>::default();
    match ctx
        .require_kinds(&[RequiredKind::of::<ResourceInterpreterCustomization>()])
        .await
    {
        Ok(()) => {}
        Err(RequireError::Stopped) => return Err(Stopped),
        Err(missing) => {
            tracing::info!(why = %missing, "objects are read by the native rules alone");
            return Ok(Interpreting {
                rules: Arc::new(Native),
                subscribers,
            });
        }
    }
    let informer = ctx.informers.of::<ResourceInterpreterCustomization>();
    let store = informer.synced().await?;
    let scripted = Arc::new(Scripted::new(ctx.clock.clone()));
    let mut live = Live {
        ctx: ctx.clone(),
        store,
        scripted: scripted.clone(),
        subscribers: subscribers.clone(),
        told: BTreeSet::new(),
    };
    live.refresh();
    let (mut changes, shutdown) = (informer.changes(), ctx.shutdown.clone());
    ctx.tasks.spawn("interpreter customizations", async move {
        loop {
            let change = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                change = changes.recv() => change,
            };
            if change.is_none() {
                return;
            }
            while changes.try_recv().is_some() {}
            live.refresh();
        }
    });
    Ok(Interpreting {
        rules: scripted,
        subscribers,
    })
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
        let mut all = self.subscribers.0.lock();
        // Each return of a member asks anew, and customizations may not change for months.
        all.retain(|subscriber| subscriber.strong_count() > 0);
        all.push(Arc::downgrade(&subscriber));
        KindChanges { subscriber }
    }

    /// Calls `look_again` with each kind whose rules change, in a task of the controller, until shutdown.
    pub fn follow(&self, ctx: &Context, look_again: impl Fn(&KindName) + Send + 'static) {
        let (mut changes, shutdown) = (self.changes(), ctx.shutdown.clone());
        ctx.tasks.spawn("interpreter changes", async move {
            loop {
                tokio::select! {
                    biased;
                    () = shutdown.cancelled() => return,
                    kind = changes.recv() => look_again(&kind),
                }
            }
        });
    }
}

struct Live {
    ctx: Context,
    store: Store<ResourceInterpreterCustomization>,
    scripted: Arc<Scripted>,
    subscribers: Arc<Subscribers>,
    /// What was said of customizations that are as they were, by UID, reason and words.
    told: BTreeSet<(String, &'static str, String)>,
}

impl Live {
    fn refresh(&mut self) {
        let stored = self.store.list();
        let before = self.scripted.rules();
        let (rules, shadowed) = Rules::of(&stored, &before);
        let changed = rules.changed_since(&before);
        let mut complaints = BTreeSet::new();
        for shadowed in shadowed {
            let note = format!(
                "{} for {} {} is not used: {} has one, too, and comes first by name; remove one of the two",
                shadowed.operation.field(),
                shadowed.kind.api_version,
                shadowed.kind.kind,
                shadowed.by
            );
            complaints.insert((shadowed.customization, SCRIPT_SHADOWED, note));
        }
        for rule in rules.all() {
            if let Err(error) = rule.script.check(self.ctx.clock.now()) {
                let note = format!(
                    "{} cannot be used: {error}; until it is mended, objects of the kind are not interpreted in this respect",
                    rule.operation.field()
                );
                complaints.insert((rule.customization.clone(), SCRIPT_INVALID, note));
            }
        }
        self.tell(&stored, complaints);
        self.scripted.replace(rules);
        self.subscribers.tell(&changed);
    }

    /// Says what was not said before.
    fn tell(
        &mut self,
        stored: &[Arc<ResourceInterpreterCustomization>],
        complaints: BTreeSet<(String, &'static str, String)>,
    ) {
        let mut told = BTreeSet::new();
        for (name, reason, note) in complaints {
            let Some(customization) = stored.iter().find(|customization| customization.name_any() == name) else {
                continue;
            };
            let about = (customization.uid().unwrap_or_default(), reason, note.clone());
            if !self.told.contains(&about) {
                tracing::warn!(customization = %name, reason, note, "a script of a customization does not count");
                let events = self.ctx.events.speaking_as(SOURCE);
                events.publish_for(customization.as_ref(), EventType::Warning, reason, note);
            }
            told.insert(about);
        }
        self.told = told;
    }
}

/// Kinds whose rules have changed since they were last taken.
pub struct KindChanges {
    subscriber: Arc<Subscriber>,
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

impl Subscribers {
    fn tell(&self, changed: &BTreeSet<KindName>) {
        let mut all = self.0.lock();
        all.retain(|subscriber| subscriber.strong_count() > 0);
        if changed.is_empty() {
            return;
        }
        for subscriber in all.iter().filter_map(Weak::upgrade) {
            subscriber.waiting.lock().extend(changed.iter().cloned());
            subscriber.told.notify_one();
        }
    }
}

#[derive(Default)]
struct Subscriber {
    waiting: Mutex<BTreeSet<KindName>>,
    told: Notify,
}

#[cfg(test)]
mod tests {
    use controller_kit::{Clock, tasks::Tasks};
    use kube_sandbox::{Sandbox, SandboxOptions};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_controllers_of_a_process_share_the_rules() {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let ticking = clock.clone();
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || ticking.now())));
        let tasks = Tasks::new();
        let context = |name| Context::detached(name, sandbox.client(), clock.clone(), "t-0", &tasks);
        let process = Interpreters::default();
        let (detector, execution) = (context("detector"), context("execution"));
        let same = process.clone();
        let (first, second) = tokio::join!(process.of(&detector), same.of(&execution));
        let (Ok(first), Ok(second)) = (first, second) else {
            panic!("nothing has stopped")
        };
        assert!(Arc::ptr_eq(&first.subscribers, &second.subscribers));
        assert!(Arc::ptr_eq(&first.rules, &second.rules));
        tasks.abort();
    }
}
