//! Templates: objects of the control plane, of whatever kind it serves, followed as far as they are wanted.
//!
//! A kind is wanted while a policy selects from it, a binding is of it, or something that is propagated needs objects of
//! it; others are neither listed nor held, however many objects they have. Which kinds the server serves is learnt by
//! name; CustomResourceDefinitions are followed, so that kinds that come, go or change are noticed, and kinds of other API
//! servers (APIServices) are asked for again from time to time.
//!
//! Guarantees: an object is said to be absent only on a complete list of its kind, or when the
//! CustomResourceDefinition of its kind was seen to go; an error, and a kind that is not served, say nothing of it. One
//! list and watch per kind and process. Kinds that are never templates are in [`skipped`](crate::kinds::skipped).

mod follow;
mod template;
pub mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::work::Binding;
use controller_kit::durations::format_duration;
use controller_kit::informer::Stopped;
use controller_kit::{Change, Context, Informer, Informers, Store, WorkQueue};
use parking_lot::RwLock;
use tokio::sync::{Notify, OnceCell};
use tokio::time::Instant;

pub use self::template::Template;

use self::wanted::{Wanted, of_binding};
use crate::interpreter::{Interpreting, KindName};
use crate::kinds::{Kind, KindScope, SkippedApi, group_of};
use crate::objects::TemplateKey;

/// Index of templates by the permanent id of the policy that claims them.
pub const BY_CLAIM: &str = "claim";

/// For how long, at the start, work waits for kinds that are slow to be read. After that it begins with what is there.
const FIRST_LOOK_WITHIN: Duration = Duration::from_secs(5);

/// The templates of a process. Clones are the same.
#[derive(Clone)]
pub struct Templates {
    inner: Arc<Inner>,
}

struct Inner {
    excluded: Vec<SkippedApi>,
    state: RwLock<State>,
    begun: OnceCell<()>,
    /// Kinds may have to be asked for.
    moved: Notify,
    /// More is known than before.
    progress: Notify,
}

#[derive(Default)]
struct State {
    wanted: Wanted,
    kinds: BTreeMap<KindName, Entry>,
    /// Kinds whose CustomResourceDefinition was seen to go, by group and kind: its objects went with it.
    ended: BTreeMap<(String, String), Kind>,
    /// Groups in which something has just changed: until when it is asked for often what they serve now.
    doubted: BTreeMap<String, Instant>,
    listeners: Vec<Listener>,
}

struct Entry {
    standing: Standing,
    /// When to ask again; absent: only when something changes.
    ask_at: Option<Instant>,
    failures: u32,
    /// The kind that a CustomResourceDefinition made when it was last served.
    defined: Option<Kind>,
}

enum Standing {
    Asking,
    Unanswered(String),
    NotServed,
    Skipped(&'static str),
    Followed(Followed),
}

/// A kind that is followed, until this is dropped.
struct Followed {
    kind: Kind,
    informers: Informers,
    informer: Informer<Template>,
    since: Instant,
    /// Its first list was read, and listeners know of it.
    is_read: bool,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.informers.stop();
    }
}

type Listener = Arc<dyn Fn(&News) + Send + Sync>;

/// It is now known what there is of a kind.
pub struct News {
    /// Which kind.
    pub name: KindName,
    /// Its objects; absent when the server does not serve it, or serves it no more.
    pub followed: Option<(Kind, Informer<Template>)>,
}

/// Why it is not known whether there is a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// The server does not have its kind, now.
    #[error("the API server does not serve {kind} ({api_version})")]
    NotServed {
        /// API version that was asked for.
        api_version: String,
        /// Kind that was asked for.
        kind: String,
    },
    /// It is of a kind that is never propagated.
    #[error("objects of kind {kind} are not propagated: {why}")]
    Skipped {
        /// The kind.
        kind: String,
        /// Why.
        why: &'static str,
    },
    /// The first answer is under way.
    #[error("objects of kind {kind} are being read for the first time")]
    Reading {
        /// The kind.
        kind: String,
    },
    /// There was no answer to a question.
    #[error("objects of kind {kind} cannot be read: {why}")]
    Failing {
        /// The kind.
        kind: String,
        /// What came instead.
        why: String,
    },
}

impl Unread {
    fn reading(name: &KindName) -> Self {
        let kind = name.kind.clone();
        Self::Reading { kind }
    }

    fn failing(name: &KindName, why: &str) -> Self {
        let (kind, why) = (name.kind.clone(), why.to_owned());
        Self::Failing { kind, why }
    }

    /// Whether there may be objects that nobody has seen.
    #[must_use]
    pub fn hides_objects(&self) -> bool {
        matches!(self, Self::Reading { .. } | Self::Failing { .. })
    }
}

