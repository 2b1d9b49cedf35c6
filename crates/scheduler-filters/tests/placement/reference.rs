//! The placement rules a second time, as plainly as they can be written: replica by replica, set by set. Slow, and of another
//! build than the code that it is compared with.

use std::cmp::Reverse;
use std::collections::BTreeMap;

const MOST: i64 = i32::MAX as i64;

/// What a cluster is to the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Fine,
    /// An untolerated NoSchedule taint: takes nothing new.
    Tainted,
    /// Not Ready, and nothing says more about it.
    NotReady,
    /// The affinity does not name it.
    NotNamed,
    /// The binding names it, but it does not exist.
    Gone,
}

#[derive(Clone, Debug)]
pub struct Site {
    pub name: String,
    pub region: &'static str,
    pub fit: Fit,
    /// Pods that fit by its report; absent: no report.
    pub free: Option<i64>,
    /// Replicas of the present result.
    pub assigned: Option<i32>,
}

#[derive(Clone, Debug)]
pub enum Way {
    Duplicated,
    /// Weight of each cluster, by its place.
    Weights(Vec<i64>),
    Aggregated,
    ByRoom,
}

#[derive(Clone, Copy, Debug)]
pub enum Spread {
    No,
    /// Clusters: at least, at most.
    Clusters(usize, usize),
    /// Regions and clusters; clusters absent: one for each region.
    Regions((usize, usize), Option<(usize, usize)>),
}

#[derive(Clone, Debug)]
pub struct Case {
    pub sites: Vec<Site>,
    pub replicas: i32,
    pub way: Way,
    pub spread: Spread,
    pub fresh: bool,
    /// Whether the smaller name wins a tie.
    pub ascending: bool,
}

#[derive(Clone, Debug)]
struct Candidate {
    name: String,
    region: &'static str,
    place: usize,
    present: bool,
    assigned: i64,
    free: i64,
    score: i64,
}

impl Candidate {
    fn holds(&self) -> i64 {
        self.assigned + self.free
    }
}

/// The result by name, or the reason of the condition.
pub fn place(case: &Case) -> Result<BTreeMap<String, i32>, &'static str> {
    let mut candidates: Vec<Candidate> = case
        .sites
        .iter()
        .enumerate()
        .filter(|(_, site)| match site.fit {
            Fit::NotNamed | Fit::Gone => false,
            Fit::Tainted => site.assigned.is_some(),
            Fit::Fine | Fit::NotReady => true,
        })
        .map(|(place, site)| Candidate {
            name: site.name.clone(),
            region: site.region,
            place,
            present: site.assigned.is_some(),
            assigned: i64::from(site.assigned.unwrap_or(0)),
            free: free(case, site),
            // What runs somewhere stays there: 100. No soft taint: 100.
            score: if site.assigned.is_some() { 200 } else { 100 },
        })
        .collect();
    if candidates.is_empty() {
        return Err("NoClusterFit");
    }
    candidates.sort_by(|a, b| {
        (b.score, b.holds())
            .cmp(&(a.score, a.holds()))
            .then(a.name.cmp(&b.name))
    });
    let chosen = match (&case.way, case.spread) {
        (Way::Weights(_), _) | (_, Spread::No) => candidates,
        (_, Spread::Clusters(min, max)) => by_clusters(case, &candidates, min, max)?,
        (_, Spread::Regions(regions, clusters)) => by_regions(case, &candidates, regions, clusters)?,
    };
    if case.replicas == 0 {
        let stay = chosen.iter().filter(|c| c.present);
        return Ok(stay.map(|c| (c.name.clone(), 0)).collect());
    }
    let mut result = match &case.way {
        Way::Duplicated => chosen.iter().map(|c| (c.name.clone(), case.replicas)).collect(),
        Way::Weights(weights) => {
            let mut votes: Vec<(String, i64)> = chosen.iter().map(|c| (c.name.clone(), weights[c.place])).collect();
            if votes.iter().all(|(_, weight)| *weight == 0) {
                votes.iter_mut().for_each(|(_, weight)| *weight = 1);
            }
            one_by_one(&votes, case.replicas, case.ascending)
        }
        Way::Aggregated | Way::ByRoom => by_room(case, &chosen)?,
    };
    result.retain(|_, replicas| *replicas > 0);
    Ok(result)
}

fn free(case: &Case, site: &Site) -> i64 {
    if case.replicas == 0 {
        return MOST;
    }
    let takes_new = match site.fit {
        Fit::NotReady | Fit::Gone => false,
        Fit::Tainted | Fit::NotNamed => site.assigned.is_none(),
        Fit::Fine => true,
    };
    let free = if takes_new { site.free.unwrap_or(0).max(0) } else { 0 };
    if free >= MOST { i64::from(case.replicas) } else { free }
}

