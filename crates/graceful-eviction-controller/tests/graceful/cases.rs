//! The open cases about tasks on bindings, at the level of the controller. Those whose rule has tables of its own are in
//! `failover_core::graceful` as well.

use api_types::work::{Binding, BindingKind};
use controller_kit::Mode;
use graceful_eviction_controller::{Flags, controllers};
use kube::Api;
use kube_sandbox::{EventEffect, Match};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::paused;
use test_bench::stock::Excepted;

use crate::bench::{Bench, one_to_two, shown, task};
use crate::{COMPONENT, assert_says, copy, leaving, scheduled, start, start_with};

// C01, karmada#3747. The scheduler says that it has looked although it found nothing. The case wants the task gone at the
// end of its grace period; that would lose the last copy, so here it stays and says so (decided otherwise).
#[rstest]
fn c01_a_task_without_a_new_place_is_looked_at_and_keeps_the_last_copy(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let _scheduler = bench.start_scheduler("s").await;
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({
            "placement": {"clusterAffinity": {"clusterNames": ["member1"]}}, "clusters": [{"name": "member1", "replicas": 3}],
        }));
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 3)]}))
            .await;
        bench.until(10).await;
        bench.fail_cluster("member1");
        let mut left = task("member1", 3, bench.clock.now());
        left["gracePeriodSeconds"] = json!(600);
        bench
            .patch(json!({"spec": {"clusters": null, "gracefulEvictionTasks": [left]}}))
            .await;
        bench.until(700).await;
        let binding = bench.binding().await;
        let status = binding.status.as_ref().unwrap();
        assert_eq!(status.scheduler_observed_generation, binding.metadata.generation);
        assert_eq!(leaving(&binding), ["member1"]);
        assert_says(&bench, &binding, "kept because nothing replaces this copy");
        let writes = bench.writes(COMPONENT).len();
        bench.until(7_200).await;
        if bench.company.expects(Excepted::ConditionAtEveryMoment) {
            assert_eq!(bench.writes(COMPONENT).len(), writes, "it does not pile up work");
        }
    });
}

// C04, karmada#5782: a recovered cluster is a candidate again for what is scaled up, and its task ends (whether recovery
// cancels a move is disputed; here it does not, and being chosen again ends the task without a deletion).
#[rstest]
fn c04_a_recovered_cluster_gets_new_replicas(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let _scheduler = bench.start_scheduler("s").await;
        let _graceful = start(&bench).await;
        bench.fail_cluster("member1");
        bench.put_deployment(&json!({
            "placement": one_to_two(), "replicas": 4, "clusters": [{"name": "member2", "replicas": 4}],
            "gracefulEvictionTasks": [task("member1", 1, bench.clock.now())],
        }));
        bench.until(60).await;
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(120).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"], "the move goes on");
        bench.patch(json!({"spec": {"replicas": 8}})).await;
        bench.until(130).await;
        let binding = bench.binding().await;
        let replicas: i32 = binding.spec.clusters.iter().map(|target| target.replicas).sum();
        assert_eq!((replicas, leaving(&binding)), (8, vec![]), "{}", shown(&binding));
        assert!(binding.spec.target(&"member1".into()).is_some());
        assert!(bench.reasons().contains(&"KeepWorkloadOnClusterSucceed".to_owned()));
    });
}

// C05, karmada#4951: a ClusterRole reports no health; it is there when it is applied.
#[rstest]
fn c05_what_reports_no_health_is_replaced_when_it_is_applied(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        bench.put(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ClusterResourceBinding", "metadata": {"name": "reader-clusterrole"},
            "spec": {
                "resource": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "reader"},
                "placement": {}, "clusters": [{"name": "member2"}], "gracefulEvictionTasks": [task("member1", 0, bench.started)],
            },
        }));
        let bindings: Api<Binding> = Api::all_with(bench.client(), &BindingKind::Cluster);
        let with_status = async |applied: bool| {
            let read = bindings.get("reader-clusterrole").await.unwrap();
            let condition = json!({"type": "Scheduled", "status": "True", "reason": "R", "message": "", "lastTransitionTime": bench.started});
            let status = json!({"status": {
                "schedulerObservedGeneration": read.metadata.generation, "conditions": [condition],
                "aggregatedStatus": [{"clusterName": "member2", "applied": applied}],
            }});
            let patch = kube::api::Patch::Merge(status);
            bindings
                .patch_status("reader-clusterrole", &Default::default(), &patch)
                .await
                .unwrap();
        };
        with_status(false).await;
        bench.until(600).await;
        assert_eq!(leaving(&bindings.get("reader-clusterrole").await.unwrap()), ["member1"]);
        with_status(true).await;
        bench.until(601).await;
        assert_eq!(leaving(&bindings.get("reader-clusterrole").await.unwrap()), [""; 0]);
    });
}

