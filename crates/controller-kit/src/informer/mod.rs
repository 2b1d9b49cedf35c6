//! Informers: what the API server holds, kept in memory and followed.
//!
//! Guarantees: one list and watch per kind, scope and process, shared by all who ask; an unsynced cache cannot be
//! read, because only [`Informer::synced`] gives a [`Store`]; reads are ordered; subscribers miss no object.

mod cache;
mod changes;
mod counts;
mod deep;
mod followed;
mod key;
mod page;
mod reflect;
mod status;
mod store;
mod telling;

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use k8s_openapi::serde::de::DeserializeOwned;
use kube::{Client, Resource};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub use self::cache::{Identity, is_older};
pub use self::changes::{Change, Changes};
pub use self::deep::DEEPEST_READ;
pub use self::followed::{Followed, NotRead};
pub use self::key::{ObjectKey, Scope};
pub use self::status::{ReadFailure, ReadFailureKind};
pub use self::store::{Informer, Stopped, Store};

use self::cache::Cache;
use self::counts::{Counts, MemberCounts};
use self::followed::Lent;
use self::reflect::Reflector;
use self::status::{Stage, Status};
use self::store::Shared;
use crate::disturbances::{Disturbance, Disturbances};
use crate::echoes::Echoes;
use crate::metrics::{CollectorGuard, Family, Metrics};
use crate::random::Random;
use crate::readiness::Readiness;
use crate::tasks::Tasks;
use crate::troubles::Troubles;

/// Timing and sizes of list and watch.
#[derive(Debug, Clone, Copy)]
pub struct InformerOptions {
    /// Objects a page of a list.
    pub page_size: u32,
    /// How long the server is asked to keep a watch open.
    pub watch_timeout: Duration,
    /// How often everything is listed again, to find what a watch missed.
    pub relist_every: Duration,
    /// Time limit of a list page, and of the answer to a watch request.
    pub request_timeout: Duration,
    /// Wait after the first failure; doubles with each further one.
    pub retry_base: Duration,
    /// The longest wait after a failure.
    pub retry_max: Duration,
}

impl Default for InformerOptions {
    fn default() -> Self {
        Self {
            page_size: 500,
            watch_timeout: Duration::from_secs(290),
            relist_every: Duration::from_secs(2 * 3_600),
            request_timeout: Duration::from_secs(60),
            retry_base: Duration::from_millis(500),
            retry_max: Duration::from_secs(30),
        }
    }
}

/// What an informer follows, for logs, metrics and readiness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reflected {
    /// `resourcebindings.work.karmada.io`, with the scope where it is not everything.
    pub(crate) kind: String,
    /// The kind by which it is counted.
    pub(crate) counted: String,
    /// The member cluster's name, empty for the control plane.
    pub(crate) member: String,
}

/// The informers of one API server in one process. Clones are the same set.
#[derive(Clone)]
pub struct Informers {
    inner: Arc<Inner>,
    /// Ends the waiting for a first list.
    give_up: CancellationToken,
    observers: Observers,
}

/// Who is told of what informers see beside objects; nobody outside of a process.
#[derive(Clone, Default)]
pub(crate) struct Observers {
    pub(crate) disturbances: Option<Disturbances>,
    pub(crate) echoes: Echoes,
}

impl Observers {
    pub(crate) fn saw(&self, what: Disturbance, member: &str, how: impl FnOnce() -> String) {
        if let Some(disturbances) = &self.disturbances {
            disturbances.seen(what, member, how);
        }
    }
}

struct Inner {
    client: Client,
    member: String,
    seed: String,
    tasks: Tasks,
    metrics: Metrics,
    readiness: Option<Readiness>,
    options: InformerOptions,
    stop: CancellationToken,
    known: Mutex<BTreeMap<(String, TypeId), Known>>,
    /// Single objects, which are followed while somebody wants them.
    lent: Mutex<Lent>,
    /// See [`Informers::aside`].
    aside: Mutex<Weak<Inner>>,
    troubles: Troubles,
    counts: Arc<Counts>,
    /// Of all servers of the process; the informers of a member come and go, its counts stay while it is a member.
    all_counts: MemberCounts,
    gauges: Mutex<Option<CollectorGuard>>,
}

