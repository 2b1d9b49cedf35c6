//! Plugins: those that are on, one that lets everything go, and what counts as replicas.

use std::collections::BTreeSet;

use api_types::work::GracefulEvictionTask;

use super::super::plugins::{Assessment, EvictPlugin, EvictPlugins};
use super::*;

#[test]
fn a_plugin_that_is_off_lets_nothing_end() {
    let after = binding(
        json!([{"name": "m2", "replicas": 3}]),
        json!([task("m1", json!({}))]),
        json!([copy("m2", "Healthy", 3)]),
    );
    let only = |name| Settings {
        plugins: EvictPlugins::all().only(&BTreeSet::from([name])),
        ..Settings::default()
    };
    let fate = |settings| {
        judged_with(&after, Some(&before()), &m1_down(), noon(), &settings)
            .remove(0)
            .fate
    };
    assert!(matches!(fate(only("ClusterInSchedulingResult")), Fate::Stays { .. }));
    assert!(matches!(fate(only("ResourceHealth")), Fate::Ends(_)));
}

/// A plugin that lets everything go.
struct Careless;

impl EvictPlugin for Careless {
    fn name(&self) -> &'static str {
        "Careless"
    }

    fn assess(&self, _: &View<'_>, _: &GracefulEvictionTask) -> Assessment {
        Assessment::Passes {
            why: "why not".to_owned(),
        }
    }
}

// Whatever a plugin looks at: where no other copy works the copy is the last one, and what a person keeps is kept.
#[rstest]
#[case::no_result(json!([]), json!({}), LastCopy::Kept, Some("Careless: why not; the scheduling result is empty: kept because nothing"))]
#[case::the_administrator_says_so(json!([]), json!({}), LastCopy::MayGo, None)]
#[case::a_result_that_runs_nothing_yet(
    json!([{"name": "m2", "replicas": 3}]), json!({}), LastCopy::Kept,
    Some("Careless: why not; m2 has not reported the copy yet: kept because nothing")
)]
// One of two works: that is more than ResourceHealth would let it go for.
#[case::another_works(json!([{"name": "m2", "replicas": 3}, {"name": "m3", "replicas": 3}]), json!({}), LastCopy::Kept, None)]
#[case::never(json!([{"name": "m2", "replicas": 3}]), json!({"purgeMode": "Never"}), LastCopy::MayGo, Some("purgeMode: Never"))]
#[case::suppressed(json!([{"name": "m2", "replicas": 3}]), json!({"suppressDeletion": true}), LastCopy::MayGo, Some("suppressDeletion"))]
fn a_careless_plugin_loses_no_last_copy(
    #[case] clusters: Value,
    #[case] more: Value,
    #[case] last_copy: LastCopy,
    #[case] stays: Option<&str>,
) {
    let after = binding(
        clusters,
        json!([task("m1", more)]),
        json!([copy("m1", "Healthy", 1), copy("m3", "Healthy", 3)]),
    );
    let settings = Settings {
        plugins: EvictPlugins::all().with(Careless),
        last_copy,
        ..Settings::default()
    };
    let fate = judged_with(&after, Some(&before()), &m1_down(), noon(), &settings)
        .remove(0)
        .fate;
    match stays {
        Some(why) => stays_saying(&fate, why),
        None => assert!(ends_by(&fate, "Careless"), "{fate:?}"),
    }
}

#[rstest]
#[case::running("batch/v1", json!({"active": 2, "succeeded": 1}), true)]
#[case::more_than_there_are_numbers("batch/v1", json!({"active": i64::MAX, "succeeded": i64::MAX}), true)]
#[case::too_few("batch/v1", json!({"active": 2}), false)]
#[case::complete("batch/v1", json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}), true)]
#[case::held_back("batch/v1", json!({"conditions": [{"type": "Suspended", "status": "True"}]}), true)]
#[case::resumed("batch/v1", json!({"active": 1, "conditions": [{"type": "Suspended", "status": "False"}]}), false)]
#[case::of_another_group("batch.volcano.sh/v1alpha1", json!({"running": 3}), true)]
fn a_job_shows_its_replicas_or_its_end(#[case] api_version: &str, #[case] status: Value, #[case] ends: bool) {
    let item = json!({"clusterName": "m2", "applied": true, "health": "Healthy", "status": status});
    let mut after = binding(
        json!([{"name": "m2", "replicas": 3}]),
        json!([task("m1", json!({}))]),
        json!([item]),
    );
    after.spec.resource.api_version = api_version.to_owned();
    after.spec.resource.kind = "Job".to_owned();
    assert_eq!(matches!(judged(&after, &m1_down(), noon()), Fate::Ends(_)), ends);
}

