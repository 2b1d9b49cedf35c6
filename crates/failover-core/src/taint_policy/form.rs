//! The two forms of a policy, read as one: which taints, with which windows, and what they depend on.
//!
//! Stock's form has windows of 0 and is latched: its taints stand from the moment its add conditions match until its
//! remove conditions do. With the windows of its annotation it is as ours: a taint comes when the add conditions have
//! matched for its window, and goes when they have not, or, where there are remove conditions, when those have matched.

use std::cmp::Ordering;

use api_types::cluster::{Cluster, effect};
use api_types::placement::ClusterAffinity;
use api_types::taint_policy::{ClusterTaintPolicy, MatchCondition, TaintEffect};
use jiff::{SignedDuration, Timestamp};

use super::conditions::all_hold;
use super::records::TaintId;
use super::selectors;

/// A taint that a policy may put on a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolicyTaint {
    pub id: TaintId,
    pub value: String,
    /// How long the policy must match.
    pub add_after: SignedDuration,
    /// How long it must not match.
    pub remove_after: SignedDuration,
}

impl PolicyTaint {
    /// Whether the taint makes workloads leave: what the Failover gate governs.
    pub fn moves_workloads(&self) -> bool {
        self.id.effect == effect::NO_EXECUTE || self.id.effect == effect::PREFER_NO_EXECUTE
    }
}

/// What a policy's taints depend on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule<'a> {
    /// All of them must hold; none always holds.
    Matching(&'a [MatchCondition]),
    /// From `add` until `remove`; an empty list never holds.
    Latched {
        add: &'a [MatchCondition],
        remove: &'a [MatchCondition],
    },
    /// While `add`; what stands then stays until `remove`, also while neither holds. Neither list is empty.
    Until {
        add: &'a [MatchCondition],
        remove: &'a [MatchCondition],
    },
}

impl Rule<'_> {
    /// Whether the conditions that bring taints are given up for the moment: what stands stays, and nothing comes.
    pub fn holds_back(self, cluster: &Cluster) -> bool {
        match self {
            Self::Until { add, remove } => !all_hold(add, cluster) && !all_hold(remove, cluster),
            Self::Matching(_) | Self::Latched { .. } => false,
        }
    }
}

/// A policy, read.
#[derive(Debug)]
pub(super) struct Form<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    pub generation: i64,
    pub suspended: bool,
    pub target: Option<&'a ClusterAffinity>,
    pub rule: Rule<'a>,
    pub taints: Vec<PolicyTaint>,
    /// Why nothing is done for it. Only an API server without our CEL rules lets such a policy in.
    pub invalid: Option<String>,
}

