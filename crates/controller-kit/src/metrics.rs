//! The metrics of one process.
//!
//! Guarantees: nothing global, so that several processes in one test count apart; a series that belongs to an object
//! is computed at scrape time by a [collector](Metrics::collector) and so disappears with its object; every family
//! has a help text once it was [described](Metrics::describe).

mod buckets;
mod complaints;
mod marked;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use parking_lot::Mutex;

pub use self::buckets::Buckets;
pub use self::complaints::complaints;
pub use self::marked::{Holds, Marked};
pub use self::words::Words;

/// Upper bounds of histogram buckets, in seconds.
const BUCKETS: [f64; 14] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// How often histogram samples are folded into buckets when nobody scrapes.
pub(crate) const UPKEEP_EVERY: Duration = Duration::from_secs(15);

const METADATA: Metadata<'static> = Metadata::new("controller_kit", Level::INFO, None);

/// The registry of one process. Clones are the same registry.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    collectors: Mutex<BTreeMap<String, Collector>>,
    /// Collectors with a guard so far.
    guarded: AtomicU64,
}

type Collector = Arc<dyn Fn() -> Vec<Family> + Send + Sync>;

/// What a series computed at scrape time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// Goes up and down.
    Gauge,
    /// Only grows while its object lives.
    Counter,
    /// Counts of values by size.
    Histogram,
}

/// A metric with all its series, computed at scrape time.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Prometheus name.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Gauge, counter or histogram.
    pub kind: FamilyKind,
    /// Its series.
    pub samples: Vec<Sample>,
}

/// One series of a [`Family`].
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What is appended to the family's name: the parts of a histogram have their own.
    suffix: &'static str,
    /// Label names and values.
    pub labels: Vec<(&'static str, String)>,
    /// The value now.
    pub value: f64,
}

impl Family {
    /// A gauge without series yet.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            kind: FamilyKind::Gauge,
            samples: Vec::new(),
        }
    }

    /// A counter without series yet.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            kind: FamilyKind::Counter,
            samples: Vec::new(),
        }
    }

    /// Adds a series.
    #[must_use]
    pub fn with(mut self, labels: &[(&'static str, &str)], value: f64) -> Self {
        self.add(labels, value);
        self
    }

    /// Adds a series.
    pub fn add(&mut self, labels: &[(&'static str, &str)], value: f64) {
        let labels = labels
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        self.samples.push(Sample {
            suffix: "",
            labels,
            value,
        });
    }
}

impl Metrics {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        let builder = PrometheusBuilder::new();
        // Only an empty list of buckets is refused.
        let recorder = match builder.set_buckets(&BUCKETS) {
            Ok(builder) => builder.build_recorder(),
            Err(_) => PrometheusBuilder::new().build_recorder(),
        };
        let handle = recorder.handle();
        Self {
            inner: Arc::new(Inner {
                recorder,
                handle,
                collectors: Mutex::default(),
                guarded: AtomicU64::new(0),
            }),
        }
    }

    /// A counter's handle. Names end in `_total`. Keep the handle where it is used often.
    pub fn counter(&self, name: &'static str, labels: &[(&'static str, &str)]) -> Counter {
        self.inner.recorder.register_counter(&key(name, labels), &METADATA)
    }

    /// A gauge's handle.
    pub fn gauge(&self, name: &'static str, labels: &[(&'static str, &str)]) -> Gauge {
        self.inner.recorder.register_gauge(&key(name, labels), &METADATA)
    }

    /// A histogram's handle. Values are seconds.
    pub fn histogram(&self, name: &'static str, labels: &[(&'static str, &str)]) -> Histogram {
        self.inner.recorder.register_histogram(&key(name, labels), &METADATA)
    }

    /// Sets the help text of a metric made by [`Metrics::counter`], [`Metrics::gauge`] or [`Metrics::histogram`].
    pub fn describe(&self, name: &'static str, help: &'static str) {
        // The exporter keeps one table of help texts for all kinds.
        self.inner
            .recorder
            .describe_gauge(KeyName::from_const_str(name), None, help.into());
    }

    /// Computes families at every scrape. The same name again replaces the earlier collector.
    pub fn collector(&self, name: impl Into<String>, collect: impl Fn() -> Vec<Family> + Send + Sync + 'static) {
        self.inner.collectors.lock().insert(name.into(), Arc::new(collect));
    }

    /// Ends a collector.
    pub fn remove_collector(&self, name: &str) {
        self.inner.collectors.lock().remove(name);
    }

    /// Computes families at every scrape for as long as the guard lives. Others of the same name live beside it, so
    /// that what comes back (a member, its queue) does not lose its series when what was before it goes late.
    #[must_use]
    pub fn guarded_collector(
        &self,
        name: &str,
        collect: impl Fn() -> Vec<Family> + Send + Sync + 'static,
    ) -> CollectorGuard {
        let name = format!("{name}#{}", self.inner.guarded.fetch_add(1, Ordering::Relaxed));
        self.collector(name.clone(), collect);
        CollectorGuard {
            registry: Arc::downgrade(&self.inner),
            name,
        }
    }

    /// Everything in the Prometheus text format.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = self.inner.handle.render();
        // Collectors run without the lock: they may read stores, or register others.
        let collectors: Vec<Collector> = self.inner.collectors.lock().values().cloned().collect();
        let mut families: BTreeMap<&'static str, Family> = BTreeMap::new();
        for family in collectors.iter().flat_map(|collect| collect()) {
            match families.get_mut(family.name) {
                Some(known) => known.samples.extend(family.samples),
                None => {
                    families.insert(family.name, family);
                }
            }
        }
        for family in families.values().filter(|family| !family.samples.is_empty()) {
            render_family(&mut text, family);
        }
        text
    }

    /// The value of one series as `/metrics` shows it, for tests: `value("x_total", &[("queue", "a")])`.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.render().lines().find_map(|line| {
            let rest = line.strip_prefix(name)?;
            let (series, value) = rest.rsplit_once(' ')?;
            let shown = series
                .strip_prefix('{')
                .and_then(|s| s.strip_suffix('}'))
                .unwrap_or(series);
            let wanted: Vec<String> = labels.iter().map(|(k, v)| format!("{k}=\"{v}\"")).collect();
            let all = wanted.iter().all(|pair| shown.contains(pair.as_str()));
            (all && (series.is_empty() || series.starts_with('{')))
                .then(|| value.parse().ok())
                .flatten()
        })
    }

    pub(crate) fn upkeep(&self) {
        self.inner.handle.run_upkeep();
    }
}

