//! The flags of graceful eviction.

use std::time::Duration;

use clap::{ArgAction, Args};
use controller_kit::ModeFlags;
use controller_kit::durations::{format_duration, parse_duration};
use controller_kit::selection::{self, DefaultState, Known};
use failover_core::graceful::plugins::{CLUSTER_IN_SCHEDULING_RESULT, RESOURCE_HEALTH};
use failover_core::graceful::{LastCopy, Settings};

use crate::wiring::Wiring;

/// Flags of the controller `gracefulEviction`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Graceful eviction")]
#[group(skip)]
pub struct Flags {
    /// Plugins that may let a copy go; one that passes suffices. `*` = all, NAME = on, -NAME = off.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_EVICT_PLUGINS",
        value_name = "LIST",
        value_delimiter = ',',
        default_values_t = default_plugins(),
        allow_hyphen_values = true
    )]
    pub evict_plugins: Vec<String>,

    /// Let the last copy go when the grace period is over although no cluster takes the workload. Off: it stays.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_ALLOW_LAST_COPY_EVICTION",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub allow_last_copy_eviction: bool,

    /// Deprecated: a grace period for tasks that have none; unset or 0 = they wait until the workload is healthy
    /// elsewhere.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_GRACEFUL_EVICTION_TIMEOUT",
        value_name = "DURATION",
        value_parser = parse_duration
    )]
    pub graceful_eviction_timeout: Option<Duration>,

    /// Whether a stock Karmada schedules beside this: then a copy comes back to a recovered cluster only if the scheduler
    /// would leave it there, and a task whose old copy has to go first (Directly) does not wait for a silent cluster for
    /// ever.
    #[command(flatten)]
    pub mode: ModeFlags,

    /// How long the FailoverRecord of a move that has ended is kept.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_RECORD_RETENTION",
        value_name = "DURATION",
        value_parser = parse_duration,
        default_value = "168h"
    )]
    pub record_retention: Duration,

    /// Bindings that are judged at the same time. One binding is never with two workers.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_GRACEFUL_EVICTION_SYNCS",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_graceful_eviction_syncs: usize,
}

fn default_plugins() -> Vec<String> {
    vec![RESOURCE_HEALTH.to_owned(), CLUSTER_IN_SCHEDULING_RESULT.to_owned()]
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            evict_plugins: default_plugins(),
            allow_last_copy_eviction: false,
            graceful_eviction_timeout: None,
            mode: ModeFlags::default(),
            record_retention: Duration::from_secs(168 * 3600),
            concurrent_graceful_eviction_syncs: 5,
        }
    }
}

impl Flags {
    /// Whether a stock Karmada runs beside this.
    pub(crate) const fn is_beside(&self) -> bool {
        self.mode.mode.is_beside()
    }

    /// What tasks are judged by.
    ///
    /// # Errors
    /// A sentence that names the unknown plugins and the known ones.
    pub fn settings(&self, wiring: &Wiring) -> Result<Settings, String> {
        let known: Vec<Known> = wiring
            .plugins
            .names()
            .into_iter()
            .map(|name| Known {
                name,
                default: DefaultState::On,
            })
            .collect();
        let names =
            selection::select(&self.evict_plugins, &known).map_err(|error| format!("--evict-plugins: {error}"))?;
        Ok(Settings {
            plugins: wiring.plugins.only(&names),
            last_copy: if self.allow_last_copy_eviction {
                LastCopy::MayGo
            } else {
                LastCopy::Kept
            },
            default_timeout: self.graceful_eviction_timeout.filter(|timeout| !timeout.is_zero()),
            unreachable_wait: self.is_beside().then_some(wiring.directly_unreachable_wait),
        })
    }

    /// What is said at the start.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let Some(timeout) = self.graceful_eviction_timeout else {
            return Vec::new();
        };
        if timeout.is_zero() {
            return vec![
                "--graceful-eviction-timeout=0s is deprecated, and 0 is what holds without it: leave it out".to_owned(),
            ];
        }
        vec![format!(
            "--graceful-eviction-timeout={} is deprecated: it lets copies go before the workload is healthy elsewhere \
             (never the last one that runs); give failover.cluster.gracePeriodSeconds in the policies that want that",
            format_duration(timeout)
        )]
    }
}
