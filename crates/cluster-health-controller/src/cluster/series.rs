//! Metrics of the monitor, computed at every scrape; each series goes with its Cluster.

use controller_kit::metrics::Family;
use failover_core::cluster_health::watch::{Hearing, Voice};

use super::monitor::{Monitor, Overall};

pub(super) fn families(monitor: &Monitor) -> Vec<Family> {
    let Overall { reporter, hearing, .. } = monitor.overall();
    let flag = |holds: bool| f64::from(u8::from(holds));
    let silence = Family::gauge(
        "failover_lease_silence_seconds",
        "How long the agent of a Pull cluster has given no sign of life, by the monitor's own time.",
    );
    vec![
        Family::gauge(
            "failover_reporter_down",
            "1 while clusterStatus does not renew its Lease although there are Push clusters: nobody probes them.",
        )
        .with(&[], flag(reporter == Some(Voice::GivenUp))),
        Family::gauge(
            "failover_monitor_isolated",
            "1 while all leases are stale, so that the monitor marks nothing.",
        )
        .with(&[], flag(matches!(hearing, Hearing::Isolated { .. }))),
        monitor.silences().iter().fold(silence, |family, (name, silent_for)| {
            family.with(&[("member_cluster", name.as_str())], silent_for.as_secs_f64())
        }),
    ]
}
