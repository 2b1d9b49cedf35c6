//! Which Works a binding has, as a pure function of what is known.
//!
//! Works stay for the clusters of the scheduling result, of the bindings that need this one, and of tasks that are not
//! Directly; the others go. A task's Work is not rendered anew. While a copy that has to go first (Directly) is still
//! there, no other Work is made or changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::names::cluster_of_execution_namespace;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, TargetCluster, Work, condition};
use jiff::Timestamp;
use serde_json::Value;

use super::render;
use crate::interpreter::{InterpretError, Interpreter};
use crate::members::Presence;

/// Everything that counts for the Works of one binding.
pub struct Situation<'a> {
    /// The binding.
    pub binding: &'a Binding,
    /// Its template; absent when there is none, or its kind is not carried to members.
    pub template: Option<&'a Value>,
    /// The Works that name the binding.
    pub works: &'a [Arc<Work>],
    /// Whether each cluster is there and answers.
    pub presence: &'a (dyn Fn(&ClusterName) -> Presence + Sync),
    /// Since when an old copy's cluster has been away while others waited for that copy to go.
    pub away_since: &'a BTreeMap<ClusterName, Timestamp>,
    /// How long they wait for it.
    pub unreachable_wait: Duration,
    /// Now.
    pub now: Timestamp,
}

/// What is to be done.
#[derive(Default, Debug)]
pub struct Plan {
    /// Works to delete.
    pub delete: Vec<Arc<Work>>,
    /// Works to create.
    pub create: Vec<Work>,
    /// Works to change: as they are, as they should be.
    pub update: Vec<(Arc<Work>, Work)>,
    /// The finalizer may go: no Work is left.
    pub release: bool,
    /// Clusters whose copy is waited for although they do not answer.
    pub away: BTreeSet<ClusterName>,
    /// Clusters whose copy was not confirmed gone, and is no longer waited for.
    pub unconfirmed: BTreeSet<ClusterName>,
    /// Clusters that keep a binding which is being deleted.
    pub blocking: BTreeSet<ClusterName>,
    /// When to look again, if nothing changes before.
    pub look_again: Option<Timestamp>,
    /// Clusters for which no Work could be made, and why.
    pub failures: Vec<(ClusterName, InterpretError)>,
}

/// The plan for one binding.
pub fn plan(situation: &Situation<'_>, interpreter: &dyn Interpreter) -> Plan {
    let mut plan = Plan::default();
    let works = by_cluster(situation.works);
    if situation.binding.is_being_deleted() {
        plan_deletion(situation, &works, &mut plan);
        return plan;
    }
    let targets = targets(situation.binding);
    let kept = kept_by_tasks(situation.binding);
    let leaving = leaving_directly(situation.binding);
    let placed = is_placed(situation.binding);

    let mut wait = false;
    for (cluster, work) in &works {
        if targets.contains_key(cluster) || kept.contains(cluster) {
            continue;
        }
        let directly = leaving.contains(cluster);
        if (!directly || placed) && work.metadata.deletion_timestamp.is_none() {
            plan.delete.push(work.clone());
        }
        if directly && still_waited_for(situation, cluster, &mut plan) {
            wait = true;
        }
    }
    let Some(template) = situation.template.filter(|_| !wait) else {
        return plan;
    };
    for (cluster, target) in &targets {
        if (situation.presence)(cluster) == Presence::Gone {
            continue;
        }
        let existing = works.get(cluster);
        if existing.is_some_and(|work| work.metadata.deletion_timestamp.is_some()) {
            // Its end brings us back here; only then can there be another of that name.
            continue;
        }
        match (render::work(situation.binding, template, target, interpreter), existing) {
            (Err(error), _) => plan.failures.push((cluster.clone(), error)),
            (Ok(wanted), None) => plan.create.push(wanted),
            (Ok(wanted), Some(present)) if differs(present, &wanted) => plan.update.push((present.clone(), wanted)),
            (Ok(_), Some(_)) => {}
        }
    }
    plan
}

