//! Clusters chosen so that they spread over regions.
//!
//! Rules, as in stock: regions have a score, and the best set of them is chosen that has enough regions and clusters
//! ([`super::paths`]); the best cluster of each is taken, then the best of the others up to `maxGroups` of the clusters.
//!
//! The score of a region is 1000 for each thing that counts, and the mean score of the clusters looked at. Of Duplicated a
//! cluster counts that can hold all replicas; of Divided each replica that the first clusters of the region can hold, up to
//! the part of one region.
//!
//! Ours: what runs stays. The regions in use are chosen when they suffice; else the sets that keep the most clusters in use
//! are looked at first. Only where those have no room for the replicas, and when a person asked for a fresh placement, a region
//! gives way to a better one, as in stock at each look. What is Duplicated and lost a copy that the regions in use cannot replace
//! widens to others, as far as the maxima allow. And no set has more regions than clusters are allowed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::paths::{self, Group, Limits, Preference};
use super::{Candidate, Demand, SelectError};
use crate::dynamic::Mode;
use crate::spread::Groups;

/// What is asked for.
pub(super) struct Wanted {
    pub(super) regions: Groups,
    /// Absent: one for each region.
    pub(super) clusters: Option<Groups>,
    pub(super) demand: Demand,
    /// Clusters that the workload had before some failed; 0 where none did.
    pub(super) copies: usize,
    pub(super) mode: Mode,
}

impl Wanted {
    fn min_clusters(&self) -> usize {
        self.clusters.map_or(0, |clusters| clusters.min)
    }

    fn limits(&self) -> Limits {
        let allowed = self.clusters.map_or(usize::MAX, |clusters| clusters.max);
        Limits {
            min: self.regions.min,
            max: self.regions.max.min(allowed),
            members: self.min_clusters(),
            taken: self.clusters.map(|clusters| clusters.max),
        }
    }

    /// The limits with which so many clusters are chosen at least.
    fn with_copies(&self, copies: usize) -> Limits {
        let limits = self.limits();
        match self.clusters {
            Some(_) => Limits {
                members: limits.members.max(copies),
                ..limits
            },
            None => Limits {
                min: limits.min.max(copies),
                ..limits
            },
        }
    }

    /// As many copies as before some failed, as far as the maximum allows; what is divided has none.
    fn wanted_copies(&self) -> usize {
        match self.demand {
            Demand::Each(_) => self
                .copies
                .min(self.clusters.map_or(self.regions.max, |clusters| clusters.max)),
            Demand::Together(_) => 0,
        }
    }

    fn is_held_by(&self, chosen: &[Candidate<'_>]) -> bool {
        match self.demand {
            Demand::Each(_) => true,
            Demand::Together(replicas) => {
                let held: i64 = chosen.iter().map(|candidate| candidate.available.total()).sum();
                held >= i64::from(replicas)
            }
        }
    }
}

/// A region with its candidates, the better ones first; there is one at least.
struct Region<'a> {
    group: Group,
    clusters: Vec<Candidate<'a>>,
}

/// The clusters chosen of `candidates`, which are in order.
pub(super) fn choose<'a>(candidates: &[Candidate<'a>], wanted: &Wanted) -> Result<Vec<Candidate<'a>>, SelectError> {
    if wanted.regions.max == 0 || wanted.clusters.is_some_and(|clusters| clusters.max == 0) {
        return Err(SelectError::None);
    }
    if let Some(clusters) = wanted.clusters
        && wanted.regions.min > clusters.max
    {
        return Err(SelectError::Contradiction {
            regions: wanted.regions.min,
            clusters: clusters.max,
        });
    }
    let regions = by_region(candidates, wanted);
    if regions.len() < wanted.regions.min {
        return Err(SelectError::TooFewRegions {
            feasible: regions.len(),
            min: wanted.regions.min,
        });
    }
    if wanted.mode == Mode::Steady
        && let Some(chosen) = with_those_in_use(&regions, wanted)
    {
        return Ok(chosen);
    }
    let groups: Vec<&Group> = regions.iter().map(|region| &region.group).collect();
    match paths::best(&groups, wanted.limits(), Preference::Score) {
        Some(best) => Ok(clusters_of(&regions, &best, wanted)),
        None => Err(SelectError::TooFewInRegions),
    }
}

