//! One binding's story, and one cluster's, found by grep alone.

use std::io::Write;
use std::sync::Arc;

use controller_kit::process::LogFormat;
use controller_kit::telemetry::{Recording, ask_every_time, subscriber};
use parking_lot::Mutex;
use regex::Regex;

use crate::common::{World, simulate};
use crate::scan::root;
use crate::scene::{self, Told};

/// What a process writes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

/// What `docs/logs.md` gives to `grep -E`, with the page's example replaced by this name.
fn pattern(field: &str, example: &str, name: &str) -> Regex {
    let page = std::fs::read_to_string(root().join("docs/logs.md")).unwrap();
    let of_page = page
        .split('\'')
        .find(|quoted| quoted.starts_with(field) && quoted.contains(example))
        .unwrap_or_else(|| panic!("docs/logs.md greps no {field}"));
    Regex::new(&of_page.replace(example, name)).unwrap()
}

/// The lines that it finds, spelled alike: `field=value` without quotes.
fn grep(text: &str, pattern: &Regex) -> Vec<String> {
    let found = text.lines().filter(|line| pattern.is_match(line));
    found.map(plain).collect()
}

fn plain(text: &str) -> String {
    text.replace("\\\"", "").replace('"', "").replace(':', "=")
}

/// Every step is in the lines, in this order.
fn told_in_order(lines: &[String], steps: &[(&str, &str)]) {
    let mut rest = lines.iter();
    for (component, words) in steps {
        assert!(
            rest.any(|line| {
                let component = plain(component);
                let is_its = [format!(" {component}"), format!("target={component}")]
                    .iter()
                    .any(|target| line.contains(target));
                is_its && line.contains(&plain(words))
            }),
            "after what was found there is no line of {component} that says {words:?}:\n{}",
            lines.join("\n")
        );
    }
}

/// The worked example, logged like this.
fn story(format: LogFormat) {
    ask_every_time();
    let log = Log::default();
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let pen = log.clone();
        let heard = subscriber(format, "info", world.clock.clone(), move || pen.clone()).unwrap();
        let recording = tracing::subscriber::set_default(heard);
        let processes = scene::start(&world, &Told::default()).await;
        scene::begin(&world).await;
        scene::fail(&world).await;
        drop(recording);
        world.finish(processes).await;
    });
    let text = log.text();
    if matches!(format, LogFormat::Json) {
        assert!(text.lines().all(|line| line.starts_with('{')), "{text}");
    }
    let of_binding = grep(
        &text,
        &pattern("binding", "shop/web-deployment", "default/nginx-deployment"),
    );
    told_in_order(
        &of_binding,
        &[
            ("scheduler", "Binding has been scheduled successfully"),
            ("propagation_controllers", "cluster=member1"),
            ("eviction_queue_api::producer", "has to leave"),
            ("taint_manager::evictor", "evicted"),
            ("scheduler", "Binding has been scheduled successfully"),
            ("graceful_eviction_controller", "Evict from cluster member1 succeed"),
        ],
    );
    let ended = of_binding.iter().find(|line| line.contains("lease ended")).unwrap();
    assert!(
        ended.contains("cluster=member1") && ended.contains("outcome=Evicted"),
        "{ended}"
    );
    told_in_order(
        &grep(&text, &pattern("cluster", "member1", "member1")),
        &[
            ("cluster_health_controller", "Ready has settled"),
            ("taint_policy_controller", "taints changed"),
            ("eviction_queue_api::producer", "has to leave"),
            ("taint_manager::evictor", "evicted"),
            ("graceful_eviction_controller", "Evict from cluster member1 succeed"),
        ],
    );
    let other = pattern("binding", "shop/web-deployment", "default/nginx");
    assert_eq!(grep(&text, &other), [""; 0], "the pattern takes longer names, too");
}

#[test]
fn a_bindings_story_is_found_by_grep() {
    story(LogFormat::Text);
}

/// As the charts have it logged.
#[test]
fn a_bindings_story_is_found_by_grep_in_json() {
    story(LogFormat::Json);
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