/// How long an informer runs, and who waits for its first list.
struct Life {
    stop: CancellationToken,
    waits: Waits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// The process is not ready before.
    Readiness,
    Nobody,
}

struct Known {
    reflected: Reflected,
    status: Arc<Status>,
    count: Arc<dyn Fn() -> usize + Send + Sync>,
    informer: Arc<dyn Any + Send + Sync>,
}

impl Informers {
    /// The informers of the control plane. `seed` makes the jitter of this process its own.
    #[must_use]
    pub fn new(
        client: Client,
        tasks: &Tasks,
        metrics: &Metrics,
        readiness: &Readiness,
        options: InformerOptions,
        seed: &str,
    ) -> Self {
        let all_counts = MemberCounts::default();
        let counted = all_counts.clone();
        metrics.collector("informer counts", move || counted.families());
        Self::build(
            client,
            String::new(),
            tasks.clone(),
            metrics.clone(),
            Some(readiness.clone()),
            options,
            seed,
            all_counts,
        )
    }

    /// The same informers, of which those that are started from now on tell these.
    pub(crate) fn observed_by(self, observers: Observers) -> Self {
        Self { observers, ..self }
    }

    /// The same informers, as one sees them who does not wait for a first list any longer than until `stop`.
    #[must_use]
    pub fn waiting_until(&self, stop: CancellationToken) -> Self {
        Self {
            inner: self.inner.clone(),
            give_up: stop,
            observers: self.observers.clone(),
        }
    }

    /// Informers over a member cluster's API server. Readiness does not wait for them: a member that is down must not
    /// take the process out of service. They run until [`Informers::stop`].
    #[must_use]
    pub fn for_member(&self, member: &str, client: Client) -> Self {
        let parent = &self.inner;
        let (tasks, metrics) = (parent.tasks.clone(), parent.metrics.clone());
        Self::build(
            client,
            member.to_owned(),
            tasks,
            metrics,
            None,
            parent.options,
            &parent.seed,
            parent.all_counts.clone(),
        )
        .waiting_until(self.give_up.clone())
        .observed_by(self.observers.clone())
    }

    /// Informers over the same server with an end of their own, for kinds that are followed only for a while: they run
    /// until they are stopped, or these are. Readiness does not wait for them. What they ask for is shared among those
    /// who have this set, and with nobody else.
    #[must_use]
    pub fn for_a_while(&self) -> Self {
        let parent = &self.inner;
        let inner = Arc::new(Inner {
            client: parent.client.clone(),
            member: parent.member.clone(),
            seed: parent.seed.clone(),
            tasks: parent.tasks.clone(),
            metrics: parent.metrics.clone(),
            readiness: None,
            options: parent.options,
            stop: parent.stop.child_token(),
            known: Mutex::default(),
            lent: Mutex::default(),
            aside: Mutex::default(),
            troubles: parent.troubles.clone(),
            counts: parent.counts.clone(),
            all_counts: parent.all_counts.clone(),
            gauges: Mutex::default(),
        });
        show(&inner);
        Self {
            inner,
            give_up: self.give_up.clone(),
            observers: self.observers.clone(),
        }
    }

    /// The one set of this kind that all who ask share: for what several follow beside their work. It runs as long as somebody
    /// has it.
    #[must_use]
    pub fn aside(&self) -> Self {
        let mut shared = self.inner.aside.lock();
        let inner = shared.upgrade().unwrap_or_else(|| {
            let made = self.for_a_while().inner;
            *shared = Arc::downgrade(&made);
            made
        });
        Self {
            inner,
            give_up: self.give_up.clone(),
            observers: self.observers.clone(),
        }
    }

