//! The task that learns of the kinds that are wanted, and begins and ends to follow them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api_types::policy::{Policy, PolicyKind};
use api_types::work::{Binding, BindingKind};
use controller_kit::informer::Stopped;
use controller_kit::{Change, Changes, Context, Informer, Scope, Store};
use futures::StreamExt;
use futures::stream;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{DynamicObject, PartialObjectMeta};
use tokio::time::Instant;

use super::wanted::{by_binding, by_policy};
use super::{BY_CLAIM, Entry, Followed, Listener, News, Standing, Template, Templates};
use crate::interpreter::KindName;
use crate::kinds::{DiscoveryError, Kind, Kinds, group_of, skipped};

/// How often it is asked for a kind that is not served, and whether a kind of another API server still is.
const AGAIN: Duration = Duration::from_secs(300);
/// How often, and for how long, it is asked what a group serves in which a CustomResourceDefinition has changed: the
/// server takes a moment to serve what it was told.
const AGAIN_AFTER_A_CHANGE: Duration = Duration::from_secs(2);
const FOR_SO_LONG: Duration = Duration::from_secs(30);
/// Waits after questions without an answer: doubled from the first to the second.
const AGAIN_WHEN_UNANSWERED: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// Questions at the same time.
const QUESTIONS_AT_ONCE: usize = 8;

/// That a CustomResourceDefinition of a name is there; no more of it is kept.
struct Definition;

struct Follower {
    templates: Templates,
    ctx: Context,
    kinds: Kinds,
    definitions: Store<Definition>,
}

/// Reads what is wanted and starts the tasks.
pub(super) async fn begin(templates: Templates, ctx: Context) -> Result<(), Stopped> {
    let informers = &ctx.informers;
    let policies = [PolicyKind::Namespaced, PolicyKind::Cluster].map(|kind| informers.get(Scope::all(), &kind));
    let bindings = BindingKind::ALL.map(|kind| informers.get(Scope::all(), &kind));
    let definitions: Informer<Definition> =
        informers.keeping(Scope::all(), &(), |_: PartialObjectMeta<CustomResourceDefinition>| {
            Definition
        });
    let store = definitions.synced().await?;
    let mut policy_changes = Vec::new();
    for informer in &policies {
        informer.synced().await?;
        policy_changes.push(informer.changes());
    }
    let mut binding_changes = Vec::new();
    for informer in &bindings {
        informer.synced().await?;
        binding_changes.push(informer.changes());
    }
    // From here on nothing waits, so that this is done once or not at all.
    for changes in policy_changes {
        count(&templates, &ctx, changes, |policy: &Policy| by_policy(policy));
    }
    for changes in binding_changes {
        count(&templates, &ctx, changes, |binding: &Binding| by_binding(binding));
    }
    let follower = Arc::new(Follower {
        kinds: Kinds::of(ctx.client.clone()),
        templates,
        ctx: ctx.clone(),
        definitions: store,
    });
    let (shutdown, listener) = (ctx.shutdown.clone(), follower.clone());
    let mut changes = definitions.changes();
    ctx.tasks.spawn("definitions of kinds", async move {
        while let Some(Some(change)) = shutdown.run_until_cancelled(changes.recv()).await {
            // What was there at the beginning was not asked for before.
            if let Some((_, group)) = change.key.name.split_once('.') {
                listener.doubt(group);
            }
        }
    });
    ctx.tasks
        .spawn("kinds of templates", async move { follower.run().await });
    Ok(())
}

/// Counts what is known at once, and then what changes.
fn count<O: Send + Sync + 'static>(
    templates: &Templates,
    ctx: &Context,
    mut changes: Changes<O>,
    wants: fn(&O) -> BTreeSet<KindName>,
) {
    let of = move |object: &Option<Arc<O>>| object.as_deref().map(wants).unwrap_or_default();
    let templates = templates.clone();
    let take = move |change: Change<O>| templates.want(&of(&change.before), &of(&change.after));
    while let Some(change) = changes.try_recv() {
        take(change);
    }
    let shutdown = ctx.shutdown.clone();
    ctx.tasks.spawn("wanted kinds", async move {
        while let Some(Some(change)) = shutdown.run_until_cancelled(changes.recv()).await {
            take(change);
        }
    });
}

