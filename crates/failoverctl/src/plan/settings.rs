//! What the plan is made with: read off the Leases and the queue's word as far as they tell, given by flags, or taken at its
//! default; and what is taken for granted. Pure.

use eviction_queue_api::v1;
use failover_core::eviction::FailoverGate;
use failover_core::eviction::regime::RegimeSettings;
use failover_core::taint_policy::FailoverGate as PolicyGate;
use jiff::Timestamp;
use scheduler_filters::plan::Settings;
use scheduler_filters::{Rules, Schedulers};

use crate::cli::{CheckArg, PlanSettings};
use crate::controllers::{self, ControllerView, Mode};

/// Whether the gate is taken as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// As the controllers have it; what does not tell is taken as on.
    AsItIs,
    /// On, whatever they have.
    On,
}

/// The settings, and what is taken for granted in them.
pub(super) struct Assumed {
    pub(super) settings: Settings,
    pub(super) assuming: Vec<String>,
}

pub(super) fn settings(
    given: &PlanSettings,
    gate: Gate,
    (mode, controllers): (Mode, &[ControllerView]),
    queue: Option<&v1::GetStatusResponse>,
    now: Timestamp,
) -> Assumed {
    let mut assuming = Vec::new();
    let mut gate_of = |name: &str| match (gate, controllers::failover_gate_of(controllers, name)) {
        (Gate::On, known) => {
            if known != Some(FailoverGate::On) {
                assuming.push(format!("feature gate Failover is on for {name}, as --gate-on says"));
            }
            FailoverGate::On
        }
        (Gate::AsItIs, Some(known)) => known,
        (Gate::AsItIs, None) => {
            assuming.push(format!(
                "feature gate Failover is on for {name}, whose Lease does not say it"
            ));
            FailoverGate::On
        }
    };
    let failover = gate_of("taintManager");
    let policy_gate = match gate_of("clusterTaintPolicy") {
        FailoverGate::On => PolicyGate::Enabled,
        FailoverGate::Off => PolicyGate::Disabled,
    };
    assuming.push("--enable-no-execute-taint-eviction is on, as by default".to_owned());
    assuming.push("--no-execute-taint-eviction-purge-mode is Gracefully, as by default".to_owned());
    let check = given.pre_eviction_check.unwrap_or_else(|| {
        assuming.push("--pre-eviction-check is affinity, as by default".to_owned());
        CheckArg::Affinity
    });
    assuming.push("--plugins of every scheduler and of the evictor are those by default".to_owned());
    let regime = regime(given, queue, &mut assuming);
    let switches = controllers::switches(mode, Some(failover));
    let deletion = controllers::deletion_by(&switches);
    Assumed {
        settings: Settings {
            switches,
            policy_gate,
            regime,
            check: check.into(),
            schedulers: Schedulers::default(),
            rules: Rules {
                deletion,
                ..Rules::default()
            },
            now,
        },
        assuming,
    }
}

/// The rate that the queue says is that of its present regime; of the other it says nothing.
fn regime(given: &PlanSettings, queue: Option<&v1::GetStatusResponse>, assuming: &mut Vec<String>) -> RegimeSettings {
    let default = RegimeSettings::default();
    let said = |regime: v1::Regime| {
        let status = queue.filter(|status| status.regime() == regime)?;
        Some(status.evictions_per_second)
    };
    let mut rate = |flag: &str, given: Option<f64>, said: Option<f64>, default: f64| {
        given.or(said).unwrap_or_else(|| {
            assuming.push(format!("{flag} is {default}, as by default"));
            default
        })
    };
    let primary_rate = rate(
        "--resource-eviction-rate",
        given.resource_eviction_rate,
        said(v1::Regime::Normal),
        default.primary_rate,
    );
    let secondary_rate = rate(
        "--secondary-resource-eviction-rate",
        given.secondary_resource_eviction_rate,
        said(v1::Regime::Reduced),
        default.secondary_rate,
    );
    let threshold = queue
        .map(|status| status.unhealthy_threshold)
        .filter(|share| *share > 0.0);
    let unhealthy_threshold = rate(
        "--unhealthy-cluster-threshold",
        given.unhealthy_cluster_threshold,
        threshold,
        default.unhealthy_threshold,
    );
    let large_cluster_num_threshold = given.large_cluster_num_threshold.unwrap_or_else(|| {
        let count = default.large_cluster_num_threshold;
        assuming.push(format!("--large-cluster-num-threshold is {count}, as by default"));
        count
    });
    let keys: Vec<&str> = default.non_failure_taint_keys.iter().map(String::as_str).collect();
    assuming.push(format!("--non-failure-taint-keys is {}, as by default", keys.join(",")));
    RegimeSettings {
        primary_rate,
        secondary_rate,
        unhealthy_threshold,
        large_cluster_num_threshold,
        ..default
    }
}
