//! The ordered groups of clusters of a placement, and which of them is in use. Pure.

use std::fmt;

use api_types::work::Binding;
use serde::Serialize;

/// The ordered groups (`placement.clusterAffinities`) of a binding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AffinityGroups {
    /// Their names, in their order.
    pub names: Vec<String>,
    /// That of which the result was made, by the status; absent: of none of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_use: Option<String>,
}

impl AffinityGroups {
    /// Those of a binding; none where its placement has no such groups.
    pub(super) fn of(binding: &Binding) -> Option<Self> {
        let placement = binding.spec.placement.as_ref()?;
        let groups = placement.cluster_affinities.iter();
        let names: Vec<String> = groups.map(|group| group.affinity_name.clone()).collect();
        let status = binding.status.as_ref();
        let observed = status.and_then(|status| status.scheduler_observed_affinity_name.clone());
        let in_use = observed.filter(|observed| names.contains(observed));
        (!names.is_empty()).then_some(Self { names, in_use })
    }
}

impl fmt::Display for AffinityGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.names.join(", ");
        let in_use = self.in_use.as_ref();
        let number = in_use.and_then(|in_use| self.names.iter().position(|name| name == in_use));
        match (in_use, number) {
            (Some(in_use), Some(0)) => write!(f, "{in_use}, the first of {all}"),
            (Some(in_use), Some(before)) => write!(
                f,
                "{in_use}, number {} of {all}; it is kept while it fits, and only spec.rescheduleTriggeredAt goes back to {}",
                before + 1,
                self.names[0]
            ),
            _ => write!(f, "none yet of {all}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::no_groups(&[], "near", None)]
    #[case::the_first(&["near", "far"], "near", Some("near, the first of near, far"))]
    #[case::a_later_one(
        &["near", "far"],
        "far",
        Some("far, number 2 of near, far; it is kept while it fits, and only spec.rescheduleTriggeredAt goes back to near")
    )]
    #[case::not_placed_yet(&["near", "far"], "", Some("none yet of near, far"))]
    #[case::of_groups_that_were(&["near", "far"], "old", Some("none yet of near, far"))]
    fn the_group_in_use_is_named(#[case] names: &[&str], #[case] observed: &str, #[case] expected: Option<&str>) {
        let groups: Vec<_> = names.iter().map(|name| json!({"affinityName": name})).collect();
        let binding: Binding = serde_json::from_value(json!({
            "metadata": {"name": "b"},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"},
                "placement": {"clusterAffinities": groups},
            },
            "status": {"schedulerObservingAffinityName": observed},
        }))
        .unwrap();
        let said = AffinityGroups::of(&binding).map(|groups| groups.to_string());
        assert_eq!(said.as_deref(), expected);
        let without_status = Binding {
            status: None,
            ..binding
        };
        let said = AffinityGroups::of(&without_status).map(|groups| groups.to_string());
        assert_eq!(said.as_deref(), (!names.is_empty()).then_some("none yet of near, far"));
    }
}