impl Follower {
    async fn run(&self) {
        loop {
            let moved = self.templates.inner.moved.notified();
            let next = self.look().await;
            tokio::select! {
                biased;
                () = self.ctx.shutdown.cancelled() => return,
                () = moved => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// A definition of the group has come, gone or changed.
    fn doubt(&self, group: &str) {
        let mut state = self.templates.inner.state.write();
        let concerns = state
            .wanted
            .all()
            .iter()
            .any(|name| group_of(&name.api_version) == group);
        if !concerns {
            return;
        }
        let now = Instant::now();
        state.doubted.insert(group.to_owned(), now + FOR_SO_LONG);
        for (name, entry) in &mut state.kinds {
            if group_of(&name.api_version) == group && !matches!(entry.standing, Standing::Skipped(_)) {
                entry.ask_at = Some(now);
            }
        }
        drop(state);
        self.templates.inner.moved.notify_one();
    }

    /// Asks for what is to be asked for now. Returns when something is to be asked for again.
    async fn look(&self) -> Option<Instant> {
        let due = self.due();
        for group in due
            .iter()
            .map(|name| group_of(&name.api_version))
            .collect::<BTreeSet<_>>()
        {
            self.kinds.forget_group(group);
        }
        let questions = due.into_iter().map(|name| async move {
            let answer = self.kinds.look_up(&name.api_version, &name.kind).await;
            (name, answer)
        });
        let mut answers = stream::iter(questions.collect::<Vec<_>>()).buffer_unordered(QUESTIONS_AT_ONCE);
        while let Some((name, answer)) = answers.next().await {
            self.take(&name, answer);
        }
        let state = self.templates.inner.state.read();
        state.kinds.values().filter_map(|entry| entry.ask_at).min()
    }

    /// The kinds to ask for now. What nobody wants any more is let go.
    fn due(&self) -> Vec<KindName> {
        let now = Instant::now();
        let inner = &self.templates.inner;
        let mut state = inner.state.write();
        let state = &mut *state;
        let (wanted, kinds) = (&state.wanted, &mut state.kinds);
        kinds.retain(|name, _| wanted.contains(name));
        for name in wanted.all() {
            kinds
                .entry(name)
                .or_insert_with_key(|name| match skipped(name, &inner.excluded) {
                    Some(why) => Entry::new(Standing::Skipped(why), None),
                    None => Entry::new(Standing::Asking, Some(now)),
                });
        }
        state.doubted.retain(|_, until| *until > now);
        inner.progress.notify_waiters();
        let is_due = |entry: &Entry| entry.ask_at.is_some_and(|at| at <= now);
        let due = kinds.iter().filter(|(_, entry)| is_due(entry));
        due.map(|(name, _)| name.clone()).collect()
    }

    fn take(&self, name: &KindName, answer: Result<Option<Kind>, DiscoveryError>) {
        let now = Instant::now();
        let inner = &self.templates.inner;
        let mut begun = None;
        let mut state = inner.state.write();
        let is_doubted = state.doubted.contains_key(group_of(&name.api_version));
        let soon = if is_doubted { AGAIN_AFTER_A_CHANGE } else { AGAIN };
        let ended_as = (group_of(&name.api_version).to_owned(), name.kind.clone());
        // Nobody wants it any more.
        let Some(entry) = state.kinds.get_mut(name) else { return };
        let mut is_lost = false;
        let ended = match answer {
            Err(error) => {
                entry.failures += 1;
                let [first, longest] = AGAIN_WHEN_UNANSWERED;
                let wait = first * 2_u32.saturating_pow(entry.failures.min(10) - 1);
                entry.ask_at = Some(now + wait.min(longest));
                // What is followed is followed on: this is no answer.
                if entry.followed().is_none() {
                    tracing::warn!(kind = name.kind, error = %error, failures = entry.failures, "cannot follow templates");
                    entry.standing = Standing::Unanswered(error.to_string());
                }
                None
            }
            Ok(None) => {
                entry.failures = 0;
                entry.ask_at = Some(now + soon);
                let was = std::mem::replace(&mut entry.standing, Standing::NotServed);
                if !matches!(was, Standing::NotServed) {
                    tracing::info!(
                        kind = name.kind,
                        api_version = name.api_version,
                        "templates: kind is not served"
                    );
                    is_lost = true;
                }
                // Its definition may go a moment later than it is served.
                let ended = entry.defined.take_if(|kind| !self.is_defined(kind));
                is_lost |= ended.is_some();
                ended
            }
            Ok(Some(kind)) => {
                entry.failures = 0;
                entry.defined = Some(kind.clone()).filter(|kind| self.is_defined(kind));
                let is_own = entry.defined.is_some() || is_built_in(kind.group());
                entry.ask_at = if is_doubted {
                    Some(now + soon)
                } else {
                    (!is_own).then_some(now + soon)
                };
                let same = entry.followed().is_some_and(|followed| followed.kind == kind);
                if !same {
                    let followed = self.follow(kind);
                    begun = Some((followed.kind.clone(), followed.informer.clone()));
                    entry.standing = Standing::Followed(followed);
                }
                None
            }
        };
        match (ended, &begun) {
            (Some(kind), _) => drop(state.ended.insert(ended_as, kind)),
            (None, Some(_)) => drop(state.ended.remove(&ended_as)),
            (None, None) => {}
        }
        let listeners = state.listeners.clone();
        drop(state);
        if let Some((kind, informer)) = begun {
            self.tell_when_read(name.clone(), kind, informer);
        }
        if is_lost {
            let name = name.clone();
            tell(&listeners, &News { name, followed: None });
        }
        inner.progress.notify_waiters();
    }

    fn follow(&self, kind: Kind) -> Followed {
        tracing::debug!(%kind, "templates are followed");
        let informers = self.ctx.informers.for_a_while();
        let informer: Informer<Template> =
            informers.keeping(Scope::all(), &kind.api_resource(), |object: DynamicObject| {
                Template::keep(object)
            });
        informer.index(BY_CLAIM, |template: &Template| {
            template.claim_id().map(str::to_owned).into_iter().collect()
        });
        Followed {
            kind,
            informers,
            informer,
            since: Instant::now(),
            is_read: false,
        }
    }

    fn tell_when_read(&self, name: KindName, kind: Kind, informer: Informer<Template>) {
        let templates = self.templates.clone();
        self.ctx
            .tasks
            .spawn(format!("first list of {}", kind.plural()), async move {
                if informer.synced().await.is_err() {
                    return;
                }
                // Whoever listens from now on is told by the listening.
                let listeners = {
                    let mut state = templates.inner.state.write();
                    let entry = state.kinds.get_mut(&name);
                    match entry.map(|entry| &mut entry.standing) {
                        Some(Standing::Followed(followed)) if followed.kind == kind => followed.is_read = true,
                        // It was let go, or is another, meanwhile.
                        _ => return,
                    }
                    state.listeners.clone()
                };
                let followed = Some((kind, informer));
                tell(&listeners, &News { name, followed });
                templates.inner.progress.notify_waiters();
            });
    }

    /// Whether a CustomResourceDefinition makes this kind.
    fn is_defined(&self, kind: &Kind) -> bool {
        let name = format!("{}.{}", kind.plural(), kind.group());
        self.definitions
            .get(&controller_kit::ObjectKey::cluster_scoped(name))
            .is_some()
    }
}

fn tell(listeners: &[Listener], news: &News) {
    listeners.iter().for_each(|listener| listener(news));
}

/// Groups of the API server itself.
fn is_built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

async fn sleep_until(next: Option<Instant>) {
    match next {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
