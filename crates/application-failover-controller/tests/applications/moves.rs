//! The whole way: an application fails, its copy leaves by the queue and the evictor, the scheduler places it anew, and the
//! old copy goes. The gate `Failover` is off unless clusters are to fail too.

use std::collections::BTreeMap;

use api_types::work::Binding;
use controller_kit::{KitFlags, Mode, Running};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use taint_manager::Wiring;

use super::scene::{Scene, after};
use test_bench::paused;

/// All components that a move takes, and copies that work, or do not, by the cluster that they are on.
struct World {
    scene: Scene,
    controller: Running,
    _others: Vec<Running>,
}

/// Where a binding was at which second, each time that it changed.
type Path = Vec<(u64, Vec<String>)>;

impl World {
    async fn new(mode: Mode, clusters: &[&str], evictions_per_second: f64) -> Self {
        Self::with_gates(mode, clusters, evictions_per_second, "Failover=false").await
    }

    async fn with_gates(mode: Mode, clusters: &[&str], evictions_per_second: f64, gates: &str) -> Self {
        let scene = Scene::in_mode(mode, clusters);
        let evictor = Wiring {
            queue: scene.way(),
            mode,
            ..Wiring::by_flags(&taint_manager::Flags::default())
        };
        let graceful = graceful_eviction_controller::Flags {
            mode: mode.into(),
            ..Default::default()
        };
        let components = [
            (
                "taint-manager",
                taint_manager::controllers_with(taint_manager::Flags::default(), evictor),
            ),
            ("scheduler", scheduler::controllers(scheduler::Flags::default())),
            (
                "graceful-eviction-controller",
                graceful_eviction_controller::controllers(graceful),
            ),
        ];
        let mut others = vec![scene.queue("queue-0", evictions_per_second).await];
        for (component, controllers) in components {
            let process = scene.process(component, component, KitFlags::default().with_feature_gates(gates));
            others.push(process.controllers(controllers).start().await.unwrap());
        }
        Self {
            controller: scene.controller("controller-0").await,
            scene,
            _others: others,
        }
    }

    /// Second since the start at which the only eviction so far was made.
    fn evicted_at(&self) -> i64 {
        let records = self.scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
        assert_eq!(records.len(), 1, "{records:#?}");
        let at: Timestamp = records[0]["spec"]["evictedAt"].as_str().unwrap().parse().unwrap();
        at.as_second() - self.scene.started.as_second()
    }

    /// Lets the time pass to `second`, while the copies report how they are: bad on some clusters, well on the others.
    async fn live(&self, key: &str, bad: &[&str], second: u64) -> Path {
        let mut path = Path::new();
        let started = self.scene.started;
        loop {
            let now = u64::try_from(self.scene.clock.now().as_second() - started.as_second()).unwrap();
            if now >= second {
                return path;
            }
            let binding = self.scene.get(key).await;
            let on: Vec<String> = binding.spec.clusters.iter().map(|target| target.name.clone()).collect();
            if path.last().is_none_or(|(_, last)| *last != on) {
                path.push((now, on));
            }
            let (reported, healths) = (reported(&binding), healths(&binding, bad));
            if reported != healths {
                self.report(key, &healths).await;
            }
            self.scene.until(now + 1).await;
        }
    }

    async fn report(&self, key: &str, healths: &BTreeMap<String, &str>) {
        let items: Vec<Value> = healths
            .iter()
            .map(|(cluster, health)| {
                let ready = if *health == "Healthy" { 2 } else { 0 };
                let status =
                    json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": ready, "availableReplicas": ready});
                json!({"clusterName": cluster, "applied": true, "health": health, "status": status})
            })
            .collect();
        self.scene.report(key, json!(items)).await;
    }
}

/// How the copies of a binding are, those that are about to go too.
fn healths<'a>(binding: &Binding, bad: &[&str]) -> BTreeMap<String, &'a str> {
    let targets = binding.spec.clusters.iter().map(|target| target.name.clone());
    let tasks = binding
        .spec
        .graceful_eviction_tasks
        .iter()
        .map(|task| task.from_cluster.clone());
    let health = |cluster: &str| if bad.contains(&cluster) { "Unhealthy" } else { "Healthy" };
    targets
        .chain(tasks)
        .map(|cluster| (cluster.clone(), health(&cluster)))
        .collect()
}

fn reported(binding: &Binding) -> BTreeMap<String, &str> {
    let items = binding.status.iter().flat_map(|status| &status.aggregated_status);
    items
        .filter_map(|item| Some((item.cluster_name.clone(), item.health.as_ref()?.as_str())))
        .collect()
}

/// On one cluster at a time.
fn on_one(failover: Value) -> Value {
    let one = json!([{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]);
    json!({"failover": failover, "placement": {"clusterAffinity": {}, "spreadConstraints": one}})
}

fn clusters_of(path: &Path) -> Vec<&str> {
    let settled = path.iter().filter(|(_, on)| !on.is_empty());
    settled.map(|(_, on)| on[0].as_str()).collect()
}

/// It moves once, at its time and not before, with one task and one record, and is then left alone.
#[rstest]
fn an_application_that_fails_moves_once(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let world = World::new(mode, &["m1", "m2", "m3"], 1.0).await;
        world.scene.binding("web", &["m1"], on_one(after(60)));
        world.live("default/web", &[], 20).await;
        let path = world.live("default/web", &["m1"], 3_600).await;
        let on = clusters_of(&path);
        assert_eq!((on.len(), on[0]), (2, "m1"), "{path:?}");

        let binding = world.scene.get("default/web").await;
        assert!(binding.spec.graceful_eviction_tasks.is_empty(), "the old copy is gone");
        assert_eq!(
            world.scene.clock("default/web").await,
            None,
            "the clock went with the copy"
        );
        let records = world.scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
        assert_eq!(records.len(), 1);
        assert!(
            (81..=82).contains(&world.evicted_at()),
            "after its toleration, and at once"
        );
        let (cause, by) = (&records[0]["spec"]["cause"], &records[0]["spec"]["requestedBy"]);
        assert_eq!(
            (cause["type"].as_str(), by.as_str()),
            (Some("ApplicationFailure"), Some("applicationFailover"))
        );
        assert!(world.scene.entries().await.is_empty());
    });
}