    /// Drops what was counted about a member cluster that does not exist any more.
    pub fn forget_member(&self, member: &str) {
        self.inner.all_counts.forget(member);
        if let Some(disturbances) = &self.observers.disturbances {
            disturbances.forget(member);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "all of them are fields")]
    fn build(
        client: Client,
        member: String,
        tasks: Tasks,
        metrics: Metrics,
        readiness: Option<Readiness>,
        options: InformerOptions,
        seed: &str,
        all_counts: MemberCounts,
    ) -> Self {
        let give_up = tasks.shutdown().clone();
        let inner = Arc::new(Inner {
            client,
            counts: all_counts.of(&member),
            all_counts,
            troubles: Troubles::default(),
            gauges: Mutex::default(),
            member,
            seed: seed.to_owned(),
            stop: tasks.shutdown().child_token(),
            tasks,
            metrics,
            readiness,
            options,
            known: Mutex::default(),
            lent: Mutex::default(),
            aside: Mutex::default(),
        });
        show(&inner);
        Self {
            inner,
            give_up,
            observers: Observers::default(),
        }
    }

    /// The informer of a kind whose type says everything about it.
    #[must_use]
    pub fn of<K>(&self) -> Informer<K>
    where
        K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
        K::DynamicType: Default,
    {
        self.get(Scope::all(), &K::DynamicType::default())
    }

    /// The informer of a kind and scope; started by the first call, shared from then on.
    #[must_use]
    pub fn get<K>(&self, scope: Scope, dyntype: &K::DynamicType) -> Informer<K>
    where
        K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
    {
        self.keeping(scope, dyntype, |object: K| object)
    }

    /// An informer that keeps only a part of each object, made by `keep`: for kinds with many or large objects. A
    /// typed object takes about ten times the memory of its JSON; a projection of a few fields takes what it takes.
    ///
    /// Shared by all who ask for the same `S`, so `S` should be a type of its own and `keep` the only function that
    /// makes it. Logs, metrics and readiness tell it from the informer of whole objects by the name of `S`.
    #[must_use]
    pub fn keeping<K, S>(
        &self,
        scope: Scope,
        dyntype: &K::DynamicType,
        keep: impl Fn(K) -> S + Send + Sync + 'static,
    ) -> Informer<S>
    where
        K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        self.keeping_identified(scope, dyntype, move |object, _: &Identity| keep(object))
    }

    /// The same for a part that has the object's identity: it is given the one that the informer keeps anyhow.
    #[must_use]
    pub fn keeping_identified<K, S>(
        &self,
        scope: Scope,
        dyntype: &K::DynamicType,
        keep: impl Fn(K, &Identity) -> S + Send + Sync + 'static,
    ) -> Informer<S>
    where
        K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        let url = K::url_path(dyntype, scope.namespace.as_deref());
        let id = format!(
            "{url}?{}&{}",
            scope.labels.as_deref().unwrap_or_default(),
            scope.fields.as_deref().unwrap_or_default()
        );
        let id = (id, TypeId::of::<(K, S)>());
        let mut known = self.inner.known.lock();
        if let Some(found) = known.get(&id)
            && let Ok(shared) = found.informer.clone().downcast::<Shared<S>>()
        {
            return self.informer(shared);
        }
        let counted = kind_label::<K>(dyntype, &scope);
        let kind = if TypeId::of::<K>() == TypeId::of::<S>() {
            counted.clone()
        } else {
            format!("{counted} {}", type_label::<S>())
        };
        let reflected = Reflected {
            counted,
            kind,
            member: self.inner.member.clone(),
        };
        let life = Life {
            stop: self.inner.stop.clone(),
            waits: Waits::Readiness,
        };
        let shared = self.start(scope, url, &reflected, life, keep);
        let counted = shared.cache.clone();
        known.insert(
            id,
            Known {
                reflected,
                status: shared.status.clone(),
                count: Arc::new(move || counted.len()),
                informer: shared.clone(),
            },
        );
        self.informer(shared)
    }

    fn informer<S>(&self, shared: Arc<Shared<S>>) -> Informer<S> {
        Informer {
            shared,
            give_up: self.give_up.clone(),
        }
    }

    /// Ends all informers of this set: their subscribers get an end, waiting for sync gets [`Stopped`].
    pub fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.gauges.lock().take();
    }

    fn start<K, S>(
        &self,
        scope: Scope,
        url: String,
        reflected: &Reflected,
        life: Life,
        keep: impl Fn(K, &Identity) -> S + Send + Sync + 'static,
    ) -> Arc<Shared<S>>
    where
        K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
        S: Send + Sync + 'static,
    {
        let inner = &self.inner;
        let shared = Arc::new(Shared {
            cache: Arc::new(Cache::new()),
            status: Arc::new(Status::new()),
        });
        if let Some(readiness) = inner.readiness.as_ref().filter(|_| life.waits == Waits::Readiness) {
            let status = shared.status.clone();
            readiness.check(format!("informer {}", reflected.kind), move || status.check());
        }
        // Only who follows everything of a kind must see each write.
        let echo =
            (inner.member.is_empty() && scope == Scope::all()).then(|| self.observers.echoes.of(&reflected.counted));
        let reflector = Reflector {
            client: inner.client.clone(),
            random: Random::from_text(&[&inner.seed, &inner.member, &reflected.kind]),
            reflected: reflected.clone(),
            scope,
            request: kube::core::Request::new(url),
            cache: shared.cache.clone(),
            keep: Box::new(keep),
            status: shared.status.clone(),
            options: inner.options,
            counts: inner.counts.clone(),
            troubles: inner.troubles.clone(),
            newest_version: None,
            short_watches: 0,
            observers: self.observers.clone(),
            echo,
        };
        let stop = life.stop;
        let end = Ending {
            cache: shared.cache.clone(),
            status: shared.status.clone(),
        };
        inner.tasks.spawn(
            format!("informer {} {}", reflected.kind, reflected.member),
            async move {
                // Dropped with the task, so that nobody waits for a sync that will not come.
                let _end = end;
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    () = reflector.run() => {}
                }
            },
        );
        shared
    }
}

