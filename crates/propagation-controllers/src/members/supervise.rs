//! Runs one set of tasks for each member that is Ready: a member that hangs keeps nobody else waiting, nor does a
//! namespace whose Secrets cannot be read.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition};
use controller_kit::members::{AddressError, MemberAddress, SecretPlace, TlsVerification};
use controller_kit::{Context, Informer, MemberTarget, Next, ObjectKey, Scope, Store, Tasks, WorkQueue};
use k8s_openapi::api::core::v1::Secret;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::reach::Reach;
use super::session::{Identity, Pool, Session};

/// How soon a member is looked at again whose Secrets are being read.
const AGAIN_WHILE_READING: Duration = Duration::from_secs(1);

/// Runs `work` for each Ready member of `reach`, in a task group of its own, until the member is no longer Ready, changes
/// its address or credentials, or is gone. Returns after shutdown, when all have ended.
///
/// `queue_name` must be the only one of the process.
pub async fn per_ready_member<W, F>(
    ctx: Context,
    reach: Reach,
    queue_name: &'static str,
    pool: Arc<Pool>,
    request_timeout: Duration,
    work: W,
) -> Result<(), controller_kit::informer::Stopped>
where
    W: Fn(Context, Arc<Session>) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let clusters = reach.clusters(&ctx);
    let store = clusters.synced().await?;
    let queue: WorkQueue<String> = WorkQueue::new(queue_name, &ctx);
    queue.follow(&ctx, clusters.changes(), |change| [change.key.name.clone()]);
    let supervisor = Arc::new(Supervisor {
        ctx: ctx.clone(),
        reach,
        store,
        pool,
        request_timeout,
        work,
        running: Mutex::default(),
        secrets: Mutex::default(),
        queue: queue.clone(),
    });
    let handler = supervisor.clone();
    queue
        .run(&ctx, 1, move |name| {
            let supervisor = handler.clone();
            async move { supervisor.look_at(&name).await }
        })
        .await;
    let running = std::mem::take(&mut *supervisor.running.lock());
    for member in running.into_values() {
        member.tasks.shutdown().cancel();
        member.tasks.ended().await;
    }
    Ok(())
}

struct Supervisor<W> {
    ctx: Context,
    reach: Reach,
    store: Store<Cluster>,
    pool: Arc<Pool>,
    request_timeout: Duration,
    work: W,
    running: Mutex<BTreeMap<ClusterName, Running>>,
    /// Namespaces whose Secrets are followed.
    secrets: Mutex<BTreeMap<String, Secrets>>,
    queue: WorkQueue<String>,
}

struct Running {
    identity: Identity,
    tasks: Tasks,
}

/// The Secrets of a namespace, and since when they are followed.
#[derive(Clone)]
struct Secrets {
    informer: Informer<Secret>,
    since: Instant,
}

/// Why it is not known how a member is reached.
#[derive(Debug, thiserror::Error)]
enum NoIdentity {
    #[error(transparent)]
    Wrong(#[from] AddressError),
    /// It may be known soon.
    #[error("cluster {cluster}: the Secrets of namespace {namespace} are being read")]
    BeingRead { cluster: ClusterName, namespace: String },
    #[error(
        "cluster {cluster}: the Secrets of namespace {namespace}, which spec.secretRef names, could not be listed within \
         {}: check that the namespace exists and that this component may list and watch Secrets there",
        controller_kit::durations::format_duration(*.patience)
    )]
    Unreadable {
        cluster: ClusterName,
        namespace: String,
        patience: Duration,
    },
}

