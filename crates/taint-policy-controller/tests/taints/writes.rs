//! What is written, and what is not.

use super::*;

/// An hour in which nothing changes, with a cluster in every state that can last: healthy, tainted, taken back by hand,
/// in conflict, held by a suspended policy, tainted by stock's form, with somebody's own taint in place. And the same
/// with the gate off.
#[test]
fn at_rest_nothing_but_leases_is_written() {
    paused(async {
        for gate in ["Failover=true", "Failover=false"] {
            let bench = Bench::new(&["m1", "m2", "m3"]);
            bench.put_not_ready_policy();
            let with_taint = |taint: serde_json::Value| {
                let mut spec = not_ready_spec();
                spec["taintsToAdd"][0] = taint;
                spec
            };
            let conflicting =
                with_taint(json!({"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "value": "other"}));
            bench.put_policy("conflicting", &conflicting);
            let mut suspended = with_taint(json!({"key": "tried-out", "effect": "NoExecute"}));
            suspended["suspended"] = json!(true);
            bench.put_policy("suspended", &suspended);
            bench.put_policy("foreign", &with_taint(json!({"key": "mine", "effect": "NoSchedule"})));
            let mut mistyped = not_ready_spec();
            mistyped["matchConditions"][0]["conditionType"] = json!("Raedy");
            bench.put_policy("mistyped", &mistyped);
            bench.put_policy("stock", &stock_spec());
            for (name, status) in [("m1", "True"), ("m2", "False"), ("m3", "Unknown")] {
                bench.set_ready(name, status).await;
            }
            let mine = json!({"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}});
            bench.edit_cluster("m2", mine).await;
            let controllers = taint_policy_controller::controllers(taint_policy_controller::Flags::default());
            let _taints = bench.start_with_gates("taints", "taints-0", controllers, gate).await;
            bench.until(400).await;
            bench.edit_cluster("m3", json!({"spec": {"taints": null}})).await;
            bench.until(600).await;
            assert_eq!(
                bench.taints("m2").await.contains(&TAINT.to_owned()),
                gate.ends_with("true")
            );
            assert!(bench.taints("m3").await.is_empty());
            let before = bench.all_writes("taints").len();
            bench.until(600 + 3600).await;
            assert_eq!(bench.all_writes("taints")[before..], [""; 0], "{gate}");
        }
    });
}

/// Another writer is always a little faster: the change is computed again, and nobody's is lost.
#[test]
fn a_conflict_is_judged_again_on_the_newest_version() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(100).await;
        // The watch shows the other writer's change only after our write has met it.
        bench.plane().faults().disturb_events(
            Match::any().resource("clusters").client("taints"),
            0,
            1,
            EventEffect::Delay(Duration::from_secs(5)),
        );
        bench.until(298).await;
        bench
            .edit_cluster(
                "m1",
                json!({"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}}),
            )
            .await;
        bench.until(301).await;
        assert_eq!(bench.taints("m1").await, ["mine:NoSchedule", TAINT]);
        let answers: Vec<u16> = bench
            .plane()
            .faults()
            .writes()
            .into_iter()
            .filter(|w| w.client == "taints" && w.resource == "clusters")
            .map(|w| w.code)
            .collect();
        assert_eq!(answers, [200, 409, 200], "the second write met the conflict");
    });
}

// C34 (kubernetes#42733, #45342): a write that failed once is no taint that never comes.
#[test]
fn an_api_server_that_refuses_is_told_as_an_event_and_asked_again() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(100).await;
        let refusal = Effect::Error {
            code: 500,
            reason: "InternalError".to_owned(),
            message: "etcd is full".to_owned(),
        };
        let fault = bench
            .plane()
            .faults()
            .inject(Match::writes().resource("clusters").client("taints"), refusal);
        bench.until(330).await;
        let events = bench.events("m1").await;
        let (_, note) = events
            .iter()
            .find(|(reason, _)| reason == "TaintClusterFailed")
            .unwrap();
        assert!(
            note.contains("etcd is full") && note.contains("policy not-ready: Ready=False"),
            "{note}"
        );
        bench.plane().faults().remove(fault);
        bench.until(343).await;
        assert_eq!(bench.taints("m1").await, [TAINT], "at most the longest back-off later");
    });
}

/// While our write is refused, a person puts the same taint there by hand: that one is theirs, and outlives the failure.
#[test]
fn what_a_person_adds_while_our_write_fails_is_theirs() {
    let refusal = |code: u16, reason: &str| Effect::Error {
        code,
        reason: reason.to_owned(),
        message: "not now".to_owned(),
    };
    for effect in [
        Effect::Conflict,
        refusal(500, "InternalError"),
        refusal(503, "ServiceUnavailable"),
    ] {
        paused(async {
            let bench = Bench::new(&["m1"]);
            bench.put_not_ready_policy();
            bench.set_ready("m1", "False").await;
            let _taints = bench.start_taints("taints-0").await;
            bench.until(100).await;
            let ours = Match::writes().resource("clusters").client("taints");
            let fault = bench.plane().faults().inject(ours, effect.clone());
            bench.until(301).await;
            assert!(bench.taints("m1").await.is_empty(), "{effect:?}");
            let by_hand = json!({"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"});
            bench.edit_cluster("m1", json!({"spec": {"taints": [by_hand]}})).await;
            bench.plane().faults().remove(fault);
            bench.until(330).await;
            let (_, reason, message) = bench.policy_condition("not-ready", "Ready").await;
            assert_eq!(reason, "ForeignTaint", "{effect:?}: {message}");
            bench.set_ready("m1", "True").await;
            bench.until(1000).await;
            assert_eq!(bench.taints("m1").await, [TAINT], "{effect:?}");
            let events = bench.events("m1").await;
            assert!(
                events.iter().all(|(reason, _)| !reason.starts_with("TaintRecord")),
                "{effect:?}: nobody touched a record: {events:?}"
            );
        });
    }
}

/// `kubectl replace` of an older manifest takes taint and record away in one write. Our own write, which the watch tells
/// late, is no such thing.
#[test]
fn a_taint_that_goes_with_its_record_is_taken_back_and_a_late_watch_takes_nothing_back() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(298).await;
        // Its own write is known to the process five seconds late; meanwhile it has reason to look.
        bench.plane().faults().disturb_events(
            Match::any().resource("clusters").client("taints"),
            0,
            1,
            EventEffect::Delay(Duration::from_secs(5)),
        );
        bench.until(301).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
        bench.put_policy("another", &stock_spec());
        bench.until(310).await;
        assert_eq!(bench.taints("m1").await, [TAINT, "stock:NoSchedule"]);
        let events = bench.events("m1").await;
        assert!(
            events.iter().all(|(reason, _)| reason != "TaintDismissed"),
            "{events:?}"
        );

        bench
            .edit_cluster(
                "m1",
                json!({"spec": {"taints": null}, "metadata": {"annotations": null}}),
            )
            .await;
        bench.until(2000).await;
        assert!(bench.taints("m1").await.is_empty());
        for policy in ["not-ready", "another"] {
            assert_eq!(bench.policy_condition(policy, "Ready").await.1, "Dismissed");
        }
    });
}

