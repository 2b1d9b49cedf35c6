use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

const DUE: &str = "2026-01-01T00:10:00Z";

fn rules(rules: &[(&str, &str)]) -> StatePreservation {
    let rules: Vec<Value> = rules
        .iter()
        .map(|(label, path)| json!({"aliasLabelName": label, "jsonPath": path}))
        .collect();
    serde_json::from_value(json!({"rules": rules})).unwrap()
}

/// A binding with these items of aggregatedStatus and these tasks.
fn binding(items: &Value, tasks: &Value) -> Binding {
    serde_json::from_value(json!({
        "metadata": {"namespace": "n", "name": "web"},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "web"},
            "clusters": [{"name": "m1", "replicas": 2}], "gracefulEvictionTasks": tasks,
        },
        "status": {"aggregatedStatus": items},
    }))
    .unwrap()
}

fn reported(status: &Value) -> Binding {
    binding(
        &json!([{"clusterName": "m1", "status": status, "health": "Unhealthy"}]),
        &json!([]),
    )
}

fn kept(binding: &Binding, preservation: &StatePreservation) -> State {
    state(binding, &"m1".into(), Some(preservation))
}

fn asked_at(binding: &Binding, preservation: &StatePreservation, now: &str) -> Preservation {
    let leaving = Leaving {
        binding,
        cluster: &"m1".into(),
        due_at: DUE.parse().unwrap(),
        wait: Duration::from_secs(60),
        now: now.parse().unwrap(),
    };
    preserve(&leaving, Some(preservation))
}

// What stock wrote in its application failover: {"failover.example.com/replicas": "2"} by {.replicas}.
#[test]
fn each_rule_gives_a_label() {
    let status = json!({"replicas": 2, "phase": "Running", "job": {"id": "J1"}});
    let state = kept(
        &reported(&status),
        &rules(&[("failover.example.com/replicas", "{.replicas}"), ("job", "{.job.id}")]),
    );
    let expected = [("failover.example.com/replicas", "2"), ("job", "J1")];
    assert_eq!(state.labels, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    assert_eq!(state.in_words(), None);
}

#[rstest]
#[case::missing("{.job}", "job ({.job}): job is not found")]
#[case::no_path(
    ".job",
    "job (.job): the JSONPath of the rule cannot be read: an expression stands in braces, such as {.replicas}"
)]
#[case::no_label(
    "{.conditions}",
    "job ({.conditions}): the text is no value of a label (at most 63 letters, digits, '-', '_' and '.')"
)]
#[case::too_long(
    "{.long}",
    "job ({.long}): the text is no value of a label (at most 63 letters, digits, '-', '_' and '.')"
)]
#[case::null("{.nothing}", "job ({.nothing}): the value is null")]
fn a_rule_that_gives_none_says_why_and_the_others_go_on(#[case] path: &str, #[case] why: &str) {
    let status = json!({"replicas": 2, "conditions": [{}], "long": "x".repeat(64), "nothing": null});
    let state = kept(
        &reported(&status),
        &rules(&[("job", path), ("replicas", "{.replicas}")]),
    );
    assert_eq!(state.labels.len(), 1);
    assert_eq!(
        state.in_words(),
        Some(format!("not all of the copy's state is kept: {why}"))
    );
}

#[test]
fn what_is_lost_is_told_in_few_words() {
    let many: Vec<(String, String)> = (0..9)
        .map(|n| (format!("l{n}"), format!("{{.{}}}", "x".repeat(100))))
        .collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(l, p)| (l.as_str(), p.as_str())).collect();
    let words = kept(&reported(&json!({})), &rules(&many)).in_words().unwrap();
    assert!(words.starts_with("no state of the copy is kept: l0 ("), "{words}");
    assert!(words.ends_with("; and 6 more") && words.len() < 1024, "{words}");
}