// C07, karmada#7186: with a global time-out of 600 s too. That one wants a copy that runs elsewhere.
#[rstest]
#[case::in_order(["member1", "member3"])]
#[case::swapped(["member3", "member1"])]
fn c07_grace_periods_do_not_mix(#[case] order: [&str; 2], #[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2", "member3"]);
        for down in ["member1", "member3"] {
            bench.fail_cluster(down);
        }
        let flags = Flags {
            graceful_eviction_timeout: Some(std::time::Duration::from_secs(600)),
            ..Flags::default()
        };
        let _graceful = start_with(&bench, "g", flags).await;
        let tasks = order.map(|from| {
            let mut left = task(from, 1, bench.started);
            if from == "member1" {
                left["gracePeriodSeconds"] = json!(5);
            }
            left
        });
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": tasks,
        }));
        scheduled(&bench, "False").await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(4).await;
        assert_eq!(leaving(&bench.binding().await), order);
        bench.until(6).await;
        assert_eq!(leaving(&bench.binding().await), ["member3"]);
        bench.until(599).await;
        assert_eq!(leaving(&bench.binding().await), ["member3"]);
        bench.until(600).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// C10, karmada#3456: a second taint on a cluster that is left already changes nothing of its task.
#[rstest]
fn c10_a_second_taint_leaves_the_one_task_as_it_is(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}],
            "gracefulEvictionTasks": [task("member1", 1, bench.started)],
        }));
        scheduled(&bench, "True").await;
        bench.until(10).await;
        let before = bench.binding().await.spec.graceful_eviction_tasks;
        let taint = |key: &str| json!({"key": key, "effect": "NoExecute", "timeAdded": bench.clock.now()});
        bench.put_cluster("member1", "False", &json!([taint("down"), taint("other")]));
        bench.until(600).await;
        assert_eq!(bench.binding().await.spec.graceful_eviction_tasks, before);
    });
}

// C12, karmada#3736.
#[rstest]
fn c12_the_old_copy_stays_until_the_new_one_reports_healthy(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        let mut left = task("member1", 3, bench.started);
        left["gracePeriodSeconds"] = json!(600);
        left["clustersBeforeFailover"] = json!(["member1"]);
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [left],
        }));
        scheduled(&bench, "True").await;
        let one = copy("member1", "Healthy", 3);
        for (second, items, expected) in [
            (1, json!([one]), vec!["member1"]),
            (2, json!([one, copy("member2", "Unhealthy", 0)]), vec!["member1"]),
            (3, json!([one, copy("member2", "Healthy", 3)]), vec![]),
        ] {
            bench.patch_status(json!({"aggregatedStatus": items})).await;
            bench.until(second).await;
            assert_eq!(leaving(&bench.binding().await), expected);
        }
    });
}

// C14, karmada#7320: what was healthy when it was read is not when it is written: the write does not land, and what is
// stored then decides.
#[rstest]
fn c14_health_that_changed_meanwhile_decides(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}],
            "gracefulEvictionTasks": [task("member1", 1, bench.started)],
        }));
        scheduled(&bench, "True").await;
        bench.until(1).await;
        let report = async |health: &str| {
            bench
                .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 1), copy("member2", health, 3)]}))
                .await;
        };
        report("Healthy").await;
        let late = Match::any().resource("resourcebindings").client(COMPONENT);
        let delay = EventEffect::Delay(std::time::Duration::from_secs(1));
        bench.plane.faults().disturb_events(late, 0, 1, delay);
        report("Unhealthy").await;
        bench.until(600).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        report("Healthy").await;
        bench.until(601).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// C16, karmada PR#2936: whatever the gates, a task of a cluster that is gone does not stay for ever. (Graceful eviction is
