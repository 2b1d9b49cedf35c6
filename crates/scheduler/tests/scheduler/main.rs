//! The scheduler on a simulated control plane: when it places, what it writes, what it says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod bench;
mod last_copy;

use api_types::names::annotation;
use api_types::work::{Binding, BindingKind};
use bench::{Bench, one_to_two, shown, task};
use controller_kit::{KitFlags, Process};
use kube_sandbox::{Effect, Match, Verb};
use serde_json::json;
use test_bench::paused;

// Stock's trace 3.1 and 3.2: one spec write and one status write each, and the generation that was written is observed.
#[test]
fn the_worked_example() {
    paused(async {
        let bench = Bench::new(&["member1", "member2", "member3"]);
        let log = controller_kit::telemetry::Recording::start("info,controller_kit=warn", &bench.clock).unwrap();
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:1 member2:2");
        // One line for the decision, with what it was made by.
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "{lines:#?}");
        for part in [
            "Result: {member1:1, member2:2}",
            "binding=default/nginx-deployment",
            "trigger=",
        ] {
            assert!(lines[0].contains(part), "{part}: {lines:#?}");
        }
        assert_eq!(
            controller_kit::metrics::complaints(&process.metrics().render()),
            [""; 0]
        );
        assert_eq!(bench.event_sources(), ["default-scheduler"]);
        assert!(
            binding.metadata.annotations.as_ref().unwrap()[annotation::APPLIED_PLACEMENT].contains("staticWeightList")
        );
        let status = binding.status.clone().unwrap();
        assert_eq!(status.scheduler_observed_generation, binding.metadata.generation);
        assert!(status.last_scheduled_time.is_some());
        let condition = binding.condition("Scheduled").unwrap();
        assert_eq!(
            (condition.status.as_str(), condition.reason.as_str()),
            ("True", "Success")
        );
        assert_eq!(condition.message, "Binding has been scheduled successfully.");
        let said = (
            "ScheduleBindingSucceed".to_owned(),
            "Binding has been scheduled successfully. Result: {member1:1, member2:2}".to_owned(),
        );
        assert_eq!(
            bench.events("ResourceBinding", "nginx-deployment"),
            std::slice::from_ref(&said)
        );
        assert_eq!(bench.events("Deployment", "nginx"), [said]);
        assert_eq!(
            bench.writes("scheduler"),
            ["resourcebindings spec 200", "resourcebindings status 200"]
        );

        // member1 fails: nobody but the evictor takes anything away.
        bench.until(10).await;
        bench.fail_cluster("member1");
        bench.until(11).await;
        assert_eq!(bench.placed().await, "member1:1 member2:2");

        bench.patch(json!({"spec": {
            "clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": [task("member1", 1, bench.clock.now())],
        }})).await;
        bench.until(12).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member2:3");
        assert_eq!(
            binding.status.clone().unwrap().scheduler_observed_generation,
            binding.metadata.generation
        );
        assert_eq!(bench.writes("scheduler").len(), 4);

        // It returns, and its task goes: nothing moves back, and only the new generation is noted.
        bench.put_cluster("member1", "True", &json!([]));
        bench.patch(json!({"spec": {"gracefulEvictionTasks": null}})).await;
        bench.until(20).await;
        assert_eq!(bench.placed().await, "member2:3");
        assert_eq!(bench.reasons(), ["ScheduleBindingSucceed", "ScheduleBindingSucceed"]);
        let binding = bench.binding().await;
        assert_eq!(
            binding.status.unwrap().scheduler_observed_generation,
            binding.metadata.generation
        );
    });
}

// Stock (S8) repeats events and statuses on every sync although nothing changed.
#[test]
fn at_rest_nothing_is_written() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": {}}));
        bench.until(1).await;
        assert_eq!(bench.placed().await, "member1:3 member2:3");
        let writes = bench.writes("scheduler");
        bench.put_cluster(
            "member2",
            "True",
            &json!([{"key": "k", "effect": "NoSchedule", "timeAdded": bench.clock.now()}]),
        );
        bench.until(2).await;
        bench.put_cluster("member2", "True", &json!([]));
        bench
            .patch_status(json!({"aggregatedStatus": [{"clusterName": "member1", "applied": true}]}))
            .await;
        bench.until(3600).await;
        assert_eq!(bench.writes("scheduler"), writes);
        assert_eq!(bench.reasons(), ["ScheduleBindingSucceed"]);
    });
}

