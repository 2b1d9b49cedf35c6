//! What the plan is in each situation.
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::interpreter::Native;

const WAIT: Duration = Duration::from_secs(30);

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
    away_for: BTreeMap<ClusterName, Duration>,
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
            away_for: BTreeMap::new(),
        }
    }

    /// The Work that an earlier plan made for this cluster.
    fn with_work(mut self, cluster: &str, replicas: i32) -> Self {
        let target = TargetCluster {
            name: cluster.into(),
            replicas,
            ..TargetCluster::default()
        };
        let mut work = render::work(&self.binding, &template(), &target, &BTreeMap::new(), &Native).unwrap();
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

    fn plan(&self) -> Plan {
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
            away_for: &self.away_for,
            unreachable_wait: WAIT,
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
        short(&Scene::new(clusters.clone(), json!([])).plan()),
        ["+m1:1", "+m2:2"]
    );
    let settled = Scene::new(clusters, json!([])).with_work("m1", 1).with_work("m2", 2);
    assert!(short(&settled.plan()).is_empty());
}

#[test]
fn a_work_is_as_stock_writes_it() {
    let scene = Scene::new(json!([{"name": "m1", "replicas": 3}]), json!([]));
    let plan = scene.plan();
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
    assert_eq!(short(&scene.plan()), wanted);
}

#[test]
fn without_a_task_what_is_no_target_goes() {
    let scene = Scene::new(json!([{"name": "m2", "replicas": 3}]), json!([]))
        .with_work("m1", 1)
        .with_work("m2", 3);
    assert_eq!(short(&scene.plan()), ["-m1"]);
}

fn directly() -> Value {
    json!([{"fromCluster": "m1", "purgeMode": "Directly", "reason": "TaintUntolerated", "producer": "TaintManager"}])
}

#[test]
fn directly_deletes_nothing_before_there_is_a_place() {
    let mut scene = Scene::new(json!([]), directly()).with_work("m1", 3);
    assert!(short(&scene.plan()).is_empty(), "no place at all");
    scene = Scene::new(json!([{"name": "m2", "replicas": 2}]), directly()).with_work("m1", 3);
    assert!(short(&scene.plan()).is_empty(), "no place for one of three");
    scene = Scene::new(json!([{"name": "m2", "replicas": 3}]), directly()).with_work("m1", 3);
    scene.binding.metadata.generation = Some(5);
    assert!(short(&scene.plan()).is_empty(), "a place for an older version");
    scene.binding.metadata.generation = None;
    scene.binding.status.as_mut().unwrap().scheduler_observed_generation = None;
    assert!(
        short(&scene.plan()).is_empty(),
        "that nothing was looked at is no place"
    );
    scene.binding.metadata.generation = Some(4);
    scene.binding.status.as_mut().unwrap().scheduler_observed_generation = Some(4);
    assert_eq!(short(&scene.plan()), ["-m1"]);
}

/// While there is no place for what goes first, those that are there follow their template; nothing new begins, and
/// nobody counts how long a cluster is away whose copy was not asked to go.
#[test]
fn directly_without_a_place_holds_new_copies_only() {
    let clusters = json!([{"name": "m2", "replicas": 1}, {"name": "m3", "replicas": 1}]);
    let mut scene = Scene::new(clusters, directly()).with_work("m1", 1).with_work("m2", 3);
    scene.away.push("m1");
    let plan = scene.plan();
    assert_eq!(short(&plan), ["~m2:1"]);
    assert_eq!((plan.away, plan.look_again), (BTreeSet::new(), None));
    scene.away_for = BTreeMap::from([("m1".into(), Duration::from_secs(3600))]);
    assert_eq!(short(&scene.plan()), ["~m2:1"], "however long it lasts");
    scene.binding.metadata.generation = Some(5);
    assert!(
        short(&scene.plan()).is_empty(),
        "the scheduler may be about to move its replicas"
    );
}

/// The scheduler keeps m3's copy until m2's works, and m2's waits for m1's to go: more replicas than are wanted are a
/// place for all of them, or each would wait for the other.
#[test]
fn directly_does_not_wait_for_a_copy_that_the_scheduler_keeps() {
    let clusters = json!([{"name": "m2", "replicas": 3}, {"name": "m3", "replicas": 2}]);
    let scene = Scene::new(clusters.clone(), directly())
        .with_work("m1", 1)
        .with_work("m3", 2);
    assert_eq!(short(&scene.plan()), ["-m1"]);
    assert_eq!(
        short(&Scene::new(clusters, directly()).with_work("m3", 2).plan()),
        ["+m2:3"]
    );
}

