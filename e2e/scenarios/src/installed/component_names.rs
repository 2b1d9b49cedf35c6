//! The components, each of which has a chart, a Deployment and a program of its name. Shared with the tests of the charts.

use controller_kit::Mode;

/// All of them. The first runs on members.
pub const COMPONENTS: [&str; 10] = [
    "agent",
    "application-failover-controller",
    "cluster-health-controller",
    "eviction-queue",
    "graceful-eviction-controller",
    "propagation-controllers",
    "scheduler",
    "taint-manager",
    "taint-policy-controller",
    "webhook",
];

/// Those that run on the host cluster.
pub fn hosted(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Standalone => &COMPONENTS[1..],
        Mode::Beside => &[
            "application-failover-controller",
            "eviction-queue",
            "graceful-eviction-controller",
            "taint-manager",
            "taint-policy-controller",
        ],
    }
}
