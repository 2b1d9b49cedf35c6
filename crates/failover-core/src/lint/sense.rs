//! What of a PropagationPolicy makes no sense, whoever reads it: the shape is right, and nothing can come of it.

use std::collections::BTreeSet;

use api_types::policy::{Policy, StatePreservation};

use super::code::Code;
use super::finding::Finding;
use super::propagation::affinities;
use crate::eviction::preservation::jsonpath::Template;
use crate::eviction::preservation::label::is_label_key;
use crate::taint_policy::{affinity_complaint, labels_complaint};

pub(super) fn findings(policy: &Policy) -> Vec<Finding> {
    let mut found = elsewhere(policy);
    found.extend(templates(policy));
    found.extend(places(policy));
    found.extend(twins(policy));
    found.extend(spreads(policy));
    let failover = policy.spec.failover.as_ref();
    let application = failover.and_then(|failover| failover.application.as_ref()?.state_preservation.as_ref());
    let cluster = failover.and_then(|failover| failover.cluster.as_ref()?.state_preservation.as_ref());
    for (part, preservation) in [("application", application), ("cluster", cluster)] {
        let field = format!("spec.failover.{part}.statePreservation");
        found.extend(preservation.into_iter().flat_map(|rules| preserved(rules, &field)));
    }
    found
}

/// Of a policy whose namespace is not known nothing is said: it comes with the command that applies it.
fn elsewhere(policy: &Policy) -> Vec<Finding> {
    let Some(own) = policy.metadata.namespace.as_deref().filter(|own| !own.is_empty()) else {
        return Vec::new();
    };
    let selectors = policy.spec.resource_selectors.iter().enumerate();
    selectors
        .filter_map(|(index, selector)| {
            let asked = selector
                .namespace
                .as_deref()
                .filter(|asked| !asked.is_empty() && *asked != own)?;
            Some(Finding::new(
                Code::SelectorElsewhere,
                format!("spec.resourceSelectors[{index}].namespace"),
                format!("the policy is of namespace {own}, and the selector asks for {asked}"),
                "a PropagationPolicy reaches no further than its namespace, so the selector selects nothing",
                "leave namespace out, or write a policy there, or a ClusterPropagationPolicy",
            ))
        })
        .collect()
}

fn templates(policy: &Policy) -> Vec<Finding> {
    let selectors = policy.spec.resource_selectors.iter().enumerate();
    selectors
        .filter_map(|(index, selector)| {
            let why = selector.label_selector.as_ref().and_then(labels_complaint)?;
            let field = format!("spec.resourceSelectors[{index}].labelSelector");
            Some(without_sense(field, why, "no object is propagated by it"))
        })
        .collect()
}

fn places(policy: &Policy) -> Vec<Finding> {
    let Some(placement) = &policy.spec.placement else {
        return Vec::new();
    };
    affinities(placement)
        .into_iter()
        .filter_map(|(affinity, field)| {
            let why = affinity_complaint(affinity)?;
            Some(without_sense(field, why, "it selects no cluster"))
        })
        .collect()
}

fn without_sense(field: String, why: String, so: &str) -> Finding {
    Finding::new(
        Code::UnreadableSelector,
        field,
        why,
        so,
        "correct the selector: In and NotIn have values, Exists and DoesNotExist have none, keys are label keys",
    )
}

/// Bindings remember the group of their placement by its name.
fn twins(policy: &Policy) -> Vec<Finding> {
    let Some(placement) = &policy.spec.placement else {
        return Vec::new();
    };
    let mut known = BTreeSet::new();
    let terms = placement.cluster_affinities.iter().enumerate();
    terms
        .filter(|(_, term)| !known.insert(&term.affinity_name))
        .map(|(index, term)| {
            Finding::new(
                Code::TwinGroups,
                format!("spec.placement.clusterAffinities[{index}].affinityName"),
                format!("there is a group {} before this one", term.affinity_name),
                "where a workload stands in the list is remembered by the group's name, so the second one is never tried",
                "give each group a name of its own",
            )
        })
        .collect()
}

/// Stock's webhook refuses it in these words. Where one is stored all the same, the scheduler chooses as many clusters as are
/// allowed, as stock's does, and says nothing of those that are missing.
fn spreads(policy: &Policy) -> Vec<Finding> {
    let constraints = policy
        .spec
        .placement
        .iter()
        .flat_map(|placement| &placement.spread_constraints);
    let contradicting = constraints
        .enumerate()
        .filter(|(_, constraint)| constraint.max_groups > 0 && constraint.max_groups < constraint.min_groups);
    contradicting
        .map(|(index, constraint)| {
            let (least, most) = (constraint.min_groups, constraint.max_groups);
            Finding::new(
                Code::ContradictingSpread,
                format!("spec.placement.spreadConstraints[{index}].maxGroups"),
                format!("maxGroups lower than minGroups is not allowed: at least {least} groups, and at most {most}"),
                "a spread by cluster goes by maxGroups, and nothing says that more were asked for",
                "write a maxGroups that is not below minGroups",
            )
        })
        .collect()
}

fn preserved(preservation: &StatePreservation, field: &str) -> Vec<Finding> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for (index, rule) in preservation.rules.iter().enumerate() {
        let label = rule.alias_label_name.as_str();
        let field = format!("{field}.rules[{index}]");
        let problem = if !is_label_key(label) {
            Some((
                format!("{label:?} is no label key"),
                "no object can carry it",
                "write a name of at most 63 letters, digits, '-', '_' and '.', with a DNS name and '/' before it or not",
            ))
        } else if known.insert(label) {
            None
        } else {
            Some((
                format!("a rule before this one gives {label} too"),
                "an object has one value of a label",
                "give each rule a label of its own",
            ))
        };
        if let Some((what, why, fix)) = problem {
            found.push(Finding::new(
                Code::BadLabel,
                format!("{field}.aliasLabelName"),
                what,
                why,
                fix,
            ));
        }
        if let Err(why) = Template::parse(&rule.json_path) {
            found.push(Finding::new(
                Code::UnreadablePath,
                format!("{field}.jsonPath"),
                format!("the path cannot be read: {why}"),
                "each failover would wait for a value that never comes, and then go on without it",
                "write it as kubectl takes it with -o jsonpath, such as {.replicas}",
            ));
        }
    }
    found
}