/// A write that was stored, and whose answer was lost, is ours all the same.
#[test]
fn a_write_whose_answer_is_lost_is_ours() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(100).await;
        let ours = Match::writes().resource("clusters").client("taints");
        let fault = bench.plane().faults().inject(ours, Effect::AnswerLost);
        bench.until(302).await;
        bench.plane().faults().remove(fault);
        assert_eq!(bench.taints("m1").await, [TAINT]);
        bench.until(320).await;
        bench.set_ready("m1", "True").await;
        bench.until(501).await;
        assert!(bench.taints("m1").await.is_empty());
    });
}

#[test]
fn a_taint_without_a_time_is_stamped() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _taints = bench.start_taints("taints-0").await;
        bench.until(10).await;
        bench
            .edit_cluster(
                "m1",
                json!({"spec": {"taints": [{"key": "mine", "effect": "NoExecute"}]}}),
            )
            .await;
        bench.until(11).await;
        let added = bench.cluster("m1").await.spec.taints[0].time_added.clone().unwrap().0;
        assert_eq!(added.duration_since(bench.started).as_secs(), 10);
    });
}

/// The list is full: what cannot be added is told, not dropped, and comes when there is room.
#[test]
fn a_list_of_taints_that_is_full_is_told() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        let full: Vec<_> = (0..100)
            .map(|n| json!({"key": format!("k{n}"), "effect": "NoSchedule"}))
            .collect();
        bench.edit_cluster("m1", json!({"spec": {"taints": full}})).await;
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(400).await;
        assert_eq!(
            bench.taints("m1").await.len(),
            100,
            "nobody's taint makes room for ours"
        );
        let events = bench.events("m1").await;
        let (_, note) = events
            .iter()
            .find(|(reason, _)| reason == "TaintClusterFailed")
            .unwrap();
        assert!(note.contains("policy not-ready: Ready=False"), "{note}");
        let tries = bench.all_writes("taints").len();
        assert!(tries < 60, "{tries} writes in 100 s: not in a loop");
        bench.edit_cluster("m1", json!({"spec": {"taints": &full[..99]}})).await;
        bench.until(412).await;
        assert!(bench.taints("m1").await.contains(&TAINT.to_owned()));
    });
}
