//! One PropagationPolicy or ClusterPropagationPolicy.

use api_types::cluster::effect;
use api_types::placement::{ClusterAffinity, Placement};
use api_types::policy::{Policy, PurgeMode};
use api_types::second_home;

use super::Around;
use super::annotations::unreadable;
use super::code::Code;
use super::finding::Finding;
use super::known::Known;
use super::sense;
use super::target::{self, some};
use super::tolerations;
use crate::graceful::kinds::has_health_rule;

/// Whether the workload opts in to PreferNoExecute.
#[must_use]
pub fn opted_in(policy: &Policy) -> bool {
    policy
        .spec
        .failover
        .as_ref()
        .is_some_and(|failover| failover.cluster.is_some())
}

pub(super) fn findings(policy: &Policy, known: &Known<'_>, around: &Around<'_>) -> Vec<Finding> {
    let mut found = sense::findings(policy);
    found.extend(unreadable(second_home::failover::complaint(policy)));
    if let Some(placement) = &policy.spec.placement {
        for (affinity, field) in affinities(placement) {
            found.extend(target::findings(
                affinity,
                &field,
                "the scheduler finds no cluster here",
                known,
            ));
        }
        let field = "spec.placement.clusterTolerations";
        found.extend(tolerations::findings(&placement.cluster_tolerations, field));
    }
    found.extend(nowhere_to_go(policy, known));
    found.extend(not_opted_in(policy, around));
    found.extend(dependencies_stay(policy));
    found.extend(no_health_rule(policy));
    found.extend(old_spellings(policy));
    found
}

pub(super) fn affinities(placement: &Placement) -> Vec<(&ClusterAffinity, String)> {
    let one = placement
        .cluster_affinity
        .iter()
        .map(|affinity| (affinity, "spec.placement.clusterAffinity".to_owned()));
    let groups = placement.cluster_affinities.iter().enumerate().map(|(index, term)| {
        (
            &term.cluster_affinity,
            format!("spec.placement.clusterAffinities[{index}]"),
        )
    });
    one.chain(groups).collect()
}

/// A workload that is to move needs a second cluster.
fn nowhere_to_go(policy: &Policy, known: &Known<'_>) -> Option<Finding> {
    if !opted_in(policy) {
        return None;
    }
    let placement = policy.spec.placement.as_ref();
    let affinities: Vec<&ClusterAffinity> = placement
        .map(|p| affinities(p).into_iter().map(|(affinity, _)| affinity).collect())
        .unwrap_or_default();
    let clusters = target::at_most(&affinities, known)?;
    (clusters.len() == 1).then(|| {
        Finding::new(
            Code::NowhereToGo,
            if affinities.is_empty() {
                "spec"
            } else {
                "spec.placement"
            },
            format!("{} is the only cluster that may take the workload", some(&clusters)),
            "failover.cluster lets it move, and without a second cluster its eviction is held for want of a target",
            "let the placement select more clusters",
        )
    })
}

fn not_opted_in(policy: &Policy, around: &Around<'_>) -> Option<Finding> {
    if opted_in(policy) {
        return None;
    }
    let soft = around.policies.iter().find(|neighbour| {
        neighbour
            .taints
            .iter()
            .any(|taint| taint.id.effect == effect::PREFER_NO_EXECUTE)
    })?;
    Some(Finding::new(
        Code::NotOptedIn,
        "spec",
        "without failover.cluster, PreferNoExecute taints do not move the workload",
        format!("ClusterTaintPolicy {} adds one", soft.reading.name()),
        "add failover.cluster if the workload is to move, and nothing if it is to stay",
    ))
}

fn moves_applications(policy: &Policy) -> bool {
    let failover = policy.spec.failover.as_ref();
    failover.is_some_and(|failover| failover.application.is_some())
}

/// It works all the same: what the workload needs may be there by another policy.
fn dependencies_stay(policy: &Policy) -> Option<Finding> {
    (moves_applications(policy) && !policy.spec.propagate_deps).then(|| {
        Finding::new(
            Code::DependenciesStay,
            "spec.failover.application",
            "propagateDeps is not true: ConfigMaps and Secrets of the workload do not follow it",
            "on another cluster the workload may fail for want of them, and move on",
            "set propagateDeps: true, unless other policies bring them to every cluster",
        )
    })
}

fn no_health_rule(policy: &Policy) -> Vec<Finding> {
    if !moves_applications(policy) {
        return Vec::new();
    }
    let selectors = policy.spec.resource_selectors.iter().enumerate();
    selectors
        .filter(|(_, selector)| !has_health_rule(&selector.api_version, &selector.kind))
        .map(|(index, selector)| {
            Finding::new(
                Code::NoHealthRule,
                format!("spec.resourceSelectors[{index}].kind"),
                format!("there is no health rule for {} {}", selector.api_version, selector.kind),
                "failover.application moves what is unhealthy, and a copy of this kind counts as healthy once it is applied",
                "nothing, if somebody else's interpreter reports a health for it; else leave the kind to another policy",
            )
        })
        .collect()
}

fn old_spellings(policy: &Policy) -> Vec<Finding> {
    let failover = policy.spec.failover.as_ref();
    let of_application = failover.and_then(|failover| failover.application.as_ref()?.purge_mode.as_ref());
    let of_cluster = failover.and_then(|failover| failover.cluster.as_ref()?.purge_mode.as_ref());
    let modes = [("application", of_application), ("cluster", of_cluster)];
    modes
        .into_iter()
        .filter_map(|(part, mode)| {
            let mode = mode.filter(|mode| matches!(mode, PurgeMode::Immediately | PurgeMode::Graciously))?;
            let now = mode.effective();
            Some(Finding::new(
                Code::OldSpelling,
                format!("spec.failover.{part}.purgeMode"),
                format!("{mode} is the former spelling of {now}"),
                "it is accepted and means the same",
                format!("write {now}"),
            ))
        })
        .collect()
}
