//! A reporter that writes another `lastTransitionTime` with each of its heartbeats, though Ready stays False.

use super::*;

const REASON: &str = "TaintWindowStartsAnew";

#[test]
fn an_hour_of_heartbeats_is_told_once_and_costs_two_writes_a_heartbeat() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "True").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(10).await;
        let before = bench.all_writes("taints").len();
        for heartbeat in 1..=360 {
            bench.set_ready("m1", "False").await;
            bench.until(10 + heartbeat * 10).await;
        }
        assert!(
            bench.taints("m1").await.is_empty(),
            "the rule stays: another time is another window"
        );
        let told = bench.events("m1").await;
        let told: Vec<&String> = told
            .iter()
            .filter(|(reason, _)| reason == REASON)
            .map(|(_, note)| note)
            .collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("policy not-ready") && told[0].contains("lastTransitionTime of Ready"),
            "{told:?}"
        );
        let (status, reason, message) = bench.policy_condition("not-ready", "Ready").await;
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("True", "WindowsStartAnew"),
            "{message}"
        );
        let annotations = bench.cluster("m1").await.metadata.annotations.unwrap();
        let forecast = &annotations[api_types::names::annotation::TAINT_FORECAST];
        assert!(forecast.contains("as it did 359 times"), "{forecast}");
        let writes = bench.all_writes("taints").split_off(before);
        let to = |kind: &str| writes.iter().filter(|write| write.contains(kind)).count();
        // The first begins the window, the others begin it anew; the policy's status says when it would end.
        assert_eq!(
            (to(" clusters "), to(" clustertaintpolicies "), to(" events ")),
            (360, 360, 1)
        );
        assert_eq!(writes.len(), 721);

        // The reporter mends its ways.
        bench.until(3600 + 299).await;
        assert!(bench.taints("m1").await.is_empty());
        bench.until(3600 + 301).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
        bench.until(3600 + 303).await;
        assert_eq!(bench.policy_condition("not-ready", "Ready").await.1, "Evaluated");
    });
}
