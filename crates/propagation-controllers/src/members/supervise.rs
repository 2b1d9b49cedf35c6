//! Runs one set of tasks for each member that is Ready: a member that hangs keeps nobody else waiting, nor does a Secret
//! that cannot be read. Only the Secrets of Ready members are read, each by its name.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition};
use controller_kit::informer::Followed;
use controller_kit::members::{AddressError, MemberAddress};
use controller_kit::tasks::TaskGuard;
use controller_kit::{Context, MemberTarget, Next, ObjectKey, Store, Tasks, WorkQueue};
use k8s_openapi::api::core::v1::Secret;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::reach::Reach;
use super::session::{Identity, Pool, Session};

/// How soon a member is looked at again whose Secret is being read.
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
    /// Of members that are Ready, as far as the control plane says.
    secrets: Mutex<BTreeMap<ClusterName, Named>>,
    queue: WorkQueue<String>,
}

struct Running {
    identity: Identity,
    tasks: Tasks,
}

/// The Secret that a Cluster names, and since when it is followed.
struct Named {
    secret: Followed<Secret>,
    since: Instant,
    /// Looks at the member again when its Secret changes.
    _looks: TaskGuard,
}

/// Why it is not known how a member is reached.
#[derive(Debug, thiserror::Error)]
enum NoIdentity {
    #[error(transparent)]
    Wrong(#[from] AddressError),
    /// It may be known soon.
    #[error("cluster {cluster}: secret {secret} is being read")]
    BeingRead { cluster: ClusterName, secret: ObjectKey },
    #[error(
        "cluster {cluster}: secret {secret}, which spec.secretRef names, could not be read within {} ({why}): check that \
         this component may list and watch it",
        controller_kit::durations::format_duration(*.patience)
    )]
    Unreadable {
        cluster: ClusterName,
        secret: ObjectKey,
        patience: Duration,
        why: String,
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
            _ => {
                self.secrets.lock().remove(&cluster);
                None
            }
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
        let name = cluster.cluster_name();
        let address = MemberAddress::of(cluster);
        let place = address.secret_place()?;
        let place = ObjectKey::namespaced(place.namespace, place.name);
        let mut secrets = self.secrets.lock();
        let known = secrets.remove(&name).filter(|named| *named.secret.key() == place);
        let named = secrets
            .entry(name.clone())
            .or_insert(known.unwrap_or_else(|| self.follow(&name, &place)));
        let secret = match named.secret.as_read() {
            Ok(secret) => secret,
            Err(_) if named.since.elapsed() < self.request_timeout => {
                return Err(NoIdentity::BeingRead {
                    cluster: name,
                    secret: place,
                });
            }
            Err(why) => {
                return Err(NoIdentity::Unreadable {
                    cluster: name,
                    secret: place,
                    patience: self.request_timeout,
                    why: why.to_string(),
                });
            }
        };
        Ok(address.target(secret.as_deref(), self.request_timeout)?)
    }

    fn follow(&self, cluster: &ClusterName, place: &ObjectKey) -> Named {
        let secret = self.ctx.informers.object::<Secret>(place, &());
        let name = cluster.to_string();
        let looks = self
            .queue
            .follow(&self.ctx, secret.changes(), move |_| [name.clone()])
            .abort_on_drop();
        Named {
            secret,
            since: Instant::now(),
            _looks: looks,
        }
    }
}
