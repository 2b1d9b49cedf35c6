//! What to change on a binding, as a value: operations of a JSON Patch computed against the binding as it was read.
//!
//! The edit keeps a shadow of the lists that it changes, so that several steps of one edit see each other and the
//! indexes in the patch are right at the moment the server gets to them. Where the history is stored, in its field or in the
//! annotation that is its second home, is asked when the patch is made.

use std::collections::BTreeMap;

use api_types::ClusterName;
use api_types::names::annotation::ACTIVE_EVICTION_HISTORY;
use api_types::policy::PurgeMode;
use api_types::second_home::{Home, history as second_home};
use api_types::work::{Binding, EvictionHistoryItem, GracefulEvictionTask, TargetCluster, task as task_words};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use crate::annotation;

/// The most items that `activeEvictionHistory` holds; the oldest goes first.
const HISTORY_LIMIT: usize = 32;

const CLUSTERS: &str = "/spec/clusters";
const TASKS: &str = "/spec/gracefulEvictionTasks";
const HISTORY: &str = "/spec/activeEvictionHistory";

/// Changes to the spec of one binding, written together or not at all.
///
/// Every step returns whether it changed anything: what is as wanted already adds nothing, and an edit without
/// changes is not sent.
#[derive(Clone, Debug)]
pub struct BindingEdit<'a> {
    read: &'a Binding,
    clusters: Vec<String>,
    tasks: Vec<GracefulEvictionTask>,
    history: Vec<EvictionHistoryItem>,
    operations: Vec<Value>,
    of_history: Vec<Value>,
    annotations: BTreeMap<String, Option<String>>,
}

impl<'a> BindingEdit<'a> {
    /// An edit of the binding as it was read.
    #[must_use]
    pub fn of(read: &'a Binding) -> Self {
        let spec = &read.spec;
        Self {
            read,
            clusters: spec.clusters.iter().map(|target| target.name.clone()).collect(),
            tasks: spec.graceful_eviction_tasks.clone(),
            history: spec.active_eviction_history.clone(),
            operations: Vec::new(),
            of_history: Vec::new(),
            annotations: BTreeMap::new(),
        }
    }

