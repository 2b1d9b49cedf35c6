//! What is asked.

use std::collections::{BTreeMap, BTreeSet};

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::failover::FailoverPause;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::Binding;
use failover_core::eviction::Switches;
use failover_core::eviction::regime::RegimeSettings;
use failover_core::taint_policy::FailoverGate as PolicyGate;
use jiff::{SignedDuration, Timestamp};

use crate::feasibility::{FewerCopies, PreEvictionCheck};
use crate::request::Rules;
use crate::schedulers::Schedulers;

/// How far a plan looks: what is due later is told as due, and not played through.
pub const HORIZON: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The objects of the control plane, as they are stored.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// All Clusters.
    pub clusters: Vec<Cluster>,
    /// All bindings of both kinds.
    pub bindings: Vec<Binding>,
    /// All ClusterTaintPolicies.
    pub policies: Vec<ClusterTaintPolicy>,
    /// All FailoverPauses.
    pub pauses: Vec<FailoverPause>,
}

/// What is proposed: any of it, together and at once.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    /// Clusters whose Ready becomes False.
    pub failing: BTreeSet<ClusterName>,
    /// Clusters that a person drains, each with whether fewer copies will do.
    pub draining: BTreeMap<ClusterName, FewerCopies>,
    /// ClusterTaintPolicies that are in force; one of a name that exists takes its place.
    pub policies: Vec<ClusterTaintPolicy>,
}

/// Settings of the controllers that no object carries.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The taint manager's switches.
    pub switches: Switches,
    /// The gate Failover as the taint policy controller has it.
    pub policy_gate: PolicyGate,
    /// The queue's rates and thresholds.
    pub regime: RegimeSettings,
    /// The evictor's `--pre-eviction-check`. With `Capacity` each move takes its room from those after it.
    pub check: PreEvictionCheck,
    /// The plugins of the schedulers.
    pub schedulers: Schedulers,
    /// The scheduler's settings.
    pub rules: Rules,
    /// When it begins.
    pub now: Timestamp,
}

impl Settings {
    /// Everything at its default, with the gate Failover on.
    #[must_use]
    pub fn defaults(now: Timestamp) -> Self {
        Self {
            switches: Switches::all_on(api_types::policy::PurgeMode::Gracefully),
            policy_gate: PolicyGate::Enabled,
            regime: RegimeSettings::default(),
            check: PreEvictionCheck::default(),
            schedulers: Schedulers::default(),
            rules: Rules::default(),
            now,
        }
    }
}

/// What cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProposal {
    /// Nothing is proposed.
    #[error("nothing is proposed: name clusters that fail or are drained, or a policy")]
    Nothing,
    /// It names a cluster that does not exist.
    #[error("there is no Cluster {0}")]
    NoSuchCluster(ClusterName),
    /// Two of the proposed policies have one name, or one has none.
    #[error("{0}")]
    Policies(String),
}
