//! PreferNoExecute taints of a Cluster: the aggregated API server refuses the effect.
//!
//! The annotation is a JSON list of taints as they would stand in `spec.taints`. A Cluster that is read has them behind
//! those that are stored there.

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Unreadable, parsed};
use crate::cluster::{Cluster, effect};
use crate::names::annotation::PREFER_NO_EXECUTE_TAINTS;

/// The taints in the annotation; none when it is absent.
///
/// # Errors
/// [`Unreadable`] when it is no list of PreferNoExecute taints.
pub fn stored(metadata: &ObjectMeta) -> Result<Vec<Taint>, Unreadable> {
    let taints: Vec<Taint> = parsed(metadata, PREFER_NO_EXECUTE_TAINTS)?.unwrap_or_default();
    let why = taints.iter().find_map(|taint| {
        if taint.key.is_empty() {
            Some("a taint has no key".to_owned())
        } else if taint.effect == effect::PREFER_NO_EXECUTE {
            None
        } else {
            Some(format!(
                "taint {} has effect {:?}: only PreferNoExecute stands here, the others in spec.taints",
                taint.key, taint.effect
            ))
        }
    });
    match why {
        None => Ok(taints),
        Some(why) => Err(Unreadable {
            annotation: PREFER_NO_EXECUTE_TAINTS,
            why,
        }),
    }
}

/// What is wrong with the annotation.
#[must_use]
pub fn complaint(cluster: &Cluster) -> Option<Unreadable> {
    stored(&cluster.metadata).err()
}

pub(crate) fn adopt(cluster: &mut Cluster) {
    let Ok(taints) = stored(&cluster.metadata) else { return };
    for taint in taints {
        if !has(&cluster.spec.taints, &taint) {
            cluster.spec.taints.push(taint);
            cluster.spec.taints_of_annotation += 1;
        }
    }
}

/// The taints of a Cluster that was read, by where they are stored: those in `spec.taints`, then those in the annotation
/// alone.
#[must_use]
pub fn by_home(cluster: &Cluster) -> (&[Taint], &[Taint]) {
    let all = &cluster.spec.taints[..];
    // What was adopted stands at the end.
    all.split_at(all.len().saturating_sub(cluster.spec.taints_of_annotation))
}

/// The text of the annotation for these taints; `None` when there are none, and it goes.
#[must_use]
pub fn text(taints: &[Taint]) -> Option<String> {
    if taints.is_empty() {
        return None;
    }
    // Plain values always serialise.
    serde_json::to_string(taints).ok()
}

fn has(taints: &[Taint], wanted: &Taint) -> bool {
    let mut taints = taints.iter();
    taints.any(|taint| (&taint.key, &taint.effect) == (&wanted.key, &wanted.effect))
}
