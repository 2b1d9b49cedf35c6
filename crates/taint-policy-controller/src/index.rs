//! What the controller knows: Clusters and policies as stored, and what it remembers of each Cluster between two looks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::{ObjectKey, Store};
use failover_core::taint_policy::{Memory, Report};
use parking_lot::Mutex;

/// Clones share what they know.
#[derive(Clone)]
pub(crate) struct Index {
    pub clusters: Store<Cluster>,
    pub policies: Store<ClusterTaintPolicy>,
    looks: Arc<Mutex<BTreeMap<ObjectKey, Arc<Look>>>>,
}

/// The last look at a Cluster.
#[derive(Clone)]
pub(crate) struct Look {
    pub memory: Memory,
    /// The version of the Cluster that was looked at, or that our write made of it.
    pub version: Option<String>,
    /// By policy name; only of policies that target the Cluster.
    pub reports: BTreeMap<String, Report>,
}

impl Index {
    pub fn new(clusters: Store<Cluster>, policies: Store<ClusterTaintPolicy>) -> Self {
        Self {
            clusters,
            policies,
            looks: Arc::default(),
        }
    }

    pub fn last_look(&self, cluster: &ObjectKey) -> Option<Arc<Look>> {
        self.looks.lock().get(cluster).cloned()
    }

    /// Takes in a look. Returns the policies whose status may say something else now.
    pub fn looked(&self, cluster: &ObjectKey, look: Look) -> BTreeSet<String> {
        let look = Arc::new(look);
        let mut looks = self.looks.lock();
        let before = looks.insert(cluster.clone(), Arc::clone(&look));
        match before {
            Some(before) => changed(&before.reports, &look.reports),
            // Statuses wait until every Cluster has been looked at: the last one makes all of them due.
            None if self.clusters.keys().iter().all(|key| looks.contains_key(key)) => self.policy_names(),
            None => BTreeSet::new(),
        }
    }

    /// Takes in what became of the write after the last look at a Cluster.
    pub fn answered(&self, cluster: &ObjectKey, answer: impl FnOnce(&mut Look)) {
        if let Some(look) = self.looks.lock().get_mut(cluster) {
            answer(Arc::make_mut(look));
        }
    }

    /// Forgets a Cluster that is gone. Returns the policies whose status may say something else now.
    pub fn gone(&self, cluster: &ObjectKey) -> BTreeSet<String> {
        match self.looks.lock().remove(cluster) {
            Some(_) => self.policy_names(),
            None => BTreeSet::new(),
        }
    }

    /// Reads what all Clusters say of a policy, by Cluster; `None` while some have not been looked at.
    pub fn read_reports<T>(&self, policy: &str, uid: &str, read: impl FnOnce(&[(&str, &Report)]) -> T) -> Option<T> {
        let looks = self.looks.lock();
        if !self.clusters.keys().iter().all(|key| looks.contains_key(key)) {
            return None;
        }
        let of_policy = looks.iter().filter_map(|(key, look)| {
            let report = look.reports.get(policy).filter(|report| report.policy_uid == uid)?;
            Some((key.name.as_str(), report))
        });
        Some(read(&of_policy.collect::<Vec<_>>()))
    }

    /// Reads every look, for metrics.
    pub fn each_look(&self, mut read: impl FnMut(&ObjectKey, &Look)) {
        for (cluster, look) in self.looks.lock().iter() {
            read(cluster, look);
        }
    }

    fn policy_names(&self) -> BTreeSet<String> {
        self.policies.keys().into_iter().map(|key| key.name).collect()
    }
}

fn changed(before: &BTreeMap<String, Report>, after: &BTreeMap<String, Report>) -> BTreeSet<String> {
    let names = before.keys().chain(after.keys());
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .cloned()
        .collect()
}
