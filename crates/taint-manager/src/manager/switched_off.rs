//! What is not done because of a switch: said once for each faulty cluster, as a Warning event, a log line and a metric.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::cluster::{Cluster, effect};
use controller_kit::metrics::Family;
use controller_kit::{Change, Context, EventType};
use failover_core::eviction::{FailoverGate, NoExecuteEviction, Switches};
use parking_lot::Mutex;
use tracing::warn;

use crate::flags::NO_EXECUTE_FLAG;
use crate::objects::cluster_reference;

const NAME: &str = "taintManager switches";
const GATE: &str = "the feature gate Failover";

/// Clusters from which nothing moves, and the switch that is off.
pub(crate) struct SwitchedOff {
    ctx: Context,
    switches: Switches,
    told: Arc<Mutex<BTreeMap<ClusterName, (String, &'static str)>>>,
}

impl SwitchedOff {
    pub fn new(ctx: &Context, switches: Switches) -> Self {
        let told: Arc<Mutex<BTreeMap<ClusterName, (String, &'static str)>>> = Arc::default();
        let for_metric = told.clone();
        ctx.metrics.collector(NAME, move || {
            let family = Family::gauge(
                "taint_manager_evictions_switched_off",
                "1 for each cluster from which workloads do not move because a switch is off.",
            );
            let with = |family: Family, (cluster, (_, switch)): (&ClusterName, &(String, &'static str))| {
                family.with(&[("cluster_name", cluster.as_str()), ("switch", switch)], 1.0)
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
        let missing = cluster.and_then(|cluster| Some((cluster, switch_that_is_off(cluster, &self.switches)?)));
        let Some((cluster, (switch, what))) = missing else {
            self.told.lock().remove(&name);
            return;
        };
        let uid = cluster.metadata.uid.clone().unwrap_or_default();
        let said = (uid.clone(), switch);
        if self.told.lock().insert(name.clone(), said.clone()) == Some(said) {
            return;
        }
        let note = format!("no workload moves because of {what}: {switch} is off");
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

/// The switch that keeps workloads on this cluster, and the cause that it keeps from counting.
fn switch_that_is_off(cluster: &Cluster, switches: &Switches) -> Option<(&'static str, String)> {
    let taint_with = |wanted: &[&str]| {
        let mut taints = cluster.spec.taints.iter();
        taints
            .find(|taint| wanted.contains(&taint.effect.as_str()))
            .map(|taint| format!("taint {}:{}", taint.key, taint.effect))
    };
    if switches.failover == FailoverGate::Off {
        let deleted = cluster
            .is_being_deleted()
            .then(|| "the deletion of the Cluster".to_owned());
        let cause = taint_with(&[effect::NO_EXECUTE, effect::PREFER_NO_EXECUTE]).or(deleted)?;
        return Some((GATE, cause));
    }
    if switches.no_execute == NoExecuteEviction::Off {
        return Some((NO_EXECUTE_FLAG, taint_with(&[effect::NO_EXECUTE])?));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use api_types::policy::PurgeMode;
    use rstest::rstest;
    use serde_json::json;

    const BOTH: (FailoverGate, NoExecuteEviction) = (FailoverGate::On, NoExecuteEviction::On);
    const NO_GATE: (FailoverGate, NoExecuteEviction) = (FailoverGate::Off, NoExecuteEviction::On);
    const NO_FLAG: (FailoverGate, NoExecuteEviction) = (FailoverGate::On, NoExecuteEviction::Off);

    #[rstest]
    #[case::nothing_is_off("NoExecute", BOTH, None)]
    #[case::the_gate("NoExecute", NO_GATE, Some(GATE))]
    #[case::the_gate_for_the_softer_effect("PreferNoExecute", NO_GATE, Some(GATE))]
    #[case::the_flag("NoExecute", NO_FLAG, Some(NO_EXECUTE_FLAG))]
    #[case::the_flag_says_nothing_of_the_softer_effect("PreferNoExecute", NO_FLAG, None)]
    #[case::nothing_would_move("NoSchedule", NO_GATE, None)]
    fn the_switch_is_named(
        #[case] effect: &str,
        #[case] (failover, no_execute): (FailoverGate, NoExecuteEviction),
        #[case] expected: Option<&str>,
    ) {
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "taints": [{"key": "k", "effect": effect}]},
        }))
        .unwrap();
        let switches = Switches {
            failover,
            no_execute,
            default_purge_mode: PurgeMode::Gracefully,
        };
        let found = switch_that_is_off(&cluster, &switches);
        assert_eq!(found.map(|(switch, _)| switch), expected);
    }
}
