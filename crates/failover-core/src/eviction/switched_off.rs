//! What does not move because a switch is off, and which switch that is.

use std::fmt;

use api_types::cluster::{Cluster, effect};

use super::verdict::{DeletedClusters, FailoverGate, NoExecuteEviction, Switches};

/// A switch of the administrator that is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Switch {
    /// The feature gate `Failover`.
    Failover,
    /// The flag `--enable-no-execute-taint-eviction`.
    NoExecute,
}

impl Switch {
    /// What to look for: `the feature gate Failover`, or the flag.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failover => "the feature gate Failover",
            Self::NoExecute => "--enable-no-execute-taint-eviction",
        }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Switches {
    /// The switch by which taints of this effect cause no moves. `None` when they may, and for effects that never do.
    #[must_use]
    pub fn against_taints(&self, effect: &str) -> Option<Switch> {
        match (effect, self.failover, self.no_execute) {
            (effect::NO_EXECUTE | effect::PREFER_NO_EXECUTE, FailoverGate::Off, _) => Some(Switch::Failover),
            (effect::NO_EXECUTE, FailoverGate::On, NoExecuteEviction::Off) => Some(Switch::NoExecute),
            _ => None,
        }
    }

    /// The switch by which the deletion of a Cluster causes no moves. `None` when it may, and where it is stock's matter.
    #[must_use]
    pub fn against_deletions(&self) -> Option<Switch> {
        let is_ours = self.deleted_clusters == DeletedClusters::Evicted;
        (is_ours && self.failover == FailoverGate::Off).then_some(Switch::Failover)
    }
}

/// Something on a cluster that moves nothing, because of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedOff {
    /// The switch.
    pub switch: Switch,
    /// What would count, in words: a taint or the deletion of the Cluster.
    pub cause: String,
}

impl fmt::Display for SwitchedOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { switch, cause } = self;
        write!(f, "no workload moves because of {cause}: {switch} is off")
    }
}

/// What would move workloads off this cluster if no switch were off: a taint rather than the deletion.
#[must_use]
pub fn switched_off(cluster: &Cluster, switches: &Switches) -> Option<SwitchedOff> {
    let taint = cluster.spec.taints.iter().find_map(|taint| {
        Some(SwitchedOff {
            switch: switches.against_taints(&taint.effect)?,
            cause: format!("taint {}:{}", taint.key, taint.effect),
        })
    });
    let deletion = || {
        Some(SwitchedOff {
            switch: switches.against_deletions().filter(|_| cluster.is_being_deleted())?,
            cause: "the deletion of the Cluster".to_owned(),
        })
    };
    taint.or_else(deletion)
}

#[cfg(test)]
mod tests {
    use super::*;
    use api_types::policy::PurgeMode;
    use rstest::rstest;
    use serde_json::{Value, json};

    const BOTH: (FailoverGate, NoExecuteEviction) = (FailoverGate::On, NoExecuteEviction::On);
    const NO_GATE: (FailoverGate, NoExecuteEviction) = (FailoverGate::Off, NoExecuteEviction::On);
    const NO_FLAG: (FailoverGate, NoExecuteEviction) = (FailoverGate::On, NoExecuteEviction::Off);
    const NEITHER: (FailoverGate, NoExecuteEviction) = (FailoverGate::Off, NoExecuteEviction::Off);

    fn found(cluster: &Value, (failover, no_execute): (FailoverGate, NoExecuteEviction)) -> Option<SwitchedOff> {
        let cluster: Cluster = serde_json::from_value(cluster.clone()).unwrap();
        let switches = Switches {
            failover,
            no_execute,
            deleted_clusters: DeletedClusters::Evicted,
            default_purge_mode: PurgeMode::Gracefully,
        };
        switched_off(&cluster, &switches)
    }

    fn tainted(effects: &[&str]) -> Value {
        let taints: Vec<Value> = effects
            .iter()
            .map(|effect| json!({"key": "k", "effect": effect}))
            .collect();
        json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "taints": taints}})
    }

    #[rstest]
    #[case::nothing_is_off(&["NoExecute"], BOTH, None)]
    #[case::the_gate(&["NoExecute"], NO_GATE, Some(Switch::Failover))]
    #[case::the_gate_before_the_flag(&["NoExecute"], NEITHER, Some(Switch::Failover))]
    #[case::the_gate_for_the_softer_effect(&["PreferNoExecute"], NO_GATE, Some(Switch::Failover))]
    #[case::the_flag(&["NoExecute"], NO_FLAG, Some(Switch::NoExecute))]
    #[case::the_flag_says_nothing_of_the_softer_effect(&["PreferNoExecute"], NO_FLAG, None)]
    #[case::the_flag_behind_the_softer_effect(&["PreferNoExecute", "NoExecute"], NO_FLAG, Some(Switch::NoExecute))]
    #[case::nothing_would_move(&["NoSchedule"], NO_GATE, None)]
    fn the_switch_is_named(
        #[case] effects: &[&str],
        #[case] set: (FailoverGate, NoExecuteEviction),
        #[case] expected: Option<Switch>,
    ) {
        assert_eq!(found(&tainted(effects), set).map(|off| off.switch), expected);
    }

    #[rstest]
    #[case::the_gate(
        NO_GATE,
        Some("no workload moves because of the deletion of the Cluster: the feature gate Failover is off")
    )]
    #[case::the_flag_plays_no_part(NO_FLAG, None)]
    fn a_deletion(#[case] set: (FailoverGate, NoExecuteEviction), #[case] expected: Option<&str>) {
        let mut cluster = tainted(&[]);
        cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(found(&cluster, set).map(|off| off.to_string()).as_deref(), expected);
    }

    #[test]
    fn a_taint_is_named_before_a_deletion() {
        let mut cluster = tainted(&["NoExecute"]);
        cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(found(&cluster, NO_GATE).unwrap().cause, "taint k:NoExecute");
    }
}