/// Tells subscribers and waiters that the informer is over, however its task ended.
struct Ending<S> {
    cache: Arc<Cache<S>>,
    status: Arc<Status>,
}

impl<S> Drop for Ending<S> {
    fn drop(&mut self) {
        self.status.stop();
        self.cache.close();
    }
}

fn kind_label<K: Resource>(dyntype: &K::DynamicType, scope: &Scope) -> String {
    let (plural, group) = (K::plural(dyntype), K::group(dyntype));
    let mut label = if group.is_empty() {
        plural.into_owned()
    } else {
        format!("{plural}.{group}")
    };
    for part in [&scope.namespace, &scope.labels, &scope.fields].into_iter().flatten() {
        label.push(' ');
        label.push_str(part);
    }
    label
}

/// The last word of a type's name.
fn type_label<S>() -> &'static str {
    let name = std::any::type_name::<S>();
    name.rsplit("::").next().unwrap_or(name)
}

/// Its gauges, until it is stopped or nobody has it any more.
fn show(inner: &Arc<Inner>) {
    let weak = Arc::downgrade(inner);
    let gauges = inner.metrics.guarded_collector("informers", move || collect(&weak));
    *inner.gauges.lock() = Some(gauges);
}

fn collect(inner: &Weak<Inner>) -> Vec<Family> {
    let Some(inner) = inner.upgrade() else {
        return Vec::new();
    };
    let mut age = Family::gauge(
        "failover_informer_age_seconds",
        "Time since the API server was last heard from.",
    );
    let mut objects = Family::gauge("failover_informer_objects", "Objects held.");
    let mut synced = Family::gauge("failover_informer_synced", "1 once a complete list was seen.");
    for known in inner.known.lock().values() {
        let labels = [
            ("kind", known.reflected.kind.as_str()),
            ("member", &known.reflected.member),
        ];
        age = age.with(&labels, known.status.age().as_secs_f64());
        #[allow(clippy::cast_precision_loss, reason = "nobody holds 2^52 objects")]
        let count = (known.count)() as f64;
        objects = objects.with(&labels, count);
        synced = synced.with(
            &labels,
            if known.status.stage() == Stage::Synced {
                1.0
            } else {
                0.0
            },
        );
    }
    vec![age, objects, synced, followed::family(&inner)]
}
