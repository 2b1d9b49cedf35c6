//! At rest: no write and no list for an hour, here and in the members. Now and then everything is listed all the same, for what a watch
//! may have lost.

use kube_sandbox::{Match, Verb};
use serde_json::json;

use crate::handmade::config;
use crate::world::{World, limited};

const HOUR: u64 = 3_600_000;
const CONFIGS: usize = 50;

#[tokio::test(start_paused = true)]
async fn an_hour_of_rest_writes_and_lists_nothing() {
    limited(async {
        let world = World::running_web().await;
        world.propagate("v1", "ConfigMap", json!({}));
        let names: Vec<String> = (0..CONFIGS).map(|number| format!("c{number}")).collect();
        for name in &names {
            world.put(config(name, "v"));
        }
        world.settle().await;
        for name in &names {
            world.schedule(&format!("{name}-configmap"), &[("m1", 0), ("m2", 0)]);
        }
        world.pass(600_000).await;
        let there = |name: &String| world.on("m2", "v1", "ConfigMap", name).is_some();
        assert!(names.iter().all(there));

        let servers = [
            world.control_plane().faults(),
            world.member("m1").sandbox().faults(),
            world.member("m2").sandbox().faults(),
        ];
        let count = |verb: Verb| -> u64 {
            let asked = Match::any().verb(verb).client("propagation");
            servers.iter().map(|faults| faults.count(&asked)).sum()
        };
        world.forget_writes();
        world.pass(HOUR).await;
        assert_eq!(world.writes(), []);
        assert_eq!([world.member_writes("m1"), world.member_writes("m2")], [[], []]);
        assert_eq!(count(Verb::List), 0);
        assert!(count(Verb::Watch) > 0, "it does follow, and is counted");
        world.pass(2 * HOUR).await;
        assert!(count(Verb::List) > 0, "what a watch lost would be found");
        assert_eq!(world.writes(), []);
    })
    .await;
}