fn by_cluster(works: &[Arc<Work>]) -> BTreeMap<ClusterName, Arc<Work>> {
    let entry = |work: &Arc<Work>| Some((cluster_of(work)?, work.clone()));
    works.iter().filter_map(entry).collect()
}

/// The cluster that a Work is for.
pub fn cluster_of(work: &Work) -> Option<ClusterName> {
    cluster_of_execution_namespace(work.metadata.namespace.as_deref()?)
}

/// The scheduling result, and what bindings that need this one ask for besides.
pub fn targets(binding: &Binding) -> BTreeMap<ClusterName, TargetCluster> {
    let mut targets = BTreeMap::new();
    let own = binding.spec.clusters.iter();
    let needed = binding.spec.required_by.iter().flat_map(|snapshot| &snapshot.clusters);
    for target in own.chain(needed) {
        targets
            .entry(ClusterName::from(target.name.as_str()))
            .or_insert_with(|| target.clone());
    }
    targets
}

/// Clusters that are left, and where the copy stays until the task goes.
pub fn kept_by_tasks(binding: &Binding) -> BTreeSet<ClusterName> {
    let tasks = binding.spec.graceful_eviction_tasks.iter();
    tasks
        .filter(|task| task.effective_purge_mode() != PurgeMode::Directly)
        .map(|task| ClusterName::from(task.from_cluster.as_str()))
        .collect()
}

fn leaving_directly(binding: &Binding) -> BTreeSet<ClusterName> {
    let tasks = binding.spec.graceful_eviction_tasks.iter();
    tasks
        .filter(|task| task.effective_purge_mode() == PurgeMode::Directly)
        .map(|task| ClusterName::from(task.from_cluster.as_str()))
        .collect()
}

/// Whether the scheduler has found a place for all of the workload, and for its newest version.
pub fn is_placed(binding: &Binding) -> bool {
    let Some(status) = &binding.status else { return false };
    let scheduled = binding
        .condition(condition::SCHEDULED)
        .is_some_and(|c| c.status == "True");
    let divided =
        binding.spec.placement.as_ref().is_some_and(|placement| {
            placement.scheduling_type() == api_types::placement::ReplicaSchedulingType::Divided
        });
    let sum: i64 = binding
        .spec
        .clusters
        .iter()
        .map(|target| i64::from(target.replicas))
        .sum();
    let complete = !(divided && binding.spec.is_workload()) || sum == i64::from(binding.replicas());
    scheduled
        && status.scheduler_observed_generation == binding.metadata.generation
        && !binding.spec.clusters.is_empty()
        && complete
}

/// A copy that goes first is waited for while its cluster answers, and for a while after it stopped to.
fn still_waited_for(situation: &Situation<'_>, cluster: &ClusterName, plan: &mut Plan) -> bool {
    match (situation.presence)(cluster) {
        Presence::Gone => false,
        Presence::Ready => true,
        Presence::NotReady => {
            let since = situation.away_since.get(cluster).copied().unwrap_or(situation.now);
            let until = since.checked_add(situation.unreachable_wait).unwrap_or(Timestamp::MAX);
            plan.away.insert(cluster.clone());
            if until <= situation.now {
                plan.unconfirmed.insert(cluster.clone());
                return false;
            }
            plan.look_again = Some(plan.look_again.map_or(until, |earlier| earlier.min(until)));
            true
        }
    }
}

fn plan_deletion(situation: &Situation<'_>, works: &BTreeMap<ClusterName, Arc<Work>>, plan: &mut Plan) {
    plan.release = works.is_empty();
    for (cluster, work) in works {
        if work.metadata.deletion_timestamp.is_none() {
            plan.delete.push(work.clone());
        }
        if (situation.presence)(cluster) == Presence::NotReady {
            plan.blocking.insert(cluster.clone());
        }
    }
}

