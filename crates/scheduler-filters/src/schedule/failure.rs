//! No placement was found: why, and what could end it.

use std::fmt;

use jiff::Timestamp;

use crate::plugins::cluster_affinity;
use crate::request::{Refusal, Refusals};
use crate::select::SelectError;
use crate::strategy::Unsupported;

/// No placement was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No cluster passed the filters.
    #[error("0/{clusters} clusters are available: {}.", if *clusters == 0 { "no cluster exists".to_owned() } else { refusals.histogram() })]
    NoClusterFit {
        /// Clusters of the fleet.
        clusters: usize,
        /// Why each was refused.
        refusals: Refusals,
    },
    /// The spread constraint cannot be met by the clusters that fit.
    #[error("{error}")]
    Spread {
        /// How it is missed.
        error: SelectError,
        /// Why the other clusters were refused.
        refusals: Refusals,
    },
    /// The clusters that were chosen have too little room for the replicas that want a place.
    #[error("Clusters available replicas {available} are not enough to schedule.")]
    NotEnough {
        /// Replicas that they have room for.
        available: i64,
        /// Replicas that want a place.
        wanted: i64,
        /// Why the other clusters were refused.
        refusals: Refusals,
    },
    /// The placement asks for something that this version does not do.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// None of several affinity groups fits.
    #[error(transparent)]
    Groups(#[from] NoGroup),
}

/// No placement was found in any of the affinity groups that were tried, two or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoGroup {
    first: Box<Failure>,
    first_name: String,
    /// The other groups by name, in their order.
    others: Vec<(String, Failure)>,
    refusals: Refusals,
}

impl std::error::Error for NoGroup {}

impl fmt::Display for NoGroup {
    /// Stock's message, which is that of the first group, and then which group that was and what the others lack.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (This is of the affinity group {}.", self.first, self.first_name)?;
        for (name, failure) in &self.others {
            write!(f, " {name}: {failure}")?;
        }
        f.write_str(")")
    }
}

impl NoGroup {
    /// Of the groups that were tried, by name and in their order: nothing for none, and for one alone what that lacks.
    pub(super) fn of(failures: Vec<(String, Failure)>) -> Option<Failure> {
        let refusals = refused_by_all(&failures);
        let mut failures = failures.into_iter();
        let (first_name, first) = failures.next()?;
        let others: Vec<(String, Failure)> = failures.collect();
        Some(if others.is_empty() {
            first
        } else {
            Failure::Groups(Self {
                first: Box::new(first),
                first_name,
                others,
                refusals,
            })
        })
    }

    fn all(&self) -> impl Iterator<Item = &Failure> {
        std::iter::once(&*self.first).chain(self.others.iter().map(|(_, failure)| failure))
    }
}

/// Why each cluster was refused that no group takes. Of several reasons that of a group which names it counts, and of these
/// the first that ends.
fn refused_by_all(failures: &[(String, Failure)]) -> Refusals {
    let mut each = failures
        .iter()
        .map(|(_, failure)| failure.refusals().cloned().unwrap_or_default().0);
    let mut merged = each.next().unwrap_or_default();
    for mut later in each {
        merged = merged
            .into_iter()
            .filter_map(|(name, refusal)| {
                let other = later.remove(&name)?;
                let rank = |refusal: &Refusal| {
                    (
                        refusal.plugin == cluster_affinity::NAME,
                        refusal.until.is_none(),
                        refusal.until,
                    )
                };
                let refusal = if rank(&other) < rank(&refusal) { other } else { refusal };
                Some((name, refusal))
            })
            .collect();
    }
    Refusals(merged)
}

impl Failure {
    /// The reason of the condition `Scheduled`, one of stock's.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoClusterFit { .. } => "NoClusterFit",
            Self::NotEnough { .. } => "Unschedulable",
            Self::Spread { .. } | Self::Unsupported(_) => "SchedulerError",
            Self::Groups(groups) => groups.first.reason(),
        }
    }

    /// Why clusters were refused; of several groups, by all of them.
    #[must_use]
    pub fn refusals(&self) -> Option<&Refusals> {
        match self {
            Self::NoClusterFit { refusals, .. } | Self::Spread { refusals, .. } | Self::NotEnough { refusals, .. } => {
                Some(refusals)
            }
            Self::Groups(groups) => Some(&groups.refusals),
            Self::Unsupported(_) => None,
        }
    }

    /// Whether more room on a cluster could end it, in any group.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        match self {
            Self::NotEnough { .. } => true,
            Self::Spread { error, .. } => matches!(error, SelectError::NoRoom { .. }),
            Self::Groups(groups) => groups.all().any(Self::wants_room),
            Self::NoClusterFit { .. } | Self::Unsupported(_) => false,
        }
    }

    /// When a refusal ends by itself, in any group, so that it is worth looking again.
    #[must_use]
    pub fn recheck_at(&self) -> Option<Timestamp> {
        match self {
            Self::Groups(groups) => groups.all().filter_map(Self::recheck_at).min(),
            one => one.refusals()?.ends_at(),
        }
    }
}