// Stock tries for ever and the binding never leaves a dead cluster (karmada f8fdd02, S05): here the move waits for a
// documented time and goes on without.
#[rstest]
#[case::no_item(&binding(&json!([]), &json!([])), "job ({.job}): the cluster has not reported a status")]
#[case::no_status(&binding(&json!([{"clusterName": "m1"}]), &json!([])), "job ({.job}): the cluster has not reported a status")]
#[case::no_key(&reported(&json!({"replicas": 2})), "job ({.job}): job is not found")]
fn s05_state_that_is_missing_is_waited_for_and_then_given_up(#[case] binding: &Binding, #[case] why: &str) {
    let rules = rules(&[("job", "{.job}")]);
    let why = format!("no state of the copy is kept: {why}");
    // Looked for again every ten seconds, and when the time is over.
    for (now, until) in [
        (DUE, "2026-01-01T00:10:10Z"),
        ("2026-01-01T00:10:50Z", "2026-01-01T00:11:00Z"),
        ("2026-01-01T00:10:59Z", "2026-01-01T00:11:00Z"),
    ] {
        let expected = Preservation::Wait {
            until: until.parse().unwrap(),
            why: why.clone(),
        };
        assert_eq!(asked_at(binding, &rules, now), expected);
    }
    let Preservation::Kept(state) = asked_at(binding, &rules, "2026-01-01T00:11:00Z") else {
        panic!("it waits for ever")
    };
    assert_eq!((state.labels.len(), state.in_words()), (0, Some(why)));
}

#[test]
fn without_rules_nothing_is_waited_for() {
    let leaving = Leaving {
        binding: &binding(&json!([]), &json!([])),
        cluster: &"m1".into(),
        due_at: DUE.parse().unwrap(),
        wait: Duration::from_secs(60),
        now: DUE.parse().unwrap(),
    };
    assert_eq!(preserve(&leaving, None), Preservation::Kept(State::default()));
}

// karmada#6232, C99: the second failover comes before the new copy was healthy.
#[rstest]
#[case::never_healthy(json!({"health": "Unhealthy", "status": {"job": "J2"}}), "J1")]
#[case::nothing_reported(json!({}), "J1")]
#[case::never_settled(json!({"health": "Healthy", "settled": false, "status": {"job": "J2"}}), "J1")]
#[case::healthy(json!({"health": "Healthy", "status": {"job": "J2"}}), "J2")]
#[case::was_healthy(json!({"health": "Unhealthy", "settled": true, "status": {"job": "J2"}}), "J2")]
fn c99_a_copy_that_was_never_healthy_hands_on_what_it_was_given(#[case] mut item: Value, #[case] expected: &str) {
    item["clusterName"] = json!("m1");
    let task = |cluster: &str, before: &[&str], job: &str, time: &str| {
        json!({"fromCluster": cluster, "reason": "TaintUntolerated", "producer": "TaintManager", "creationTimestamp": time,
               "clustersBeforeFailover": before, "preservedLabelState": {"job": job}})
    };
    let tasks = json!([
        task("m0", &["m0"], "J1", "2026-01-01T00:05:00Z"),
        task("m8", &["m8"], "J0", "2026-01-01T00:01:00Z"),
        task("m9", &["m9", "m1"], "another copy's", "2026-01-01T00:08:00Z"),
    ]);
    let state = kept(&binding(&json!([item]), &tasks), &rules(&[("job", "{.job}")]));
    assert_eq!(state.labels["job"], expected);
}

proptest! {
    #[test]
    fn any_rule_over_any_text_is_kept_or_lost(
        label in ".{0,20}", path in ".{0,40}", text in ".{0,80}", number in any::<f64>(),
    ) {
        let status = json!({"text": text, "number": number});
        for path in [path.as_str(), "{.text}", "{.number}"] {
            let state = kept(&reported(&status), &rules(&[(&label, path)]));
            prop_assert_eq!(state.labels.len() + state.lost.len(), 1);
            prop_assert!(state.labels.iter().all(|(key, value)| is_label_key(key) && is_label_value(value)));
        }
    }
}
