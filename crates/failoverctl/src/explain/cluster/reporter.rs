//! Who reports on a Cluster's health, and whether he is still heard. Pure.

use api_types::cluster::{Cluster, ClusterSyncMode};
use api_types::names::namespace;
use controller_kit::leader::lease_name;
use failover_core::cluster_health::on_leases::probes_overdue;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use serde::Serialize;

use crate::controllers::{ControllerView, Mode, Running};
use crate::output::{At, relative};

/// Duration of an agent's Lease that states none.
const DEFAULT_AGENT_LEASE_SECONDS: i32 = 40;

/// Whether what is said of the Cluster's health is fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ReporterState {
    /// The reporter is heard.
    Fresh,
    /// It is heard, and says that it has not been able to look at this Cluster lately.
    ProbeOverdue,
    /// It is not heard any more.
    Silent,
    /// There never was one, or we may not ask.
    Unknown,
}

/// Who reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reporter {
    /// `controller clusterStatus`, or `the agent in the member`.
    pub who: &'static str,
    /// Its Lease, as `NAMESPACE/NAME`.
    pub lease: String,
    /// Whether it is heard.
    pub state: ReporterState,
    /// When it last renewed its Lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewed_at: Option<At>,
    /// A sentence.
    pub message: String,
}

/// Looks at the Lease of who reports: the agent's of a Pull Cluster, else the one of controller clusterStatus.
pub(super) fn reporter(
    cluster: &Cluster,
    agent: Option<&Lease>,
    leases: &[Lease],
    controllers: &[ControllerView],
    mode: Mode,
    system_namespace: &str,
    now: Timestamp,
) -> Reporter {
    match cluster.spec.sync_mode {
        ClusterSyncMode::Pull => of_agent(cluster, agent, now),
        ClusterSyncMode::Push | ClusterSyncMode::Other(_) => {
            of_controller(cluster, leases, controllers, mode, system_namespace, now)
        }
    }
}

fn of_agent(cluster: &Cluster, lease: Option<&Lease>, now: Timestamp) -> Reporter {
    let spec = lease.and_then(|lease| lease.spec.as_ref());
    let renewed = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
    let seconds = spec
        .and_then(|spec| spec.lease_duration_seconds)
        .unwrap_or(DEFAULT_AGENT_LEASE_SECONDS);
    let (state, message) = match renewed {
        None => (
            ReporterState::Unknown,
            "no agent has renewed a Lease for this Cluster: nobody reports on it".to_owned(),
        ),
        Some(at) if now.duration_since(at) > SignedDuration::from_secs(seconds.into()) => (
            ReporterState::Silent,
            format!(
                "the agent renewed its Lease {}; after a grace period Ready becomes Unknown",
                relative(at, now)
            ),
        ),
        Some(at) => (
            ReporterState::Fresh,
            format!("the agent renewed its Lease {}", relative(at, now)),
        ),
    };
    Reporter {
        who: "the agent in the member",
        lease: format!("{}/{}", namespace::CLUSTER, cluster.cluster_name()),
        state,
        renewed_at: renewed.map(At),
        message,
    }
}

fn of_controller(
    cluster: &Cluster,
    leases: &[Lease],
    controllers: &[ControllerView],
    mode: Mode,
    system_namespace: &str,
    now: Timestamp,
) -> Reporter {
    let name = lease_name("clusterStatus");
    let view = controllers.iter().find(|view| view.name == "clusterStatus");
    let renewed_at = view.and_then(|view| view.renewed_at);
    let when = renewed_at.map(|at| relative(at.0, now)).unwrap_or_default();
    let (state, message) = match view.map(|view| view.state) {
        Some(Running::Running) if is_overdue(cluster, leases, &name) => (
            ReporterState::ProbeOverdue,
            format!(
                "controller clusterStatus renewed its Lease {when}, and says there that it has not completed a look at this Cluster for the grace period"
            ),
        ),
        Some(Running::Running) => (
            ReporterState::Fresh,
            format!("controller clusterStatus renewed its Lease {when}"),
        ),
        Some(Running::Lapsed) => (
            ReporterState::Silent,
            format!("controller clusterStatus renewed its Lease {when}: what is said of this Cluster is that old"),
        ),
        Some(Running::NotRunning) | None if mode == Mode::Standalone => (
            ReporterState::Silent,
            "controller clusterStatus is not running: what is said of this Cluster may be old".to_owned(),
        ),
        Some(Running::NotRunning) | None => (
            ReporterState::Unknown,
            "a stock Karmada reports on this Cluster, which has no Lease for that".to_owned(),
        ),
    };
    Reporter {
        who: "controller clusterStatus",
        lease: format!("{system_namespace}/{name}"),
        state,
        renewed_at,
        message,
    }
}

/// Whether the reporter's Lease names the Cluster among those that it could not look at.
fn is_overdue(cluster: &Cluster, leases: &[Lease], lease_name: &str) -> bool {
    let name = cluster.cluster_name();
    leases
        .iter()
        .find(|lease| lease.metadata.name.as_deref() == Some(lease_name))
        .is_some_and(|lease| probes_overdue(lease).contains(&name))
}
