//! Whether the free resources of clusters cover what would come there.

use std::fmt;

use api_types::ClusterName;
use api_types::work::{Binding, TargetCluster};

use super::{NAME, PreEvictionCheck, Question};
use crate::estimate::{self, Room};
use crate::request::{Refusal, Refusals};

/// A cluster without room for what would come.
pub(super) struct Short {
    pub(super) cluster: ClusterName,
    room: Room,
    /// Replicas that would come.
    wanted: i64,
}

impl Short {
    pub(super) fn refusal(&self) -> Refusal {
        let reason = match self.room {
            Room::Replicas(room) => format!("cluster(s) has room for {room} of {} replicas", self.wanted),
            Room::NotReported => "cluster(s) has reported no resources".to_owned(),
        };
        Refusal::new(NAME, reason)
    }
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.room {
            Room::Replicas(room) => write!(f, "{} has room for {room} of {}", self.cluster, self.wanted),
            Room::NotReported => write!(f, "{} has reported no resources", self.cluster),
        }
    }
}

/// All of them in words.
pub(super) fn in_words(short: &[Short]) -> String {
    let each: Vec<String> = short.iter().map(ToString::to_string).collect();
    each.join(", ")
}

/// The replicas that a result has beyond those that are there after the eviction.
pub(super) fn additional(after: &Binding, result: &[TargetCluster]) -> Vec<TargetCluster> {
    let there = |target: &TargetCluster| after.spec.target(&target.name.as_str().into());
    let more = result.iter().map(|target| TargetCluster {
        replicas: target
            .replicas
            .saturating_sub(there(target).map_or(0, |there| there.replicas)),
        ..target.clone()
    });
    more.filter(|target| target.replicas > 0).collect()
}

/// What each cluster that is not refused has room for, where all of them together have too little for `wanted`.
pub(super) fn too_little(question: &Question<'_>, refusals: &Refusals, wanted: i64) -> Vec<Short> {
    let spec = &question.binding.spec;
    let others = question
        .fleet
        .iter()
        .filter(|(name, _)| !refusals.0.contains_key(*name));
    let each = others.map(|(name, cluster)| Short {
        cluster: name.clone(),
        room: estimate::room(cluster, spec.replica_requirements.as_ref()),
        wanted,
    });
    each.collect()
}

/// The clusters without room for these replicas; none where capacity is not asked for or nothing has replicas.
pub(super) fn short(question: &Question<'_>, coming: impl IntoIterator<Item = TargetCluster>) -> Vec<Short> {
    let spec = &question.binding.spec;
    if question.check != PreEvictionCheck::Capacity || !spec.is_workload() {
        return Vec::new();
    }
    let coming = coming.into_iter().filter_map(|target| {
        let cluster = question.fleet.get(&target.name)?;
        let room = estimate::room(cluster, spec.replica_requirements.as_ref());
        let wanted = i64::from(target.replicas);
        (room.replicas() < wanted).then(|| Short {
            cluster: cluster.cluster_name(),
            room,
            wanted,
        })
    });
    coming.collect()
}
