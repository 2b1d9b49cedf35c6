//! Which taints on the Cluster are ours, and which policies they stand for.

use std::collections::{BTreeMap, BTreeSet};

use api_types::cluster::Cluster;
use k8s_openapi::api::core::v1::Taint;

use super::form::{Form, Rule};
use super::records::{ManagedTaint, ManagedTaints, TaintId, Window};
use super::windows::Stands;

/// What became of the taints that we recorded as ours.
#[derive(Debug, Default)]
pub(super) struct Owned {
    /// Those that still stand as we wrote them.
    pub standing: BTreeMap<TaintId, ManagedTaint>,
    /// Those that somebody took away, or put their own in place of.
    pub taken: BTreeMap<TaintId, ManagedTaint>,
    /// Those that no policy speaks for any more, with the reason: they go at once, unless one wants them just now.
    pub orphans: BTreeMap<TaintId, (ManagedTaint, String)>,
    /// UIDs of the policies for which one of `standing` stands, once it is settled.
    holders: BTreeSet<String>,
}

impl Owned {
    /// Compares the record with the taints of the same version of the Cluster.
    pub fn compare(managed: &ManagedTaints, cluster: &Cluster) -> Self {
        let mut owned = Self::default();
        let same_cluster = managed.cluster == cluster.metadata.uid.as_deref().unwrap_or_default();
        let mut stand: BTreeMap<(&str, &str), Vec<&Taint>> = BTreeMap::new();
        if !managed.taints.is_empty() {
            for taint in &cluster.spec.taints {
                stand.entry((&taint.key, &taint.effect)).or_default().push(taint);
            }
        }
        for (id, entry) in managed.taints.iter().filter(|(_, entry)| entry.can_be_ours()) {
            let found = stand.get(&(id.key.as_str(), id.effect.as_str()));
            if found.is_some_and(|found| found.iter().any(|taint| entry.is(taint))) {
                owned.standing.insert(id.clone(), entry.clone());
            } else if same_cluster {
                owned.taken.insert(id.clone(), entry.clone());
            }
            // A Cluster that was joined anew without them: nobody took anything back.
        }
        owned
    }

    /// Drops the policies that were deleted or edited, or that no longer target the Cluster. A taint that then stands
    /// for nobody passes to an existing policy that names it too, so that renaming a policy makes nothing flicker; if
    /// there is none, it is an orphan.
    pub fn settle(&mut self, forms: &[Form<'_>], cluster: &Cluster, windows: &BTreeMap<String, Window>) {
        let by_uid: BTreeMap<&str, &Form<'_>> = forms.iter().map(|form| (form.uid, form)).collect();
        let mut orphans = BTreeMap::new();
        for (id, entry) in &mut self.standing {
            let mut why = String::new();
            entry.policies.retain(
                |name, uid| match speaks_for(by_uid.get(uid.as_str()).copied(), id, cluster) {
                    Ok(()) => true,
                    Err(reason) => {
                        why = format!("policy {name} {reason}");
                        false
                    }
                },
            );
            if entry.policies.is_empty() {
                match forms.iter().find(|form| inherits(form, id, cluster, windows)) {
                    Some(heir) => {
                        entry.policies.insert(heir.name.to_owned(), heir.uid.to_owned());
                    }
                    None => {
                        let why = if why.is_empty() {
                            "no policy wants it".to_owned()
                        } else {
                            why
                        };
                        orphans.insert(id.clone(), (entry.clone(), why));
                    }
                }
            }
        }
        self.standing.retain(|id, _| !orphans.contains_key(id));
        self.orphans = orphans;
        let holders = self.standing.values().flat_map(|entry| entry.policies.values());
        self.holders = holders.cloned().collect();
    }

    /// Our record of this taint, if it stands as we wrote it.
    pub fn entry(&self, id: &TaintId) -> Option<&ManagedTaint> {
        self.standing
            .get(id)
            .or_else(|| self.orphans.get(id).map(|(entry, _)| entry))
    }

    /// Whether this taint stands for this policy.
    pub fn stands(&self, id: &TaintId, policy_uid: &str) -> bool {
        self.standing.get(id).is_some_and(|entry| lists(entry, policy_uid))
    }

    /// Whether any taint stands for this policy.
    pub fn stands_for(&self, policy_uid: &str) -> Stands {
        if self.holders.contains(policy_uid) {
            Stands::Something
        } else {
            Stands::Nothing
        }
    }

    /// The taints of this policy that somebody took away.
    pub fn taken_from(&self, policy_uid: &str) -> impl Iterator<Item = &TaintId> {
        self.taken
            .iter()
            .filter(move |(_, entry)| lists(entry, policy_uid))
            .map(|(id, _)| id)
    }
}

fn lists(entry: &ManagedTaint, policy_uid: &str) -> bool {
    entry.policies.values().any(|uid| uid == policy_uid)
}

/// The taint with this identity on the Cluster.
pub(super) fn find<'a>(cluster: &'a Cluster, id: &TaintId) -> Option<&'a Taint> {
    cluster
        .spec
        .taints
        .iter()
        .find(|t| t.key == id.key && t.effect == id.effect)
}

/// Where in the Cluster's list our taint stands. Usually one place; a server that lets a key and effect stand twice may
/// hold somebody else's beside it.
pub(super) fn places(cluster: &Cluster, id: &TaintId, entry: &ManagedTaint) -> impl Iterator<Item = usize> {
    let ours = |taint: &Taint| taint.key == id.key && taint.effect == id.effect && entry.is(taint);
    let taints = cluster.spec.taints.iter().enumerate();
    taints.filter_map(move |(index, taint)| ours(taint).then_some(index))
}

/// Whether the policy selects the Cluster.
pub(super) fn targets(form: &Form<'_>, cluster: &Cluster) -> bool {
    form.target
        .is_none_or(|affinity| crate::affinity::matches(affinity, cluster))
}

fn speaks_for(form: Option<&Form<'_>>, id: &TaintId, cluster: &Cluster) -> Result<(), &'static str> {
    let Some(form) = form else {
        return Err("was deleted");
    };
    if form.taint(id).is_none() {
        return Err("no longer names it");
    }
    // A suspended policy removes nothing.
    if form.is_frozen() || targets(form, cluster) {
        Ok(())
    } else {
        Err("no longer targets the cluster")
    }
}

fn inherits(form: &Form<'_>, id: &TaintId, cluster: &Cluster, windows: &BTreeMap<String, Window>) -> bool {
    let window = windows.get(form.uid);
    !form.is_frozen()
        && form.taint(id).is_some()
        && targets(form, cluster)
        && window.is_none_or(|w| !w.dismissed.contains_key(id))
        && match form.rule {
            Rule::Matching(_) | Rule::Until { .. } => true,
            Rule::Latched { .. } => window.is_some_and(|w| w.matching),
        }
}
