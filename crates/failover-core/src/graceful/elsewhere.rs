//! Whether the workload works elsewhere: one reading for the plugin that asks it of every copy, and for all who let a copy
//! go without having asked that.

use std::time::Duration;

use api_types::work::{GracefulEvictionTask, TargetCluster};

use super::assess::View;
use super::copies;

/// Why a copy does not count as one that works instead of the task's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotInstead {
    /// In words.
    pub why: String,
    /// When it is worth asking again although nothing changed.
    pub look_again_in: Option<Duration>,
}

/// Whether the copy of `target` works, by a status that is not left over from before the eviction.
///
/// # Errors
/// Why it does not count.
pub fn works_instead(view: &View<'_>, task: &GracefulEvictionTask, target: &TargetCluster) -> Result<(), NotInstead> {
    let cluster = (view.cluster)(&target.name);
    copies::works(view.binding, target, cluster.as_deref(), view.now).map_err(|why| NotInstead {
        why: format!("{} {why}", target.name),
        look_again_in: why
            .look_again_at()
            .and_then(|at| Duration::try_from(at.duration_since(view.now)).ok()),
    })?;
    let seen = (view.seen)(&task.from_cluster);
    let fresh = seen
        .as_ref()
        .is_some_and(|(baseline, seen_for)| baseline.is_fresh(view.binding, task, &target.name, *seen_for));
    if fresh {
        return Ok(());
    }
    Err(NotInstead {
        why: format!("the status of {} is from before the eviction", target.name),
        look_again_in: seen.and_then(|(baseline, seen_for)| baseline.settles_in(seen_for)),
    })
}

/// Whether some copy of the result works instead of the task's.
///
/// # Errors
/// Why none does: of several the one that will be known first.
pub fn another_works(view: &View<'_>, task: &GracefulEvictionTask) -> Result<(), NotInstead> {
    let others = view.binding.spec.clusters.iter();
    let others = others.filter(|target| target.name != task.from_cluster);
    let mut missing: Option<NotInstead> = None;
    for target in others {
        match works_instead(view, task, target) {
            Ok(()) => return Ok(()),
            Err(why) => {
                let is_sooner = match (why.look_again_in, missing.as_ref().map(|known| known.look_again_in)) {
                    (_, None) => true,
                    (Some(this), Some(known)) => known.is_none_or(|known| this < known),
                    (None, Some(_)) => false,
                };
                if is_sooner {
                    missing = Some(why);
                }
            }
        }
    }
    Err(missing.unwrap_or(NotInstead {
        why: "the scheduling result is empty".to_owned(),
        look_again_in: None,
    }))
}

/// A cluster to which the state that the task preserves is to be carried, and that has no copy yet: what is preserved is
/// read off the task when the copy is made, so the task stays until then.
#[must_use]
pub fn awaits_state<'a>(view: &View<'a>, task: &GracefulEvictionTask) -> Option<&'a str> {
    if task.preserved_label_state.is_empty() {
        return None;
    }
    let targets = view.binding.spec.clusters.iter().map(|target| target.name.as_str());
    targets
        .filter(|name| !task.clusters_before_failover.iter().any(|before| before == name))
        .find(|name| view.binding.status_on(&(*name).into()).is_none())
}
