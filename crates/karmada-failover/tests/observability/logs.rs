//! One binding's story, and one cluster's, found by grep alone.

use controller_kit::telemetry::{Recording, ask_every_time};

use crate::common::{World, simulate};
use crate::scene::{self, Told};

/// What `grep WORD` finds, as component and words.
fn grep<'a>(lines: &'a [String], word: &str) -> Vec<&'a str> {
    let is_it = |line: &&String| {
        line.split(word)
            .skip(1)
            .any(|rest| rest.is_empty() || rest.starts_with([' ', '"', ',']))
    };
    lines.iter().filter(is_it).map(String::as_str).collect()
}

/// Every step is in the lines, in this order.
fn told_in_order(lines: &[&str], steps: &[(&str, &str)]) {
    let mut rest = lines.iter();
    for (component, words) in steps {
        assert!(
            rest.any(|line| line.contains(&format!(" {component}")) && line.contains(words)),
            "after what was found there is no line of {component} that says {words:?}:\n{}",
            lines.join("\n")
        );
    }
}

#[test]
fn a_bindings_story_is_found_by_grep() {
    ask_every_time();
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let log = Recording::start("info", &world.clock).unwrap();
        let processes = scene::start(&world, &Told::default()).await;
        scene::begin(&world).await;
        scene::fail(&world).await;
        let lines = log.lines();
        told_in_order(
            &grep(&lines, "binding=default/nginx-deployment"),
            &[
                ("scheduler", "Binding has been scheduled successfully"),
                ("propagation_controllers", "cluster=\"member1\""),
                ("eviction_queue_api::producer", "has to leave"),
                ("taint_manager::evictor", "evicted"),
                ("scheduler", "Binding has been scheduled successfully"),
                ("graceful_eviction_controller", "Evict from cluster member1 succeed"),
            ],
        );
        let ended = grep(&lines, "binding=default/nginx-deployment");
        let ended = ended.iter().find(|line| line.contains("lease ended")).unwrap();
        assert!(
            ended.contains("cluster=member1") && ended.contains("outcome=\"Evicted\""),
            "{ended}"
        );
        // Whatever concerns a cluster names it in one of two spellings: what is a name, and what is a text.
        let of_cluster: Vec<String> = lines
            .iter()
            .map(|line| line.replace("cluster=\"member1\"", "cluster=member1"))
            .collect();
        told_in_order(
            &grep(&of_cluster, "cluster=member1"),
            &[
                ("cluster_health_controller", "Ready has settled"),
                ("taint_policy_controller", "taints changed"),
                ("eviction_queue_api::producer", "has to leave"),
                ("taint_manager::evictor", "evicted"),
                ("graceful_eviction_controller", "Evict from cluster member1 succeed"),
            ],
        );
        world.finish(processes).await;
    });
}

/// At rest nothing is decided, and nothing is logged.
#[test]
fn nothing_is_logged_at_rest() {
    ask_every_time();
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let processes = scene::start(&world, &Told::default()).await;
        scene::begin(&world).await;
        let log = Recording::start("info", &world.clock).unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(3_600)).await;
        assert_eq!(log.lines(), [""; 0]);
        drop(log);
        world.finish(processes).await;
    });
}
