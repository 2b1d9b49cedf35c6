//! When bindings are looked at: exactly when something changed that could give them another place, or when a time has come.

use std::time::Duration;

use api_types::cluster::Cluster;
use controller_kit::Running;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube_sandbox::{Effect, Match};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown, task};

/// How many looks the scheduler took so far.
fn looks(process: &Running) -> f64 {
    let labels = [("queue", "scheduler"), ("result", "ok")];
    process
        .metrics()
        .value("failover_workqueue_tries_total", &labels)
        .unwrap_or_default()
}

/// Merges into a Cluster, its status too.
async fn change(bench: &Bench, name: &str, patch: &Value) {
    let clusters: Api<Cluster> = Api::all(bench.client());
    let params = PatchParams::default();
    clusters.patch(name, &params, &Patch::Merge(patch)).await.unwrap();
    if patch.get("status").is_some() {
        clusters
            .patch_status(name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }
}

fn ready(bench: &Bench, status: &str, message: &str) -> Value {
    json!({"status": {"conditions": [{
        "type": "Ready", "status": status, "reason": "R", "message": message, "lastTransitionTime": bench.clock.now(),
    }]}})
}

fn tainted(bench: &Bench, effect: &str) -> Value {
    json!({"spec": {"taints": [{"key": "k", "effect": effect, "timeAdded": bench.clock.now()}]}})
}

fn free_pods(count: u32) -> Value {
    json!({"status": {"resourceSummary": {"allocatable": {"pods": count.to_string(), "cpu": "64"}}}})
}

fn aggregated() -> Value {
    json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}})
}

// What it writes itself, statuses of copies, renewals, and conditions that say the same again.
#[test]
fn a_binding_is_looked_at_once_and_no_noise_makes_it_twice() {
    for placement in [json!({}), one_to_two()] {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let process = bench.start_scheduler("a").await;
            bench.until(1).await;
            assert_eq!(looks(&process), 0.0);
            bench.put_deployment(&json!({"placement": placement}));
            bench.until(2).await;
            assert_eq!(bench.writes("scheduler").len(), 2);
            assert_eq!(looks(&process), 1.0, "{placement}");

            for number in 0..10 {
                let statuses = json!({"aggregatedStatus": [
                    {"clusterName": "member1", "applied": true, "health": "Unhealthy", "status": {"availableReplicas": number}},
                ]});
                bench.patch_status(statuses).await;
                change(&bench, "member1", &ready(&bench, "True", &number.to_string())).await;
                change(&bench, "member1", &free_pods(110 + number)).await;
                let nodes = json!({"status": {"nodeSummary": {"totalNum": number, "readyNum": number}}});
                change(&bench, "member2", &nodes).await;
                change(
                    &bench,
                    "member2",
                    &json!({"metadata": {"annotations": {"seen": number.to_string()}}}),
                )
                .await;
                bench.put(json!({
                    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": "member1", "namespace": "karmada-cluster"},
                    "spec": {"holderIdentity": "member1", "renewTime": format!("{:.6}", bench.clock.now())},
                }));
            }
            // What makes a cluster worse moves nothing: that is the evictor's.
            change(&bench, "member1", &ready(&bench, "False", "")).await;
            change(&bench, "member1", &tainted(&bench, "NoExecute")).await;
            change(&bench, "member2", &tainted(&bench, "PreferNoSchedule")).await;
            change(&bench, "member2", &json!({"spec": {"taints": null}})).await;
            bench.until(86_400).await;
            assert_eq!(looks(&process), 1.0, "{placement}");
            assert_eq!(bench.writes("scheduler").len(), 2);
        });
    }
}

