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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InDoubt {
    version: Option<String>,
    taints: BTreeSet<TaintId>,
}

impl InDoubt {
    /// Whether such a write would have added or taken away this taint.
    pub fn touches(&self, id: &TaintId) -> bool {
        self.taints.contains(id)
    }

    /// Whether a look at this version of the Cluster leaves it in doubt.
    pub fn outlasts(&self, cluster: &Cluster) -> bool {
        let version = &cluster.metadata.resource_version;
        version.is_some() && self.version == *version
    }
}

impl Memory {
    /// What the look found was stored.
    pub fn written(&mut self, evaluation: &Evaluation) {
        self.managed.clone_from(&evaluation.once_written);
        self.in_doubt = None;
    }

    /// Nobody knows whether what the look at this version found was stored.
    pub fn unanswered(&mut self, cluster: &Cluster, evaluation: &Evaluation) {
        let touched = evaluation.taints.iter().filter_map(|change| match change {
            TaintChange::Add { taint, .. } => Some(TaintId::of(taint)),
            TaintChange::Remove { id, .. } => Some(id.clone()),
            TaintChange::SetValue { .. } | TaintChange::Stamp { .. } => None,
        });
        let before = self.in_doubt.take().filter(|before| before.outlasts(cluster));
        self.in_doubt = Some(InDoubt {
            version: cluster.metadata.resource_version.clone(),
            taints: before
                .into_iter()
                .flat_map(|before| before.taints)
                .chain(touched)
                .collect(),
        });
    }
}
