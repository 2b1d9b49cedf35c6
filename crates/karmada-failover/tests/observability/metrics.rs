//! The list of metrics in `docs/metrics.md` is true, and every metric keeps to the conventions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use karmada_failover::story::example::Pace;
use karmada_failover::story::scenario::{self, Scenario};

use crate::catalogue;
use crate::common::{World, simulate};
use crate::scan;
use crate::stage::play;

/// Names that the proposal for the eviction queue fixes, although they end in `_total` and count up and down.
const FIXED: [&str; 2] = ["evict_total", "evict_kind_total"];
/// Labels that Prometheus itself gives to what it scrapes: a metric's own would be renamed.
const TARGET_LABELS: [&str; 7] = [
    "job",
    "instance",
    "namespace",
    "pod",
    "service",
    "endpoint",
    "container",
];

/// The labels of every family in a scrape.
pub fn labels(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let types: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').unwrap();
        let (name, shown) = series.split_once('{').unwrap_or((series, "}"));
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .filter_map(|part| name.strip_suffix(part))
            .find(|family| types.contains_key(family))
            .unwrap_or(name);
        let known = all.entry(family.to_owned()).or_default();
        let names = shown
            .trim_end_matches('}')
            .split("\",")
            .filter_map(|pair| pair.split_once("=\""));
        known.extend(names.map(|(name, _)| name.to_owned()).filter(|name| name != "le"));
    }
    all
}

/// The windows of a real fleet.
pub const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 300,
    remove_on_mismatch_seconds: 180,
    evictions_per_second: 0.5,
};

/// The stories in which the most different things happen.
const STORIES: [fn(Pace) -> Scenario; 4] = [
    scenario::worked_example::scenario,
    scenario::no_target::scenario,
    scenario::application_failover::scenario,
    scenario::flapping::scenario,
];

/// What the whole system shows over the stories, and beside a stock one.
fn seen() -> BTreeMap<String, BTreeSet<String>> {
    let scrapes = Mutex::new(Vec::new());
    for story in STORIES {
        simulate(|| async {
            let played = play(&story(PACE)).await.scrapes;
            scrapes.lock().unwrap().extend(played);
        });
    }
    simulate(|| async {
        let world = World::new(&["member1"]);
        let beside = world.run("beside", &["--beside-stock"]).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        scrapes.lock().unwrap().push(beside.metrics().render());
        world.finish(vec![beside]).await;
    });
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for text in &scrapes.into_inner().unwrap() {
        assert_eq!(controller_kit::metrics::complaints(text), [""; 0]);
        for (name, labels) in labels(text) {
            all.entry(name).or_default().extend(labels);
        }
    }
    assert!(all.contains_key("failover_second_owner"));
    all
}

#[test]
fn the_list_of_metrics_is_true() {
    let (coded, seen) = (scan::metrics(), seen());
    let unknown: Vec<&String> = seen.keys().filter(|name| !coded.contains_key(*name)).collect();
    assert!(unknown.is_empty(), "shown, and not found in the code: {unknown:?}");
    let wanted = catalogue::wanted(&coded, &seen);
    if std::env::var_os("KARMADA_FAILOVER_WRITE_DOCS").is_some() {
        catalogue::write(&wanted);
    }
    let listed = catalogue::rows();
    let stale: Vec<String> = wanted
        .iter()
        .filter(|(name, row)| listed.get(*name) != Some(row))
        .map(|(name, row)| format!("{name}: {row:?}, listed: {:?}", listed.get(name)))
        .chain(
            listed
                .keys()
                .filter(|name| !wanted.contains_key(*name))
                .map(|name| format!("{name} is no more")),
        )
        .collect();
    assert!(
        stale.is_empty(),
        "docs/metrics.md: run this test with KARMADA_FAILOVER_WRITE_DOCS=1, fill in the labels of what it did not see, \
         and run it again: {stale:#?}"
    );
}

#[test]
fn every_metric_keeps_to_the_conventions() {
    let explained = catalogue::explained_labels();
    let mut wrong = Vec::new();
    for (name, row) in catalogue::rows() {
        let counts = row.kind == "counter";
        if counts != name.ends_with("_total") && !FIXED.contains(&name.as_str()) {
            wrong.push(format!("{name} is a {}", row.kind));
        }
        if ["_milliseconds", "_ms", "_minutes", "_kib", "_mib", "_percent"]
            .iter()
            .any(|unit| name.ends_with(unit))
        {
            wrong.push(format!("{name} is not in a base unit"));
        }
        if row.help.is_empty() {
            wrong.push(format!("{name} has no help"));
        }
        for label in &row.labels {
            if TARGET_LABELS.contains(&label.as_str()) {
                wrong.push(format!("{name}: label {label} belongs to Prometheus"));
            }
            if !explained.contains(label) {
                wrong.push(format!(
                    "{name}: docs/metrics.md does not say what bounds label {label}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
