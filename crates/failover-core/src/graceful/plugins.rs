//! The plugins that let a task end (`--evict-plugins`): one that passes suffices.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api_types::work::GracefulEvictionTask;

use super::assess::View;
use super::cause;
use super::elsewhere::{NotInstead, works_instead};
use super::placed::placed;

/// What one plugin says about one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assessment {
    /// The task may end.
    Passes {
        /// Why, in words.
        why: String,
    },
    /// The task waits.
    Waits {
        /// For what, in words.
        why: String,
        /// When it is worth asking again although nothing changed.
        look_again_in: Option<Duration>,
    },
}

impl Assessment {
    fn waits(why: impl Into<String>) -> Self {
        Self::Waits {
            why: why.into(),
            look_again_in: None,
        }
    }
}

/// Says whether a graceful eviction task may end.
pub trait EvictPlugin: Send + Sync {
    /// The name for `--evict-plugins`.
    fn name(&self) -> &'static str;

    /// Judges one task of the binding in view.
    fn assess(&self, view: &View<'_>, task: &GracefulEvictionTask) -> Assessment;
}

/// Name of [`ResourceHealth`].
pub const RESOURCE_HEALTH: &str = "ResourceHealth";
/// Name of [`ClusterInSchedulingResult`].
pub const CLUSTER_IN_SCHEDULING_RESULT: &str = "ClusterInSchedulingResult";

/// Passes when the binding is placed and every copy of the result works: Healthy, on a Ready cluster, with at least the
/// replicas assigned, by a status that is not left over from before the eviction. An empty result is not healthy.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceHealth;

impl EvictPlugin for ResourceHealth {
    fn name(&self) -> &'static str {
        RESOURCE_HEALTH
    }

    fn assess(&self, view: &View<'_>, task: &GracefulEvictionTask) -> Assessment {
        if let Err(missing) = placed(view.binding) {
            return Assessment::waits(missing.to_string());
        }
        let mut names = Vec::new();
        for target in &view.binding.spec.clusters {
            if let Err(NotInstead { why, look_again_in }) = works_instead(view, task, target) {
                return Assessment::Waits { why, look_again_in };
            }
            names.push(target.name.as_str());
        }
        Assessment::Passes {
            why: format!("the workload is healthy on {}", names.join(", ")),
        }
    }
}

/// Passes when the task's cluster is in the result again and its cause is gone, or a `stay` matches. It ends tasks of
/// every purge mode: nothing is deleted by that.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterInSchedulingResult;

impl EvictPlugin for ClusterInSchedulingResult {
    fn name(&self) -> &'static str {
        CLUSTER_IN_SCHEDULING_RESULT
    }

    fn assess(&self, view: &View<'_>, task: &GracefulEvictionTask) -> Assessment {
        let Some(cluster) = (view.cluster)(&task.from_cluster) else {
            return Assessment::waits(format!("{} does not exist", task.from_cluster));
        };
        if !view
            .binding
            .spec
            .clusters
            .iter()
            .any(|target| target.name == task.from_cluster)
        {
            return Assessment::waits(format!("{} is not in the scheduling result", task.from_cluster));
        }
        if cause::stay_matches(view.binding, &cluster) {
            return Assessment::Passes {
                why: format!(
                    "{} is in the scheduling result, and it was asked to stay",
                    task.from_cluster
                ),
            };
        }
        match cause::gone(view.binding, task, &cluster, view.now) {
            cause::CauseState::Gone(why) => Assessment::Passes {
                why: format!("{} is in the scheduling result again: {why}", task.from_cluster),
            },
            cause::CauseState::Stands { why, .. } => Assessment::waits(why),
        }
    }
}

/// The plugins that are on, in their order.
#[derive(Clone)]
pub struct EvictPlugins(Vec<Arc<dyn EvictPlugin>>);

impl EvictPlugins {
    /// Every plugin of this crate; all are on by default. What is added is on where `--evict-plugins` names it.
    #[must_use]
    pub fn all() -> Self {
        Self(vec![Arc::new(ResourceHealth), Arc::new(ClusterInSchedulingResult)])
    }

    /// Adds a plugin.
    #[must_use]
    pub fn with(mut self, plugin: impl EvictPlugin + 'static) -> Self {
        self.0.push(Arc::new(plugin));
        self
    }

    /// Those whose names are given.
    #[must_use]
    pub fn only(&self, names: &BTreeSet<&str>) -> Self {
        Self(
            self.0
                .iter()
                .filter(|plugin| names.contains(plugin.name()))
                .cloned()
                .collect(),
        )
    }

    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|plugin| plugin.name()).collect()
    }

    /// The plugins, in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn EvictPlugin> {
        self.0.iter().map(AsRef::as_ref)
    }
}

impl fmt::Debug for EvictPlugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EvictPlugins").field(&self.names()).finish()
    }
}