/// A choice with the regions in use, all of them or as many as can be, if it holds the replicas.
fn with_those_in_use<'a>(regions: &[Region<'a>], wanted: &Wanted) -> Option<Vec<Candidate<'a>>> {
    let limits = wanted.limits();
    let mut in_use: Vec<usize> = (0..regions.len()).filter(|at| regions[*at].group.in_use > 0).collect();
    if in_use.is_empty() {
        return None;
    }
    in_use.sort_by_key(|at| regions[*at].group.rank());
    let groups: Vec<&Group> = regions.iter().map(|region| &region.group).collect();
    let of = |set: &[usize]| Some(clusters_of(regions, set, wanted)).filter(|chosen| wanted.is_held_by(chosen));
    let best = |limits| of(&paths::best(&groups, limits, Preference::InUse)?);
    let members: usize = in_use.iter().map(|at| regions[*at].group.members).sum();
    let all = (limits.min..=limits.max).contains(&in_use.len()) && members >= limits.members;
    let chosen = if all { of(&in_use) } else { None };
    let chosen = chosen.or_else(|| best(limits))?;
    // Other regions may replace the copies that failed, as many as can be; not where it would cost a copy that runs.
    let present = |chosen: &[Candidate<'_>]| chosen.iter().filter(|candidate| candidate.is_present).count();
    let most: usize = groups.iter().map(|group| group.members).sum();
    let more = (chosen.len() + 1..=wanted.wanted_copies().min(most))
        .rev()
        .filter_map(|copies| best(wanted.with_copies(copies)))
        .find(|more| more.len() > chosen.len() && present(more) >= present(&chosen));
    Some(more.unwrap_or(chosen))
}

fn by_region<'a>(candidates: &[Candidate<'a>], wanted: &Wanted) -> Vec<Region<'a>> {
    let mut by_name: BTreeMap<&str, Vec<Candidate<'a>>> = BTreeMap::new();
    for candidate in candidates {
        // Whether a cluster has to say its region is for the plugin to judge.
        let region = candidate.cluster.spec.region.as_deref();
        if let Some(region) = region.filter(|region| !region.is_empty()) {
            by_name.entry(region).or_default().push(*candidate);
        }
    }
    let regions = by_name.into_iter().map(|(name, clusters)| Region {
        group: Group {
            name: name.to_owned(),
            members: clusters.len(),
            score: score(&clusters, wanted),
            in_use: clusters.iter().filter(|candidate| candidate.is_present).count(),
        },
        clusters,
    });
    regions.collect()
}

/// What one counts for in the score of a region, more than any score of a cluster.
const UNIT: i64 = 1_000;

/// How good a region of these clusters is.
pub(super) fn score(clusters: &[Candidate<'_>], wanted: &Wanted) -> i64 {
    let mean = |sum: i64, count: usize| sum / i64::try_from(count.max(1)).unwrap_or(i64::MAX);
    match wanted.demand {
        Demand::Each(replicas) => {
            let able = clusters
                .iter()
                .filter(|candidate| candidate.available.total() >= i64::from(replicas));
            let (count, sum) = able.fold((0_usize, 0_i64), |(count, sum), candidate| {
                (count + 1, sum.saturating_add(candidate.score))
            });
            let counted = i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(UNIT);
            counted.saturating_add(mean(sum, count))
        }
        Demand::Together(replicas) => {
            let regions = i64::try_from(wanted.regions.min.max(1)).unwrap_or(i64::MAX);
            // Any number of regions may be asked for.
            let replicas = i64::from(replicas.max(0));
            let part = replicas / regions + i64::from(replicas % regions != 0);
            let wanted_clusters = wanted.min_clusters().max(wanted.regions.min);
            let (mut held, mut sum, mut count) = (0_i64, 0_i64, 0);
            for candidate in clusters {
                held = held.saturating_add(candidate.available.total());
                sum = sum.saturating_add(candidate.score);
                count += 1;
                if count >= wanted_clusters && held >= part {
                    break;
                }
            }
            held.min(part).saturating_mul(UNIT).saturating_add(mean(sum, count))
        }
    }
}

/// The best cluster of each of these regions, then the best of the others.
fn clusters_of<'a>(regions: &[Region<'a>], chosen: &[usize], wanted: &Wanted) -> Vec<Candidate<'a>> {
    let (mut best, mut others) = (Vec::new(), Vec::new());
    for region in chosen.iter().filter_map(|at| regions.get(*at)) {
        let mut clusters = region.clusters.iter().copied();
        best.extend(clusters.next());
        others.extend(clusters);
    }
    others.sort_by(|a, b| super::better_first(a, b, wanted.mode));
    let more = wanted
        .clusters
        .map_or(0, |clusters| clusters.max.saturating_sub(best.len()));
    best.extend(others.into_iter().take(more));
    best
}

impl Group {
    /// The order in which the regions of a set are walked.
    pub(super) fn rank(&self) -> (Reverse<i64>, &str) {
        (Reverse(self.score), &self.name)
    }
}