// What is preserved is read off the task when the new copy is made: a grace period that is over by then waits for that.
#[rstest]
#[case::no_copy_yet(json!([]), json!({"job": "J1"}), Some("kept until m3 has its copy"))]
#[case::it_has_its_copy(json!([copy("m3", "Unhealthy", 0)]), json!({"job": "J1"}), None)]
#[case::nothing_is_preserved(json!([]), json!({}), None)]
fn preserved_state_is_carried_before_the_grace_period_ends_the_task(
    #[case] copies: Value,
    #[case] preserved: Value,
    #[case] stays: Option<&str>,
) {
    let task = task("m1", json!({"gracePeriodSeconds": 0, "preservedLabelState": preserved}));
    let after = binding(json!([{"name": "m3", "replicas": 3}]), json!([task]), copies);
    let fate = judged(&after, &m1_down(), noon());
    match stays {
        Some(why) => stays_saying(&fate, why),
        None => assert!(matches!(fate, Fate::Ends(End::GraceOver { .. })), "{fate:?}"),
    }
}

// A kind with a script: its copy is not taken for a working one before something was reported of it. What reports nothing
// counts as soon as it is applied.
#[rstest]
#[case::applied_alone("example.io/v1", "Widget", json!({}), false)]
#[case::unknown("example.io/v1", "Widget", json!({"health": "Unknown"}), false)]
#[case::unhealthy("example.io/v1", "Widget", json!({"health": "Unhealthy", "status": {"phase": "Broken"}}), false)]
#[case::healthy("example.io/v1", "Widget", json!({"health": "Healthy", "status": {"phase": "Running"}}), true)]
#[case::healthy_without_a_status("example.io/v1", "Widget", json!({"health": "Healthy"}), true)]
#[case::config_map("v1", "ConfigMap", json!({}), true)]
#[case::role("rbac.authorization.k8s.io/v1", "Role", json!({"health": "Unknown"}), true)]
fn nothing_is_known_of_a_custom_kind_before_it_was_reported(
    #[case] api_version: &str,
    #[case] kind: &str,
    #[case] reported: Value,
    #[case] ends: bool,
) {
    let mut there = json!({"clusterName": "m2", "applied": true});
    for (field, value) in reported.as_object().unwrap() {
        there[field] = value.clone();
    }
    let of_kind = |mut binding: Binding| {
        binding.spec.resource.api_version = api_version.to_owned();
        binding.spec.resource.kind = kind.to_owned();
        binding.spec.replicas = None;
        binding.spec.replica_requirements = None;
        binding.spec.placement = Some(Default::default());
        binding
    };
    let left = of_kind(binding(
        json!([{"name": "m1"}]),
        json!([]),
        json!([copy("m1", "Healthy", 0)]),
    ));
    let after = of_kind(binding(
        json!([{"name": "m2"}]),
        json!([task("m1", json!({"clustersBeforeFailover": ["m1"]}))]),
        json!([there]),
    ));
    let only = Settings {
        plugins: EvictPlugins::all().only(&BTreeSet::from(["ResourceHealth"])),
        ..Settings::default()
    };
    let fate = judged_with(&after, Some(&left), &m1_down(), at("2026-01-01T12:10:00Z"), &only)
        .remove(0)
        .fate;
    assert_eq!(matches!(fate, Fate::Ends(_)), ends, "{fate:?}");
}