impl Templates {
    /// Nothing is followed yet. Without what `--skipped-propagating-apis` names.
    #[must_use]
    pub fn new(excluded: &[SkippedApi]) -> Self {
        Self {
            inner: Arc::new(Inner {
                excluded: excluded.to_vec(),
                state: RwLock::default(),
                begun: OnceCell::new(),
                moved: Notify::new(),
                progress: Notify::new(),
            }),
        }
    }

    /// Begins to follow what is wanted, once in a process. Returns when what is wanted now was read, or has been given
    /// its time.
    ///
    /// # Errors
    /// [`Stopped`] when the process stops first.
    pub async fn begin(&self, ctx: &Context) -> Result<(), Stopped> {
        let begin = || follow::begin(self.clone(), ctx.clone());
        self.inner.begun.get_or_try_init(begin).await?;
        let deadline = Instant::now() + FIRST_LOOK_WITHIN;
        loop {
            let progress = self.inner.progress.notified();
            tokio::pin!(progress);
            progress.as_mut().enable();
            if self.inner.state.read().is_looked_at() {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = ctx.shutdown.cancelled() => return Err(Stopped),
                () = progress => {}
                () = tokio::time::sleep_until(deadline) => return Ok(()),
            }
        }
    }

    /// Calls `listener` for each kind of which it is known what there is, and for each of which it becomes known. It
    /// must not block.
    pub fn listen(&self, listener: impl Fn(&News) + Send + Sync + 'static) {
        let listener: Listener = Arc::new(listener);
        let news = {
            let mut state = self.inner.state.write();
            state.listeners.push(listener.clone());
            state.news()
        };
        news.iter().for_each(|news| listener(news));
    }

    /// Adds the keys that changes of templates name to a queue, of all kinds that are and will be followed.
    pub fn follow<K, F, I>(&self, ctx: &Context, queue: &WorkQueue<K>, keys_of: F)
    where
        K: Ord + std::hash::Hash + Clone + std::fmt::Display + Send + Sync + 'static,
        F: Fn(&Kind, &Change<Template>) -> I + Send + Sync + Clone + 'static,
        I: IntoIterator<Item = K> + Send,
    {
        let (ctx, queue) = (ctx.clone(), queue.clone());
        self.listen(move |news| {
            if let Some((kind, informer)) = &news.followed {
                let (kind, keys_of) = (kind.clone(), keys_of.clone());
                queue.follow(&ctx, informer.changes(), move |change| keys_of(&kind, change));
            }
        });
    }

    /// One who wanted some kinds wants others now.
    pub fn want(&self, before: &BTreeSet<KindName>, after: &BTreeSet<KindName>) {
        if before != after && self.inner.state.write().wanted.moved(before, after) {
            self.inner.moved.notify_one();
        }
    }

    /// The kind of this name, while it is followed.
    ///
    /// # Errors
    /// [`Unread`] when it is not.
    pub fn kind(&self, name: &KindName) -> Result<Kind, Unread> {
        self.inner
            .state
            .read()
            .followed(name)
            .map(|followed| followed.kind.clone())
    }

