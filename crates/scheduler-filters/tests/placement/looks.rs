//! One look of the scheduler a second time, around the placement of one group ([`crate::reference`]): the ordered groups, the
//! copies that an earlier look kept, and those that this one keeps. From the rules as they are written, set by set.

use std::collections::{BTreeMap, BTreeSet};

use crate::reference::{Case, Fit, place};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    Healthy,
    Unhealthy,
    Unknown,
}

/// What was last collected of the copy on a cluster.
#[derive(Clone, Debug)]
pub struct Report {
    pub applied: bool,
    pub says: Says,
    /// Available replicas; absent: no status.
    pub shown: Option<i32>,
}

/// The binding was taken off a cluster for an untolerated taint.
#[derive(Clone, Debug)]
pub struct Task {
    pub replicas: Option<i32>,
    /// Whether the copy stays until another one works.
    pub waits: bool,
}

/// Why a cluster takes nothing new; all the same to where a binding is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unfit {
    #[default]
    NoSchedule,
    NoExecute,
    Deleted,
    /// The application failed there, not long ago.
    Blocked,
}

/// A cluster, as far as placing in one group does not ask.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Of [`Fit::Tainted`]. ([`Unfit::Blocked`] of others: that was long ago, and means nothing.)
    pub unfit: Unfit,
    pub report: Option<Report>,
    pub task: Option<Task>,
    /// The replicas with which an earlier look kept the copy.
    pub noted: Option<i32>,
}

#[derive(Clone, Debug)]
pub struct Look {
    /// Clusters, replicas and how they are divided.
    pub case: Case,
    /// Of each site of the case, in its order.
    pub around: Vec<Around>,
    /// Which sites each ordered group names; none: the one affinity names all but [`Fit::NotNamed`].
    pub groups: Vec<Vec<bool>>,
    /// The group in use; behind the last one: a name that is there no more.
    pub in_use: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// With the copies that are kept.
    pub clusters: BTreeMap<String, i32>,
    pub kept: BTreeSet<String>,
    pub group: Option<usize>,
}

impl Look {
    fn count(&self) -> usize {
        self.case.sites.len()
    }

    fn present(&self, at: usize) -> Option<i32> {
        self.case.sites[at].assigned
    }

    pub fn is_noted(&self, at: usize) -> bool {
        self.present(at).is_some() && self.around[at].noted == self.present(at)
    }

    /// Whether the placement names the cluster, in any group.
    pub fn is_named(&self, at: usize) -> bool {
        let by_group = self.groups.is_empty() || self.groups.iter().any(|group| group[at]);
        self.case.sites[at].fit != Fit::NotNamed && by_group
    }

    /// The copy works: applied, Healthy, on a Ready cluster, and shows the replicas that it was assigned.
    pub fn works(&self, at: usize, replicas: i32) -> bool {
        let is_ready = !matches!(self.case.sites[at].fit, Fit::NotReady | Fit::Gone);
        let report = self.around[at].report.as_ref();
        is_ready && report.is_some_and(|r| r.applied && r.says == Says::Healthy && r.shown.unwrap_or(0) >= replicas)
    }

    /// The copy on a cluster that the binding was taken off works, and stays until another one does. A task that does not say
    /// how many replicas ran there is of some; of none nothing runs.
    pub fn leaves_late_and_works(&self, at: usize) -> bool {
        self.around[at].task.as_ref().is_some_and(|task| {
            let replicas = task.replicas.unwrap_or(1);
            task.waits && replicas > 0 && self.works(at, replicas)
        })
    }

    /// The copy is not known to have stopped.
    fn may_run(&self, at: usize) -> bool {
        let Some(report) = &self.around[at].report else {
            return false;
        };
        let has_begun = match report.says {
            Says::Unhealthy => report.shown.unwrap_or(0) > 0,
            Says::Healthy | Says::Unknown => report.applied || report.shown.is_some(),
        };
        has_begun && self.present(at).is_some_and(|replicas| replicas > 0)
    }
}

/// The result, or the reason of the condition.
pub fn look(look: &Look) -> Result<Placed, &'static str> {
    let without_kept = (0..look.count()).filter(|at| look.is_noted(*at)).collect::<Vec<_>>();
    let first_try = (!look.case.fresh && !without_kept.is_empty()).then(|| by_groups(look, &without_kept));
    let mut placed = match first_try {
        Some(Ok(placed)) => placed,
        _ => by_groups(look, &[])?,
    };
    for at in keep(look, &placed.clusters) {
        let name = &look.case.sites[at].name;
        placed.clusters.insert(name.clone(), look.present(at).unwrap());
        placed.kept.insert(name.clone());
    }
    Ok(placed)
}

/// The first group that fits, from the one in use on; from the first one for a person who asks anew. `absent` counts as not
/// there.
fn by_groups(look: &Look, absent: &[usize]) -> Result<Placed, &'static str> {
    let one = |group: Option<&Vec<bool>>| {
        let mut case = look.case.clone();
        for (at, site) in case.sites.iter_mut().enumerate() {
            if absent.contains(&at) {
                site.assigned = None;
            }
            // Back to where it was taken off only when the cluster is Ready and the taint is gone; then it is a new place.
            let is_left = look.around[at].task.is_some() && site.assigned.is_none();
            let unfit = is_left && site.fit == Fit::NotReady;
            if unfit || group.is_some_and(|group| !group[at]) {
                site.fit = Fit::NotNamed;
            }
        }
        place(&case)
    };
    if look.groups.is_empty() {
        let clusters = one(None)?;
        return Ok(Placed {
            clusters,
            ..Placed::default()
        });
    }
    let in_use = look.in_use.filter(|at| !look.case.fresh && *at < look.groups.len());
    let mut why = None;
    for at in in_use.unwrap_or(0)..look.groups.len() {
        match one(Some(&look.groups[at])) {
            Ok(clusters) => {
                return Ok(Placed {
                    clusters,
                    group: Some(at),
                    ..Placed::default()
                });
            }
            Err(reason) => why = why.or(Some(reason)),
        }
    }
    Err(why.unwrap())
}

/// The copies that stay beside what was chosen: of those that work the largest, else all that may run; none where another
/// one works that stays.
fn keep(look: &Look, chosen: &BTreeMap<String, i32>) -> Vec<usize> {
    let is_chosen = |at: &usize| chosen.contains_key(&look.case.sites[*at].name);
    let present = || (0..look.count()).filter(|at| look.present(*at).is_some());
    let stays_and_works = |at: usize| {
        look.present(at)
            .is_some_and(|replicas| replicas > 0 && look.works(at, replicas))
    };
    if look.case.replicas <= 0
        || present().filter(is_chosen).any(stays_and_works)
        || (0..look.count()).any(|at| look.leaves_late_and_works(at))
    {
        return Vec::new();
    }
    let last: Vec<usize> = present()
        .filter(|at| !is_chosen(at) && look.case.sites[*at].fit != Fit::Gone)
        .filter(|at| look.around[*at].task.is_none() && look.is_named(*at) && look.may_run(*at))
        .collect();
    let mut healthy: Vec<usize> = last.iter().copied().filter(|at| stays_and_works(*at)).collect();
    healthy.sort_by(|a, b| {
        let (first, second) = (&look.case.sites[*a], &look.case.sites[*b]);
        second.assigned.cmp(&first.assigned).then(first.name.cmp(&second.name))
    });
    healthy.first().map_or(last, |one| vec![*one])
}
