//! What is placed where, and what is written and said about it.

use api_types::names::annotation;
use controller_kit::{KitFlags, Process};
use serde_json::json;
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown, task};

// As stock places it; but who wrote the weights is told that they count for nothing.
#[test]
fn weights_that_match_nothing_are_told() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _scheduler = bench.start_scheduler("a").await;
        let weights = json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": [{"targetCluster": {"clusterNames": ["membre1"]}, "weight": 3}]}}});
        bench.put_deployment(&json!({"placement": weights, "replicas": 4}));
        bench.until(1).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:2 member2:2");
        let condition = binding.condition("Scheduled").unwrap();
        assert_eq!(
            (
                condition.status.as_str(),
                condition.reason.as_str(),
                condition.message.as_str()
            ),
            (
                "True",
                "Success",
                "Binding has been scheduled successfully. No rule of the static weights matches a cluster that was chosen: they \
                 share the replicas alike."
            )
        );
    });
}

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
        assert_eq!(bench.events("Deployment", "nginx"), [said]);
        assert_eq!(
            bench.events("ResourceBinding", "nginx-deployment"),
            [],
            "there it is the condition"
        );
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
        assert_eq!(
            bench.reasons_on("Deployment", "nginx"),
            ["ScheduleBindingSucceed"],
            "where what was evicted went is told by the Events of the move"
        );
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
        assert_eq!(bench.reasons_on("Deployment", "nginx"), ["ScheduleBindingSucceed"]);
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
        bench.put_deployment(&json!({"placement": {"spreadConstraints": [{"spreadByLabel": "rack", "maxGroups": 2}]}}));
        bench.until(1).await;
        let binding = bench.binding().await;
        let condition = binding.condition("Scheduled").unwrap();
        assert_eq!((shown(&binding).as_str(), condition.status.as_str()), ("", "False"));
        assert!(
            condition.message.contains("does not support spreadByLabel"),
            "{}",
            condition.message
        );
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