// always on; its gate is accepted and has no effect.)
#[rstest]
#[case("Failover=false,GracefulEviction=false")]
#[case("Failover=false,GracefulEviction=true")]
#[case("Failover=true,GracefulEviction=false")]
#[case("Failover=true,GracefulEviction=true")]
fn c16_no_gate_keeps_a_task(#[case] gates: &'static str) {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _graceful = bench.start(COMPONENT, "g", gates, controllers(Flags::default())).await;
        bench.fail_cluster("member1");
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}],
            "gracefulEvictionTasks": [task("member1", 1, bench.started)],
        }));
        scheduled(&bench, "True").await;
        bench.until(1).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        let clusters = Api::<api_types::cluster::Cluster>::all(bench.client());
        clusters.delete("member1", &Default::default()).await.unwrap();
        bench.until(60).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// C17, karmada PR#3437: what contradicts itself is refused by the API.
#[rstest]
#[case::both(json!({"gracePeriodSeconds": 0, "suppressDeletion": true}), "contradict")]
#[case::negative(json!({"gracePeriodSeconds": -1}), "gracePeriodSeconds")]
fn c17_contradictions_are_refused(#[case] more: Value, #[case] expected: &str) {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        bench.fail_cluster("member1");
        bench.put_deployment(&json!({"placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}]}));
        let mut bad = task("member1", 1, bench.started);
        for (field, value) in more.as_object().unwrap() {
            bad[field] = value.clone();
        }
        let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "default", &BindingKind::Namespaced);
        let patch = kube::api::Patch::Merge(json!({"spec": {"gracefulEvictionTasks": [bad]}}));
        let refused = bindings.patch("nginx-deployment", &Default::default(), &patch).await;
        let said = refused.unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    });
}

// C20, karmada PR#6387: tasks in old spellings are judged as those in new ones, and writes of their bindings are not refused.
#[rstest]
#[case::graciously("Graciously")]
#[case::immediately("Immediately")]
fn c20_tasks_in_old_spellings_end_too(#[case] purge_mode: &str, #[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        let mut left = task("member1", 1, bench.started);
        left["purgeMode"] = json!(purge_mode);
        left.as_object_mut().unwrap().remove("creationTimestamp");
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [left],
        }));
        bench.until(1).await;
        let tasks = bench.binding().await.spec.graceful_eviction_tasks;
        assert!(tasks[0].creation_timestamp.is_some(), "it was written to");
        assert_eq!(tasks[0].purge_mode.as_ref().unwrap().as_str(), purge_mode, "as stored");
        scheduled(&bench, "True").await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(2).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// C87, karmada#7479: every candidate is refused for a reason of its own: member1 because the application failed there,
// member2 by the placement. Both reasons are told, nothing is tried in a loop, and when the block is over it is back.
#[rstest]
fn c87_refused_everywhere_is_told_and_ends_with_the_block(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let _scheduler = bench.start_scheduler("s").await;
        let _graceful = start(&bench).await;
        let mut left = task("member1", 3, bench.started);
        left["reason"] = json!("ApplicationFailure");
        bench.put_deployment(&json!({
            "placement": {"clusterAffinity": {"clusterNames": ["member1"]}}, "clusters": [],
            "failover": {"application": {"decisionConditions": {"tolerationSeconds": 10}, "blockPredecessorSeconds": 1_800}},
            "gracefulEvictionTasks": [left],
            "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": bench.started}],
        }));
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Unhealthy", 0)]}))
            .await;
        bench.until(60).await;
        let binding = bench.binding().await;
        assert_eq!(leaving(&binding), ["member1"]);
        let scheduled = binding.condition("Scheduled").unwrap().message.clone();
        assert!(scheduled.starts_with("0/2 clusters are available: "), "{scheduled}");
        assert_says(&bench, &binding, "ResourceHealth: the scheduler found no place");
        let writes = (bench.writes(COMPONENT).len(), bench.writes("scheduler").len());
        bench.until(1_799).await;
        if bench.company.expects(Excepted::ConditionAtEveryMoment) {
            assert_eq!(
                (bench.writes(COMPONENT).len(), bench.writes("scheduler").len()),
                writes,
                "no loop"
            );
        }
        bench.until(1_810).await;
        let binding = bench.binding().await;
        assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("member1:3", vec![]));
    });
}
