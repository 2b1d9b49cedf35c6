//! Tasks as others write them, people who edit meanwhile, and an API server that refuses: it is told, and the rest goes on.

use controller_kit::Mode;
use kube_sandbox::{Effect, EventEffect, Match};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown, task};
use crate::{COMPONENT, copy, leaving, scheduled, start, waits_for};

fn notes(bench: &Bench, reason: &str) -> Vec<String> {
    let events = bench.events("ResourceBinding", "nginx-deployment").into_iter();
    events.filter(|(of, _)| of == reason).map(|(_, note)| note).collect()
}

#[test]
fn a_task_with_an_unknown_reason_is_told_once_and_ends_as_any_other() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        bench.fail_cluster("member1");
        let mut odd = task("member1", 1, bench.started);
        odd["reason"] = json!("Boredom");
        odd["producer"] = json!("somebody");
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [odd],
        }));
        scheduled(&bench, "True").await;
        let first = start(&bench).await;
        bench.until(60).await;
        let told = "reason: Boredom is not known; it is judged as TaintUntolerated";
        assert!(waits_for(&bench.binding().await).contains(told));
        // A restart does not say it again.
        first.stop().await;
        let _second = crate::start_with(&bench, "h", Default::default()).await;
        bench.until(120).await;
        let expected = format!("The task for cluster member1 is not as it should be. {told}");
        assert_eq!(notes(&bench, "TaskNotUnderstood"), [expected]);
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(121).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// The CRD of a stock Karmada does not keep two tasks for one cluster apart. One is left, and the copy goes with it alone.
#[rstest]
fn two_tasks_for_one_cluster_become_the_one_that_keeps_the_copy_for_longer(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        let mut short = task("member1", 1, bench.started);
        short["gracePeriodSeconds"] = json!(1);
        let kept = task("member1", 1, bench.started);
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [short, kept],
        }));
        scheduled(&bench, "True").await;
        bench.until(3_600).await;
        // What the test itself wrote breaks the rule that there is one.
        for broken in bench.broken_rules() {
            assert!(broken.contains("two tasks for member1"), "{broken}");
        }
        let binding = bench.binding().await;
        assert_eq!(leaving(&binding), ["member1"]);
        assert_eq!(binding.spec.graceful_eviction_tasks[0].grace_period_seconds, None);
        let told = notes(&bench, "DuplicateTask");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("Cluster member1 has more than one task"),
            "{told:?}"
        );
        scheduled(&bench, "True").await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(3_601).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// A binding that has grown too large for the API server: told as an event, tried again, and others go on.
#[rstest]
fn what_the_api_server_refuses_is_told_and_holds_nobody_up(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let too_large = Effect::Error {
            code: 413,
            reason: "RequestEntityTooLarge".into(),
            message: "limit is 3145728".into(),
        };
        let of_one = Match::writes()
            .resource("resourcebindings")
            .client(COMPONENT)
            .name("nginx-deployment");
        bench.plane.faults().inject(of_one, too_large);
        let _graceful = start(&bench).await;
        let spec = json!({
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"},
            "placement": {}, "clusters": [{"name": "member2"}], "gracefulEvictionTasks": [task("member1", 1, bench.started)],
        });
        bench.put(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "default", "name": "settings-configmap"}, "spec": spec,
        }));
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}],
            "gracefulEvictionTasks": [task("member1", 1, bench.started)],
        }));
        bench.until(30).await;
        let other = bench
            .plane
            .get(
                "work.karmada.io/v1alpha2",
                "ResourceBinding",
                Some("default"),
                "settings-configmap",
            )
            .unwrap();
        assert_eq!(other["status"]["conditions"][0]["type"], "GracefulEviction", "{other}");
        let told = notes(&bench, "GracefulEvictionFailed");
        assert!(!told.is_empty() && told[0].contains("limit is 3145728"), "{told:?}");
        let of_all = Match::writes().resource("resourcebindings").client(COMPONENT);
        let tries = bench.plane.faults().count(&of_all);
        assert!((2..20).contains(&tries), "{tries} tries in half a minute");
        bench.plane.faults().clear();
        bench.until(400).await;
        assert!(waits_for(&bench.binding().await).starts_with("True Waiting"));
    });
}

// The largest status that fits is compared and judged as any other.
#[test]
fn a_huge_status_is_judged_as_any_other() {
    paused(async {
        let bench = Bench::new(&["member1", "member2", "member3"]);
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({"placement": {}, "clusters": [{"name": "member1", "replicas": 3}]}));
        let huge = |letter: &str| json!({"availableReplicas": 3, "notes": letter.repeat(1_000_000)});
        let item = |cluster: &str, status: Value| json!({"clusterName": cluster, "applied": true, "health": "Healthy", "status": status});
        bench
            .patch_status(json!({"aggregatedStatus": [item("member3", huge("x"))]}))
            .await;
        bench.until(1).await;
        bench.fail_cluster("member1");
        bench
            .patch(json!({"spec": {
                "clusters": [{"name": "member3", "replicas": 3}], "gracefulEvictionTasks": [task("member1", 3, bench.clock.now())],
            }}))
            .await;
        scheduled(&bench, "True").await;
        bench.until(100).await;
        assert!(waits_for(&bench.binding().await).contains("the status of member3 is from before the eviction"));
        bench
            .patch_status(json!({"aggregatedStatus": [item("member3", huge("y"))]}))
            .await;
        bench.until(101).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// A person empties spec.clusters while the controller is about to let the last other copy's task go: on what is stored
// then the copy on member1 is the only one, and it stays.
#[rstest]
fn a_person_who_edits_the_result_meanwhile_is_heard(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
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
        // The person's write is heard of late.
        let late = Match::any().resource("resourcebindings").client(COMPONENT);
        let second = std::time::Duration::from_secs(1);
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 1), copy("member2", "Healthy", 3)]}))
            .await;
        bench
            .plane
            .faults()
            .disturb_events(late, 0, 1, EventEffect::Delay(second));
        bench.patch(json!({"spec": {"clusters": null}})).await;
        bench.until(10).await;
        let binding = bench.binding().await;
        assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("", vec!["member1"]));
    });
}

// A person may remove a task, add one, or change one at any time; what is left is what they wrote.
#[rstest]
fn a_person_who_edits_tasks_meanwhile_is_heard(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2", "member3"]);
        bench.fail_cluster("member1");
        bench.fail_cluster("member3");
        let _graceful = start(&bench).await;
        let mut over = task("member1", 1, bench.started);
        over["gracePeriodSeconds"] = json!(10);
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [over],
        }));
        scheduled(&bench, "True").await;
        bench.until(9).await;
        let mut kept = task("member1", 1, bench.started);
        kept["suppressDeletion"] = json!(true);
        bench
            .patch(json!({"spec": {"gracefulEvictionTasks": [kept, task("member3", 1, bench.clock.now())]}}))
            .await;
        bench.until(3_600).await;
        assert_eq!(
            leaving(&bench.binding().await),
            ["member1", "member3"],
            "what was over is no more"
        );
        bench
            .patch(json!({"spec": {"gracefulEvictionTasks": [task("member3", 1, bench.clock.now())]}}))
            .await;
        bench.until(3_601).await;
        let said = waits_for(&bench.binding().await);
        assert!(said.contains("member3: ") && !said.contains("member1: "), "{said}");
    });
}
