//! What `/metrics` counts by stock's names (karmada's `pkg/metrics`).

use kube_sandbox::{Match, Verb};
use serde_json::json;

use crate::refusals::refusal;
use crate::world::{World, delete, edit, limited};

/// One series; 0 where it is not there.
fn counted(world: &World, name: &str, labels: &[(&str, &str)]) -> f64 {
    let metrics = world.metrics();
    assert_eq!(controller_kit::metrics::complaints(&metrics), [""; 0]);
    let wanted = labels.iter().map(|(name, value)| format!("{name}=\"{value}\""));
    let wanted: Vec<String> = wanted.collect();
    let mut series = metrics.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    let found = series.find(|line| wanted.iter().all(|label| line.contains(label)));
    found.map_or(0.0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn writes_to_members_are_counted_by_what_came_of_them() {
    limited(async {
        let world = World::running_web().await;
        let of = [
            ("member_cluster", "m1"),
            ("apiversion", "apps/v1"),
            ("kind", "Deployment"),
        ];
        let count = |name: &str, more: &[(&str, &str)]| counted(&world, name, &[&of[..], more].concat());
        let created = |result, recreate| {
            let labels = [("result", result), ("recreate", recreate)];
            count("create_resource_to_cluster", &labels)
        };
        let updated = |result| count("update_resource_to_cluster", &[("result", result)]);
        let deleted = |result| count("delete_resource_from_cluster", &[("result", result)]);
        assert_eq!([created("success", "false"), created("success", "true")], [1.0, 0.0]);
        assert_eq!([updated("success"), deleted("success")], [0.0; 2]);

        let m1 = world.member("m1");
        delete(m1.sandbox(), "apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert_eq!(
            [created("success", "false"), created("success", "true")],
            [1.0; 2],
            "it was lost"
        );

        let refused = m1.faults().inject(
            Match::any().verb(Verb::Update).resource("deployments"),
            refusal("not today"),
        );
        edit(
            world.control_plane(),
            "apps/v1",
            "Deployment",
            Some("shop"),
            "web",
            |web| {
                web["spec"]["minReadySeconds"] = json!(5);
            },
        );
        world.settle().await;
        assert!(updated("error") >= 1.0);
        assert_eq!(updated("success"), 0.0);
        m1.faults().remove(refused);
        world.pass(120_000).await;
        assert_eq!(updated("success"), 1.0);

        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert_eq!([deleted("success"), deleted("error")], [1.0, 0.0]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_steps_on_the_way_are_timed_by_what_came_of_them() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.propagate("apps/v1", "Deployment", json!({}));
        world.start().await;
        world.deployment("web", 1);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 1)]);
        world.settle().await;
        for name in [
            "resource_apply_policy_duration_seconds_count",
            "binding_sync_work_duration_seconds_count",
            "work_sync_workload_duration_seconds_count",
            "policy_apply_attempts_total",
        ] {
            assert!(counted(&world, name, &[("result", "success")]) >= 1.0, "{name}");
            assert_eq!(counted(&world, name, &[("result", "error")]), 0.0, "{name}");
        }
        let matched = world.metrics();
        let matched = matched
            .lines()
            .find_map(|line| line.strip_prefix("resource_match_policy_duration_seconds_count "));
        assert!(matched.unwrap().parse::<f64>().unwrap() >= 1.0);

        let creates = Match::any().verb(Verb::Create).resource("works");
        world.control_plane().faults().inject(creates, refusal("not today"));
        world.deployment("other", 1);
        world.settle().await;
        world.schedule("other-deployment", &[("m1", 1)]);
        world.settle().await;
        let failed = counted(
            &world,
            "binding_sync_work_duration_seconds_count",
            &[("result", "error")],
        );
        assert!(failed >= 1.0);
    })
    .await;
}
