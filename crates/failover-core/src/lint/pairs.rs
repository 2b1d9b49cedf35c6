//! Two ClusterTaintPolicies that name the same taint.

use api_types::placement::ClusterAffinity;
use api_types::taint_policy::ClusterTaintPolicy;

use super::Neighbour;
use super::code::Code;
use super::finding::Finding;
use crate::taint_policy::{PlannedTaint, Reading};

/// What is found about the policy that is subject `index`, beside the others.
pub(super) fn findings(index: usize, policies: &[Neighbour<'_>]) -> Vec<Finding> {
    let Some(own) = policies.iter().find(|neighbour| neighbour.index == Some(index)) else {
        return Vec::new();
    };
    let field = if own.policy.spec.taints_to_add.is_empty() {
        "spec.taints"
    } else {
        "spec.taintsToAdd"
    };
    let mut found = Vec::new();
    for (at, taint) in own.taints.iter().enumerate() {
        for other in policies.iter().filter(|other| other.index != Some(index)) {
            let same = other.taints.iter().find(|theirs| theirs.id == taint.id);
            if let Some(theirs) = same.filter(|_| may_meet(own.policy, other.policy)) {
                let field = format!("{field}[{at}]");
                found.push(compare(&own.reading, taint, &other.reading, theirs, &field));
            }
        }
    }
    found
}

fn compare(
    reading: &Reading<'_>,
    taint: &PlannedTaint,
    other: &Reading<'_>,
    theirs: &PlannedTaint,
    field: &str,
) -> Finding {
    let wins = match (reading.is_stored(), other.is_stored()) {
        (false, false) => "the older one, and of two that are made at once the first by name, wins".to_owned(),
        _ if reading.precedence(other).is_le() => format!("{} is older and wins", reading.name()),
        _ => format!("{} is older and wins", other.name()),
    };
    if taint.value != theirs.value {
        return Finding::new(
            Code::PoliciesAtOdds,
            format!("{field}.value"),
            format!(
                "policy {} wants value {:?} for taint {}, this one {:?}",
                other.name(),
                theirs.value,
                taint.id,
                taint.value
            ),
            format!(
                "a cluster has one taint of a key and effect: where both match, {wins}, and both report Conflicting"
            ),
            "give both the same value, or another key to one of them",
        );
    }
    let (first, last) = (
        taint.add_after.min(theirs.add_after).as_secs(),
        taint.remove_after.max(theirs.remove_after).as_secs(),
    );
    let never = if taint.add_after == theirs.add_after {
        String::new()
    } else {
        let longer = taint.add_after.max(theirs.add_after).as_secs();
        format!(", so that the window of {longer} s is never reached there")
    };
    Finding::new(
        Code::SharedTaint,
        field,
        format!("policy {} adds taint {} too", other.name(), taint.id),
        format!(
            "what any policy wants stands: where both match it comes after {first} s{never}, and it goes when none wants it \
             any more, {last} s after the last has ceased to match at most"
        ),
        "nothing, if that is meant; else use another key",
    )
}

/// Whether both can speak of one cluster, as far as names tell: labels and fields may change at any time.
fn may_meet(a: &ClusterTaintPolicy, b: &ClusterTaintPolicy) -> bool {
    let named = |policy: &ClusterTaintPolicy| -> Option<Vec<String>> {
        let spec = &policy.spec;
        let target: &ClusterAffinity = spec.target_cluster.as_ref().or(spec.target_clusters.as_ref())?;
        let stays = |name: &&String| !target.exclude_clusters.contains(*name);
        (!target.cluster_names.is_empty()).then(|| target.cluster_names.iter().filter(stays).cloned().collect())
    };
    match (named(a), named(b)) {
        (Some(a), Some(b)) => a.iter().any(|name| b.contains(name)),
        _ => true,
    }
}
