//! Runs one set of tasks for each member that is Ready: a member that hangs keeps nobody else waiting.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition};
use controller_kit::members::TlsVerification;
use controller_kit::{Context, MemberTarget, Next, ObjectKey, Scope, Store, Tasks, WorkQueue};
use k8s_openapi::api::core::v1::Secret;
use parking_lot::Mutex;

use super::reach::Reach;
use super::session::{Identity, Pool, Session};

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
    secrets: Mutex<BTreeMap<String, controller_kit::Informer<Secret>>>,
    queue: WorkQueue<String>,
}

struct Running {
    identity: Identity,
    tasks: Tasks,
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
            self.ctx.informers.forget_member(name);
        }
        let wanted = match object {
            Some(object) if object.is_ready() && self.reach.includes(&object) => match self.identity(&object).await {
                Ok(identity) => Some(identity),
                Err(error) => {
                    self.stop(&cluster);
                    return Err(error);
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

    async fn identity(&self, cluster: &Cluster) -> Result<Identity, anyhow::Error> {
        let mut target = match self.reach.own_target(cluster) {
            Some(target) => target,
            None => self.target(cluster).await?,
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

    /// Address and credentials, by the Cluster and its Secret.
    async fn target(&self, cluster: &Cluster) -> Result<MemberTarget, anyhow::Error> {
        let name = cluster.cluster_name();
        let endpoint = cluster
            .spec
            .api_endpoint
            .clone()
            .filter(|endpoint| !endpoint.is_empty());
        let endpoint = endpoint.ok_or_else(|| {
            anyhow::anyhow!("cluster {name}: spec.apiEndpoint is empty, so nothing can be sent there")
        })?;
        let mut target = MemberTarget::new(name.as_str(), endpoint);
        target.proxy_url = cluster.spec.proxy_url.clone().filter(|url| !url.is_empty());
        if cluster.spec.insecure_skip_tls_verification == Some(true) {
            target.verification = TlsVerification::Skip;
        }
        let reference = cluster.spec.secret_ref.as_ref().ok_or_else(|| {
            anyhow::anyhow!(
                "cluster {name}: spec.secretRef is missing: it must name the Secret with token and caBundle"
            )
        })?;
        let secret = self.secret(&name, &reference.namespace, &reference.name).await?;
        let data = |key: &str| {
            secret
                .data
                .as_ref()
                .and_then(|data| data.get(key))
                .map(|bytes| bytes.0.clone())
        };
        target.token = match data("token").map(String::from_utf8) {
            None => None,
            Some(Ok(token)) => Some(token),
            Some(Err(_)) => {
                anyhow::bail!(
                    "cluster {name}: token in Secret {}/{} is not text",
                    reference.namespace,
                    reference.name
                )
            }
        };
        target.ca_bundle = data("caBundle");
        Ok(target)
    }

    async fn secret(&self, cluster: &ClusterName, namespace: &str, name: &str) -> Result<Arc<Secret>, anyhow::Error> {
        let informer = self.secrets_of(namespace);
        let secrets = informer.synced().await?;
        secrets.get(&ObjectKey::namespaced(namespace, name)).ok_or_else(|| {
            anyhow::anyhow!("cluster {cluster}: Secret {namespace}/{name}, named by spec.secretRef, does not exist")
        })
    }

    /// A changed Secret means another look at the clusters that name it.
    fn secrets_of(&self, namespace: &str) -> controller_kit::Informer<Secret> {
        let mut known = self.secrets.lock();
        if let Some(informer) = known.get(namespace) {
            return informer.clone();
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
        known.insert(namespace.to_owned(), informer.clone());
        informer
    }
}
