#![allow(clippy::needless_pass_by_value, reason = "rows of tables are values")]

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::testing::{READY_FOR_LONG, after, binding, cluster, cluster_since, t0, unhealthy_since, with_clock};
use super::*;

const READY: &str = "True";

/// What is stored after each observation in turn: seconds, Ready of the cluster, health.
fn stored(observations: &[(i64, &str, &str)], rules: Value) -> Vec<Option<String>> {
    let mut text = String::new();
    let observe = |(seconds, ready, health): &(i64, &str, &str)| {
        let binding = binding(health, |b| {
            b["spec"]["failover"]["application"]["preConditions"] = rules.clone();
            with_clock(b, &text);
        });
        let now =
            HealthClock::of(&binding)
                .unwrap()
                .next(&binding, &|_| Some(Arc::new(cluster(ready))), after(*seconds));
        text = now.annotation().unwrap_or_default();
        now.annotation()
    };
    observations.iter().map(observe).collect()
}

fn since(seconds: i64) -> Option<String> {
    Some(unhealthy_since(seconds))
}

#[rstest]
#[case::unhealthy_starts_it(&[(0, READY, "Healthy"), (5, READY, "Unhealthy")], vec![None, since(5)])]
#[case::it_goes_on(&[(0, READY, "Unhealthy"), (5, READY, "Unhealthy")], vec![since(0), since(0)])]
// C95 (karmada PR#3500): what recovered and fails again is counted anew.
#[case::healthy_ends_it(
    &[(0, READY, "Unhealthy"), (50, READY, "Healthy"), (55, READY, "Unhealthy")],
    vec![since(0), None, since(55)]
)]
// C93 (karmada#7431): what nobody knows in between neither ends nor starts it.
#[case::unknown_ends_nothing(
    &[(0, READY, "Unhealthy"), (30, READY, "Unknown"), (35, READY, "Unhealthy")],
    vec![since(0), since(0), since(0)]
)]
#[case::unknown_starts_nothing(&[(0, READY, "Unknown"), (30, READY, "Unhealthy")], vec![None, since(30)])]
#[case::stale_health_starts_nothing(&[(0, "False", "Unhealthy"), (9, "Unknown", "Unhealthy")], vec![None, None])]
#[case::stale_health_ends_nothing(
    &[(0, READY, "Unhealthy"), (9, "False", "Healthy"), (20, READY, "Unhealthy")],
    vec![since(0), since(0), since(0)]
)]
fn observations(#[case] seen: &[(i64, &str, &str)], #[case] expected: Vec<Option<String>>) {
    assert_eq!(stored(seen, json!({})), expected);
}

// A second home of what a stock bindingStatus drops; nothing is written where the status says it, or where nobody asks.
#[rstest]
#[case::nobody_asks(json!({}), json!({}), None)]
#[case::once_healthy(
    json!({"healthyState": "Healthy"}), json!({}),
    Some(json!({"m1": {"settled": true, "firstCollected": after(3)}}))
)]
#[case::the_status_says_so(
    json!({"healthyState": "Healthy"}), json!({"settled": true, "creationTimestamp": after(0)}), None
)]
#[case::delay(json!({"delaySeconds": 60}), json!({}), Some(json!({"m1": {"firstCollected": after(3)}})))]
#[case::the_status_says_when(json!({"delaySeconds": 60}), json!({"creationTimestamp": after(0)}), None)]
fn second_home(#[case] before: Value, #[case] item: Value, #[case] expected: Option<Value>) {
    let binding = binding("Healthy", |b| {
        b["spec"]["failover"]["application"]["preConditions"] = before;
        for (field, value) in item.as_object().unwrap() {
            b["status"]["aggregatedStatus"][0][field] = value.clone();
        }
    });
    let clock = HealthClock::default().next(&binding, &|_| Some(Arc::new(cluster(READY))), after(3));
    let written: Option<Value> = clock.annotation().map(|text| serde_json::from_str(&text).unwrap());
    assert_eq!(written, expected);
}

#[test]
fn once_settled_stays_settled_while_it_fails() {
    let rules = json!({"healthyState": "Healthy"});
    let seen = [(0, READY, "Healthy"), (5, READY, "Unhealthy"), (9, READY, "Unhealthy")];
    let last = stored(&seen, rules).pop().unwrap().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&last).unwrap(),
        json!({"m1": {
            "unhealthySince": after(5), "settled": true, "firstCollected": after(0), "readyMark": after(READY_FOR_LONG),
        }})
    );
}

