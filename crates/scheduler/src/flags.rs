//! The scheduler's flags.

use clap::Args;
use scheduler_filters::{Plugins, Registry};

/// The scheduler that policies name when they name none.
pub const DEFAULT_SCHEDULER_NAME: &str = scheduler_filters::schedulers::DEFAULT_SCHEDULER;

/// Flags of the controller `scheduler`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scheduler")]
#[group(skip)]
pub struct Flags {
    /// Handle the bindings whose spec.schedulerName is this.
    #[arg(long, env = "KARMADA_FAILOVER_SCHEDULER_NAME", value_name = "NAME", default_value = DEFAULT_SCHEDULER_NAME)]
    pub scheduler_name: String,

    /// Filter and score plugins: `*` = all that are on by default, NAME = on, -NAME = off. A name wins over `*`; of two
    /// names the first wins.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_PLUGINS",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true
    )]
    pub plugins: Vec<String>,

    /// Bindings that are placed at the same time. One binding is never with two workers.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_BINDING_SCHEDULES",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_binding_schedules: usize,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            scheduler_name: DEFAULT_SCHEDULER_NAME.to_owned(),
            plugins: vec!["*".to_owned()],
            concurrent_binding_schedules: 5,
        }
    }
}

impl Flags {
    /// The plugins that `--plugins` switches on.
    ///
    /// # Errors
    /// A sentence that names the unknown plugins and the known ones.
    pub fn plugins(&self, registry: &Registry) -> Result<Plugins, String> {
        registry
            .select(&self.plugins)
            .map_err(|error| format!("--plugins: {error}"))
    }
}