// C01, karmada#3747, first half: the generation is observed although nothing fits, or whoever waits for it waits for ever.
#[test]
fn c01_no_result_is_a_result_and_the_binding_wakes_when_a_cluster_can_take_it() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        bench.fail_cluster("member1");
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({
            "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
            "gracefulEvictionTasks": [task("member1", 3, bench.clock.now())],
        }));
        bench.until(1).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "");
        let condition = binding.condition("Scheduled").unwrap();
        assert_eq!(
            (condition.status.as_str(), condition.reason.as_str()),
            ("False", "NoClusterFit")
        );
        assert_eq!(
            condition.message,
            "0/1 clusters are available: 1 cluster(s) is in the process of eviction."
        );
        assert_eq!(
            binding.status.as_ref().unwrap().scheduler_observed_generation,
            binding.metadata.generation
        );
        assert_eq!(bench.reasons(), ["ScheduleBindingFailed"]);

        bench.until(600).await;
        assert_eq!(bench.writes("scheduler"), ["resourcebindings status 200"], "said once");
        // Ready and untainted: its task's cause is gone, and the binding is placed at once.
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(600).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert_eq!(bench.placed().await, "member1:3");
    });
}

#[test]
fn an_empty_result_never_replaces_running_copies() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        bench
            .patch(json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["nowhere"]}}}}))
            .await;
        bench.until(2).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:1 member2:2");
        assert_eq!(binding.condition("Scheduled").unwrap().reason, "NoClusterFit");
        assert_eq!(
            binding.status.as_ref().unwrap().scheduler_observed_generation,
            binding.metadata.generation
        );
    });
}

#[test]
fn what_is_not_supported_is_said_and_not_done() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": {"replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated",
        }}}));
        bench.until(1).await;
        let binding = bench.binding().await;
        let condition = binding.condition("Scheduled").unwrap();
        assert_eq!((shown(&binding).as_str(), condition.status.as_str()), ("", "False"));
        assert!(
            condition
                .message
                .contains("does not support replicaDivisionPreference Aggregated"),
            "{}",
            condition.message
        );
    });
}

#[test]
fn the_end_of_a_block_wakes_the_binding() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({
            "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
            "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": bench.started}],
        }));
        bench.until(599).await;
        assert_eq!(bench.placed().await, "");
        bench.until(600).await;
        assert_eq!(bench.placed().await, "member1:3");
    });
}

/// The old copy is still on its way out: its task does not outlast the block.
#[test]
fn the_end_of_a_block_wakes_the_binding_also_while_the_copy_leaves() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({
            "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
            "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": bench.started}],
            "gracefulEvictionTasks": [{
                "fromCluster": "member1", "reason": "ApplicationFailure", "creationTimestamp": bench.started,
                "producer": "resource-binding-application-failover-controller",
            }],
        }));
        bench.until(599).await;
        assert_eq!(bench.placed().await, "");
        bench.until(600).await;
        assert_eq!(bench.placed().await, "member1:3");
    });
}

#[test]
fn a_cluster_that_does_not_exist_any_more_leaves_the_result() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        let clusters = kube::Api::<api_types::cluster::Cluster>::all(bench.plane.observer());
        clusters
            .delete("member2", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        bench.until(2).await;
        assert_eq!(bench.placed().await, "member1:3");
        clusters
            .delete("member1", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        bench.until(3).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "", "nothing runs where nothing is");
        assert_eq!(
            binding.condition("Scheduled").unwrap().message,
            "0/0 clusters are available: no cluster exists."
        );
        assert_eq!(
            bench.reasons().iter().filter(|reason| *reason == "ClusterGone").count(),
            2
        );
    });
}

// C103, karmada#6438: a deletion ends with the gate off, and without a taint manager, too.
#[test]
fn a_cluster_that_is_being_deleted_is_left_to_the_queue_or_without_the_gate_to_the_scheduler() {
    for (gates, expected) in [
        ("Failover=true", "member1:1 member2:2"),
        ("Failover=false", "member2:3"),
    ] {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let controllers = scheduler::controllers(scheduler::Flags::default());
            let _process = bench.start("scheduler", "a", gates, controllers).await;
            bench.put_deployment(&json!({"placement": one_to_two()}));
            bench.until(1).await;
            let clusters = kube::Api::<api_types::cluster::Cluster>::all(bench.plane.observer());
            let held = kube::api::Patch::Merge(json!({"metadata": {"finalizers": ["karmada.io/cluster-controller"]}}));
            clusters
                .patch("member1", &kube::api::PatchParams::default(), &held)
                .await
                .unwrap();
            clusters
                .delete("member1", &kube::api::DeleteParams::default())
                .await
                .unwrap();
            bench.until(2).await;
            assert_eq!(bench.placed().await, expected, "{gates}");
        });
    }
}