/// Each replica goes to the largest weight / (2·replicas + 1).
fn one_by_one(votes: &[(String, i64)], replicas: i32, ascending: bool) -> BTreeMap<String, i32> {
    let mut shares: BTreeMap<String, i32> = BTreeMap::new();
    for _ in 0..replicas {
        let mut best: Option<(&String, i64, i32)> = None;
        for (name, weight) in votes.iter().filter(|(_, weight)| *weight > 0) {
            let has = shares.get(name).copied().unwrap_or(0);
            let wins = best.is_none_or(|(other, other_weight, other_has)| {
                let mine = i128::from(*weight) * i128::from(2 * other_has + 1);
                let others = i128::from(other_weight) * i128::from(2 * has + 1);
                let by_name = if ascending { name < other } else { name > other };
                mine > others || mine == others && (has < other_has || has == other_has && by_name)
            });
            if wins {
                best = Some((name, *weight, has));
            }
        }
        if let Some((name, ..)) = best {
            *shares.entry(name.clone()).or_default() += 1;
        }
    }
    shares
}

fn by_room(case: &Case, chosen: &[Candidate]) -> Result<BTreeMap<String, i32>, &'static str> {
    let replicas = i64::from(case.replicas);
    let has: i64 = chosen.iter().map(|c| c.assigned).sum();
    let present: BTreeMap<String, i32> = chosen
        .iter()
        .map(|c| (c.name.clone(), i32::try_from(c.assigned).unwrap()))
        .collect();
    // Name, votes; the first ones are used up first by Aggregated.
    let (mut pool, wanted, mut result): (Vec<(String, i64)>, i64, BTreeMap<String, i32>) = if case.fresh {
        let pool = chosen.iter().map(|c| (c.name.clone(), c.holds()));
        (most_first(pool.collect()), replicas, BTreeMap::new())
    } else if has == replicas {
        return Ok(present);
    } else if has > replicas {
        let mut pool: Vec<(String, i64)> = chosen.iter().map(|c| (c.name.clone(), c.assigned)).collect();
        pool.sort();
        (most_first(pool), replicas, BTreeMap::new())
    } else {
        let of = |runs: bool| {
            let some = chosen.iter().filter(|c| runs == (c.assigned > 0));
            most_first(some.map(|c| (c.name.clone(), c.free)).collect())
        };
        let pool = if matches!(case.way, Way::Aggregated) {
            [of(true), of(false)].concat()
        } else {
            most_first(chosen.iter().map(|c| (c.name.clone(), c.free)).collect())
        };
        (pool, replicas - has, present)
    };
    if pool.iter().map(|(_, votes)| votes).sum::<i64>() < wanted {
        return Err("Unschedulable");
    }
    if matches!(case.way, Way::Aggregated) {
        let enough = (1..=pool.len()).find(|n| pool[..*n].iter().map(|(_, votes)| votes).sum::<i64>() >= wanted);
        pool.truncate(enough.unwrap());
    }
    for (name, more) in one_by_one(&pool, i32::try_from(wanted).unwrap(), case.ascending) {
        *result.entry(name).or_default() += more;
    }
    Ok(result)
}

fn most_first(mut pool: Vec<(String, i64)>) -> Vec<(String, i64)> {
    pool.sort_by_key(|(_, votes)| Reverse(*votes));
    pool
}

fn by_clusters(case: &Case, candidates: &[Candidate], min: usize, max: usize) -> Result<Vec<Candidate>, &'static str> {
    if max == 0 || candidates.len() < min.max(1) {
        return Err("SchedulerError");
    }
    let count = max.min(candidates.len());
    let (mut inside, mut outside) = (candidates[..count].to_vec(), candidates[count..].to_vec());
    if matches!(case.way, Way::Duplicated) {
        return Ok(inside);
    }
    let held = |inside: &[Candidate]| inside.iter().map(Candidate::holds).sum::<i64>();
    let mut last = count;
    while held(&inside) < i64::from(case.replicas) && last > 0 {
        last -= 1;
        let most = outside.iter().map(Candidate::holds).max().unwrap_or(0);
        let stays = !case.fresh && inside[last].present;
        if !stays && most > inside[last].holds() {
            let other = outside.iter().position(|c| c.holds() == most).unwrap();
            std::mem::swap(&mut inside[last], &mut outside[other]);
        }
    }
    if held(&inside) < i64::from(case.replicas) {
        return Err("SchedulerError");
    }
    Ok(inside)
}

#[derive(Clone, Debug)]
struct Region {
    name: &'static str,
    clusters: Vec<Candidate>,
    score: i64,
    in_use: bool,
}

