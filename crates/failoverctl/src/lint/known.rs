//! What the control plane knows that files do not: its clusters, its policies, and the gate.

use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::Clock;
use failover_core::eviction;
use failover_core::lint::{Code, Known, StockKarmada};
use failover_core::taint_policy::FailoverGate;
use jiff::{SignedDuration, Timestamp};

use crate::control_plane::ControlPlane;
use crate::controllers::{self, Mode};
use crate::failure::Failure;

/// What was found out.
#[derive(Clone, Debug)]
pub(super) struct Fleet {
    clusters: Vec<Cluster>,
    taint_policies: Vec<ClusterTaintPolicy>,
    somebody_opted_in: Option<bool>,
    gate: Option<FailoverGate>,
    stock_karmada: StockKarmada,
    mode: Mode,
}

impl Fleet {
    /// Asks the API server.
    pub async fn ask(control_plane: &ControlPlane, clock: &Clock) -> Result<Self, Failure> {
        control_plane.require_our_kinds().await?;
        control_plane.require_taint_policies().await?;
        let mode = control_plane.mode().await?;
        let controllers = controllers::controllers(&control_plane.leases().await?, mode, clock.now());
        let gate = controllers::failover_gate_of(&controllers, "clusterTaintPolicy").map(|gate| match gate {
            eviction::FailoverGate::On => FailoverGate::Enabled,
            eviction::FailoverGate::Off => FailoverGate::Disabled,
        });
        Ok(Self {
            clusters: control_plane.clusters().await?,
            taint_policies: control_plane.taint_policies().await?,
            somebody_opted_in: control_plane.somebody_opted_in().await?,
            gate,
            stock_karmada: match mode {
                Mode::Beside => StockKarmada::There,
                Mode::Standalone | Mode::Unknown => StockKarmada::NotSeen,
            },
            mode,
        })
    }

    /// Codes of rules that need what the control plane does not tell.
    pub fn rules_left_out(&self) -> Vec<Code> {
        let stock = (self.mode == Mode::Unknown).then_some(Code::StockDrops);
        let gate = self.gate.is_none().then_some(Code::GateOff);
        stock.into_iter().chain(gate).collect()
    }

    /// How many clusters there are.
    pub fn clusters(&self) -> usize {
        self.clusters.len()
    }

    /// As the rules take it.
    pub fn known(&self, probe_period: Duration, now: Timestamp) -> Known<'_> {
        Known {
            clusters: Some(&self.clusters),
            taint_policies: &self.taint_policies,
            somebody_opted_in: self.somebody_opted_in,
            gate: self.gate,
            stock_karmada: self.stock_karmada,
            probe_period: period(probe_period),
            now: Some(now),
        }
    }
}

/// What is known when nobody was asked.
pub(super) fn nothing(probe_period: Duration, now: Timestamp) -> Known<'static> {
    Known {
        probe_period: period(probe_period),
        now: Some(now),
        ..Known::default()
    }
}

fn period(probe_period: Duration) -> SignedDuration {
    SignedDuration::try_from(probe_period).unwrap_or(SignedDuration::MAX)
}
