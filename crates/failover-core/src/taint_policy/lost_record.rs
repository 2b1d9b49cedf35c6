//! Which record of our taints to go by: the one that is stored, held against what this process remembers.
//!
//! Taint and record are written together, so in every version of the Cluster that only we wrote they agree. Where they
//! do not, somebody removed or edited the record. While a process looks it knows better: what stands as it wrote it is
//! its own, whatever the record says, and an entry that it never made takes nothing back. A process that has just
//! started has the record alone.

use std::borrow::Cow;

use api_types::cluster::Cluster;

use super::ownership::{Owned, places};
use super::records::{ManagedTaint, ManagedTaints, RecordError, TaintId};

/// The record to go by.
pub(super) struct Record<'a> {
    pub managed: Cow<'a, ManagedTaints>,
    /// Taints of ours that stand and that the stored record does not own up to any more.
    pub lost: Vec<TaintId>,
}

impl<'a> Record<'a> {
    pub fn of(
        stored: &'a Result<ManagedTaints, RecordError>,
        remembered: Option<&'a ManagedTaints>,
        cluster: &Cluster,
    ) -> Self {
        let as_stored = stored.as_ref().map_or_else(|_| Cow::default(), Cow::Borrowed);
        let Some(remembered) = remembered.filter(|remembered| *as_stored != **remembered) else {
            return Self {
                managed: as_stored,
                lost: Vec::new(),
            };
        };
        let stands =
            |id: &TaintId, entry: &ManagedTaint| entry.can_be_ours() && places(cluster, id, entry).next().is_some();
        let mut managed = ManagedTaints {
            cluster: remembered.cluster.clone(),
            ..ManagedTaints::default()
        };
        for (id, entry) in &as_stored.taints {
            let known = remembered
                .taints
                .get(id)
                .filter(|_| as_stored.cluster == remembered.cluster);
            if stands(id, entry) {
                managed.taints.insert(id.clone(), entry.clone());
            } else if let Some(known) = known {
                managed.taints.insert(id.clone(), known.clone());
            }
        }
        let mut lost = Vec::new();
        for (id, entry) in remembered.taints.iter().filter(|(id, entry)| stands(id, entry)) {
            if !as_stored.taints.get(id).is_some_and(|stored| stands(id, stored)) {
                lost.push(id.clone());
            }
            managed.taints.insert(id.clone(), entry.clone());
        }
        Self {
            managed: Cow::Owned(managed),
            lost,
        }
    }
}

/// The taints to remember as ours: those that are to stand, and those that the record still has until they are seen to
/// be gone from it, for what is to be written may have to be tried again.
pub(super) fn remembered_taints(mut wanted: ManagedTaints, owned: &Owned) -> ManagedTaints {
    for (id, entry) in owned.entries() {
        wanted.taints.entry(id.clone()).or_insert_with(|| entry.clone());
    }
    wanted
}
