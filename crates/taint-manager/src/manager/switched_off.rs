//! What is not done because of a switch: said once for each faulty cluster, as a Warning event, a log line and a metric.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use controller_kit::metrics::Family;
use controller_kit::{Change, Context, EventType};
use failover_core::eviction::{Switch, Switches, switched_off};
use parking_lot::Mutex;
use tracing::warn;

use crate::objects::cluster_reference;

const NAME: &str = "taintManager switches";

/// Clusters from which nothing moves, and the switch that is off.
pub(crate) struct SwitchedOff {
    ctx: Context,
    switches: Switches,
    told: Arc<Mutex<BTreeMap<ClusterName, (String, Switch)>>>,
}

impl SwitchedOff {
    pub fn new(ctx: &Context, switches: Switches) -> Self {
        let told: Arc<Mutex<BTreeMap<ClusterName, (String, Switch)>>> = Arc::default();
        let for_metric = told.clone();
        ctx.metrics.collector(NAME, move || {
            let family = Family::gauge(
                "taint_manager_evictions_switched_off",
                "1 for each cluster from which workloads do not move because a switch is off.",
            );
            let with = |family: Family, (cluster, (_, switch)): (&ClusterName, &(String, Switch))| {
                family.with(&[("cluster_name", cluster.as_str()), ("switch", switch.as_str())], 1.0)
            };
            vec![for_metric.lock().iter().fold(family, with)]
        });
        Self {
            ctx: ctx.clone(),
            switches,
            told,
        }
    }

    /// Looks at a Cluster that changed.
    pub fn see(&mut self, change: &Change<Cluster>) {
        let name = ClusterName::from(change.key.name.as_str());
        let cluster = change.after.as_deref();
        let missing = cluster.and_then(|cluster| Some((cluster, switched_off(cluster, &self.switches)?)));
        let Some((cluster, off)) = missing else {
            self.told.lock().remove(&name);
            return;
        };
        let uid = cluster.metadata.uid.clone().unwrap_or_default();
        let said = (uid.clone(), off.switch);
        if self.told.lock().insert(name.clone(), said.clone()) == Some(said) {
            return;
        }
        let note = off.to_string();
        warn!(cluster = %name, "{note}");
        let about = cluster_reference(&name, &uid);
        self.ctx
            .events
            .publish(&about, EventType::Warning, "EvictionSwitchedOff", note);
    }
}

impl Drop for SwitchedOff {
    fn drop(&mut self) {
        self.ctx.metrics.remove_collector(NAME);
    }
}
