//! `namespace`: makes the control plane's namespaces in the members.
//!
//! Guarantees: reserved namespaces and those whose owner says so stay here; a namespace that a member has already is
//! neither changed nor deleted; a cluster that cannot be written for keeps no other one without it.

mod reconcile;

use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::names::execution_namespace;
use api_types::work::Work;
use controller_kit::{Context, EventType, Next, ObjectKey, RequiredKind, Store, WorkQueue, api_errors};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;

use self::reconcile::{carried, is_kept_here, name_of_work};
use crate::Flags;
use crate::binding::index::works;
use crate::binding::reconcile::{cluster_of, differs};
use crate::binding::writer::{self, Outcome};
use crate::reserved::Reserved;

/// Index of Works by the namespace that they carry.
const BY_CARRIED: &str = "carried namespace";
/// The namespace that every API server has.
const DEFAULT: &str = "default";
/// How long a store takes to catch up with a write that came before ours.
const AGAIN_WHEN_OUTDATED: Duration = Duration::from_millis(200);
/// How long whoever makes the execution namespace of a cluster that joins is given before it is tried again.
const AGAIN_WHEN_JOINING: Duration = Duration::from_secs(1);

/// Runs the controller until shutdown.
///
/// # Errors
/// When the API server does not serve our kinds.
pub async fn run(ctx: Context, flags: Flags) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>(), RequiredKind::of::<Work>()])
        .await?;
    let (namespaces, clusters, works) = (
        ctx.informers.of::<Namespace>(),
        ctx.informers.of::<Cluster>(),
        works(&ctx),
    );
    works.index(BY_CARRIED, |work: &Work| carried(work).into_iter().collect());
    let (Ok(namespace_store), Ok(cluster_store), Ok(work_store)) =
        (namespaces.synced().await, clusters.synced().await, works.synced().await)
    else {
        return Ok(());
    };
    let queue: WorkQueue<String> = WorkQueue::new("namespace", &ctx);
    queue.follow(&ctx, namespaces.changes(), |change| [change.key.name.clone()]);
    queue.follow(&ctx, works.changes(), |change| {
        let parts = |work: &Option<Arc<Work>>| {
            work.as_ref()
                .map(|work| (work.metadata.generation, work.metadata.deletion_timestamp.clone()))
        };
        let same = change.before.is_some() && parts(&change.before) == parts(&change.after);
        change.newest().filter(|_| !same).and_then(|work| carried(work))
    });
    let all = namespace_store.clone();
    queue.follow(&ctx, clusters.changes(), move |change| {
        let there = |cluster: &Option<Arc<Cluster>>| cluster.as_ref().map(|cluster| cluster.is_being_deleted());
        let same = there(&change.before) == there(&change.after);
        if same {
            Vec::new()
        } else {
            all.keys().into_iter().map(|key| key.name).collect()
        }
    });
    let controller = Arc::new(NamespaceController {
        reserved: Reserved::new(&flags.skipped_propagating_namespaces, &ctx.system_namespace),
        ctx: ctx.clone(),
        namespaces: namespace_store,
        clusters: cluster_store,
        works: work_store,
    });
    queue
        .run(&ctx, 1, move |name| {
            let controller = controller.clone();
            async move { controller.sync(&name).await }
        })
        .await;
    Ok(())
}

struct NamespaceController {
    ctx: Context,
    reserved: Reserved,
    namespaces: Store<Namespace>,
    clusters: Store<Cluster>,
    works: Store<Work>,
}

impl NamespaceController {
    async fn sync(&self, name: &str) -> Result<Next, kube::Error> {
        if name == DEFAULT || self.reserved.namespace(name) {
            return Ok(Next::Done);
        }
        match self.namespaces.get(&ObjectKey::cluster_scoped(name)) {
            Some(namespace) if is_kept_here(&namespace) => self.remove(name).await,
            Some(namespace) if namespace.metadata.deletion_timestamp.is_some() => Ok(Next::Done),
            Some(namespace) => self.carry(&namespace).await,
            // Asked of the API server itself: what an old list does not show may be full of workloads.
            None if self.works.by_index(BY_CARRIED, name).is_empty() => Ok(Next::Done),
            None => match Api::<Namespace>::all(self.ctx.client.clone()).get_opt(name).await? {
                Some(_) => Ok(Next::After(Duration::from_secs(1))),
                None => self.remove(name).await,
            },
        }
    }