// C103, karmada#6438: the gate is on, but nobody is there who would feed the queue.
#[test]
fn without_a_taint_manager_at_work_the_scheduler_empties_a_cluster_that_is_deleted() {
    let renewed = |bench: &Bench, gates: &str| {
        bench.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "taint-manager", "namespace": "karmada-system", "annotations": {"failover.karmada.io/gates": gates}},
            "spec": {"holderIdentity": "t", "renewTime": format!("{:.6}", bench.clock.now())}
        }));
    };
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let controllers = scheduler::controllers(scheduler::Flags::default());
        renewed(&bench, "Failover=true");
        let _process = bench.start("scheduler", "a", "Failover=true", controllers).await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        bench.begin_deletion("member1").await;
        for second in (5..=400).step_by(5) {
            bench.until(second).await;
            renewed(&bench, "Failover=true");
        }
        bench.until(699).await;
        assert_eq!(
            bench.placed().await,
            "member1:1 member2:2",
            "it may be away for five minutes"
        );
        bench.until(701).await;
        assert_eq!(bench.placed().await, "member2:3");
    });
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let controllers = scheduler::controllers(scheduler::Flags::default());
        renewed(&bench, "Failover=true");
        let _process = bench.start("scheduler", "a", "Failover=true", controllers).await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        bench.begin_deletion("member1").await;
        bench.until(3).await;
        assert_eq!(bench.placed().await, "member1:1 member2:2");
        renewed(&bench, "Failover=false");
        bench.until(4).await;
        assert_eq!(
            bench.placed().await,
            "member2:3",
            "it says itself that it moves nothing"
        );
    });
}

/// After a failover all three replicas are on member2. Deleting it is no reason to divide them 1:2 anew: they leave
/// through the queue, at its rate and under its pauses.
#[test]
fn what_was_moved_is_not_divided_anew_because_its_cluster_goes() {
    for (gates, expected) in [("Failover=true", "member2:3"), ("Failover=false", "member1:3")] {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let controllers = scheduler::controllers(scheduler::Flags::default());
            let _process = bench.start("scheduler", "a", gates, controllers).await;
            bench.put_deployment(&json!({"placement": one_to_two()}));
            bench.until(1).await;
            let bindings =
                kube::Api::<Binding>::namespaced_with(bench.plane.observer(), "default", &BindingKind::Namespaced);
            let moved = kube::api::Patch::Merge(json!({"spec": {"clusters": [{"name": "member2", "replicas": 3}]}}));
            let unconditional = kube::api::PatchParams::default();
            bindings
                .patch("nginx-deployment", &unconditional, &moved)
                .await
                .unwrap();
            bench.until(2).await;
            assert_eq!(bench.placed().await, "member2:3");
            let clusters = kube::Api::<api_types::cluster::Cluster>::all(bench.plane.observer());
            let held = kube::api::Patch::Merge(json!({"metadata": {"finalizers": ["karmada.io/cluster-controller"]}}));
            clusters.patch("member2", &unconditional, &held).await.unwrap();
            clusters
                .delete("member2", &kube::api::DeleteParams::default())
                .await
                .unwrap();
            bench.until(5).await;
            assert_eq!(bench.placed().await, expected, "{gates}");
        });
    }
}

// Another writer comes between the read and the write.
#[test]
fn a_conflict_places_anew_and_loses_nobodys_change() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let conflict = |times| {
            let when = Match::writes().resource("resourcebindings").client("scheduler");
            bench.plane.faults().inject_times(when, 0, times, Effect::Conflict);
        };
        conflict(2);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        assert_eq!(bench.placed().await, "member1:1 member2:2");

        // The scheduler's view lags: what it decides from it must not land.
        let late = Match::any().verb(Verb::Watch).resource("resourcebindings");
        bench.plane.faults().disturb_events(
            late,
            0,
            1,
            kube_sandbox::EventEffect::Delay(std::time::Duration::from_secs(30)),
        );
        bench
            .patch(json!({"spec": {"replicas": 6}, "metadata": {"annotations": {"kept": "yes"}}}))
            .await;
        bench.fail_cluster("member2");
        bench.put_cluster("member2", "True", &json!([]));
        bench.until(60).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:2 member2:4");
        assert_eq!(binding.metadata.annotations.unwrap()["kept"], "yes");
    });
}

#[test]
fn others_bindings_are_left_alone() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        let _process = bench.start_scheduler("a").await;
        for (name, labels, spec) in [
            (
                "other-scheduler",
                json!({"propagationpolicy.karmada.io/permanent-id": "p"}),
                json!({"schedulerName": "mine"}),
            ),
            (
                "suspended",
                json!({"propagationpolicy.karmada.io/permanent-id": "p"}),
                json!({"suspension": {"scheduling": true}}),
            ),
            (
                "attached",
                json!({"resourcebinding.karmada.io/depended-by-x": "y"}),
                json!({}),
            ),
        ] {
            let mut spec = spec;
            spec["resource"] = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": name});
            spec["placement"] = json!({});
            bench.put(json!({
                "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
                "metadata": {"namespace": "default", "name": name, "labels": labels}, "spec": spec,
            }));
        }
        bench.until(5).await;
        assert_eq!(bench.writes("scheduler"), [""; 0]);
    });
}

