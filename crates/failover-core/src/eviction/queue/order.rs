//! Round-robin over lanes.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use jiff::Timestamp;

use super::entry::EntryKey;
use super::lane::Lane;

/// The lanes in the order of their turns: after the one served last, by name, around.
pub(super) fn turns<'a>(
    lanes: &'a BTreeMap<ClusterName, Lane>,
    served_last: Option<&'a ClusterName>,
) -> impl Iterator<Item = (&'a ClusterName, &'a Lane)> {
    let after = served_last.map_or(Bound::Unbounded, |name| Bound::Excluded(name.clone()));
    let upto = served_last.map_or(Bound::Excluded(ClusterName::from("")), |name| {
        Bound::Included(name.clone())
    });
    lanes
        .range((after, Bound::Unbounded))
        .chain(lanes.range((Bound::Unbounded, upto)))
}

/// The entry that goes next.
pub(super) fn next(
    lanes: &BTreeMap<ClusterName, Lane>,
    served_last: Option<&ClusterName>,
    now: Timestamp,
    starvation_limit: Duration,
) -> Option<(ClusterName, Arc<EntryKey>)> {
    turns(lanes, served_last)
        .find_map(|(name, lane)| Some((name.clone(), lane.line.first(now, starvation_limit)?.clone())))
}

/// How many entries go before the one of this rank (from 0) in its lane, if none comes in between.
pub(super) fn ahead(
    lanes: &BTreeMap<ClusterName, Lane>,
    served_last: Option<&ClusterName>,
    own: &ClusterName,
    rank: usize,
) -> usize {
    let mut before_own = true;
    let mut ahead = rank;
    for (name, lane) in turns(lanes, served_last) {
        if name == own {
            before_own = false;
        } else {
            ahead += lane.line.len().min(rank + usize::from(before_own));
        }
    }
    ahead
}
