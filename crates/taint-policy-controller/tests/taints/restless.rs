//! A reporter that writes another `lastTransitionTime` with each of its heartbeats, though Ready stays False.

use super::*;

const REASON: &str = "TaintWindowStartsAnew";

#[test]
fn an_hour_of_heartbeats_is_told_once_and_costs_a_write_a_heartbeat() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        let mut other = not_ready_spec();
        other["taintsToAdd"][0]["key"] = json!("other");
        bench.put_policy("other", &other);
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
        assert_eq!(told.len(), 2, "one for each policy: {told:?}");
        assert!(
            told.iter()
                .any(|note| note.contains("policy not-ready") && note.contains("lastTransitionTime of Ready")),
            "{told:?}"
        );
        let (status, reason, message) = bench.policy_condition("not-ready", "Ready").await;
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("False", "WindowsStartAnew"),
            "{message}"
        );
        let annotations = bench.cluster("m1").await.metadata.annotations.unwrap();
        let forecast = &annotations[api_types::names::annotation::TAINT_FORECAST];
        assert!(forecast.contains("the window starts anew whenever"), "{forecast}");
        let writes = bench.all_writes("taints").split_off(before);
        let to = |kind: &str| writes.iter().filter(|write| write.contains(kind)).count();
        // The first begins the windows, the others begin them anew. Each policy's status says when the window would end,
        // and that it does not, once that is known.
        assert_eq!(
            (to(" clusters "), to(" clustertaintpolicies "), to(" events ")),
            (360, 2 * 4, 2)
        );

        // The reporter mends its ways.
        bench.until(3600 + 299).await;
        assert!(bench.taints("m1").await.is_empty());
        bench.until(3600 + 301).await;
        assert_eq!(bench.taints("m1").await.len(), 2);
        bench.until(3600 + 303).await;
        assert_eq!(bench.policy_condition("not-ready", "Ready").await.1, "Evaluated");
    });
}
