//! `work.karmada.io`: bindings (v1alpha2), which say on which clusters a template runs, and Works (v1alpha1), which
//! carry an object to one member.

mod binding;
mod manifests;
mod spec;
mod status;

pub use binding::{Binding, BindingKind};
pub use manifests::{
    Manifest, ManifestStatus, ResourceIdentifier, Work, WorkSpec, WorkStatus, WorkloadTemplate, work_condition,
};
pub use spec::{
    BindingSnapshot, BindingSuspension, Component, EvictionHistoryItem, GracefulEvictionTask, NodeClaim,
    ObjectReference, ReplicaRequirements, ResourceBinding, ResourceBindingSpec, SchedulePriority, TargetCluster,
    TargetComponent, task,
};
pub use status::{AggregatedStatusItem, ResourceBindingStatus, ResourceHealth, condition};
