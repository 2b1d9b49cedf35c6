//! Replicas divided by the room that clusters have: by weight (`dynamicWeight: AvailableReplicas`) or on as few clusters as
//! hold them (Aggregated).
//!
//! Rules, as in stock. Steady, the usual way, moves nothing that runs: what is missing is divided by the room of the
//! clusters and added to what they have; what is too much is taken off in proportion to what they have; else all stays.
//! Fresh, which a person asks for, divides all replicas anew, and the room that the present ones take counts as free.
//!
//! Clusters share by the method of Webster ([`webster`]), so that none gets more than it has room for. Aggregated lets only
//! the first ones share that hold the replicas together: when scaling up those that run some come first, then those with
//! the most room, and of equals the better candidate.
//!
//! The room is what the last reports say. Where it is too little for all that is missing nothing is placed, and what runs
//! stays as it is.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use api_types::work::TargetCluster;

use crate::divide::{TieOrder, webster};
use crate::select::Candidate;

/// Which clusters share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// As few as hold the replicas.
    Aggregated,
    /// All, in proportion to their room.
    ByRoom,
}

/// What the present result means for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What runs stays; only the difference is divided.
    Steady,
    /// Everything is divided anew.
    Fresh,
}

/// The clusters have too little room together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEnough {
    /// Replicas that they have room for.
    pub available: i64,
    /// Replicas that want a place.
    pub wanted: i64,
}

/// One that may get replicas.
struct Share {
    name: String,
    assigned: i32,
    /// Its part is in proportion to this.
    votes: i64,
}

/// The clusters and their replicas, by name; one without any is left out.
///
/// # Errors
/// [`NotEnough`] room for what is missing.
pub fn divide(
    candidates: &[Candidate<'_>],
    replicas: i32,
    division: Division,
    mode: Mode,
    tie: TieOrder,
) -> Result<Vec<TargetCluster>, NotEnough> {
    let assigned: i64 = candidates.iter().map(|c| i64::from(c.available.assigned)).sum();
    let missing = i64::from(replicas) - assigned;
    let mut shares = shares(candidates, |candidate| match mode {
        Mode::Fresh => candidate.available.total(),
        Mode::Steady if missing < 0 => i64::from(candidate.available.assigned),
        Mode::Steady => i64::from(candidate.available.room),
    });
    let (present, wanted) = match mode {
        Mode::Steady if missing == 0 => return Ok(targets(present(&shares))),
        Mode::Steady if missing > 0 => {
            shares.sort_by_key(|share| {
                (
                    division == Division::Aggregated && share.assigned == 0,
                    Reverse(share.votes),
                )
            });
            (present(&shares), missing)
        }
        Mode::Steady => {
            // What is stored is in no order that means anything.
            shares.sort_by(|a, b| b.votes.cmp(&a.votes).then_with(|| a.name.cmp(&b.name)));
            (BTreeMap::new(), i64::from(replicas))
        }
        Mode::Fresh => {
            shares.sort_by_key(|share| Reverse(share.votes));
            (BTreeMap::new(), i64::from(replicas))
        }
    };
    let available: i64 = shares.iter().map(|share| share.votes).sum();
    let wanted = match i32::try_from(wanted) {
        Ok(wanted_now) if available >= wanted => wanted_now,
        _ => return Err(NotEnough { available, wanted }),
    };
    if division == Division::Aggregated {
        shares.truncate(as_few_as_hold(&shares, wanted.into()));
    }
    let votes = shares.into_iter().map(|share| (share.name, share.votes)).collect();
    let mut result = present;
    for (name, more) in webster(&votes, wanted, tie) {
        let replicas = result.entry(name).or_default();
        *replicas = replicas.saturating_add(more);
    }
    Ok(targets(result))
}

fn shares(candidates: &[Candidate<'_>], votes: impl Fn(&Candidate<'_>) -> i64) -> Vec<Share> {
    let each = candidates.iter().map(|candidate| Share {
        name: candidate.cluster.cluster_name().to_string(),
        assigned: candidate.available.assigned,
        votes: votes(candidate),
    });
    each.collect()
}

fn present(shares: &[Share]) -> BTreeMap<String, i32> {
    shares
        .iter()
        .map(|share| (share.name.clone(), share.assigned))
        .collect()
}

/// How many of the first hold `wanted` together.
fn as_few_as_hold(shares: &[Share], wanted: i64) -> usize {
    let mut held = 0;
    let enough = shares.iter().position(|share| {
        held += share.votes;
        held >= wanted
    });
    enough.map_or(shares.len(), |last| last + 1)
}

fn targets(replicas: BTreeMap<String, i32>) -> Vec<TargetCluster> {
    let some = replicas.into_iter().filter(|(_, replicas)| *replicas > 0);
    some.map(|(name, replicas)| TargetCluster {
        name,
        replicas,
        ..TargetCluster::default()
    })
    .collect()
}

#[cfg(test)]
mod tests;
