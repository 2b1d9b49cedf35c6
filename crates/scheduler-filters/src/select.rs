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
