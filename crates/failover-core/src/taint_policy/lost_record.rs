//! Which record of our taints to go by: the one that is stored, held against what this process remembers.
//!
//! Taint and record are written together, so in every version of the Cluster that only we wrote they agree. Where they
//! do not, somebody removed or edited the record. While a process looks it knows better: what stands as it saw it stored,
//! or was told that it is stored, is its own, whatever the record says, and an entry that it never made takes nothing
//! back. A taint that is gone together with its record was taken back, unless a write of ours that nobody answered may
//! have done that. A process that has just started has the record alone.

use std::borrow::Cow;
use std::collections::BTreeSet;

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
        let known = Known {
            recorded: &as_stored,
            memory,
            cluster,
        };
        let ids: BTreeSet<&TaintId> = as_stored.taints.keys().chain(memory.managed.taints.keys()).collect();
        let ours = ids
            .iter()
            .filter_map(|id| Some(((*id).clone(), known.ours(id)?.clone())));
        let managed = ManagedTaints {
            cluster: memory.cluster.clone(),
            taints: ours.collect(),
        };
        let lost = ids.iter().filter(|id| known.is_lost(id)).map(|id| (*id).clone());
        Self {
            lost: lost.collect(),
            managed: Cow::Owned(managed),
        }
    }
}

/// All that is known of whose a taint is.
struct Known<'a> {
    recorded: &'a ManagedTaints,
    memory: &'a Memory,
    cluster: &'a Cluster,
}

impl Known<'_> {
    /// The entry to go by: of a taint that stands and is ours, or that was ours and that somebody took away.
    fn ours(&self, id: &TaintId) -> Option<&ManagedTaint> {
        let recorded = self.recorded.taints.get(id).filter(|entry| entry.can_be_ours());
        let recorded_stands = recorded.filter(|entry| self.stands(id, entry));
        let is_in_doubt = self.memory.in_doubt.as_ref().is_some_and(|doubt| doubt.touches(id));
        match self.memory.managed.taints.get(id) {
            // A write that nobody answered may have recorded other policies with it.
            Some(entry) if self.stands(id, entry) => {
                let newer = recorded_stands.filter(|_| self.memory.in_doubt.is_some());
                newer.or(Some(entry))
            }
            // Taken away, be it in one edit with its record; but then not where we may have done that ourselves.
            Some(entry) => recorded_stands.or((recorded.is_some() || !is_in_doubt).then_some(entry)),
            // What this process saw gone, or never saw, is its own only with the very time that it wrote.
            None => {
                let was_written = is_in_doubt && self.recorded.cluster == self.memory.cluster;
                recorded.filter(|entry| was_written || self.stands_with_its_time(id, entry))
            }
        }
    }

    /// Whether it stands and is ours, and the record does not say so.
    fn is_lost(&self, id: &TaintId) -> bool {
        let stands_by = |taints: &ManagedTaints| taints.taints.get(id).is_some_and(|entry| self.stands(id, entry));
        stands_by(&self.memory.managed) && !stands_by(self.recorded)
    }

    fn stands(&self, id: &TaintId, entry: &ManagedTaint) -> bool {
        entry.can_be_ours() && places(self.cluster, id, entry).next().is_some()
    }

    fn stands_with_its_time(&self, id: &TaintId, entry: &ManagedTaint) -> bool {
        let taints = &self.cluster.spec.taints;
        places(self.cluster, id, entry).any(|index| taints[index].time_added.is_some())
    }
}
