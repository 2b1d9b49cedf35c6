//! What the spread constraints of a placement ask for.

use api_types::placement::{Placement, SpreadConstraint, SpreadField};

use crate::strategy::{self, Unsupported};

/// How many groups may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// At least so many, one or more.
    pub min: usize,
    /// At most so many; 0 is not defaulted and selects nothing.
    pub max: usize,
}

impl Groups {
    fn of(constraint: &SpreadConstraint) -> Self {
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        Self {
            min: count(constraint.min_groups).max(1),
            max: count(constraint.max_groups),
        }
    }
}

/// Over what a workload spreads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Every cluster that fits.
    Everywhere,
    /// So many clusters.
    Clusters(Groups),
    /// So many regions, and so many clusters in all of them.
    Regions {
        /// Regions.
        regions: Groups,
        /// Clusters; absent: one for each region.
        clusters: Option<Groups>,
    },
}

/// The spread of a placement.
///
/// As in stock: fixed weights look at no constraint; of two constraints by one field the last counts; zone and provider
/// group nothing (beside cluster or region they only ask that a cluster says its own).
///
/// # Errors
/// [`Unsupported`]: groups by label, by a field that nobody knows, or by zone or provider alone.
pub fn of(placement: &Placement) -> Result<Spread, Unsupported> {
    if strategy::is_by_fixed_weights(placement) {
        return Ok(Spread::Everywhere);
    }
    let (mut clusters, mut regions, mut others) = (None, None, None);
    for constraint in &placement.spread_constraints {
        if constraint
            .spread_by_label
            .as_ref()
            .is_some_and(|label| !label.is_empty())
        {
            return Err(Unsupported::new("spreadByLabel"));
        }
        let groups = Groups::of(constraint);
        match constraint.spread_by_field.as_ref().unwrap_or(&SpreadField::Cluster) {
            SpreadField::Cluster => clusters = Some(groups),
            SpreadField::Region => regions = Some(groups),
            field @ (SpreadField::Zone | SpreadField::Provider) => others = Some(field),
            SpreadField::Other(field) if field.is_empty() => clusters = Some(groups),
            SpreadField::Other(field) => return Err(Unsupported::new(format!("spread constraints by {field}"))),
        }
    }
    match (regions, clusters, others) {
        (Some(regions), clusters, _) => Ok(Spread::Regions { regions, clusters }),
        (None, Some(clusters), _) => Ok(Spread::Clusters(clusters)),
        (None, None, Some(field)) => Err(Unsupported::new(format!(
            "spread constraints by {field} alone (just support cluster and region spread constraint)"
        ))),
        (None, None, None) => Ok(Spread::Everywhere),
    }
}

/// The clusters that a placement wants at least; 0 where it does not say or cannot be followed.
#[must_use]
pub fn min_clusters(placement: &Placement) -> usize {
    match of(placement) {
        Ok(Spread::Clusters(clusters)) => clusters.min,
        Ok(Spread::Regions { regions, clusters }) => regions.min.max(clusters.map_or(0, |clusters| clusters.min)),
        Ok(Spread::Everywhere) | Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn by(field: &str, min: i64, max: i64) -> Value {
        json!({"spreadByField": field, "minGroups": min, "maxGroups": max})
    }

    fn groups(min: usize, max: usize) -> Groups {
        Groups { min, max }
    }

    #[rstest]
    #[case::none(json!([]), Ok(Spread::Everywhere))]
    #[case::absent_is_cluster(json!([{"minGroups": 2, "maxGroups": 3}]), Ok(Spread::Clusters(groups(2, 3))))]
    #[case::empty_is_cluster(json!([by("", 2, 3)]), Ok(Spread::Clusters(groups(2, 3))))]
    #[case::min_is_one_at_least(json!([by("cluster", 0, 0)]), Ok(Spread::Clusters(groups(1, 0))))]
    #[case::negative(json!([by("cluster", -4, -1)]), Ok(Spread::Clusters(groups(1, 0))))]
    #[case::the_last_counts(json!([by("cluster", 1, 1), by("cluster", 2, 2)]), Ok(Spread::Clusters(groups(2, 2))))]
    #[case::regions(json!([by("cluster", 3, 4), by("region", 1, 2)]), Ok(Spread::Regions { regions: groups(1, 2), clusters: Some(groups(3, 4)) }))]
    #[case::regions_alone(json!([by("region", 1, 2)]), Ok(Spread::Regions { regions: groups(1, 2), clusters: None }))]
    #[case::zones_beside_clusters(json!([by("zone", 9, 9), by("cluster", 1, 2)]), Ok(Spread::Clusters(groups(1, 2))))]
    #[case::zones_alone(json!([by("zone", 1, 2)]), Err("just support cluster and region spread constraint"))]
    #[case::providers_alone(json!([by("provider", 1, 2)]), Err("by provider alone"))]
    #[case::label(json!([{"spreadByLabel": "l", "maxGroups": 1}]), Err("spreadByLabel"))]
    #[case::unknown(json!([by("planet", 1, 2)]), Err("spread constraints by planet"))]
    fn asked_for(#[case] asked: Value, #[case] expected: Result<Spread, &str>) {
        let placement: Placement = serde_json::from_value(json!({"spreadConstraints": asked})).unwrap();
        match (of(&placement), expected) {
            (Ok(spread), Ok(expected)) => assert_eq!(spread, expected),
            (Err(unsupported), Err(what)) => assert!(unsupported.what.contains(what), "{unsupported}"),
            (answer, expected) => panic!("{answer:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn fixed_weights_look_at_none() {
        let placement: Placement = serde_json::from_value(json!({
            "replicaScheduling": {"replicaSchedulingType": "Divided"}, "spreadConstraints": [by("zone", 1, 1)],
        }))
        .unwrap();
        assert_eq!(of(&placement), Ok(Spread::Everywhere));
    }
}
