//! Whatever stands in our annotations: it is answered, it settles, and nobody's taint is lost by it.

use api_types::names::annotation;
use serde_json::Value;

use super::*;

/// JSON that has the words of our records in it, at whatever place.
fn record() -> impl Strategy<Value = Value> {
    let words = vec![
        "cluster",
        "cluster-1",
        "taints",
        "windows",
        "policies",
        "k1:NoExecute",
        "theirs:NoExecute",
        "k1",
        "p0",
        "uid-p0",
        "uid-p1",
        "policy",
        "matching",
        "since",
        "rule",
        "conditions",
        "dismissed",
        "status",
        "lastTransitionTime",
        "at",
        "generation",
        "timeAdded",
        "value",
        "score",
        "ready",
        "False",
        "Ready In False",
        "2026-01-01T00:00:00Z",
        "-9999-01-02T01:59:59Z",
        "9999-12-30T22:00:00Z",
        "",
    ];
    let word = prop::sample::select(words);
    let leaf = prop_oneof![
        word.clone().prop_map(|word| json!(word)),
        prop::bool::ANY.prop_map(|b| json!(b)),
        prop::num::i64::ANY.prop_map(|n| json!(n)),
        prop::num::f64::ANY.prop_map(|n| json!(n)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

/// A record of the right shape with arbitrary content: what an edit by hand may leave behind.
fn shaped_windows() -> impl Strategy<Value = String> {
    let time = || {
        prop_oneof![
            Just("2026-01-01T00:00:00Z"),
            Just("2099-01-01T00:00:00Z"),
            Just("-009999-01-02T01:59:59Z"),
            Just("9999-12-30T22:00:00Z"),
            Just("yesterday"),
        ]
    };
    let cluster = prop_oneof![Just("cluster-1"), Just("another"), Just("")];
    let uid = prop_oneof![Just("uid-p0"), Just("uid-p1"), Just("gone")];
    let window = (prop::bool::ANY, time(), time(), prop::num::i64::ANY, ".{0,20}").prop_map(
        |(matching, since, at, generation, rule)| {
            json!({"policy": "p", "matching": matching, "since": since, "rule": rule,
                   "conditions": {"Ready": {"status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}},
                   "dismissed": {"k1:NoExecute": {"at": at, "generation": generation}}})
        },
    );
    (cluster, prop::collection::vec((uid, window), 0..4)).prop_map(|(cluster, windows)| {
        let windows: serde_json::Map<String, Value> = windows.into_iter().map(|(uid, w)| (uid.to_owned(), w)).collect();
        json!({"cluster": cluster, "windows": windows}).to_string()
    })
}

/// The same, saying what is ours; never with the exact time of a taint that is not: that would be a person's word.
fn shaped_managed() -> impl Strategy<Value = String> {
    let cluster = prop_oneof![Just("cluster-1"), Just("another")];
    let id = prop_oneof![
        Just("k1:NoExecute"),
        Just("theirs:NoExecute"),
        Just("none:NoSchedule"),
        Just("no-effect")
    ];
    let entry = (
        prop::sample::subsequence(vec![("p0", "uid-p0"), ("p1", "uid-p1"), ("x", "gone")], 0..3),
        prop_oneof![Just("theirs"), Just("")],
        prop_oneof![Just(Value::Null), Just(json!("2026-01-01T00:00:00Z"))],
    );
    let entry = entry.prop_map(|(policies, value, time)| {
        let policies: serde_json::Map<String, Value> = policies
            .into_iter()
            .map(|(name, uid)| (name.to_owned(), json!(uid)))
            .collect();
        json!({"policies": policies, "value": value, "timeAdded": time})
    });
    (cluster, prop::collection::vec((id, entry), 0..4)).prop_map(|(cluster, taints)| {
        let taints: serde_json::Map<String, Value> = taints.into_iter().map(|(id, e)| (id.to_owned(), e)).collect();
        json!({"cluster": cluster, "taints": taints}).to_string()
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => ".*".boxed(),
        3 => record().prop_map(|record| record.to_string()).boxed(),
        3 => shaped_windows().boxed(),
        3 => shaped_managed().boxed(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// At the start of a process, when the annotations are all it has.
    #[test]
    fn any_annotation_is_answered_and_settles(
        windows in text(), managed in text(), flaps in text(), forecast in ".*", policies in policies(),
    ) {
        let mut world = World::new(&policies);
        world.condition("Ready", "False");
        for key in ["theirs", "k2"] {
            world.add_theirs(key, "NoExecute", Some(at(-77)));
        }
        let foreign = theirs(&world);
        world.set_annotation(annotation::TAINT_WINDOWS, &windows);
        world.set_annotation(annotation::MANAGED_TAINTS, &managed);
        world.set_annotation(annotation::FLAP_SCORE, &flaps);
        world.set_annotation(annotation::TAINT_FORECAST, &forecast);
        world.now = at(1);
        world.look();
        prop_assert!(!world.evaluate().has_changes(), "one write and it is settled");
        // A window that was edited may end at any time: looks go on, and end.
        let mut looks = 0;
        while let Some(next) = world.last.as_ref().unwrap().next_look {
            looks += 1;
            prop_assert!(looks < 50 && next > world.now, "{next} after {}", world.now);
            world.now = next;
            world.look();
        }
        theirs_are_theirs(&foreign, &world)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// While a process looks, its own observation counts: edits of windows and of whose a taint is change no firing time,
    /// make nothing theirs, and are put right.
    #[test]
    fn edits_of_records_move_nothing_while_a_process_looks(
        policies in policies(),
        history in history(),
        texts in prop::collection::vec((text(), prop::option::of(text())), 1..10),
    ) {
        let (mut left_alone, mut edited) = (World::new(&policies), World::new(&policies));
        let mut texts = texts.into_iter().cycle();
        let mut second = 0;
        for (gap, event) in history {
            if matches!(event, Event::Restart) {
                continue;
            }
            second += gap;
            left_alone.until(second);
            edited.until(second);
            apply(&mut left_alone, &event);
            apply(&mut edited, &event);
            if let Some((windows, managed)) = texts.next() {
                edited.set_annotation(annotation::TAINT_WINDOWS, &windows);
                match managed {
                    Some(managed) => edited.set_annotation(annotation::MANAGED_TAINTS, &managed),
                    None => {
                        let annotations = edited.cluster.metadata.annotations.as_mut().unwrap();
                        annotations.remove(annotation::MANAGED_TAINTS);
                    }
                }
            }
            left_alone.look();
            edited.look();
            prop_assert_eq!(&left_alone.cluster.spec.taints, &edited.cluster.spec.taints);
            for name in [annotation::TAINT_WINDOWS, annotation::MANAGED_TAINTS, annotation::TAINT_FORECAST] {
                prop_assert_eq!(left_alone.annotation(name), edited.annotation(name));
            }
        }
    }
}
