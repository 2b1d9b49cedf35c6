//! The best set of groups with enough groups and members.
//!
//! Rules, as in stock: groups are walked in the order of their members (fewer first), score (higher first) and name; a set
//! is complete as soon as it has enough groups and members, and grows no further. Of the complete ones the best has the
//! highest sum of scores, then the most members, then is the first found; but if a complete set is the head of the best
//! one, in the order of scores, that one is taken: its other groups were not needed.
//!
//! There may be more sets than can be walked. After [`MOST_STEPS`] steps the groups are taken by score instead, and give
//! way to larger ones as far as members are missing.

use std::cmp::Reverse;

/// Steps after which no further set is looked at. Stock's walk has no end: 30 regions with 15 wanted are 10^8 sets.
const MOST_STEPS: usize = 10_000;

/// A group of clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: String,
    /// Its clusters.
    pub(super) members: usize,
    pub(super) score: i64,
    /// The clusters of it on which the workload runs.
    pub(super) in_use: usize,
}

/// How many are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Groups at least.
    pub(super) min: usize,
    /// Groups at most.
    pub(super) max: usize,
    /// Members of all groups at least.
    pub(super) members: usize,
    /// Members that are taken of all groups, at most; absent: one of each.
    pub(super) taken: Option<usize>,
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preference {
    /// The score.
    Score,
    /// That as many members in use are taken as can be, then the score.
    InUse,
}

/// A complete set: the places of its groups in the order of scores and names.
struct Path {
    groups: Vec<usize>,
    /// Members in use that are taken.
    kept: usize,
    score: i64,
    members: usize,
}

impl Path {
    fn new(groups: &[&Group], limits: Limits, mut set: Vec<usize>) -> Self {
        set.sort_by_key(|at| groups[*at].rank());
        let each = || set.iter().map(|at| groups[*at]);
        // One of each group first, and it is one in use where there is any.
        let firsts = each().filter(|group| group.in_use > 0).count();
        let others: usize = each().map(|group| group.in_use.saturating_sub(1)).sum();
        let room = limits.taken.map_or(0, |taken| taken.saturating_sub(set.len()));
        Self {
            kept: firsts + others.min(room),
            score: each().fold(0, |sum, group| sum.saturating_add(group.score)),
            members: each().map(|group| group.members).sum(),
            groups: set,
        }
    }
}

/// The best set, as places in `groups`, in the order of scores and names; nothing when no set is complete.
pub(super) fn best(groups: &[&Group], limits: Limits, preference: Preference) -> Option<Vec<usize>> {
    let Some(mut paths) = complete(groups, limits) else {
        return by_score(groups, limits, preference);
    };
    let preferred = |path: &Path| match preference {
        Preference::Score => 0,
        Preference::InUse => path.kept,
    };
    // A stable sort: of equals the first that was found.
    paths.sort_by_key(|path| Reverse((preferred(path), path.score, path.members)));
    let mut paths = paths.into_iter();
    let best = paths.next()?;
    let taken = paths.fold(best, |best, other| {
        let is_head = other.groups.len() < best.groups.len() && best.groups.starts_with(&other.groups);
        if is_head && preferred(&other) >= preferred(&best) {
            other
        } else {
            best
        }
    });
    Some(taken.groups)
}

/// All complete sets in the order in which they are found; nothing when there are too many.
fn complete(groups: &[&Group], limits: Limits) -> Option<Vec<Path>> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|at| (groups[*at].members, groups[*at].rank()));
    let mut walk = Walk {
        groups,
        limits,
        order,
        set: Vec::new(),
        found: Vec::new(),
        steps: 0,
    };
    walk.from(0, 0);
    (walk.steps <= MOST_STEPS).then_some(walk.found)
}

struct Walk<'a> {
    groups: &'a [&'a Group],
    limits: Limits,
    /// The larger ones last.
    order: Vec<usize>,
    set: Vec<usize>,
    found: Vec<Path>,
    steps: usize,
}

impl Walk<'_> {
    /// Completes `set`, which has so many members, with groups from `begin` on.
    fn from(&mut self, members: usize, begin: usize) {
        self.steps += 1;
        let chosen = self.set.len();
        if members >= self.limits.members && (self.limits.min..=self.limits.max).contains(&chosen) {
            self.found.push(Path::new(self.groups, self.limits, self.set.clone()));
            return;
        }
        if chosen >= self.limits.max {
            return;
        }
        for at in begin..self.order.len() {
            if self.steps > MOST_STEPS || !self.can_be_completed(members, at) {
                return;
            }
            let group = self.order[at];
            self.set.push(group);
            self.from(members + self.groups[group].members, at + 1);
            self.set.pop();
        }
    }

    /// Whether the largest groups from `begin` on would do.
    fn can_be_completed(&self, members: usize, begin: usize) -> bool {
        let left = self.order.len() - begin;
        let most = left.min(self.limits.max - self.set.len());
        let largest = self.order[self.order.len() - most..].iter();
        let reachable = members + largest.map(|at| self.groups[*at].members).sum::<usize>();
        self.set.len() + left >= self.limits.min && reachable >= self.limits.members
    }
}

/// As few groups as will do: the best, and larger ones in the place of the last of them as far as members are missing.
fn by_score(groups: &[&Group], limits: Limits, preference: Preference) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|at| {
        let group = groups[*at];
        let first = preference == Preference::InUse && group.in_use > 0;
        (Reverse((first, group.score, group.members)), &group.name)
    });
    let wanted = i64::try_from(limits.members).unwrap_or(i64::MAX);
    let members = |at: &usize| i64::try_from(groups[*at].members).unwrap_or(i64::MAX);
    let sizes = limits.min..=limits.max.min(groups.len());
    let found = sizes
        .into_iter()
        .find_map(|count| super::swap_in(order.clone(), count, wanted, members, |_| true));
    found.map(|set| Path::new(groups, limits, set).groups)
}
