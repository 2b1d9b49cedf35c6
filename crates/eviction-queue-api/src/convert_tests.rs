use super::*;
use failover_core::eviction::Cause;
use proptest::prelude::*;

fn published() -> Published {
    Published {
        key: EntryKey {
            cluster: "m1".into(),
            cluster_uid: "cu".into(),
            binding: BindingKey::namespaced("default", "nginx-deployment"),
            binding_uid: "bu".into(),
            cause: "k:NoExecute@2026-01-01T00:00:00Z".parse::<Cause>().unwrap().into(),
        }
        .into(),
        due_at: "2026-01-01T00:05:00Z".parse().unwrap(),
        priority: -3,
        template: TemplateRef {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: Some("default".into()),
            name: "nginx".into(),
        },
        replicas: 3,
        purge_mode: Purge::Directly,
        grace_period_seconds: Some(60),
        reason: "because".into(),
        hold: Some(
            ProducerHold {
                reason: HoldReason::Stay,
                message: "stays".into(),
                by_drop: true,
            }
            .into(),
        ),
        versions: BindingVersions {
            binding_generation: 4,
            binding: "10".into(),
            cluster: "20".into(),
        },
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
    }
}

#[test]
fn an_entry_arrives_as_it_was_sent() {
    let entry = published();
    assert_eq!(
        from_published(to_published(&entry), &mut InCommon::default()),
        Ok(entry)
    );
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let error = |change: fn(&mut v1::PublishedEntry)| {
        let mut entry = to_published(&published());
        change(&mut entry);
        from_published(entry, &mut InCommon::default()).unwrap_err().to_string()
    };
    assert_eq!(error(|entry| entry.key = None), "field key is missing");
    assert_eq!(
        error(|entry| entry.key.as_mut().unwrap().uid.clear()),
        "field key.uid is missing"
    );
    assert!(
        error(|entry| entry.key.as_mut().unwrap().cause = "x".into())
            .starts_with("field key.cause: \"x\" names no cause")
    );
    assert_eq!(error(|entry| entry.due_at = None), "field due_at is missing");
    assert!(error(|entry| entry.due_at.as_mut().unwrap().seconds = i64::MAX).starts_with("field due_at: "));
    assert!(
        error(|entry| entry.hold.as_mut().unwrap().set_reason(v1::HoldReason::NoTarget))
            .contains("a producer cannot hold for HOLD_REASON_NO_TARGET")
    );
}

fn time() -> impl Strategy<Value = Option<prost_types::Timestamp>> {
    let any_time = (any::<i64>(), any::<i32>()).prop_map(|(seconds, nanos)| prost_types::Timestamp { seconds, nanos });
    let near =
        (0..4_000_000_000_i64, 0..1_000_000_000).prop_map(|(seconds, nanos)| prost_types::Timestamp { seconds, nanos });
    proptest::option::of(prop_oneof![any_time, near])
}

fn key() -> impl Strategy<Value = Option<v1::EntryKey>> {
    let cause = prop_oneof![
        ".{0,20}",
        Just("k:NoExecute@2026-01-01T00:00:00Z".to_owned()),
        "(deletion|application|[a-z:]{1,9})@[0-9TZ:.+-]{0,24}",
    ];
    let texts = (cause, ".{0,600}", ".{0,9}", ".{0,9}", ".{0,9}", ".{0,9}");
    let key = texts.prop_map(|(cause, cluster, cluster_uid, namespace, name, uid)| v1::EntryKey {
        cause,
        cluster,
        cluster_uid,
        namespace,
        name,
        uid,
    });
    proptest::option::of(key)
}

prop_compose! {
    fn entry()(
        key in key(),
        due_at in time(),
        numbers in (any::<i32>(), any::<i32>(), any::<i32>(), any::<Option<i32>>(), any::<i64>()),
        resource in proptest::option::of(Just(v1::ResourceRef::default())),
        reason in ".{0,2000}",
        hold in proptest::option::of((-1..12_i32, ".{0,9}", any::<bool>())),
        versions in ("[0-9]{0,20}", ".{0,9}"),
        traceparent in prop_oneof![".{0,80}", "00-[0-9a-f]{32}-[0-9a-f]{16}-01"],
    ) -> v1::PublishedEntry {
        let (priority, replicas, purge_mode, grace_period_seconds, binding_generation) = numbers;
        v1::PublishedEntry {
            traceparent,
            key, due_at, priority, resource, reason, grace_period_seconds, binding_generation,
            // Of all numbers few are known modes and few counts are negative: both need a chance.
            replicas: replicas.saturating_abs() - 1,
            purge_mode: purge_mode.rem_euclid(6) - 1,
            hold: hold.map(|(reason, message, dropped)| v1::Hold { reason, message, until: None, dropped }),
            binding_resource_version: versions.0,
            cluster_resource_version: versions.1,
        }
    }
}

proptest! {
    // Whatever is in the fields: understood, and then the same on the way back, or refused.
    #[test]
    fn any_entry_is_understood_or_refused(entry in entry()) {
        match from_published(entry, &mut InCommon::default()) {
            Ok(published) => {
                prop_assert!(published.reason.len() <= MAX_TEXT_BYTES);
                prop_assert_eq!(from_published(to_published(&published), &mut InCommon::default()), Ok(published));
            }
            Err(malformed) => prop_assert!(malformed.to_string().starts_with("field "), "{}", malformed),
        }
    }

    // Whatever bytes arrive as a message: understood or refused.
    #[test]
    fn no_message_makes_the_reader_fail_badly(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(entry) = <v1::PublishedEntry as prost::Message>::decode(bytes.as_slice())
            && let Ok(published) = from_published(entry, &mut InCommon::default())
        {
            prop_assert_eq!(from_published(to_published(&published), &mut InCommon::default()), Ok(published));
        }
    }
}

// What is added to the API must be given its word, too, and come back as it went.
#[test]
fn every_reason_has_its_own_word_and_its_way_back() {
    let known = |of: fn(i32) -> Option<&'static str>| {
        let words: Vec<&str> = (1..100).map_while(of).collect();
        let distinct: std::collections::BTreeSet<&str> = words.iter().copied().collect();
        assert_eq!(distinct.len(), words.len(), "{words:?}");
        words.len()
    };
    let held = known(|number| {
        let reason = v1::HoldReason::try_from(number).ok()?;
        let core = from_hold_reason(reason)?;
        assert_eq!(to_hold_reason(core), reason);
        Some(core.as_str())
    });
    let removed = known(|number| {
        let reason = v1::RemovedReason::try_from(number).ok()?;
        let core = from_removed_reason(reason)?;
        assert_eq!(to_removed_reason(core), reason);
        Some(core.as_str())
    });
    assert_eq!((held, removed), (11, 11));
    assert_eq!(from_hold_reason(v1::HoldReason::Unspecified), None);
    assert_eq!(from_removed_reason(v1::RemovedReason::Unspecified), None);
}