/// member1 is not Ready and tainted, has another region and label than is wanted, and does not serve the kind; each change
/// takes one of these away, and another cluster comes.
#[test]
fn who_has_no_place_is_looked_at_with_each_change_that_could_give_one() {
    paused(async {
        let bench = Bench::new(&["member1", "other"]);
        bench.fail_cluster("member1");
        change(&bench, "member1", &json!({"status": {"apiEnablements": null}})).await;
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": {
            "clusterAffinity": {"clusterNames": ["member1", "member2"]},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
        }}));
        bench.until(1).await;
        let mut expected = 1.0;
        assert_eq!(looks(&process), expected);
        let apis = json!({"status": {"apiEnablements": [
            {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
        ]}});
        for (what, patch) in [
            ("a label", json!({"metadata": {"labels": {"tier": "gold"}}})),
            ("the region", json!({"spec": {"region": "r1"}})),
            ("the zones", json!({"spec": {"zones": ["a"]}})),
            ("the provider", json!({"spec": {"provider": "p"}})),
            ("an API", apis),
            ("Ready", ready(&bench, "True", "")),
            ("a taint that is gone", json!({"spec": {"taints": null}})),
        ] {
            change(&bench, "member1", &patch).await;
            expected += 1.0;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(looks(&process), expected, "{what}");
            // The same on a cluster that it could not choose.
            change(&bench, "other", &patch).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(looks(&process), expected, "{what} of another cluster");
        }
        assert_eq!(bench.placed().await, "", "one of two");
        bench.put_cluster("member2", "True", &json!([]));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(looks(&process), expected + 1.0, "another cluster");
        assert_eq!(bench.placed().await, "member1:3 member2:3");
    });
}

#[test]
fn who_waits_for_room_is_looked_at_when_there_is_more_for_it() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        change(&bench, "member1", &free_pods(2)).await;
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": aggregated()}));
        bench.until(1).await;
        let binding = bench.binding().await;
        let said = binding.condition("Scheduled").unwrap();
        assert_eq!((shown(&binding).as_str(), said.reason.as_str()), ("", "Unschedulable"));
        assert_eq!(looks(&process), 1.0);
        // Less, more that is too little all the same, as much on fewer nodes, and more of what it does not ask for.
        for patch in [
            free_pods(1),
            free_pods(2),
            json!({"status": {"nodeSummary": {"totalNum": 1}}}),
            json!({"status": {"resourceSummary": {"allocatable": {"cpu": "128"}}}}),
        ] {
            change(&bench, "member1", &patch).await;
            tokio::time::sleep(Duration::from_secs(600)).await;
            assert_eq!(looks(&process), 1.0, "{patch}");
        }
        // What is not Ready takes nothing, however much room it reports.
        change(&bench, "member2", &ready(&bench, "False", "")).await;
        change(&bench, "member2", &free_pods(100)).await;
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(looks(&process), 1.0);
        change(&bench, "member2", &json!({"status": {"resourceSummary": null}})).await;
        change(&bench, "member2", &ready(&bench, "True", "")).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((bench.placed().await.as_str(), looks(&process)), ("", 2.0));
        // It reports again: with both there is enough.
        change(&bench, "member2", &free_pods(1)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(looks(&process), 3.0);
        assert_eq!(bench.placed().await, "member1:2 member2:1");
        // Placed, it moves for no room.
        change(&bench, "member1", &free_pods(100)).await;
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(looks(&process), 3.0);
    });
}

/// It had a place, was scaled up beyond the room, and there is more room before that is written: until then it does not count
/// as one that waits.
#[test]
fn room_that_comes_while_the_want_of_it_is_written_is_not_missed() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        change(&bench, "member1", &free_pods(3)).await;
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": aggregated()}));
        bench.until(1).await;
        assert_eq!((bench.placed().await.as_str(), looks(&process)), ("member1:3", 1.0));
        let writes = Match::writes().resource("resourcebindings").client("scheduler");
        let slow = Effect::Latency(Duration::from_secs(2));
        bench.plane.faults().inject(writes, slow);
        bench.patch(json!({"spec": {"replicas": 10}})).await;
        bench.until(2).await;
        change(&bench, "member1", &free_pods(100)).await;
        bench.until(20).await;
        assert_eq!((bench.placed().await.as_str(), looks(&process)), ("member1:10", 3.0));
    });
}