/// A restart in mid toleration: it leaves when it would have left, not a second before and at most one after it (C94,
/// karmada PR#7181).
#[rstest]
fn c94_a_restart_moves_nothing_later_or_earlier(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let mut world = World::new(mode, &["m1", "m2"], 1.0).await;
        world.scene.binding("web", &["m1"], on_one(after(300)));
        world.live("default/web", &[], 20).await;
        world.live("default/web", &["m1"], 300).await;
        world.controller.crash();
        world.controller.ended().await;
        world.controller = world.scene.controller("controller-1").await;
        world.live("default/web", &["m1"], 340).await;
        assert!((320..=321).contains(&world.evicted_at()), "{}", world.evicted_at());
    });
}

/// Two clusters on which it does not work do not toss it to and fro: it goes on to the third, and stays.
#[rstest]
fn two_bad_clusters_do_not_toss_it_to_and_fro(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let world = World::new(mode, &["m1", "m2", "m3"], 1.0).await;
        world.scene.binding("web", &["m1"], on_one(after(30)));
        world.live("default/web", &[], 20).await;
        let path = world.live("default/web", &["m1", "m2"], 3_600).await;
        let on = clusters_of(&path);
        assert_eq!(
            on,
            ["m1", "m2", "m3"],
            "over the other bad one, and never back: {path:?}"
        );
    });
}

/// An image that fails everywhere moves at most once a cluster and block, and is held meanwhile: the last copy stays.
#[rstest]
fn an_image_that_fails_everywhere_moves_once_a_cluster_and_block(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let world = World::new(mode, &["m1", "m2", "m3"], 1.0).await;
        world.scene.binding("web", &["m1"], on_one(after(30)));
        let everywhere = ["m1", "m2", "m3"];
        world.live("default/web", &[], 20).await;
        let path = world.live("default/web", &everywhere, 400).await;
        assert_eq!(clusters_of(&path).len(), 3, "{path:?}");
        let seen = world.scene.seen().await;
        assert!(seen.len() == 1 && seen[0].ends_with("HELD"), "{seen:?}");
        let entries = world.scene.entries().await;
        let hold = entries[0].hold.clone().unwrap();
        assert_eq!(hold.reason().as_str_name(), "HOLD_REASON_NO_TARGET", "{}", hold.message);
        assert_eq!(
            world.scene.get("default/web").await.spec.clusters.len(),
            1,
            "the last copy stays"
        );

        let mut whole = path;
        whole.extend(world.live("default/web", &everywhere, 3_600).await);
        let mut left: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for pair in whole.windows(2) {
            let before = pair[0].1.first().map(String::as_str);
            if let Some(cluster) = before.filter(|cluster| !pair[1].1.iter().any(|on| on == cluster)) {
                left.entry(cluster).or_default().push(pair[1].0);
            }
        }
        for (cluster, times) in &left {
            assert!(
                times.windows(2).all(|pair| pair[1] - pair[0] >= 600),
                "{cluster} is left at {times:?}: {whole:?}"
            );
        }
        assert!(left.len() == 3, "{left:?}");
    });
}

/// A taint and the application agree that it has to leave: one move, one task, one record.
#[rstest]
fn two_causes_make_one_move(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let world = World::with_gates(mode, &["m1", "m2"], 1.0, "Failover=true").await;
        world.scene.binding("web", &["m1"], on_one(after(30)));
        world.live("default/web", &[], 20).await;
        let path = world.live("default/web", &["m1"], 45).await;
        assert_eq!(clusters_of(&path), ["m1"]);
        world.scene.taint("m1", "faulty").await;
        let path = world.live("default/web", &["m1"], 600).await;
        assert_eq!(clusters_of(&path).last(), Some(&"m2"), "{path:?}");
        assert_eq!(world.evicted_at(), 45, "by the one that was due first");
        assert!(world.scene.entries().await.is_empty(), "and the other entry is gone");
    });
}

/// Fifty fail at once: they leave no faster than the queue allows.
#[rstest]
fn many_leave_at_the_queue_s_rate(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let world = World::new(mode, &["m1", "m2"], 0.5).await;
        for number in 0..50 {
            world
                .scene
                .binding(&format!("web-{number:03}"), &["m1"], on_one(after(30)));
        }
        world.scene.until(20).await;
        for number in 0..50 {
            world
                .scene
                .health(&format!("default/web-{number:03}"), &[("m1", "Unhealthy")])
                .await;
        }
        let moved = || {
            let bindings = world.scene.plane.list("work.karmada.io/v1alpha2", "ResourceBinding");
            let has_task = |binding: &&Value| !binding["spec"]["gracefulEvictionTasks"].is_null();
            bindings.iter().filter(has_task).count()
        };
        world.scene.until(50).await;
        assert_eq!(moved(), 0);
        world.scene.until(112).await;
        assert!((29..=31).contains(&moved()), "{} in 60 s", moved());
        world.scene.until(170).await;
        assert_eq!(moved(), 50);
    });
}
