//! Which of the clusters that fit are chosen.

use api_types::cluster::Cluster;

use crate::strategy::Groups;

/// A cluster that passed every filter.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Sum of its scores.
    pub score: i64,
}

/// Fewer clusters fit than the placement wants, or it wants none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// Too few candidates.
    #[error(
        "failed to select clusters: the number of feasible clusters is less than spreadConstraint.MinGroups \
         ({feasible} of {min})"
    )]
    TooFew {
        /// Clusters that fit.
        feasible: usize,
        /// Clusters wanted at least.
        min: usize,
    },
    /// `maxGroups` 0, which is not defaulted.
    #[error("failed to select clusters: spreadConstraint.MaxGroups is 0, which selects no cluster")]
    None,
}

/// The clusters chosen: all, or the best `groups.max` by score, then name.
///
/// # Errors
/// [`SelectError`] when the spread constraint cannot be met.
pub fn select(mut candidates: Vec<Candidate<'_>>, groups: Option<Groups>) -> Result<Vec<&Cluster>, SelectError> {
    if let Some(groups) = groups {
        if groups.max == 0 {
            return Err(SelectError::None);
        }
        if candidates.len() < groups.min {
            return Err(SelectError::TooFew {
                feasible: candidates.len(),
                min: groups.min,
            });
        }
        candidates.sort_by(|a, b| {
            b.score
                .cmp(&a.score)
                .then_with(|| a.cluster.metadata.name.cmp(&b.cluster.metadata.name))
        });
        candidates.truncate(groups.max);
    }
    Ok(candidates.into_iter().map(|candidate| candidate.cluster).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::no_constraint(None, Ok("m1 m2 m3"))]
    #[case::best_by_score_then_name(Some(Groups { min: 1, max: 2 }), Ok("m3 m1"))]
    #[case::fewer_than_max(Some(Groups { min: 1, max: 9 }), Ok("m3 m1 m2"))]
    #[case::too_few(Some(Groups { min: 4, max: 9 }), Err(SelectError::TooFew { feasible: 3, min: 4 }))]
    #[case::max_is_not_defaulted(Some(Groups { min: 1, max: 0 }), Err(SelectError::None))]
    fn choices(#[case] groups: Option<Groups>, #[case] expected: Result<&str, SelectError>) {
        let clusters = ["m1", "m2", "m3"].map(|name| cluster(name, json!({})));
        let score = |name: &str| if name == "m3" { 100 } else { 0 };
        let candidates = clusters
            .iter()
            .map(|cluster| Candidate {
                cluster,
                score: score(cluster.metadata.name.as_deref().unwrap()),
            })
            .collect();
        let chosen = select(candidates, groups).map(|chosen| {
            chosen
                .iter()
                .map(|c| c.metadata.name.clone().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        });
        assert_eq!(chosen, expected.map(str::to_owned));
    }
}