/// Room comes and goes by the minute where nothing fits: nobody is told anew, and how much it is is written only with
/// something else.
#[test]
fn want_of_room_is_told_once() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        change(&bench, "member1", &free_pods(0)).await;
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": aggregated()}));
        for round in 1..20_u32 {
            bench.until(u64::from(round) * 60).await;
            change(&bench, "member1", &free_pods(round % 3)).await;
            // A look for another reason finds another number, too.
            let labels = json!({"metadata": {"labels": {"round": round.to_string()}}});
            bench.patch(labels).await;
        }
        bench.until(86_400).await;
        assert_eq!(bench.reasons(), ["ScheduleBindingFailed"]);
        assert_eq!(bench.writes("scheduler"), ["resourcebindings status 200"]);
        let said = async || bench.binding().await.condition("Scheduled").unwrap().message.clone();
        let with = |room| format!("Clusters available replicas {room} are not enough to schedule.");
        assert_eq!(said().await, with(0));
        bench.patch(json!({"spec": {"replicas": 4}})).await;
        bench.until(86_401).await;
        assert_eq!(said().await, with(1));
    });
}

/// A cluster changes while a place is written that it could not be, or that is none the better for it.
#[test]
fn what_is_being_written_is_not_looked_at_again_for_what_does_not_concern_it() {
    paused(async {
        let bench = Bench::new(&["member1", "member2", "other"]);
        bench.fail_cluster("other");
        let process = bench.start_scheduler("a").await;
        let writes = Match::writes().resource("resourcebindings").client("scheduler");
        let slow = Effect::Latency(Duration::from_secs(2));
        bench.plane.faults().inject(writes, slow);
        bench.put_deployment(&json!({"placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}}));
        bench.until(1).await;
        bench.put_cluster("other", "True", &json!([]));
        change(&bench, "member1", &free_pods(100)).await;
        bench.until(20).await;
        let placed = bench.placed().await;
        assert_eq!((placed.as_str(), looks(&process)), ("member1:3 member2:3", 1.0));
    });
}

/// The first change of a cluster that was there at the start is not taken for what was known then.
#[test]
fn a_cluster_that_joins_again_under_its_name_is_a_new_one() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": {}}));
        bench.until(1).await;
        assert_eq!(bench.placed().await, "member1:3 member2:3");
        bench.begin_deletion("member1").await;
        change(&bench, "member1", &json!({"metadata": {"finalizers": null}})).await;
        bench.until(2).await;
        assert_eq!(bench.placed().await, "member2:3");
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(3).await;
        assert_eq!(bench.placed().await, "member1:3 member2:3");
    });
}

/// What runs everywhere is computed at each look; a look that finds all as it should be is no try.
#[test]
fn a_look_that_finds_the_place_good_is_no_attempt() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": {}}));
        let attempts = || {
            let labels = [("result", "scheduled"), ("schedule_type", "ReconcileSchedule")];
            process
                .metrics()
                .value("karmada_scheduler_schedule_attempts_total", &labels)
        };
        bench.until(1).await;
        assert_eq!((looks(&process), attempts()), (1.0, Some(1.0)));
        bench.patch(json!({"metadata": {"labels": {"seen": "yes"}}})).await;
        bench.until(2).await;
        assert_eq!((looks(&process), attempts()), (2.0, Some(1.0)));
        // Asked for, it is one, whatever comes out.
        bench
            .patch(json!({"spec": {"rescheduleTriggeredAt": bench.clock.now()}}))
            .await;
        bench.until(3).await;
        assert_eq!((looks(&process), attempts()), (3.0, Some(2.0)));
    });
}

/// Who is on a cluster is looked at when it begins to go, and when it is gone; who is elsewhere is not.
#[test]
fn those_on_a_cluster_are_looked_at_when_it_goes() {
    paused(async {
        let bench = Bench::new(&["member1", "member2", "other"]);
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        assert_eq!(looks(&process), 1.0);
        bench.begin_deletion("other").await;
        bench.until(2).await;
        assert_eq!(looks(&process), 1.0);
        bench.begin_deletion("member1").await;
        bench.until(3).await;
        assert_eq!(looks(&process), 2.0);
        for name in ["member1", "other"] {
            change(&bench, name, &json!({"metadata": {"finalizers": null}})).await;
        }
        bench.until(4).await;
        assert_eq!(looks(&process), 3.0);
        assert_eq!(bench.placed().await, "member2:3");
    });
}