    /// The template as it was read; `None` when there is none.
    ///
    /// # Errors
    /// [`Unread`] when that is not known.
    pub fn get(&self, key: &TemplateKey) -> Result<Option<Arc<Template>>, Unread> {
        let state = self.inner.state.read();
        let name = key.kind.name();
        match state.followed(&name) {
            Ok(followed) if followed.kind == key.kind => Ok(followed.store(&name)?.get(&key.object)),
            Ok(_) => Err(Unread::reading(&name)),
            Err(_) if state.ended(&name).is_some() => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// The template of a binding.
    ///
    /// # Errors
    /// [`Unread`] when its kind is not followed.
    pub fn key_of(&self, binding: &Binding) -> Result<TemplateKey, Unread> {
        let name = of_binding(binding);
        let state = self.inner.state.read();
        let kind = match state.followed(&name) {
            Ok(followed) => followed.kind.clone(),
            Err(why) => state.ended(&name).cloned().ok_or(why)?,
        };
        let resource = &binding.spec.resource;
        let namespace = match kind.scope() {
            KindScope::Namespaced => resource.namespace.clone().filter(|namespace| !namespace.is_empty()),
            KindScope::Cluster => None,
        };
        let name = resource.name.clone();
        Ok(TemplateKey::new(kind, controller_kit::ObjectKey { namespace, name }))
    }

    /// Whether the CustomResourceDefinition of a kind, whatever the version, was seen to go.
    #[must_use]
    pub fn has_ended(&self, name: &KindName) -> bool {
        self.inner.state.read().ended(name).is_some()
    }

    /// All kinds that were read, with their objects.
    #[must_use]
    pub fn read(&self) -> Vec<(Kind, Store<Template>)> {
        let state = self.inner.state.read();
        let followed = state.kinds.values().filter_map(Entry::followed);
        followed
            .filter_map(|followed| Some((followed.kind.clone(), followed.informer.store_if_synced()?)))
            .collect()
    }

    /// The objects of a kind.
    ///
    /// # Errors
    /// [`Unread`] when they are not known.
    pub fn store(&self, name: &KindName) -> Result<(Kind, Store<Template>), Unread> {
        let state = self.inner.state.read();
        let followed = state.followed(name)?;
        Ok((followed.kind.clone(), followed.store(name)?))
    }
}

/// Whether a change is more than one of status: what goes to members may be another.
#[must_use]
pub fn changes_beyond_status(change: &Change<Template>) -> bool {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => before.differs_beyond_status(after),
        _ => true,
    }
}

/// Adds keys to a queue when the rules of a kind have changed.
pub fn follow_rules<K>(
    ctx: &Context,
    rules: &Interpreting,
    queue: &WorkQueue<K>,
    keys_of: impl Fn(&KindName) -> Vec<K> + Send + 'static,
) where
    K: Ord + std::hash::Hash + Clone + std::fmt::Display + Send + Sync + 'static,
{
    let (mut changes, queue, shutdown) = (rules.changes(), queue.clone(), ctx.shutdown.clone());
    ctx.tasks.spawn("changed rules", async move {
        while let Some(name) = shutdown.run_until_cancelled(changes.recv()).await {
            for key in keys_of(&name) {
                queue.add(key);
            }
        }
    });
}

impl Followed {
    fn store(&self, name: &KindName) -> Result<Store<Template>, Unread> {
        self.informer.store_if_synced().ok_or_else(|| {
            let tried_for = self.since.elapsed();
            if tried_for < FIRST_LOOK_WITHIN {
                return Unread::reading(name);
            }
            let tried_for = format_duration(Duration::from_secs(tried_for.as_secs()));
            let why = format!("no list of them was answered in {tried_for}; the log says why, and metrics count it");
            Unread::failing(name, &why)
        })
    }
}

impl Entry {
    fn new(standing: Standing, ask_at: Option<Instant>) -> Self {
        Self {
            standing,
            ask_at,
            failures: 0,
            defined: None,
        }
    }

    fn followed(&self) -> Option<&Followed> {
        match &self.standing {
            Standing::Followed(followed) => Some(followed),
            _ => None,
        }
    }
}

impl State {
    fn followed(&self, name: &KindName) -> Result<&Followed, Unread> {
        match self.kinds.get(name).map(|entry| &entry.standing) {
            Some(Standing::Followed(followed)) => Ok(followed),
            Some(Standing::NotServed) => Err(Unread::NotServed {
                api_version: name.api_version.clone(),
                kind: name.kind.clone(),
            }),
            Some(Standing::Skipped(why)) => Err(Unread::Skipped {
                kind: name.kind.clone(),
                why,
            }),
            Some(Standing::Unanswered(why)) => Err(Unread::failing(name, why)),
            Some(Standing::Asking) | None => Err(Unread::reading(name)),
        }
    }

    fn ended(&self, name: &KindName) -> Option<&Kind> {
        let group = group_of(&name.api_version).to_owned();
        self.ended.get(&(group, name.kind.clone()))
    }

    /// Whether there is an answer, or a failure, for everything that is wanted.
    fn is_looked_at(&self) -> bool {
        let is_looked_at = |entry: &Entry| match &entry.standing {
            Standing::Asking => false,
            Standing::Followed(followed) => followed.is_read,
            Standing::Unanswered(_) | Standing::NotServed | Standing::Skipped(_) => true,
        };
        let mut wanted = self.wanted.all().into_iter();
        wanted.all(|name| self.kinds.get(&name).is_some_and(is_looked_at))
    }

    /// What is known, for one who begins to listen.
    fn news(&self) -> Vec<News> {
        let read = self.kinds.iter().filter_map(|(name, entry)| match &entry.standing {
            Standing::Followed(followed) if followed.is_read => Some((name, Some(followed))),
            Standing::NotServed => Some((name, None)),
            _ => None,
        });
        read.map(|(name, followed)| News {
            name: name.clone(),
            followed: followed.map(|followed| (followed.kind.clone(), followed.informer.clone())),
        })
        .collect()
    }
}
