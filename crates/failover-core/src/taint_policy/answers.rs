//! What became of what a look found to be done, and what may be remembered because of it.
//!
//! A taint is ours once it was seen stored with our record of it, or once the write that adds it was answered. Until then
//! it is nobody's: while our write meets a conflict or an error, a person may put the same taint there by hand, and that
//! one is theirs. A write that nobody answered may have been stored all the same. It was conditional, so it is settled
//! by the first version that is another one; until then its taints are in doubt.

use std::collections::BTreeSet;

use api_types::cluster::Cluster;

use super::outcome::{Evaluation, TaintChange};
use super::records::TaintId;
use super::windows::Memory;

/// Writes that nobody answered: all of them were made on one version of the Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InDoubt {
    version: Option<String>,
    taints: BTreeSet<TaintId>,
}

impl InDoubt {
    /// Whether such a write would have added or taken away this taint.
    pub fn touches(&self, id: &TaintId) -> bool {
        self.taints.contains(id)
    }

    /// What is in doubt after a look at this version of the Cluster.
    pub fn after(&self, cluster: &Cluster) -> Self {
        let version = &cluster.metadata.resource_version;
        if version.is_some() && self.version == *version {
            self.clone()
        } else {
            Self::default()
        }
    }
}

impl Memory {
    /// What the look found was stored.
    pub fn written(&mut self, evaluation: &Evaluation) {
        self.managed.clone_from(&evaluation.once_written);
        self.in_doubt = InDoubt::default();
    }

    /// Nobody knows whether what the look at this version found was stored.
    pub fn unanswered(&mut self, cluster: &Cluster, evaluation: &Evaluation) {
        let mut in_doubt = self.in_doubt.after(cluster);
        in_doubt.version.clone_from(&cluster.metadata.resource_version);
        in_doubt
            .taints
            .extend(evaluation.taints.iter().filter_map(|change| match change {
                TaintChange::Add { taint, .. } => Some(TaintId::of(taint)),
                TaintChange::Remove { id, .. } => Some(id.clone()),
                TaintChange::SetValue { .. } | TaintChange::Stamp { .. } => None,
            }));
        self.in_doubt = in_doubt;
    }
}