/// The clock after these observations in turn: when, since when m1 is Ready by its own word, and the health.
fn kept(observations: &[(i64, i64, &str)]) -> Value {
    let mut text = String::new();
    for (seconds, ready_since, health) in observations {
        let binding = binding(health, |b| with_clock(b, &text));
        let m1 = Arc::new(cluster_since(READY, *ready_since));
        let clock = HealthClock::of(&binding).unwrap();
        let next = clock.next(&binding, &|_| Some(m1.clone()), after(*seconds));
        text = next.annotation().unwrap_or_default();
    }
    serde_json::from_str(&text).unwrap_or_default()
}

// Whoever writes the cluster's Ready may have a clock that is wrong by hours: another time there only shows that the
// cluster was away, and since when it is back is the time at which that was seen.
#[rstest]
#[case::all_the_time(&[(0, -900, "Unhealthy"), (50, -900, "Unhealthy")], None)]
#[case::it_returned(&[(0, -900, "Unhealthy"), (50, 48, "Unhealthy"), (70, 48, "Unhealthy")], Some(50))]
#[case::its_clock_is_slow(&[(0, -9_000, "Unhealthy"), (50, -8_950, "Unhealthy"), (70, -8_950, "Unhealthy")], Some(50))]
#[case::its_clock_is_fast(&[(0, 9_000, "Healthy"), (50, 9_050, "Unhealthy"), (70, 9_050, "Unhealthy")], Some(50))]
#[case::health_is_not_known_yet(&[(0, -900, "Unhealthy"), (50, 48, "Unknown"), (55, 48, "Unhealthy")], Some(50))]
#[case::it_returned_twice(&[(0, -900, "Unhealthy"), (50, 48, "Unhealthy"), (90, 88, "Unhealthy")], Some(90))]
// What was not counted before the outage may be of before it all the same.
#[case::it_had_just_returned(&[(50, 20, "Unhealthy")], Some(20))]
#[case::it_returned_a_while_ago(&[(90, 20, "Unhealthy")], None)]
fn returns_of_the_cluster(#[case] seen: &[(i64, i64, &str)], #[case] back: Option<i64>) {
    let kept = kept(seen);
    let expected = back.map_or(Value::Null, |seconds| json!(after(seconds)));
    assert_eq!(kept["m1"]["readySince"], expected, "{kept}");
}

#[test]
fn nothing_is_noted_of_the_cluster_while_nothing_fails() {
    assert_eq!(kept(&[(0, -5, "Healthy"), (50, 48, "Healthy")]), Value::Null);
    assert_eq!(
        kept(&[(0, -900, "Unhealthy"), (50, 48, "Unhealthy"), (60, 48, "Healthy")]),
        Value::Null
    );
}

// A clock of a version that noted nothing of the cluster.
#[test]
fn a_clock_without_a_mark_counts_from_when_it_gets_one() {
    let old = json!({"m1": {"unhealthySince": after(0)}}).to_string();
    let binding = binding("Unhealthy", |b| with_clock(b, &old));
    let next = HealthClock::of(&binding)
        .unwrap()
        .next(&binding, &|_| Some(Arc::new(cluster(READY))), after(50));
    let copy = next.copy(&"m1".into()).unwrap();
    assert_eq!(copy.unhealthy_since(), Some(t0()));
    assert_eq!(copy.ready(after(READY_FOR_LONG)), ReadyCount::Since(after(50)));
}

// C95 (karmada PR#3500): marks of another binding of this name, of another copy, or of a cluster that was left.
#[rstest]
#[case::binding_made_anew(|b: &mut Value| b["metadata"]["creationTimestamp"] = json!(after(10)), since(99))]
#[case::copy_made_anew(|b: &mut Value| b["status"]["aggregatedStatus"][0]["creationTimestamp"] = json!(after(10)), since(99))]
#[case::the_same_copy(|b: &mut Value| b["status"]["aggregatedStatus"][0]["creationTimestamp"] = json!(after(-10)), since(0))]
#[case::left(|b: &mut Value| b["spec"]["clusters"] = json!([{"name": "m2"}]), None)]
#[case::leaving(|b: &mut Value| b["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "reason": "r", "producer": "p"}]), None)]
#[case::nobody_asks_any_more(|b: &mut Value| b["spec"]["failover"] = json!({"cluster": {}}), None)]
#[case::written_by_a_clock_that_goes_ahead(|b: &mut Value| with_clock(b, &unhealthy_since(500)), since(99))]
fn stale_marks(#[case] change: fn(&mut Value), #[case] expected: Option<String>) {
    let binding = binding("Unhealthy", |b| {
        with_clock(b, &unhealthy_since(0));
        change(b);
    });
    let next = HealthClock::of(&binding)
        .unwrap()
        .next(&binding, &|_| Some(Arc::new(cluster(READY))), after(99));
    assert_eq!(next.annotation(), expected);
}

