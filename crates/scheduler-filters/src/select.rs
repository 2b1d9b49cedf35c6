//! Which of the clusters that fit are chosen.
//!
//! Rules, as in stock: candidates are in order of score, then of what they can hold, then of name. Without a spread
//! constraint all are chosen. By cluster the first `maxGroups` are; replicas that are divided must have room on them, and
//! from the last on each gives way to the one outside that holds the most, until they have. Duplicated asks for no room. By
//! region: `select/regions.rs`.
//!
//! Ours, unless a person asked for a fresh placement: who runs it comes before who does not, whatever the scores, and gives
//! way to nobody. So neither a score nor a lack of room moves what runs past the eviction queue.

mod paths;
mod regions;

use std::cmp::Reverse;

use api_types::cluster::Cluster;

use crate::available::Available;
use crate::dynamic::Mode;
use crate::spread::{Groups, Spread};

/// A cluster that passed every filter.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Sum of its scores.
    pub score: i64,
    /// Whether the binding is placed on it already.
    pub is_present: bool,
    /// What it can hold; nothing where nobody asks.
    pub available: Available,
}

/// What the chosen clusters have to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Each all of so many replicas, whether there is room or not.
    Each(i32),
    /// All of them together so many replicas.
    Together(i32),
}

/// No choice of clusters meets the spread constraints.
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
    /// The replicas do not fit on as many clusters as may be chosen.
    #[error("failed to select clusters: no enough resource when selecting {clusters} clusters")]
    NoRoom {
        /// Clusters that may be chosen.
        clusters: usize,
    },
    /// Too few regions with a candidate.
    #[error(
        "failed to select clusters: the number of feasible region is less than spreadConstraint.MinGroups \
         ({feasible} of {min})"
    )]
    TooFewRegions {
        /// Regions with a cluster that fits.
        feasible: usize,
        /// Regions wanted at least.
        min: usize,
    },
    /// As many regions as may be chosen have too few candidates.
    #[error("failed to select clusters: the number of clusters is less than the cluster spreadConstraint.MinGroups")]
    TooFewInRegions,
    /// More regions are wanted than clusters are allowed.
    #[error(
        "failed to select clusters: the spread constraints contradict each other: MinGroups wants {regions} regions, and \
         MaxGroups allows {clusters} clusters"
    )]
    Contradiction {
        /// Regions wanted at least.
        regions: usize,
        /// Clusters allowed.
        clusters: usize,
    },
}

/// The clusters chosen, the better ones first. `copies` is how many clusters the workload had before some failed: what is
/// Duplicated over regions is to have as many again, as far as its maximum allows.
///
/// # Errors
/// [`SelectError`] when the spread constraints cannot be met.
pub fn select<'a>(
    mut candidates: Vec<Candidate<'a>>,
    spread: Spread,
    demand: Demand,
    copies: usize,
    mode: Mode,
) -> Result<Vec<Candidate<'a>>, SelectError> {
    candidates.sort_by(|a, b| better_first(a, b, mode));
    match spread {
        Spread::Everywhere => Ok(candidates),
        Spread::Clusters(groups) => by_clusters(candidates, groups, demand, mode),
        Spread::Regions { regions, clusters } => {
            let wanted = regions::Wanted {
                regions,
                clusters,
                demand,
                copies,
                mode,
            };
            regions::choose(&candidates, &wanted)
        }
    }
}

fn better_first(a: &Candidate<'_>, b: &Candidate<'_>, mode: Mode) -> std::cmp::Ordering {
    let stays = |candidate: &Candidate<'_>| mode == Mode::Steady && candidate.is_present;
    let key = |candidate: &Candidate<'_>| Reverse((stays(candidate), candidate.score, candidate.available.total()));
    key(a)
        .cmp(&key(b))
        .then_with(|| a.cluster.metadata.name.cmp(&b.cluster.metadata.name))
}

fn by_clusters<'a>(
    candidates: Vec<Candidate<'a>>,
    groups: Groups,
    demand: Demand,
    mode: Mode,
) -> Result<Vec<Candidate<'a>>, SelectError> {
    let feasible = candidates.len();
    if groups.max == 0 {
        return Err(SelectError::None);
    }
    if feasible < groups.min {
        return Err(SelectError::TooFew {
            feasible,
            min: groups.min,
        });
    }
    let clusters = groups.max.min(feasible);
    let needed = match demand {
        Demand::Each(_) => 0,
        Demand::Together(replicas) => i64::from(replicas),
    };
    let holds = |candidate: &Candidate<'_>| candidate.available.total();
    let may_give_way = |candidate: &Candidate<'_>| mode == Mode::Fresh || !candidate.is_present;
    swap_in(candidates, clusters, needed, holds, may_give_way).ok_or(SelectError::NoRoom { clusters })
}

/// The first `count`. While they hold less than `needed` together, from the last on each that may gives way to the one outside
/// that holds the most, of equals the first, if that is more. Nothing where they hold less even then.
fn swap_in<T>(
    mut all: Vec<T>,
    count: usize,
    needed: i64,
    holds: impl Fn(&T) -> i64,
    may_give_way: impl Fn(&T) -> bool,
) -> Option<Vec<T>> {
    let mut outside = all.split_off(count.min(all.len()));
    let mut chosen = all;
    let mut held: i64 = chosen.iter().map(&holds).sum();
    for inside in chosen.iter_mut().rev() {
        if held >= needed {
            break;
        }
        let most = outside
            .iter_mut()
            .enumerate()
            .max_by_key(|(at, other)| (holds(other), Reverse(*at)));
        if let Some((_, other)) = most
            && may_give_way(inside)
            && holds(other) > holds(inside)
        {
            held += holds(other) - holds(inside);
            std::mem::swap(inside, other);
        }
    }
    (held >= needed).then_some(chosen)
}

#[cfg(test)]
mod tests;
