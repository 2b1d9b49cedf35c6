//! Which script counts for which kind and operation.
//!
//! Guarantees: the same customizations give the same rules in whatever order they are read. For one kind and operation
//! one script counts: that of the first customization by name, as in stock; dependencies are the exception, there all
//! scripts count together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::config::{CustomizationRules, ResourceInterpreterCustomization};
use kube::ResourceExt;

use super::KindName;
use super::lua::Script;

/// What a script can be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// What of a member's object stays.
    Retention,
    /// Replicas and what one needs.
    ReplicaResource,
    /// The object with other replicas.
    ReplicaRevision,
    /// What of the status is carried to the control plane.
    StatusReflection,
    /// The template's status from those of its copies.
    StatusAggregation,
    /// Whether a copy works.
    HealthInterpretation,
    /// What else is needed.
    DependencyInterpretation,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 7] = [
        Self::Retention,
        Self::ReplicaResource,
        Self::ReplicaRevision,
        Self::StatusReflection,
        Self::StatusAggregation,
        Self::HealthInterpretation,
        Self::DependencyInterpretation,
    ];

    /// The field of `spec.customizations`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Retention => "retention",
            Self::ReplicaResource => "replicaResource",
            Self::ReplicaRevision => "replicaRevision",
            Self::StatusReflection => "statusReflection",
            Self::StatusAggregation => "statusAggregation",
            Self::HealthInterpretation => "healthInterpretation",
            Self::DependencyInterpretation => "dependencyInterpretation",
        }
    }

    /// The function that the script has.
    pub fn function(self) -> &'static str {
        match self {
            Self::Retention => "Retain",
            Self::ReplicaResource => "GetReplicas",
            Self::ReplicaRevision => "ReviseReplica",
            Self::StatusReflection => "ReflectStatus",
            Self::StatusAggregation => "AggregateStatus",
            Self::HealthInterpretation => "InterpretHealth",
            Self::DependencyInterpretation => "GetDependencies",
        }
    }

    fn script(self, rules: &CustomizationRules) -> Option<&str> {
        let rule = match self {
            Self::Retention => &rules.retention,
            Self::ReplicaResource => &rules.replica_resource,
            Self::ReplicaRevision => &rules.replica_revision,
            Self::StatusReflection => &rules.status_reflection,
            Self::StatusAggregation => &rules.status_aggregation,
            Self::HealthInterpretation => &rules.health_interpretation,
            Self::DependencyInterpretation => &rules.dependency_interpretation,
        };
        rule.as_ref()
            .map(|rule| rule.lua_script.as_str())
            .filter(|script| !script.is_empty())
    }
}

/// A script that counts.
#[derive(Debug)]
pub struct Rule {
    /// Name of its customization.
    pub customization: String,
    /// What it is for.
    pub operation: Operation,
    /// The script.
    pub script: Script,
}

/// A script that does not count, because another one does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shadowed {
    /// Name of its customization.
    pub customization: String,
    /// The kind.
    pub kind: KindName,
    /// What it is for.
    pub operation: Operation,
    /// Name of the customization that counts.
    pub by: String,
}

type OfKind = BTreeMap<Operation, Vec<Arc<Rule>>>;

/// The scripts that count, by kind.
#[derive(Debug, Default)]
pub struct Rules {
    by_version: BTreeMap<String, BTreeMap<String, OfKind>>,
}

impl Rules {
    /// The scripts of `customizations` that count, and those that do not. Scripts that `before` had stay as they are,
    /// with their machines.
    pub fn of(customizations: &[Arc<ResourceInterpreterCustomization>], before: &Self) -> (Self, Vec<Shadowed>) {
        let mut in_order: Vec<_> = customizations.iter().collect();
        in_order.sort_by_key(|customization| customization.name_any());
        let (mut rules, mut shadowed) = (Self::default(), Vec::new());
        for customization in in_order {
            let target = &customization.spec.target;
            for operation in Operation::ALL {
                let Some(source) = operation.script(&customization.spec.customizations) else {
                    continue;
                };
                let name = customization.name_any();
                let there = rules.entry(&target.api_version, &target.kind, operation);
                match there.first() {
                    Some(first) if operation != Operation::DependencyInterpretation => shadowed.push(Shadowed {
                        customization: name,
                        kind: KindName {
                            api_version: target.api_version.clone(),
                            kind: target.kind.clone(),
                        },
                        operation,
                        by: first.customization.clone(),
                    }),
                    _ => {
                        let known = before.find(&target.api_version, &target.kind, operation);
                        let same = |rule: &&Arc<Rule>| rule.customization == name && rule.script.source() == source;
                        let rule = known.iter().find(same).cloned().unwrap_or_else(|| {
                            Arc::new(Rule {
                                customization: name,
                                operation,
                                script: Script::new(source, operation.function()),
                            })
                        });
                        there.push(rule);
                    }
                }
            }
        }
        (rules, shadowed)
    }

    fn entry(&mut self, api_version: &str, kind: &str, operation: Operation) -> &mut Vec<Arc<Rule>> {
        let kinds = self.by_version.entry(api_version.to_owned()).or_default();
        kinds.entry(kind.to_owned()).or_default().entry(operation).or_default()
    }

    /// The scripts for an operation on a kind: more than one for dependencies alone.
    pub fn find(&self, api_version: &str, kind: &str, operation: Operation) -> &[Arc<Rule>] {
        let of_kind = self.by_version.get(api_version).and_then(|kinds| kinds.get(kind));
        of_kind
            .and_then(|rules| rules.get(&operation))
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Every script.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Rule>> {
        let kinds = self.by_version.values().flat_map(BTreeMap::values);
        kinds.flat_map(BTreeMap::values).flatten()
    }

    /// Kinds of which another script counts than `before`.
    pub fn changed_since(&self, before: &Self) -> BTreeSet<KindName> {
        let kinds = |rules: &Self| -> BTreeSet<KindName> {
            let versions = rules.by_version.iter();
            let of_version = |(version, kinds): (&String, &BTreeMap<String, OfKind>)| -> Vec<KindName> {
                let name = |kind: &String| KindName {
                    api_version: version.clone(),
                    kind: kind.clone(),
                };
                kinds.keys().map(name).collect()
            };
            versions.flat_map(of_version).collect()
        };
        let differs = |name: &KindName| {
            Operation::ALL.iter().any(|operation| {
                let of = |rules: &Self| -> Vec<*const Rule> {
                    let found = rules.find(&name.api_version, &name.kind, *operation);
                    found.iter().map(Arc::as_ptr).collect()
                };
                of(self) != of(before)
            })
        };
        kinds(self)
            .union(&kinds(before))
            .filter(|name| differs(name))
            .cloned()
            .collect()
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