#[test]
fn bindings_of_cluster_scope_are_placed_alike() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _process = bench.start_scheduler("a").await;
        bench.put(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ClusterResourceBinding",
            "metadata": {"name": "reader-clusterrole", "labels": {"binding.karmada.io/managed-by": "me"}},
            "spec": {
                "resource": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "reader"},
                "placement": {"clusterAffinity": {"clusterNames": ["member2"]}},
            },
        }));
        bench.until(1).await;
        let binding = bench
            .plane
            .get(
                "work.karmada.io/v1alpha2",
                "ClusterResourceBinding",
                None,
                "reader-clusterrole",
            )
            .unwrap();
        assert_eq!(binding["spec"]["clusters"], json!([{"name": "member2"}]));
        assert_eq!(
            binding["status"]["schedulerObservedGeneration"],
            binding["metadata"]["generation"]
        );
    });
}

#[test]
fn a_fresh_placement_comes_when_it_is_asked_for() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": {"clusterAffinities": [
            {"affinityName": "first", "clusterNames": ["member1"]},
            {"affinityName": "second", "clusterNames": ["member2"]},
        ]}}));
        bench.until(1).await;
        assert_eq!(bench.placed().await, "member1:3");
        bench.fail_cluster("member1");
        bench
            .patch(
                json!({"spec": {"clusters": null, "gracefulEvictionTasks": [task("member1", 3, bench.clock.now())]}}),
            )
            .await;
        bench.until(2).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member2:3");
        assert_eq!(
            binding.status.unwrap().scheduler_observed_affinity_name.as_deref(),
            Some("second")
        );

        bench.put_cluster("member1", "True", &json!([]));
        bench.patch(json!({"spec": {"gracefulEvictionTasks": null}})).await;
        bench.until(60).await;
        assert_eq!(bench.placed().await, "member2:3", "nothing falls back by itself");
        bench
            .patch(json!({"spec": {"rescheduleTriggeredAt": bench.clock.now()}}))
            .await;
        bench.until(61).await;
        assert_eq!(bench.placed().await, "member1:3");
    });
}

#[test]
fn a_restart_at_any_write_comes_to_the_same_end() {
    for writes in 0..3 {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let bindings = Match::writes().resource("resourcebindings").client("scheduler");
            bench.plane.faults().freeze_after_write(bindings, writes);
            let first = bench.start_scheduler("a").await;
            bench.put_deployment(&json!({"placement": one_to_two()}));
            bench.until(5).await;
            first.crash();
            bench.plane.faults().thaw();
            bench.plane.faults().clear();
            let _second = bench.start_scheduler("b").await;
            bench.until(60).await;
            let binding = bench.binding().await;
            assert_eq!(shown(&binding), "member1:1 member2:2", "after {writes} writes");
            assert_eq!(binding.condition("Scheduled").unwrap().status, "True");
            assert_eq!(
                binding.status.unwrap().scheduler_observed_generation,
                binding.metadata.generation
            );
        });
    }
}

#[test]
fn an_unknown_plugin_is_an_error_that_lists_the_known_ones() {
    paused(async {
        let bench = Bench::new(&[]);
        let flags = scheduler::Flags {
            plugins: vec!["*".to_owned(), "-Gpu".to_owned()],
            ..scheduler::Flags::default()
        };
        let started = Process::builder("scheduler", bench.plane.client())
            .clock(bench.clock.clone())
            .flags(KitFlags::default())
            .controllers(scheduler::controllers(flags))
            .start()
            .await;
        let error = started.err().unwrap().to_string();
        assert!(
            error.contains("--plugins: unknown: Gpu; known are APIEnablement, ClusterAffinity"),
            "{error}"
        );
    });
}

// The write is stored, and nobody hears of it.
#[test]
fn a_lost_answer_is_found_out_by_reading() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let writes = Match::writes().resource("resourcebindings").client("scheduler");
        bench.plane.faults().inject_times(writes, 0, 2, Effect::AnswerLost);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(60).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:1 member2:2");
        assert_eq!(binding.condition("Scheduled").unwrap().status, "True");
        assert_eq!(
            binding.status.unwrap().scheduler_observed_generation,
            binding.metadata.generation
        );
    });
}