    async fn carry(&self, namespace: &Namespace) -> Result<Next, kube::Error> {
        let mut round = Round::default();
        let name = name_of_work(namespace.metadata.name.as_deref().unwrap_or_default());
        for cluster in self
            .clusters
            .list()
            .iter()
            .filter(|cluster| !cluster.is_being_deleted())
        {
            let cluster = cluster.cluster_name();
            let wanted = reconcile::work(namespace, &cluster);
            let present = self
                .works
                .get(&ObjectKey::namespaced(execution_namespace(&cluster), name.clone()));
            match present {
                None => round.note_created(&cluster, writer::create(&self.ctx, &wanted).await),
                Some(present) if present.metadata.deletion_timestamp.is_some() || !differs(&present, &wanted) => {}
                Some(present) => round.note(&cluster, writer::update(&self.ctx, &present, &wanted).await),
            }
        }
        if let Some((cluster, error)) = &round.failed {
            let note = format!(
                "the Work that makes this namespace in cluster {cluster} was not written: {}",
                api_errors::one_line(error)
            );
            let events = &self.ctx.events;
            events.publish_for(namespace, EventType::Warning, "SyncWorkFailed", note);
        }
        round.ends()
    }

    async fn remove(&self, name: &str) -> Result<Next, kube::Error> {
        let mut round = Round::default();
        for work in self.works.by_index(BY_CARRIED, name) {
            if work.metadata.deletion_timestamp.is_none()
                && let Some(cluster) = cluster_of(&work)
            {
                round.note(&cluster, writer::delete(&self.ctx, &work).await);
            }
        }
        round.ends()
    }
}

/// The writes for all clusters: one cluster's trouble does not keep the others' Works.
#[derive(Default)]
struct Round {
    outdated: bool,
    /// Whether the execution namespace of some cluster is not there yet.
    joining: bool,
    failed: Option<(ClusterName, kube::Error)>,
}

impl Round {
    fn note(&mut self, cluster: &ClusterName, written: Result<Outcome, kube::Error>) {
        match written {
            Ok(outcome) => self.outdated |= outcome == Outcome::Outdated,
            Err(error) => drop(self.failed.get_or_insert((cluster.clone(), error))),
        }
    }

    /// The same of a Work that was new. That its namespace is not there is no failure: its Cluster has only just joined.
    fn note_created(&mut self, cluster: &ClusterName, written: Result<Outcome, kube::Error>) {
        match written {
            Err(error) if api_errors::is_not_found(&error) => self.joining = true,
            written => self.note(cluster, written),
        }
    }

    fn ends(self) -> Result<Next, kube::Error> {
        match self.failed {
            Some((_, error)) => Err(error),
            // The version that got in between may differ in status only, which would not bring us back.
            None if self.outdated => Ok(Next::After(AGAIN_WHEN_OUTDATED)),
            None if self.joining => Ok(Next::After(AGAIN_WHEN_JOINING)),
            None => Ok(Next::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use serde_json::json;

    use super::*;

    fn refusal(code: u16) -> kube::Error {
        let status: Status = serde_json::from_value(json!({"code": code, "reason": "R", "message": "m"})).unwrap();
        kube::Error::Api(status.boxed())
    }

    #[test]
    fn a_cluster_that_has_only_just_joined_is_no_failure() {
        let mut round = Round::default();
        round.note_created(&"m1".into(), Err(refusal(404)));
        assert!(round.failed.is_none(), "nothing is told of it");
        round.note_created(&"m2".into(), Ok(Outcome::Done));
        assert_eq!(round.ends().unwrap(), Next::After(AGAIN_WHEN_JOINING));

        let mut round = Round::default();
        round.note_created(&"m1".into(), Err(refusal(403)));
        assert!(round.ends().is_err());
    }
}
