//! Windows of a ClusterTaintPolicy in stock's form.
//!
//! The annotation is a JSON list of `{key, effect, addOnMatchSeconds, removeOnMismatchSeconds}`, an item for each taint of
//! `spec.taints` that waits. With it the addOnConditions are what must match, and a taint goes when they do not match any
//! more, unless removeOnConditions say when.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Unreadable, parsed};
use crate::names::annotation::WINDOWS;
use crate::taint_policy::{ClusterTaintPolicy, StockWindow};

/// The windows in the annotation; `None` when it is absent.
///
/// # Errors
/// [`Unreadable`] when it is no list of windows, or a window is shorter than a second.
pub fn stored(metadata: &ObjectMeta) -> Result<Option<Vec<StockWindow>>, Unreadable> {
    let windows: Option<Vec<StockWindow>> = parsed(metadata, WINDOWS)?;
    let too_short = windows
        .iter()
        .flatten()
        .find(|window| window.add_on_match_seconds < 1 || window.remove_on_mismatch_seconds < 1);
    match too_short {
        None => Ok(windows),
        Some(window) => Err(Unreadable {
            annotation: WINDOWS,
            why: format!("a window of {}:{} is shorter than a second", window.key, window.effect),
        }),
    }
}

/// What is wrong with the annotation: it cannot be read, or speaks of a taint that the policy does not have, or stands on a
/// policy whose windows are fields.
#[must_use]
pub fn complaint(policy: &ClusterTaintPolicy) -> Option<Unreadable> {
    let why = match stored(&policy.metadata) {
        Err(unreadable) => return Some(unreadable),
        Ok(None) => return None,
        Ok(Some(_)) if !policy.spec.taints_to_add.is_empty() => {
            "the policy has taintsToAdd, whose windows are fields".to_owned()
        }
        Ok(Some(windows)) => {
            let in_vain = windows.iter().find(|window| {
                let mut taints = policy.spec.taints.iter();
                !taints.any(|taint| taint.key == window.key && taint.effect == window.effect)
            })?;
            format!("spec.taints has no {}:{}", in_vain.key, in_vain.effect)
        }
    };
    Some(Unreadable {
        annotation: WINDOWS,
        why,
    })
}

pub(crate) fn adopt(policy: &mut ClusterTaintPolicy) {
    if policy.spec.taints_to_add.is_empty() {
        policy.spec.windows = stored(&policy.metadata).unwrap_or_default();
    }
}
