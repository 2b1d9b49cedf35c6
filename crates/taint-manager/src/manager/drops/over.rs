//! Items of drops whose cause is over.

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::work::Binding;
use binding_writer::WriteOutcome;
use controller_kit::{EventType, Next};
use failover_core::eviction::stay::{self, StayItem};
use failover_core::eviction::stay_edit;
use kube::Api;
use tracing::info;

use super::{AFTER_CONFLICT, DropError, Drops};
use crate::objects::binding_reference;

impl Drops {
    /// Removes what is over. The cache only says where to look: a drop that still counts must not go because a cache
    /// lags behind.
    pub(super) async fn clean(&self, key: &BindingKey) -> Result<Next, DropError> {
        let Some(known) = self.stores.binding(key) else {
            self.marked.lock().remove(key);
            return Ok(Next::Done);
        };
        let known = known.judged(key);
        let over_as_known = |item: &&StayItem| {
            let cluster = self.stores.cluster(&item.cluster.as_str().into());
            stay_edit::over(item, &known, cluster.as_deref()).is_some()
        };
        if !drops_of(&known).iter().any(|item| over_as_known(&item)) {
            return Ok(Next::Done);
        }
        let Some(live) = self.read(key).await? else {
            return Ok(Next::Done);
        };
        let mut over = Vec::new();
        for item in drops_of(&live) {
            let cluster = self.read_cluster(&item.cluster).await?;
            if let Some(why) = stay_edit::over(&item, &live, cluster.as_ref()) {
                over.push((item, why));
            }
        }
        let is_over = |item: &StayItem| over.iter().any(|(other, _)| other == item);
        let Ok(edit) = stay_edit::clean(stay::text(&live), is_over) else {
            return Ok(Next::Done);
        };
        match self.send(&live, &edit).await? {
            WriteOutcome::Written(_) => over.iter().for_each(|(item, why)| self.say_over(&live, item, why)),
            WriteOutcome::NotNeeded | WriteOutcome::Gone => {}
            WriteOutcome::Conflict => return Ok(Next::After(AFTER_CONFLICT)),
        }
        Ok(Next::Done)
    }

    async fn read_cluster(&self, name: &str) -> Result<Option<Cluster>, DropError> {
        let clusters: Api<Cluster> = Api::all(self.ctx.client.clone());
        clusters.get_opt(name).await.map_err(|source| DropError::ReadCluster {
            cluster: name.to_owned(),
            source: Box::new(source),
        })
    }

    fn say_over(&self, binding: &Binding, item: &StayItem, why: &str) {
        let who = item.dropped_by.as_deref().unwrap_or_default();
        info!(binding = %binding.key(), cluster = item.cluster, caller = who, "a drop is over: {why}");
        let note = format!(
            "the drop by {who} that kept the workload on {} is over: {why}{}",
            item.cluster,
            item.verdict
                .as_ref()
                .map(|verdict| format!(" ({verdict})"))
                .unwrap_or_default()
        );
        let uid = binding.metadata.uid.as_deref().unwrap_or_default();
        let about = binding_reference(&binding.key(), uid);
        self.ctx
            .events
            .publish(&about, EventType::Normal, "EvictionDropOver", note);
    }
}

/// Items that a drop left; none while the annotation cannot be read.
fn drops_of(binding: &Binding) -> Vec<StayItem> {
    let mut items = stay::read(binding).unwrap_or_default();
    items.retain(|item| item.dropped_by.is_some());
    items
}