/// Ends its collector when it is dropped.
#[derive(Debug)]
pub struct CollectorGuard {
    registry: Weak<Inner>,
    name: String,
}

impl Drop for CollectorGuard {
    fn drop(&mut self) {
        if let Some(registry) = self.registry.upgrade() {
            registry.collectors.lock().remove(&self.name);
        }
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registry")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

fn key(name: &'static str, labels: &[(&'static str, &str)]) -> Key {
    Key::from_parts(
        name,
        labels
            .iter()
            .map(|(name, value)| Label::new(*name, (*value).to_owned()))
            .collect::<Vec<_>>(),
    )
}

fn render_family(text: &mut String, family: &Family) {
    let kind = match family.kind {
        FamilyKind::Gauge => "gauge",
        FamilyKind::Counter => "counter",
        FamilyKind::Histogram => "histogram",
    };
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "# HELP {} {}\n# TYPE {} {kind}",
        family.name, family.help, family.name
    );
    // Two collectors may speak of the same object while one follows the other: the first counts.
    let mut told = BTreeSet::new();
    for sample in &family.samples {
        if !told.insert((sample.suffix, &sample.labels)) {
            continue;
        }
        let labels: Vec<String> = sample
            .labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
            .collect();
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        let _ = writeln!(text, "{}{}{labels} {}", family.name, sample.suffix, sample.value);
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_registries_count_apart() {
        let (one, two) = (Metrics::new(), Metrics::new());
        one.counter("things_total", &[("kind", "a")]).increment(3);
        two.counter("things_total", &[("kind", "a")]).increment(1);
        assert_eq!(one.value("things_total", &[("kind", "a")]), Some(3.0));
        assert_eq!(two.value("things_total", &[("kind", "a")]), Some(1.0));
        assert_eq!(one.value("things_total", &[("kind", "b")]), None);
    }

    // kubernetes#73587, karmada#5839: the scrape must not grow with objects that are gone.
    #[test]
    fn a_collected_series_goes_with_its_object() {
        let metrics = Metrics::new();
        let objects = Arc::new(Mutex::new(vec!["member1".to_owned(), "mem\"ber2".to_owned()]));
        let seen = objects.clone();
        metrics.collector("clusters", move || {
            let family = Family::gauge("cluster_ready", "Whether a cluster is ready.");
            vec![
                seen.lock()
                    .iter()
                    .fold(family, |family, name| family.with(&[("cluster", name)], 1.0)),
            ]
        });
        assert!(metrics.render().contains(
            "# HELP cluster_ready Whether a cluster is ready.\n# TYPE cluster_ready gauge\n\
             cluster_ready{cluster=\"member1\"} 1\ncluster_ready{cluster=\"mem\\\"ber2\"} 1\n"
        ));
        objects.lock().clear();
        assert_eq!(metrics.value("cluster_ready", &[]), None);
    }

    #[test]
    fn a_guard_ends_its_own_collector_only() {
        let metrics = Metrics::new();
        let collect = |value| move || vec![Family::gauge("depth", "Keys.").with(&[("member", "m")], value)];
        let before = metrics.guarded_collector("queue", collect(1.0));
        let after = metrics.guarded_collector("queue", collect(2.0));
        assert_eq!(
            complaints(&metrics.render()),
            [""; 0],
            "one series, although two speak of it"
        );
        drop(before);
        assert_eq!(metrics.value("depth", &[("member", "m")]), Some(2.0));
        drop(after);
        assert_eq!(metrics.value("depth", &[]), None);
    }

    #[test]
    fn help_and_buckets_are_rendered() {
        let metrics = Metrics::new();
        metrics.describe("work_seconds", "Time a piece of work took.");
        metrics.histogram("work_seconds", &[]).record(0.2);
        let text = metrics.render();
        assert!(
            text.contains("# HELP work_seconds Time a piece of work took."),
            "{text}"
        );
        assert!(text.contains("work_seconds_bucket{le=\"0.25\"} 1"), "{text}");
    }
}