#[test]
fn directly_waits_until_the_old_copy_is_gone() {
    let clusters = json!([{"name": "m2", "replicas": 3}]);
    let going = Scene::new(clusters.clone(), directly())
        .with_work("m1", 3)
        .deleting("m1");
    assert!(
        short(&going.plan()).is_empty(),
        "however long a cluster that answers takes"
    );
    assert_eq!(short(&Scene::new(clusters, directly()).plan()), ["+m2:3"]);
}

#[test]
fn directly_waits_only_for_a_while_for_a_cluster_that_is_away() {
    let mut scene = Scene::new(json!([{"name": "m2", "replicas": 3}]), directly())
        .with_work("m1", 3)
        .deleting("m1");
    scene.away.push("m1");
    let first = scene.plan();
    assert_eq!((short(&first), first.look_again), (vec![], Some(WAIT)));
    let away_for = |seconds| {
        let clusters = first.away.iter();
        clusters
            .map(|cluster| (cluster.clone(), Duration::from_secs(seconds)))
            .collect()
    };
    scene.away_for = away_for(29);
    let second = scene.plan();
    assert_eq!(
        (short(&second), second.look_again),
        (vec![], Some(Duration::from_secs(1)))
    );
    scene.away_for = away_for(30);
    let late = scene.plan();
    assert_eq!((short(&late), late.look_again), (vec!["+m2:3".to_owned()], None));
    assert_eq!(late.unconfirmed, BTreeSet::from(["m1".into()]));
    scene.away.clear();
    scene.gone.push("m1");
    assert_eq!(
        short(&scene.plan()),
        ["+m2:3"],
        "a cluster that is no more keeps nobody"
    );
}

#[test]
fn a_cluster_that_does_not_exist_gets_no_work() {
    let mut scene = Scene::new(json!([{"name": "m1", "replicas": 3}]), json!([]));
    scene.gone.push("m1");
    assert!(short(&scene.plan()).is_empty());
}

#[test]
fn back_on_a_cluster_while_the_old_work_is_still_going() {
    let scene = Scene::new(json!([{"name": "m1", "replicas": 3}]), json!([]))
        .with_work("m1", 3)
        .deleting("m1");
    assert!(short(&scene.plan()).is_empty());
}

// kubefed#603: those that are away do not keep the others, and are named.
#[test]
fn a_deleted_binding_deletes_all_and_waits_for_all() {
    let clusters = json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]);
    let mut scene = Scene::new(clusters, json!([])).with_work("m1", 1).with_work("m2", 2);
    scene.binding.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    scene.away.push("m1");
    let plan = scene.plan();
    assert_eq!(
        (short(&plan), plan.release),
        (vec!["-m1".to_owned(), "-m2".to_owned()], false)
    );
    assert_eq!(plan.blocking, BTreeSet::from(["m1".into()]));
    scene.works.clear();
    assert!(scene.plan().release);
}

#[test]
fn what_others_need_goes_where_they_are() {
    let mut scene = Scene::new(json!([]), json!([]));
    scene.binding.spec.required_by =
        serde_json::from_value(json!([{"name": "x", "clusters": [{"name": "m3"}]}])).unwrap();
    assert_eq!(scene.plan().create.len(), 1);
}

// The owner has left m1 and runs on m2: what it needs goes to m2 at once, and stays on m1 for as long as a mirror is there.
#[test]
fn a_mirror_keeps_the_copy_of_what_an_owner_needs() {
    let mirror = json!([{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "DependencyMirror",
        "purgeMode": "Gracefully"}]);
    let mut scene = Scene::new(json!([]), mirror).with_work("m1", 1);
    scene.binding.spec.required_by =
        serde_json::from_value(json!([{"name": "x", "clusters": [{"name": "m2"}]}])).unwrap();
    let plan = scene.plan();
    assert_eq!((plan.create.len(), plan.delete.len()), (1, 0));
    scene.binding.spec.graceful_eviction_tasks.clear();
    assert_eq!(scene.plan().delete.len(), 1);
}