    /// The binding that this edits.
    #[must_use]
    pub fn read(&self) -> &'a Binding {
        self.read
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.of_history.is_empty() && self.annotations.is_empty()
    }

    /// `spec.activeEvictionHistory` as it is to be; `None` when the edit leaves it alone.
    #[must_use]
    pub fn history(&self) -> Option<&[EvictionHistoryItem]> {
        (!self.of_history.is_empty()).then_some(&self.history[..])
    }

    /// Moves a cluster from `spec.clusters` into `spec.gracefulEvictionTasks`: `task.fromCluster` names it.
    ///
    /// A task for the failure of an application is also remembered in `spec.activeEvictionHistory`, from its
    /// `creationTimestamp` on, and says so (`blockInHistory`). Changes nothing when the cluster is not in `spec.clusters` or a task for it is there: there
    /// are never two tasks for one cluster.
    pub fn evict(&mut self, task: &GracefulEvictionTask) -> bool {
        let cluster = ClusterName::from(task.from_cluster.as_str());
        if self.task_index(&cluster).is_some() || !self.remove_target(&cluster) {
            return false;
        }
        let failed_at = task.creation_timestamp.as_ref().map(|time| time.0);
        let failed_at = failed_at.filter(|_| task.reason == task_words::APPLICATION_FAILURE);
        let mut task = task.clone();
        task.block_in_history = failed_at.map(|_| true);
        self.append(TASKS, self.tasks.len(), &json!(task));
        self.tasks.push(task);
        if let Some(at) = failed_at {
            self.remember(&cluster, at);
        }
        true
    }

    /// Writes a mirror task, or the time of a new one into the one that is there. Changes nothing when the binding has the
    /// cluster in `spec.clusters` or a task of another producer for it.
    pub fn mirror(&mut self, task: &GracefulEvictionTask) -> bool {
        if self.clusters.contains(&task.from_cluster) {
            return false;
        }
        let Some(index) = self.task_index(&ClusterName::from(task.from_cluster.as_str())) else {
            self.append(TASKS, self.tasks.len(), &json!(task));
            self.tasks.push(task.clone());
            return true;
        };
        let there = &mut self.tasks[index];
        if there.producer != task.producer || there.creation_timestamp == task.creation_timestamp {
            return false;
        }
        there.creation_timestamp = task.creation_timestamp.clone();
        self.operations.push(json!({
            "op": "add", "path": format!("{TASKS}/{index}/creationTimestamp"), "value": task.creation_timestamp,
        }));
        true
    }

    /// Adds a cluster to `spec.activeEvictionHistory`; an older item of the same cluster goes, and when there would be more
    /// than 32 the oldest of a cluster that is left for good (of all, where there is none).
    pub fn remember(&mut self, cluster: &ClusterName, at: Timestamp) -> bool {
        self.forget(cluster);
        while self.history.len() >= HISTORY_LIMIT {
            // The item of an open task would look as if a person had lifted its block.
            let is_left = |item: &EvictionHistoryItem| {
                let mut tasks = self.tasks.iter();
                !tasks.any(|task| task.from_cluster == item.cluster_name)
            };
            let oldest = self.history.iter().position(is_left).unwrap_or(0);
            self.forget_at(oldest);
        }
        let item = EvictionHistoryItem {
            cluster_name: cluster.to_string(),
            creation_timestamp: Time(at),
        };
        self.of_history
            .push(appended(HISTORY, self.history.len(), &json!(item)));
        self.history.push(item);
        true
    }

    /// Removes the items of a cluster from `spec.activeEvictionHistory`.
    pub fn forget(&mut self, cluster: &ClusterName) -> bool {
        let mut changed = false;
        let is_of = |item: &EvictionHistoryItem| item.cluster_name == cluster.as_str();
        while let Some(index) = self.history.iter().position(is_of) {
            self.forget_at(index);
            changed = true;
        }
        changed
    }

    fn forget_at(&mut self, index: usize) {
        self.history.remove(index);
        self.of_history
            .push(json!({"op": "remove", "path": format!("{HISTORY}/{index}")}));
    }

    /// Removes the task of each of these clusters; tasks of others, and the other fields, stay.
    pub fn remove_tasks<'c>(&mut self, clusters: impl IntoIterator<Item = &'c ClusterName>) -> bool {
        let mut changed = false;
        for cluster in clusters {
            changed |= self.remove_task(cluster).is_some();
        }
        changed
    }

    /// Removes this very task, and no other for its cluster.
    pub fn remove_exactly(&mut self, task: &GracefulEvictionTask) -> bool {
        let Some(index) = self.tasks.iter().position(|there| there == task) else {
            return false;
        };
        self.remove_task_at(index);
        true
    }

    /// Changes the purge mode of the task of a cluster. Changes nothing when there is no task, or it says so already.
    pub fn set_purge_mode(&mut self, cluster: &ClusterName, mode: &PurgeMode) -> bool {
        let Some(index) = self.task_index(cluster) else {
            return false;
        };
        if self.tasks[index].purge_mode.as_ref() == Some(mode) {
            return false;
        }
        self.tasks[index].purge_mode = Some(mode.clone());
        self.operations
            .push(json!({"op": "add", "path": format!("{TASKS}/{index}/purgeMode"), "value": mode}));
        true
    }

    /// Puts a cluster back as it was before the eviction: into `spec.clusters` with the task's replicas, the task and
    /// the cluster's history away. Changes nothing when there is no task.
    pub fn restore(&mut self, cluster: &ClusterName) -> bool {
        let Some(task) = self.remove_task(cluster) else {
            return false;
        };
        if !self.clusters.iter().any(|name| name == cluster.as_str()) {
            let target = TargetCluster {
                name: cluster.to_string(),
                replicas: self.read.spec.replicas_of(&task),
                components: Vec::new(),
            };
            self.append(CLUSTERS, self.clusters.len(), &json!(target));
            self.clusters.push(cluster.to_string());
        }
        self.forget(cluster);
        true
    }

    /// Takes a cluster out of `spec.clusters` and leaves its task: the mending of a cluster that stands in both lists
    /// while its cause stands.
    pub fn remove_target(&mut self, cluster: &ClusterName) -> bool {
        let Some(index) = self.clusters.iter().position(|name| name == cluster.as_str()) else {
            return false;
        };
        self.clusters.remove(index);
        self.remove(&format!("{CLUSTERS}/{index}"));
        true
    }

    /// Fills in `creationTimestamp` of every task that lacks it.
    pub fn stamp_tasks(&mut self, now: Timestamp) -> bool {
        let mut changed = false;
        for index in 0..self.tasks.len() {
            if self.tasks[index].creation_timestamp.is_none() {
                self.tasks[index].creation_timestamp = Some(Time(now));
                self.operations.push(json!({
                    "op": "add", "path": format!("{TASKS}/{index}/creationTimestamp"), "value": Time(now),
                }));
                changed = true;
            }
        }
        changed
    }

    /// Sets an annotation, or removes it.
    pub fn annotate(&mut self, name: &str, value: Option<&str>) -> bool {
        if annotation::is_so(self.read, name, value) {
            return self.annotations.remove(name).is_some();
        }
        self.annotations.insert(name.to_owned(), value.map(str::to_owned));
        true
    }

    /// The patch, with its tests for the object that was read; `None` when there is nothing to write. The history is
    /// written into its field.
    #[must_use]
    pub fn patch(&self) -> Option<Value> {
        self.patch_with(Home::Field)
    }

    /// The same with the history in this home.
    #[must_use]
    pub fn patch_with(&self, history: Home) -> Option<Value> {
        if self.is_empty() {
            return None;
        }
        let (mut operations, mut annotations) = (self.operations.clone(), self.annotations.clone());
        let was_in_annotation = second_home::is_in_annotation(self.read);
        match (self.history(), history) {
            (None, _) => {}
            // What comes out of the annotation comes whole: the field may not be there.
            (Some(all), Home::Field) if was_in_annotation => {
                operations.push(json!({"op": "add", "path": HISTORY, "value": all}));
                annotations.insert(ACTIVE_EVICTION_HISTORY.to_owned(), None);
            }
            (Some(_), Home::Field) => operations.extend(self.of_history.iter().cloned()),
            (Some(all), Home::Annotation) => {
                let text = second_home::text(all);
                if !annotation::is_so(self.read, ACTIVE_EVICTION_HISTORY, text.as_deref()) {
                    annotations.insert(ACTIVE_EVICTION_HISTORY.to_owned(), text);
                }
            }
        }
        operations.extend(annotation::operations(self.read, &annotations));
        (!operations.is_empty()).then(|| conditional(self.read, operations))
    }

    fn task_index(&self, cluster: &ClusterName) -> Option<usize> {
        self.tasks.iter().position(|task| task.from_cluster == cluster.as_str())
    }

    /// The list goes with its last task, so that a binding which nobody leaves any more looks as it did before.
    fn remove_task(&mut self, cluster: &ClusterName) -> Option<GracefulEvictionTask> {
        let index = self.task_index(cluster)?;
        Some(self.remove_task_at(index))
    }

    fn remove_task_at(&mut self, index: usize) -> GracefulEvictionTask {
        let task = self.tasks.remove(index);
        if self.tasks.is_empty() {
            self.remove(TASKS);
        } else {
            self.remove(&format!("{TASKS}/{index}"));
        }
        task
    }

    fn remove(&mut self, path: &str) {
        self.operations.push(json!({"op": "remove", "path": path}));
    }

    fn append(&mut self, list: &str, length_before: usize, item: &Value) {
        self.operations.push(appended(list, length_before, item));
    }
}

/// An empty list may be absent in the object, so it is added whole.
fn appended(list: &str, length_before: usize, item: &Value) -> Value {
    if length_before == 0 {
        json!({"op": "add", "path": list, "value": [item]})
    } else {
        json!({"op": "add", "path": format!("{list}/-"), "value": item})
    }
}

/// `operations` on exactly the object that was read.
pub(crate) fn conditional(read: &Binding, operations: Vec<Value>) -> Value {
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": read.metadata.uid}),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": read.metadata.resource_version}),
    ];
    patch.extend(operations);
    Value::Array(patch)
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