/// Whether the parts that we write are not as wanted.
#[must_use]
pub fn differs(present: &Work, wanted: &Work) -> bool {
    let lacks = |present: &Option<BTreeMap<String, String>>, wanted: &Option<BTreeMap<String, String>>| {
        let has = |(key, value): (&String, &String)| present.as_ref().and_then(|map| map.get(key)) == Some(value);
        !wanted.iter().flatten().all(has)
    };
    let finalizers = |work: &Work| work.metadata.finalizers.clone().unwrap_or_default();
    present.spec != wanted.spec
        || lacks(&present.metadata.labels, &wanted.metadata.labels)
        || lacks(&present.metadata.annotations, &wanted.metadata.annotations)
        || finalizers(wanted)
            .iter()
            .any(|needed| !finalizers(present).contains(needed))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::interpreter::Native;

    const WAIT: Duration = Duration::from_secs(30);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn template() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": "web", "uid": "t", "generation": 2, "resourceVersion": "9", "labels": {"app": "web"}},
            "spec": {"replicas": 3}, "status": {"replicas": 3}})
    }

    struct Scene {
        binding: Binding,
        works: Vec<Arc<Work>>,
        away: Vec<&'static str>,
        gone: Vec<&'static str>,
        away_since: BTreeMap<ClusterName, Timestamp>,
    }

    impl Scene {
        fn new(clusters: Value, tasks: Value) -> Self {
            let binding = serde_json::from_value(json!({
                "metadata": {"namespace": "shop", "name": "web-deployment", "uid": "b", "generation": 4,
                    "labels": {"resourcebinding.karmada.io/permanent-id": "rb-id"}},
                "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
                    "replicas": 3, "clusters": clusters, "gracefulEvictionTasks": tasks,
                    "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}},
                "status": {"schedulerObservedGeneration": 4, "conditions": [{"type": "Scheduled", "status": "True",
                    "reason": "Success", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
            }))
            .unwrap();
            Self {
                binding,
                works: Vec::new(),
                away: Vec::new(),
                gone: Vec::new(),
                away_since: BTreeMap::new(),
            }
        }

        /// The Work that an earlier plan made for this cluster.
        fn with_work(mut self, cluster: &str, replicas: i32) -> Self {
            let target = TargetCluster {
                name: cluster.into(),
                replicas,
                ..TargetCluster::default()
            };
            let mut work = render::work(&self.binding, &template(), &target, &Native).unwrap();
            work.metadata.resource_version = Some("1".into());
            self.works.push(Arc::new(work));
            self
        }

        fn deleting(mut self, cluster: &str) -> Self {
            for work in &mut self.works {
                if cluster_of(work).unwrap().as_str() == cluster {
                    let mut going = Work::clone(work);
                    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
                    *work = Arc::new(going);
                }
            }
            self
        }

        fn plan(&self, now: Timestamp) -> Plan {
            let template = template();
            let presence = |cluster: &ClusterName| {
                if self.gone.contains(&cluster.as_str()) {
                    Presence::Gone
                } else if self.away.contains(&cluster.as_str()) {
                    Presence::NotReady
                } else {
                    Presence::Ready
                }
            };
            let situation = Situation {
                binding: &self.binding,
                template: Some(&template),
                works: &self.works,
                presence: &presence,
                away_since: &self.away_since,
                unreachable_wait: WAIT,
                now,
            };
            plan(&situation, &Native)
        }
    }

    /// What a plan does, in short: `+m1:2` creates, `~m1:2` changes, `-m1` deletes.
    fn short(plan: &Plan) -> Vec<String> {
        let replicas = |work: &Work| work.spec.workload.manifests[0].0["spec"]["replicas"].clone();
        let mut all: Vec<String> = plan
            .delete
            .iter()
            .map(|work| format!("-{}", cluster_of(work).unwrap()))
            .collect();
        all.extend(
            plan.create
                .iter()
                .map(|work| format!("+{}:{}", cluster_of(work).unwrap(), replicas(work))),
        );
        all.extend(
            plan.update
                .iter()
                .map(|(_, work)| format!("~{}:{}", cluster_of(work).unwrap(), replicas(work))),
        );
        all
    }

    #[test]
    fn a_work_for_each_cluster_and_nothing_when_they_are_as_they_should_be() {
        let clusters = json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]);
        assert_eq!(
            short(&Scene::new(clusters.clone(), json!([])).plan(at(0))),
            ["+m1:1", "+m2:2"]
        );
        let settled = Scene::new(clusters, json!([])).with_work("m1", 1).with_work("m2", 2);
        assert!(short(&settled.plan(at(0))).is_empty());
    }

    #[test]
    fn a_work_is_as_stock_writes_it() {
        let scene = Scene::new(json!([{"name": "m1", "replicas": 3}]), json!([]));
        let plan = scene.plan(at(0));
        insta::assert_yaml_snapshot!(plan.create[0]);
    }

    #[rstest]
    #[case::gracefully("Gracefully", vec!["~m2:3"])]
    #[case::old_spelling("Graciously", vec!["~m2:3"])]
    #[case::never("Never", vec!["~m2:3"])]
    // karmada PR#5889: the Work of a cluster that is left Directly goes, and the new copy waits for that.
    #[case::directly("Directly", vec!["-m1"])]
    #[case::directly_in_old_spelling("Immediately", vec!["-m1"])]
    fn purge_modes(#[case] mode: &str, #[case] wanted: Vec<&str>) {
        let tasks =
            json!([{"fromCluster": "m1", "purgeMode": mode, "reason": "TaintUntolerated", "producer": "TaintManager"}]);
        let scene = Scene::new(json!([{"name": "m2", "replicas": 3}]), tasks)
            .with_work("m1", 1)
            .with_work("m2", 2);
        assert_eq!(short(&scene.plan(at(0))), wanted);
    }

    #[test]
    fn without_a_task_what_is_no_target_goes() {
        let scene = Scene::new(json!([{"name": "m2", "replicas": 3}]), json!([]))
            .with_work("m1", 1)
            .with_work("m2", 3);
        assert_eq!(short(&scene.plan(at(0))), ["-m1"]);
    }

    fn directly() -> Value {
        json!([{"fromCluster": "m1", "purgeMode": "Directly", "reason": "TaintUntolerated", "producer": "TaintManager"}])
    }

    #[test]
    fn directly_deletes_nothing_before_there_is_a_place() {
        let mut scene = Scene::new(json!([]), directly()).with_work("m1", 3);
        assert!(short(&scene.plan(at(0))).is_empty(), "no place at all");
        scene = Scene::new(json!([{"name": "m2", "replicas": 2}]), directly()).with_work("m1", 3);
        assert!(short(&scene.plan(at(0))).is_empty(), "no place for one of three");
        scene = Scene::new(json!([{"name": "m2", "replicas": 3}]), directly()).with_work("m1", 3);
        scene.binding.metadata.generation = Some(5);
        assert!(short(&scene.plan(at(0))).is_empty(), "a place for an older version");
        scene.binding.metadata.generation = Some(4);
        assert_eq!(short(&scene.plan(at(0))), ["-m1"]);
    }

    #[test]
    fn directly_waits_until_the_old_copy_is_gone() {
        let clusters = json!([{"name": "m2", "replicas": 3}]);
        let going = Scene::new(clusters.clone(), directly())
            .with_work("m1", 3)
            .deleting("m1");
        assert!(
            short(&going.plan(at(1_000))).is_empty(),
            "however long a cluster that answers takes"
        );
        assert_eq!(short(&Scene::new(clusters, directly()).plan(at(0))), ["+m2:3"]);
    }

    #[test]
    fn directly_waits_only_for_a_while_for_a_cluster_that_is_away() {
        let mut scene = Scene::new(json!([{"name": "m2", "replicas": 3}]), directly())
            .with_work("m1", 3)
            .deleting("m1");
        scene.away.push("m1");
        let first = scene.plan(at(100));
        assert_eq!((short(&first), first.look_again), (vec![], Some(at(130))));
        scene.away_since = first.away.iter().map(|cluster| (cluster.clone(), at(100))).collect();
        assert!(short(&scene.plan(at(129))).is_empty());
        let late = scene.plan(at(130));
        assert_eq!(short(&late), ["+m2:3"]);
        assert_eq!(late.unconfirmed, BTreeSet::from(["m1".into()]));
        scene.away.clear();
        scene.gone.push("m1");
        assert_eq!(
            short(&scene.plan(at(100))),
            ["+m2:3"],
            "a cluster that is no more keeps nobody"
        );
    }

    #[test]
    fn a_cluster_that_does_not_exist_gets_no_work() {
        let mut scene = Scene::new(json!([{"name": "m1", "replicas": 3}]), json!([]));
        scene.gone.push("m1");
        assert!(short(&scene.plan(at(0))).is_empty());
    }

    #[test]
    fn back_on_a_cluster_while_the_old_work_is_still_going() {
        let scene = Scene::new(json!([{"name": "m1", "replicas": 3}]), json!([]))
            .with_work("m1", 3)
            .deleting("m1");
        assert!(short(&scene.plan(at(0))).is_empty());
    }

    // kubefed#603: those that are away do not keep the others, and are named.
    #[test]
    fn a_deleted_binding_deletes_all_and_waits_for_all() {
        let clusters = json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]);
        let mut scene = Scene::new(clusters, json!([])).with_work("m1", 1).with_work("m2", 2);
        scene.binding.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        scene.away.push("m1");
        let plan = scene.plan(at(0));
        assert_eq!(
            (short(&plan), plan.release),
            (vec!["-m1".to_owned(), "-m2".to_owned()], false)
        );
        assert_eq!(plan.blocking, BTreeSet::from(["m1".into()]));
        scene.works.clear();
        assert!(scene.plan(at(0)).release);
    }

    #[test]
    fn what_others_need_goes_where_they_are() {
        let mut scene = Scene::new(json!([]), json!([]));
        scene.binding.spec.required_by =
            serde_json::from_value(json!([{"name": "x", "clusters": [{"name": "m3"}]}])).unwrap();
        assert_eq!(scene.plan(at(0)).create.len(), 1);
    }

    /// An interpreter whose rules do not load.
    struct Broken;

    impl Interpreter for Broken {
        fn health(&self, object: &Value) -> Result<crate::interpreter::Health, InterpretError> {
            Err(InterpretError::new("judge", object, "no rule"))
        }
        fn replicas(&self, object: &Value) -> Result<Option<crate::interpreter::Replicas>, InterpretError> {
            Err(InterpretError::new("count", object, "no rule"))
        }
        fn revise(&self, object: &mut Value, _: i32) -> Result<(), InterpretError> {
            Err(InterpretError::new("revise", object, "no rule"))
        }
        fn retain(&self, object: &mut Value, _: &Value) -> Result<(), InterpretError> {
            Err(InterpretError::new("retain", object, "no rule"))
        }
        fn reflect(&self, object: &Value) -> Result<Option<Value>, InterpretError> {
            Err(InterpretError::new("reflect", object, "no rule"))
        }
        fn aggregate(
            &self,
            object: &Value,
            _: &[api_types::work::AggregatedStatusItem],
        ) -> Result<Option<Value>, InterpretError> {
            Err(InterpretError::new("aggregate", object, "no rule"))
        }
    }

    // karmada#6600: an error of the interpreter is not "nothing".
    #[rstest]
    #[case::unreadable(Some(template()), 2)]
    #[case::not_there(None, 0)]
    fn what_cannot_be_rendered_stays_as_it_is(#[case] template: Option<Value>, #[case] failures: usize) {
        let clusters = json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]);
        let scene = Scene::new(clusters, json!([])).with_work("m1", 3);
        let situation = Situation {
            binding: &scene.binding,
            template: template.as_ref(),
            works: &scene.works,
            presence: &|_| Presence::Ready,
            away_since: &BTreeMap::new(),
            unreachable_wait: WAIT,
            now: at(0),
        };
        let plan = plan(&situation, &Broken);
        assert_eq!((short(&plan), plan.failures.len()), (vec![], failures));
    }
}