fn by_regions(
    case: &Case,
    candidates: &[Candidate],
    (min, max): (usize, usize),
    clusters: Option<(usize, usize)>,
) -> Result<Vec<Candidate>, &'static str> {
    let min = min.max(1);
    let min_clusters = clusters.map_or(0, |(min, _)| min.max(1));
    let max_clusters = clusters.map(|(_, max)| max);
    let mut names: Vec<&'static str> = candidates.iter().map(|c| c.region).collect();
    names.sort_unstable();
    names.dedup();
    let mut regions: Vec<Region> = names
        .into_iter()
        .map(|name| {
            let clusters: Vec<Candidate> = candidates.iter().filter(|c| c.region == name).cloned().collect();
            Region {
                name,
                score: score(case, &clusters, min, min_clusters),
                in_use: clusters.iter().any(|c| c.present),
                clusters,
            }
        })
        .collect();
    if max == 0 || max_clusters.is_some_and(|most| most < min) || regions.len() < min {
        return Err("SchedulerError");
    }
    let max = max.min(max_clusters.unwrap_or(usize::MAX));
    // As the sets are walked: fewer clusters first, then the better score, then the name.
    regions.sort_by_key(|r| (r.clusters.len(), Reverse(r.score), r.name));
    let is_complete = |set: &[usize]| {
        let clusters: usize = set.iter().map(|at| regions[*at].clusters.len()).sum();
        (min..=max).contains(&set.len()) && clusters >= min_clusters
    };
    let mut sets: Vec<Vec<usize>> = (1_usize..1 << regions.len())
        .map(|bits| (0..regions.len()).filter(|at| bits >> at & 1 == 1).collect())
        .collect();
    sets.sort();
    sets.retain(|set| is_complete(set) && (1..set.len()).all(|n| !is_complete(&set[..n])));
    let fill = |set: &[usize]| {
        let mut set: Vec<&Region> = set.iter().map(|at| &regions[*at]).collect();
        set.sort_by_key(|r| (Reverse(r.score), r.name));
        let mut chosen: Vec<Candidate> = set.iter().map(|r| r.clusters[0].clone()).collect();
        let is_first = |c: &&Candidate| set.iter().any(|r| r.clusters[0].name == c.name);
        let in_set = |c: &&Candidate| set.iter().any(|r| r.name == c.region);
        let others = candidates.iter().filter(in_set).filter(|c| !is_first(c));
        let more = max_clusters.map_or(0, |most| most - chosen.len());
        chosen.extend(others.take(more).cloned());
        chosen
    };
    let fits = |chosen: &[Candidate]| {
        matches!(case.way, Way::Duplicated)
            || chosen.iter().map(Candidate::holds).sum::<i64>() >= i64::from(case.replicas)
    };
    let used = |set: &[usize]| fill(set).iter().filter(|c| c.present).count();
    let total = |set: &[usize]| set.iter().map(|at| regions[*at].score).sum::<i64>();
    let members = |set: &[usize]| set.iter().map(|at| regions[*at].clusters.len()).sum::<usize>();
    let by_score = |set: &[usize]| {
        let mut set = set.to_vec();
        set.sort_by_key(|at| (Reverse(regions[*at].score), regions[*at].name));
        set
    };
    let best = |in_use_first: bool| {
        let first = |set: &[usize]| if in_use_first { used(set) } else { 0 };
        let mut order = sets.clone();
        order.sort_by_key(|set| Reverse((first(set), total(set), members(set))));
        let mut best = order.first()?.clone();
        for set in &order[1..] {
            if set.len() < best.len() && by_score(&best)[..set.len()] == by_score(set)[..] && first(set) >= first(&best)
            {
                best.clone_from(set);
            }
        }
        Some(best)
    };
    let all_used: Vec<usize> = (0..regions.len()).filter(|at| regions[*at].in_use).collect();
    if !case.fresh && !all_used.is_empty() {
        if is_complete(&all_used) && fits(&fill(&all_used)) {
            return Ok(fill(&all_used));
        }
        if let Some(set) = best(true)
            && fits(&fill(&set))
        {
            return Ok(fill(&set));
        }
    }
    best(false).map(|set| fill(&set)).ok_or("SchedulerError")
}

fn score(case: &Case, clusters: &[Candidate], min: usize, min_clusters: usize) -> i64 {
    let replicas = i64::from(case.replicas);
    let mean = |clusters: &[&Candidate]| {
        let count = i64::try_from(clusters.len()).unwrap();
        if count == 0 {
            0
        } else {
            clusters.iter().map(|c| c.score).sum::<i64>() / count
        }
    };
    if matches!(case.way, Way::Duplicated) {
        let able: Vec<&Candidate> = clusters.iter().filter(|c| c.holds() >= replicas).collect();
        return i64::try_from(able.len()).unwrap() * 1000 + mean(&able);
    }
    let regions = i64::try_from(min).unwrap();
    let part = replicas / regions + i64::from(replicas % regions != 0);
    let all: Vec<&Candidate> = clusters.iter().collect();
    let sum = |n: usize| all[..n].iter().map(|c| c.holds()).sum::<i64>();
    let enough = (1..=all.len()).find(|n| *n >= min_clusters.max(min) && sum(*n) >= part);
    let looked_at = enough.unwrap_or(all.len());
    sum(looked_at).min(part) * 1000 + mean(&all[..looked_at])
}