#[test]
fn what_others_place_is_never_looked_at() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(
            &json!({"placement": {}, "schedulerName": "mine", "clusters": [{"name": "member1", "replicas": 3}]}),
        );
        bench.patch(json!({"spec": {"replicas": 4}})).await;
        bench.put_cluster("member2", "True", &json!([]));
        bench.begin_deletion("member1").await;
        bench.until(60).await;
        assert_eq!(looks(&process), 0.0);
    });
}

/// What concerns a binding is counted by stock's names.
#[test]
fn looks_and_attempts_are_counted() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        bench.patch(json!({"spec": {"replicas": 6}})).await;
        bench.until(2).await;
        let nowhere = json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["nowhere"]}}}});
        bench.patch(nowhere).await;
        bench.until(3).await;
        bench.put_cluster("nowhere", "True", &json!([]));
        bench.until(4).await;
        let metrics = process.metrics();
        let attempts = |result, schedule_type| {
            let labels = [("result", result), ("schedule_type", schedule_type)];
            let counted = metrics.value("karmada_scheduler_schedule_attempts_total", &labels);
            let timed = metrics.value("karmada_scheduler_e2e_scheduling_duration_seconds_count", &labels);
            assert_eq!(counted, timed);
            counted.unwrap_or_default()
        };
        assert_eq!(attempts("scheduled", "ReconcileSchedule"), 2.0);
        assert_eq!(attempts("scheduled", "ScaleSchedule"), 1.0);
        assert_eq!(attempts("error", "ReconcileSchedule"), 1.0);
        let incoming = |event| metrics.value("karmada_scheduler_queue_incoming_bindings_total", &[("event", event)]);
        assert_eq!(incoming("BindingAdd"), Some(1.0));
        assert_eq!(incoming("BindingUpdate"), Some(2.0));
        assert_eq!(incoming("ClusterChanged"), Some(1.0));
        assert_eq!(incoming("ScheduleAttemptFailure"), None);
        // Nothing passed the filters once.
        let steps = |step| {
            let labels = [("schedule_step", step)];
            metrics.value("karmada_scheduler_scheduling_algorithm_duration_seconds_count", &labels)
        };
        assert_eq!(
            ["Filter", "Score", "Select", "AssignReplicas"].map(steps),
            [Some(4.0), Some(3.0), Some(3.0), Some(3.0)]
        );
        assert_eq!(controller_kit::metrics::complaints(&metrics.render()), [""; 0]);
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

// C92, kubeadmiral PR#128: a look at a time comes although nothing changes until then, and none comes before.
#[rstest]
#[case::it_left(json!({}))]
#[case::its_old_copy_is_still_on_its_way_out(json!({"gracefulEvictionTasks": [{
    "fromCluster": "member1", "reason": "ApplicationFailure", "creationTimestamp": "2026-01-01T00:00:00Z",
    "producer": "resource-binding-application-failover-controller",
}]}))]
fn c92_the_end_of_a_block_is_a_look_although_nothing_changes(#[case] more: Value) {
    paused(async {
        let bench = Bench::new(&["member1"]);
        let process = bench.start_scheduler("a").await;
        let mut spec = json!({
            "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
            "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": bench.started}],
        });
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        bench.put_deployment(&spec);
        bench.until(599).await;
        assert_eq!((bench.placed().await.as_str(), looks(&process)), ("", 1.0));
        bench.until(600).await;
        assert_eq!((bench.placed().await.as_str(), looks(&process)), ("member1:3", 2.0));
    });
}

// C92: also where the binding has a place, and wants one on every cluster.
#[test]
fn c92_what_runs_everywhere_comes_back_when_its_block_ends() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({
            "placement": {}, "clusters": [{"name": "member2", "replicas": 3}],
            "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": bench.started}],
        }));
        bench.until(599).await;
        assert_eq!((bench.placed().await.as_str(), looks(&process)), ("member2:3", 1.0));
        bench.until(600).await;
        assert_eq!(
            (bench.placed().await.as_str(), looks(&process)),
            ("member1:3 member2:3", 2.0)
        );
        bench.until(86_400).await;
        assert_eq!(looks(&process), 2.0);
    });
}
