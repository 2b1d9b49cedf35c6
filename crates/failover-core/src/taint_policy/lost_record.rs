//! Which record of our taints to go by: the one that is stored, held against what this process remembers.
//!
//! Taint and record are written together, so in every version of the Cluster that only we wrote they agree. Where they
//! do not, somebody removed or edited the record. While a process looks it knows better: what stands as it saw it stored,
//! or was told that it is stored, is its own, whatever the record says, and an entry that it never made takes nothing
//! back. A taint that is gone together with its record was taken back, unless a write of ours that nobody answered may
//! have done that. A process that has just started has the record alone.

use std::borrow::Cow;

use api_types::cluster::Cluster;

use super::ownership::places;
use super::records::{ManagedTaint, ManagedTaints, RecordError, TaintId};
use super::windows::Memory;

/// The record to go by.
pub(super) struct Record<'a> {
    pub managed: Cow<'a, ManagedTaints>,
    /// Taints of ours that stand and that the stored record does not own up to any more.
    pub lost: Vec<TaintId>,
}

impl<'a> Record<'a> {
    pub fn of(stored: &'a Result<ManagedTaints, RecordError>, memory: Option<&Memory>, cluster: &Cluster) -> Self {
        let as_stored = stored.as_ref().map_or_else(|_| Cow::default(), Cow::Borrowed);
        let Some(memory) = memory.filter(|memory| *as_stored != memory.managed) else {
            return Self {
                managed: as_stored,
                lost: Vec::new(),
            };
        };
        let stands =
            |id: &TaintId, entry: &ManagedTaint| entry.can_be_ours() && places(cluster, id, entry).next().is_some();
        let remembered = &memory.managed.taints;
        let of_this_cluster = as_stored.cluster == memory.cluster;
        let mut managed = ManagedTaints {
            cluster: memory.cluster.clone(),
            ..ManagedTaints::default()
        };
        for (id, entry) in &as_stored.taints {
            let was_there = || of_this_cluster && (remembered.contains_key(id) || memory.in_doubt.touches(id));
            if stands(id, entry) {
                managed.taints.insert(id.clone(), entry.clone());
            } else if was_there() {
                let known = remembered.get(id).unwrap_or(entry);
                managed.taints.insert(id.clone(), known.clone());
            }
        }
        let mut lost = Vec::new();
        for (id, entry) in remembered {
            let recorded = as_stored.taints.get(id);
            if stands(id, entry) {
                if !recorded.is_some_and(|stored| stands(id, stored)) {
                    lost.push(id.clone());
                }
                managed.taints.insert(id.clone(), entry.clone());
            } else if recorded.is_none() && !memory.in_doubt.touches(id) {
                // Taken away in one edit with its record.
                managed.taints.insert(id.clone(), entry.clone());
            }
        }
        Self {
            managed: Cow::Owned(managed),
            lost,
        }
    }
}
