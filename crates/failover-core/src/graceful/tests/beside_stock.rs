//! Beside a stock Karmada: a scheduler that empties results, and a binding controller that waits for ever.

use super::*;

/// Judged with this answer of the scheduler's dry run, and with the wait for confirmations.
fn judged_beside_stock(
    binding: &Binding,
    clusters: &[Arc<Cluster>],
    now: Timestamp,
    would_stay: Result<(), &str>,
) -> Fate {
    let known = |name: &str| {
        let mut all = clusters.iter();
        all.find(|c| c.metadata.name.as_deref() == Some(name)).cloned()
    };
    let before = before();
    let seen = |name: &str| {
        let task = binding.spec.task(&name.into())?;
        Some((Arc::new(Baseline::take(Some(&before), binding, task)), Duration::ZERO))
    };
    let view = View {
        binding,
        cluster: &known,
        seen: &seen,
        owners: None,
        keeps: Some(&|_| would_stay.map_err(str::to_owned)),
        now,
    };
    let settings = Settings {
        unreachable_wait: Some(Duration::from_secs(30)),
        ..Settings::default()
    };
    assess(&view, &settings).remove(0).fate
}

fn without_result(more: Value) -> Binding {
    binding(json!([]), json!([task("m1", more)]), json!([copy("m1", "Healthy", 1)]))
}

#[rstest]
#[case::gracefully(json!({}))]
#[case::never(json!({"purgeMode": "Never"}))]
#[case::suppressed(json!({"suppressDeletion": true}))]
fn a_copy_comes_back_only_where_the_scheduler_leaves_it(#[case] more: Value) {
    let binding = without_result(more);
    let judge = |would_stay| judged_beside_stock(&binding, &all_up(), noon(), would_stay);
    assert!(matches!(judge(Ok(())), Fate::Restored { .. }));
    let fate = judge(Err(
        "m1: cluster(s) did not match the placement cluster affinity constraint",
    ));
    stays_saying(
        &fate,
        "restore: the scheduler would take the copy away again (m1: cluster(s) did not match",
    );
    let Fate::Stays { look_again_at, .. } = fate else {
        panic!()
    };
    assert_eq!(look_again_at, Some(at("2026-01-01T12:01:00Z")), "the fleet may change");
}

#[test]
fn while_the_cause_stands_nobody_asks_the_scheduler() {
    let fate = judged_beside_stock(&without_result(json!({})), &m1_down(), noon(), Err("asked"));
    assert!(!fate.in_words().contains("asked"), "{fate:?}");
}

/// Directly, placed on m2, whose copy the binding controller does not create before the old one is gone.
fn directly(more: Value) -> Binding {
    let mut all = json!({"purgeMode": "Directly"});
    for (field, value) in more.as_object().unwrap() {
        all[field] = value.clone();
    }
    binding(
        json!([{"name": "m2", "replicas": 3}]),
        json!([task("m1", all)]),
        json!([]),
    )
}

#[rstest]
#[case::at_first(directly(json!({})), 29, Some(30))]
#[case::after_the_wait(directly(json!({})), 30, None)]
#[case::in_old_spelling(directly(json!({"purgeMode": "Immediately"})), 30, None)]
fn a_directly_task_of_a_silent_cluster_goes_on_gracefully(
    #[case] binding: Binding,
    #[case] second: i64,
    #[case] look_again: Option<i64>,
) {
    let after = |seconds| noon() + jiff::SignedDuration::from_secs(seconds);
    match judged_beside_stock(&binding, &m1_down(), after(second), Ok(())) {
        Fate::Stays { look_again_at, .. } => assert_eq!(look_again_at, look_again.map(after)),
        Fate::TurnsGraceful { why } => {
            assert_eq!(look_again, None);
            assert!(why.contains("cluster m1 does not answer"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_waits_for_a_cluster_that_answers_a_place_and_its_own_mode() {
    let late = at("2026-01-01T13:00:00Z");
    let answers = [cluster("m1", "True", &no_execute()), cluster("m2", "True", &json!([]))];
    let mut unplaced = directly(json!({}));
    unplaced.status.as_mut().unwrap().scheduler_observed_generation = Some(3);
    let gracefully = directly(json!({"purgeMode": "Gracefully"}));
    for (binding, clusters) in [
        (&directly(json!({})), &answers[..]),
        (&unplaced, &m1_down()[..]),
        (&gracefully, &m1_down()[..]),
    ] {
        let fate = judged_beside_stock(binding, clusters, late, Ok(()));
        assert!(matches!(fate, Fate::Stays { .. }), "{fate:?}");
    }
    // Our own binding controller sees to it by itself.
    let alone = judged(&directly(json!({})), &m1_down(), late);
    assert!(matches!(alone, Fate::Stays { .. }), "{alone:?}");
}