fn preserving(mode: &str, before: &[&str]) -> Value {
    json!([{"fromCluster": "m1", "purgeMode": mode, "reason": "TaintUntolerated", "producer": "TaintManager",
        "clustersBeforeFailover": before, "preservedLabelState": {"job": "J1"}}])
}

fn label_of(work: &Work, label: &str) -> Value {
    work.spec.workload.manifests[0].0["metadata"]["labels"][label].clone()
}

// Stock drops the labels from the Work, and so from the member's object, as soon as the task is done.
#[rstest]
#[case::gracefully("Gracefully")]
#[case::directly("Directly")]
fn preserved_labels_are_given_to_the_new_copy_and_stay_when_the_task_is_gone(#[case] mode: &str) {
    let clusters = json!([{"name": "m2", "replicas": 3}]);
    let mut scene = Scene::new(clusters, preserving(mode, &["m1"]));
    let created = scene.plan().create.remove(0);
    assert_eq!(
        (label_of(&created, "job"), label_of(&created, "app")),
        (json!("J1"), json!("web"))
    );
    let mut stored = created;
    stored.metadata.resource_version = Some("1".into());
    scene.works.push(Arc::new(stored));
    assert!(
        short(&scene.plan()).is_empty(),
        "nothing changes while the task is there"
    );
    scene.binding.spec.graceful_eviction_tasks.clear();
    assert!(short(&scene.plan()).is_empty(), "and nothing when it is gone");
    scene.binding.spec.clusters[0].replicas = 2;
    let scaled = scene.plan().update.remove(0).1;
    assert_eq!(
        label_of(&scaled, "job"),
        json!("J1"),
        "a change of the template keeps them"
    );
}

#[test]
fn a_copy_that_was_there_before_the_failure_gets_no_labels() {
    let clusters = json!([{"name": "m2", "replicas": 3}]);
    let new = Scene::new(clusters.clone(), preserving("Gracefully", &["m1", "m2"])).plan();
    assert_eq!(label_of(&new.create[0], "job"), Value::Null);
    // Its Work was there before the task.
    let scene = Scene::new(clusters, preserving("Gracefully", &["m1"])).with_work("m2", 3);
    assert!(short(&scene.plan()).is_empty());
}

#[test]
fn preserved_labels_win_over_the_template_s_and_never_over_ours() {
    let mut tasks = preserving("Gracefully", &["m1"]);
    tasks[0]["preservedLabelState"] = json!({"app": "kept", "karmada.io/managed": "no"});
    let work = Scene::new(json!([{"name": "m2", "replicas": 3}]), tasks)
        .plan()
        .create
        .remove(0);
    assert_eq!(
        (label_of(&work, "app"), label_of(&work, "karmada.io/managed")),
        (json!("kept"), json!("true"))
    );
}

#[test]
fn a_note_of_preserved_labels_that_cannot_be_read_leaves_the_work_as_it_is() {
    let mut scene = Scene::new(json!([{"name": "m2", "replicas": 3}]), json!([])).with_work("m2", 2);
    let mut spoilt = Work::clone(&scene.works[0]);
    let annotations = spoilt.metadata.annotations.as_mut().unwrap();
    annotations.insert("failover.karmada.io/preserved-labels".to_owned(), "{".to_owned());
    scene.works = vec![Arc::new(spoilt)];
    let plan = scene.plan();
    assert!(short(&plan).is_empty());
    let (cluster, error) = &plan.failures[0];
    let said = error.to_string();
    assert!(
        cluster.as_str() == "m2" && said.contains("failover.karmada.io/preserved-labels") && said.contains("remove it"),
        "{said}"
    );
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
    fn dependencies(&self, object: &Value) -> Result<Vec<crate::interpreter::DependentObject>, InterpretError> {
        Err(InterpretError::new("find the dependencies of", object, "no rule"))
    }
}

// C112, karmada#6600: an error of the interpreter is not "nothing".
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
        away_for: &BTreeMap::new(),
        unreachable_wait: WAIT,
    };
    let plan = plan(&situation, &Broken);
    assert_eq!((short(&plan), plan.failures.len()), (vec![], failures));
}