impl<W, F> Supervisor<W>
where
    W: Fn(Context, Arc<Session>) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    async fn look_at(&self, name: &str) -> Result<Next, anyhow::Error> {
        let cluster = ClusterName::from(name);
        let object = self.store.get(&ObjectKey::cluster_scoped(name));
        if object.is_none() {
            self.ctx.forget_member(name);
            self.pool.forget(&cluster);
        }
        let wanted = match object {
            Some(object) if object.is_ready() && self.reach.includes(&object) => match self.identity(&object) {
                Ok(identity) => Some(identity),
                Err(NoIdentity::BeingRead { .. }) => return Ok(Next::After(AGAIN_WHILE_READING)),
                Err(error) => {
                    self.stop(&cluster);
                    return Err(error.into());
                }
            },
            _ => None,
        };
        let same = self
            .running
            .lock()
            .get(&cluster)
            .is_some_and(|running| Some(&running.identity) == wanted.as_ref());
        if same {
            return Ok(Next::Done);
        }
        self.stop(&cluster);
        let Some(identity) = wanted else { return Ok(Next::Done) };
        let session = self.pool.session(&self.ctx, &identity)?;
        let tasks = self.ctx.tasks.subgroup();
        let ctx = Context {
            shutdown: tasks.shutdown().clone(),
            tasks: tasks.clone(),
            ..self.ctx.clone()
        };
        tasks.spawn(format!("{} {cluster}", self.ctx.controller), (self.work)(ctx, session));
        self.running.lock().insert(cluster, Running { identity, tasks });
        Ok(Next::Done)
    }

    /// Ends the member's tasks at once: what they wait for may never come.
    fn stop(&self, cluster: &ClusterName) {
        if let Some(running) = self.running.lock().remove(cluster) {
            running.tasks.abort();
        }
    }

    fn identity(&self, cluster: &Cluster) -> Result<Identity, NoIdentity> {
        let mut target = match self.reach.own_target(cluster) {
            Some(target) => target,
            None => self.target(cluster)?,
        };
        target.request_timeout = self.request_timeout;
        let since = cluster
            .condition(condition::READY)
            .map(|c| c.last_transition_time.0.to_string())
            .unwrap_or_default();
        let uid = cluster.metadata.uid.clone().unwrap_or_default();
        Ok(Identity {
            target,
            incarnation: format!("{uid} {since}"),
        })
    }

    /// Address and credentials, by the Cluster and its Secret. Never waits: what is read meanwhile brings the member
    /// back, and others are not to wait for it.
    fn target(&self, cluster: &Cluster) -> Result<MemberTarget, NoIdentity> {
        let (name, spec) = (cluster.cluster_name(), &cluster.spec);
        let address = MemberAddress {
            cluster: name.as_str(),
            api_endpoint: spec.api_endpoint.as_deref(),
            secret: spec.secret_ref.as_ref().map(|reference| SecretPlace {
                namespace: &reference.namespace,
                name: &reference.name,
            }),
            proxy_url: spec.proxy_url.as_deref(),
            verification: match spec.insecure_skip_tls_verification {
                Some(true) => TlsVerification::Skip,
                _ => TlsVerification::Verify,
            },
        };
        let address = address.without_proxy_header(&spec.proxy_header)?;
        let place = address.secret_place()?;
        let secrets = self.secrets_of(place.namespace);
        let Some(store) = secrets.informer.store_if_synced() else {
            let (cluster, namespace) = (name.clone(), place.namespace.to_owned());
            return Err(if secrets.since.elapsed() < self.request_timeout {
                NoIdentity::BeingRead { cluster, namespace }
            } else {
                NoIdentity::Unreadable {
                    cluster,
                    namespace,
                    patience: self.request_timeout,
                }
            });
        };
        let secret = store.get(&ObjectKey::namespaced(place.namespace, place.name));
        Ok(address.target(secret.as_deref(), self.request_timeout)?)
    }

    /// A changed Secret means another look at the clusters that name it.
    fn secrets_of(&self, namespace: &str) -> Secrets {
        let mut known = self.secrets.lock();
        if let Some(secrets) = known.get(namespace) {
            return secrets.clone();
        }
        let informer = self.ctx.informers.get::<Secret>(Scope::namespace(namespace), &());
        let clusters = self.store.clone();
        self.queue.follow(&self.ctx, informer.changes(), move |change| {
            let names = |cluster: &Cluster| {
                let reference = cluster.spec.secret_ref.as_ref()?;
                let same =
                    Some(&reference.namespace) == change.key.namespace.as_ref() && reference.name == change.key.name;
                same.then(|| cluster.metadata.name.clone()).flatten()
            };
            clusters
                .list()
                .iter()
                .filter_map(|cluster| names(cluster))
                .collect::<Vec<_>>()
        });
        let secrets = Secrets {
            informer,
            since: Instant::now(),
        };
        known.insert(namespace.to_owned(), secrets.clone());
        secrets
    }
}