impl<'a> Form<'a> {
    pub fn read(policy: &'a ClusterTaintPolicy) -> Self {
        let spec = &policy.spec;
        let windowed = !spec.taints_to_add.is_empty() || spec.match_conditions.is_some();
        let latched =
            !spec.taints.is_empty() || !spec.add_on_conditions.is_empty() || !spec.remove_on_conditions.is_empty();
        let (add, remove) = (&spec.add_on_conditions[..], &spec.remove_on_conditions[..]);
        let rule = if windowed || !latched {
            Rule::Matching(spec.match_conditions.as_deref().unwrap_or_default())
        } else {
            match (&spec.windows, add, remove) {
                (None, ..) | (Some(_), [], _) => Rule::Latched { add, remove },
                (Some(_), _, []) => Rule::Matching(add),
                (Some(_), ..) => Rule::Until { add, remove },
            }
        };
        let mut taints: Vec<PolicyTaint> = Vec::new();
        let mut taint =
            |key: &str, value: Option<&str>, effect: &TaintEffect, add_seconds: i32, remove_seconds: i32| {
                let id = TaintId {
                    key: key.to_owned(),
                    effect: effect.as_str().to_owned(),
                };
                if !taints.iter().any(|known| known.id == id) {
                    taints.push(PolicyTaint {
                        id,
                        value: value.unwrap_or_default().to_owned(),
                        add_after: SignedDuration::from_secs(i64::from(add_seconds.max(0))),
                        remove_after: SignedDuration::from_secs(i64::from(remove_seconds.max(0))),
                    });
                }
            };
        for t in &spec.taints_to_add {
            // The API server refuses less than a second; where it does not, a window of nothing is no window.
            let (on, off) = (t.add_on_match_seconds.max(1), t.remove_on_mismatch_seconds.max(1));
            taint(&t.key, t.value.as_deref(), &t.effect, on, off);
        }
        let windows = spec.windows.as_deref().unwrap_or_default();
        for t in &spec.taints {
            let window = windows.iter().find(|w| w.key == t.key && w.effect == t.effect);
            let (on, off) = window.map_or((0, 0), |w| (w.add_on_match_seconds, w.remove_on_mismatch_seconds));
            taint(&t.key, t.value.as_deref(), &t.effect, on, off);
        }
        let unknown_effect = taints
            .iter()
            .find(|t| matches!(TaintEffect::from(t.id.effect.as_str()), TaintEffect::Other(_)));
        let invalid = if spec.target_cluster.is_some() && spec.target_clusters.is_some() {
            Some("targetCluster and targetClusters are two spellings of one field: give one".to_owned())
        } else if windowed && latched {
            Some(
                "matchConditions/taintsToAdd and addOnConditions/removeOnConditions/taints are two forms: use one"
                    .to_owned(),
            )
        } else if taints.is_empty() {
            Some("it names no taint: give taintsToAdd, or taints in stock's form".to_owned())
        } else if let Some(taint) = unknown_effect {
            Some(format!("effect {:?} is not known", taint.id.effect))
        } else if let Some(why) = taints.iter().find_map(|t| selectors::taint_complaint(&t.id, &t.value)) {
            Some(why)
        } else {
            spec.target_cluster
                .as_ref()
                .or(spec.target_clusters.as_ref())
                .and_then(selectors::complaint)
        };
        Self {
            name: policy.metadata.name.as_deref().unwrap_or_default(),
            uid: policy.metadata.uid.as_deref().unwrap_or_default(),
            generation: policy.metadata.generation.unwrap_or_default(),
            suspended: spec.suspended,
            target: spec.target_cluster.as_ref().or(spec.target_clusters.as_ref()),
            rule,
            taints,
            invalid,
        }
    }

    /// Whether its taints are left as they are.
    pub fn is_frozen(&self) -> bool {
        self.suspended || self.invalid.is_some()
    }

    /// Whether it is of stock's form, without windows.
    pub fn is_latched(&self) -> bool {
        matches!(self.rule, Rule::Latched { .. })
    }

    /// Whether conditions of their own take its taints away, after a window.
    pub fn has_its_own_removal(&self) -> bool {
        matches!(self.rule, Rule::Until { .. })
    }

    pub fn taint(&self, id: &TaintId) -> Option<&PolicyTaint> {
        self.taints.iter().find(|t| t.id == *id)
    }

    /// The conditions in words, also the fingerprint by which a window notices that they were edited.
    pub fn rule_text(&self) -> String {
        let list = |conditions: &[MatchCondition]| {
            let one = |c: &MatchCondition| {
                let values: Vec<&str> = c
                    .status_values
                    .iter()
                    .map(api_types::taint_policy::ConditionStatus::as_str)
                    .collect();
                format!("{} {} {}", c.condition_type, c.operator, values.join(","))
            };
            conditions.iter().map(one).collect::<Vec<_>>().join(" and ")
        };
        match self.rule {
            Rule::Matching([]) => "always".to_owned(),
            Rule::Matching(conditions) => list(conditions),
            Rule::Latched { add, remove } | Rule::Until { add, remove } => {
                format!("{} until {}", list(add), list(remove))
            }
        }
    }
}

/// The order that decides conflicts: the older policy, then the lower name.
pub(super) fn precedence(a: &ClusterTaintPolicy, b: &ClusterTaintPolicy) -> Ordering {
    fn key(policy: &ClusterTaintPolicy) -> (Timestamp, &str) {
        let metadata = &policy.metadata;
        let created = metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |t| t.0);
        (created, metadata.name.as_deref().unwrap_or_default())
    }
    key(a).cmp(&key(b))
}