// A status that was first collected by a clock that goes ahead of ours is of this copy all the same.
#[test]
fn a_copy_that_fails_from_its_first_status_is_counted_from_then() {
    let binding = binding("Unhealthy", |b| {
        b["status"]["aggregatedStatus"][0]["creationTimestamp"] = json!(after(2));
    });
    let ready = |_: &ClusterName| Some(Arc::new(cluster(READY)));
    let first = HealthClock::default().next(&binding, &ready, t0());
    assert_eq!(first.annotation(), since(2));
    assert_eq!(first.next(&binding, &ready, after(1)), first);
}

#[test]
fn nothing_is_due_too_early_for_fractions_of_a_second() {
    let binding = binding("Unhealthy", |_| ());
    let now = "2026-01-01T00:00:00.1Z".parse().unwrap();
    let clock = HealthClock::default().next(&binding, &|_| Some(Arc::new(cluster(READY))), now);
    assert_eq!(clock.annotation(), since(1));
}

#[test]
fn what_is_no_clock_is_told_and_not_believed() {
    for text in ["m1", "[]", r#"{"m1": 7}"#, r#"{"m1": {"unhealthySince": "soon"}}"#] {
        let binding = binding("Unhealthy", |b| with_clock(b, text));
        let error = HealthClock::of(&binding).unwrap_err().to_string();
        assert!(
            error.contains("failover.karmada.io/health-clock cannot be read"),
            "{error}"
        );
    }
    let blank = binding("Unhealthy", |b| with_clock(b, " "));
    assert_eq!(HealthClock::of(&blank), Ok(HealthClock::default()));
}

fn foreign_text() -> impl Strategy<Value = String> {
    let time = prop_oneof![
        Just("2026-01-01T00:00:00Z".to_owned()),
        Just("-009999-01-02T01:59:59Z".to_owned()),
        Just("9999-12-30T22:00:00.999999999Z".to_owned()),
        "[0-9TZ:-]{0,20}",
    ];
    let maybe = || proptest::option::of(time.clone());
    let copy =
        (maybe(), any::<bool>(), maybe(), maybe(), maybe()).prop_map(|(since, settled, collected, mark, back)| {
            json!({"unhealthySince": since, "settled": settled, "firstCollected": collected, "readyMark": mark,
            "readySince": back, "newer": 1})
        });
    prop_oneof![
        ".*",
        proptest::collection::btree_map("m[1-3]", copy, 0..3).prop_map(|copies| json!(copies).to_string())
    ]
}

proptest! {
    // Whatever stands in the annotation and whatever the time is: nothing fails badly, what is written reads back as it
    // is, and it is written once.
    #[test]
    fn any_text_leads_to_a_clock_that_stands_still(
        text in foreign_text(), health in "Healthy|Unhealthy|Unknown|Odd", ready in "True|False",
        seconds in -9_999_999_999_i64..9_999_999_999, nanos in 0..1_000_000_000_i32, delay in proptest::option::of(0..9),
        settles in any::<bool>(), created in any::<bool>(),
    ) {
        let binding = binding(&health, |b| {
            with_clock(b, &text);
            let rules = json!({"delaySeconds": delay, "healthyState": settles.then_some("Healthy")});
            b["spec"]["failover"]["application"]["preConditions"] = rules;
            b["status"]["aggregatedStatus"][0]["creationTimestamp"] = json!(created.then(|| after(3)));
        });
        let now = Timestamp::new(seconds, nanos).unwrap();
        let known = HealthClock::of(&binding).unwrap_or_default();
        let next = known.next(&binding, &|_| Some(Arc::new(cluster(&ready))), now);
        let written = next.annotation().unwrap_or_default();
        let mut stored = binding.clone();
        stored.metadata.annotations.get_or_insert_default().insert(HEALTH_CLOCK.to_owned(), written);
        let read = HealthClock::of(&stored).unwrap();
        prop_assert_eq!(&read, &next);
        let later = read.next(&stored, &|_| Some(Arc::new(cluster(&ready))), now + SignedDuration::from_secs(60));
        prop_assert_eq!(&later, &next, "nothing changed, so nothing is written");
        prop_assert_eq!(next.copy(&"m2".into()), None, "it is not there");
    }
}
