//! What a look finds to be done.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::names::annotation;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::companion::{self, Companion};
use super::records::{ManagedTaints, TaintId};
use super::report::{Notice, Report};
use super::windows::Memory;

/// A change of `spec.taints`. An index is a place in the list that was judged: where a server lets a key and effect
/// stand twice, it says which of the two is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum TaintChange {
    /// A new taint.
    Add {
        /// The taint, with `timeAdded`.
        taint: Taint,
        /// The policy and the conditions behind it.
        why: String,
    },
    /// A taint of ours goes.
    Remove {
        /// Which.
        id: TaintId,
        /// Where it stands.
        index: usize,
        /// The policy and the conditions behind it.
        why: String,
    },
    /// A taint of ours gets the value of an older policy. Its `timeAdded` stays.
    SetValue {
        /// Which.
        id: TaintId,
        /// Where it stands.
        index: usize,
        /// The value.
        value: String,
        /// The policy behind it.
        why: String,
    },
    /// A NoExecute or PreferNoExecute taint, anybody's, without `timeAdded` gets one.
    Stamp {
        /// Which.
        id: TaintId,
        /// Where it stands.
        index: usize,
        /// The time.
        time_added: Time,
    },
}

/// A change of one of our annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationChange {
    /// Its name.
    pub name: &'static str,
    /// The new text; absent removes it.
    pub value: Option<String>,
}

/// What follows from an [`Input`](super::Input).
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// To be given to the next look, once it is told what became of the changes: [`Memory::written`],
    /// [`Memory::unanswered`], or nothing where they were refused.
    pub memory: Memory,
    /// The taints that are ours once the changes are stored.
    pub(super) once_written: ManagedTaints,
    /// Changes of taints; to be written together with the annotations, or not at all.
    pub taints: Vec<TaintChange>,
    /// Changes of annotations.
    pub annotations: Vec<AnnotationChange>,
    /// When something changes by time alone; by the time by which windows run.
    pub next_look: Option<Timestamp>,
    /// Reports by policy name; only of policies that target the Cluster.
    pub reports: BTreeMap<String, Report>,
    /// What to tell once the changes are written.
    pub notices: Vec<Notice>,
}

impl Evaluation {
    /// Whether windows are to be stored.
    pub(super) fn stores_windows(&self) -> bool {
        let of_windows = |change: &AnnotationChange| change.name == annotation::TAINT_WINDOWS && change.value.is_some();
        self.annotations.iter().any(of_windows)
    }

    /// The same, with the companion of PreferNoExecute taints on this Cluster as it should be.
    #[must_use]
    pub fn with_companion(mut self, cluster: &Cluster, companion: Companion, wall: Timestamp) -> Self {
        let change = companion::change(cluster, &self.taints, companion, wall);
        self.taints.extend(change);
        self
    }

    /// Whether there is something to write.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.taints.is_empty() || !self.annotations.is_empty()
    }
}
