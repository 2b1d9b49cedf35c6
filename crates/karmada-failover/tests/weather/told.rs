//! Where bad weather is seen: the table of `docs/weather.md` is what the tests look for, word by word.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use api_types::cluster::condition;
use serde_json::Value;

use crate::common::simulate;
use crate::scene::Scene;

const PAGE: &str = "docs/weather.md";

/// Of the member that has the weather.
const MEMBER: &str = "member1";

/// A row of the table: what stands in backticks in each of its cells.
struct Row {
    status: Vec<String>,
    metric: Vec<String>,
    log: Vec<String>,
    test: Vec<String>,
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cells of each row of the table whose head begins like this.
fn rows(head: &str) -> Vec<Vec<String>> {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let lines = page.lines().skip_while(|line| !line.starts_with(head));
    let rows = lines.skip(2).take_while(|line| line.starts_with("| "));
    rows.map(|row| {
        row.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    })
    .collect()
}

/// What stands in backticks.
fn quoted(cell: &str) -> Vec<String> {
    let words = cell.split('`').skip(1).step_by(2);
    words.map(|word| word.replace("NAME", MEMBER)).collect()
}

/// The rows by their weather.
fn table() -> BTreeMap<String, Row> {
    let row = |cells: Vec<String>| {
        let row = Row {
            status: quoted(&cells[1]),
            metric: quoted(&cells[2]),
            log: quoted(&cells[3]),
            test: quoted(&cells[4]),
        };
        assert!(!row.status.is_empty() && !row.metric.is_empty() && !row.log.is_empty());
        (cells[0].clone(), row)
    };
    rows("| weather |").into_iter().map(row).collect()
}

fn row(weather: &str) -> Row {
    let row = table().remove(weather);
    row.unwrap_or_else(|| panic!("{weather:?} is not in {PAGE}"))
}

/// After how many minutes without it a disturbance is over, as the page says.
fn minutes_until_over(disturbance: &str) -> u32 {
    let rows = rows("| disturbance |");
    let row = rows.iter().find(|cells| quoted(&cells[0]) == [disturbance]);
    let row = row.unwrap_or_else(|| panic!("{disturbance:?} is not in {PAGE}"));
    let [number, unit, ..] = row[2].split(' ').collect::<Vec<_>>()[..] else {
        panic!("{:?} is no time", row[2]);
    };
    number.parse::<u32>().unwrap() * if unit == "h" { 60 } else { 1 }
}

/// What can be seen at one moment, place by place.
#[derive(Clone, Default)]
pub struct Sight {
    cluster: BTreeSet<String>,
    works: BTreeSet<String>,
    /// Reason and note of the events on the member, and how often each was published.
    events: BTreeMap<(String, String), u64>,
    readyz: BTreeSet<String>,
    /// What stands on each Lease that is held, by its name.
    leases: BTreeMap<String, String>,
    /// The value of each series.
    metrics: BTreeMap<String, f64>,
    log: Vec<String>,
}

impl Sight {
    /// Another process has its own counters.
    pub fn forget_metrics(&mut self) {
        self.metrics.clear();
    }

    /// The cells of the row of which nothing can be seen that was not there `before`.
    fn missing(&self, row: &Row, before: &Self) -> Vec<String> {
        let status = row.status.iter().filter(|status| !self.says(status, before));
        let metric = row.metric.iter().filter(|metric| !self.counts(metric, before));
        let log = (!self.logs(&row.log, before)).then(|| row.log.join(" "));
        status.chain(metric).cloned().chain(log).collect()
    }

    fn says(&self, status: &str, before: &Self) -> bool {
        let (place, wanted) = status.split_once(' ').unwrap();
        let is_new = |now: &BTreeSet<String>, before: &BTreeSet<String>| {
            now.difference(before).any(|said| said.contains(wanted))
        };
        match place {
            "Cluster" => is_new(&self.cluster, &before.cluster),
            "Work" => is_new(&self.works, &before.works),
            "Event" => {
                // A status names the reason, and words of the note wherever they stand.
                let (reason, words) = wanted.split_once(": ").unwrap_or((wanted, ""));
                let events = self.events.iter();
                let mut news = events.filter(|(event, count)| before.events.get(*event).unwrap_or(&0) < *count);
                news.any(|((of, note), _)| of == reason && note.contains(words))
            }
            "/readyz" => is_new(&self.readyz, &before.readyz),
            "Lease" => {
                let said_before = |name: &String| before.leases.get(name).is_some_and(|said| said.contains(wanted));
                let mut leases = self.leases.iter();
                !self.leases.is_empty() && leases.all(|(name, said)| said.contains(wanted) && !said_before(name))
            }
            other => panic!("{other:?} is no place that tests know"),
        }
    }

    /// A series like `name{label="value"}`, other labels aside, counts more than before, or has the value that is given
    /// and had another one.
    fn counts(&self, metric: &str, before: &Self) -> bool {
        let (series, value) = match metric.rsplit_once(' ') {
            Some((series, value)) => (series, Some(value.parse::<f64>().unwrap())),
            None => (metric, None),
        };
        let (now, then) = (self.sum(series), before.sum(series));
        match value {
            Some(value) => now == Some(value) && then != Some(value),
            None => now.is_some_and(|now| now > then.unwrap_or(0.0)),
        }
    }

    /// `None` where there is no such series.
    fn sum(&self, series: &str) -> Option<f64> {
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let labels: Vec<&str> = labels.trim_end_matches('}').split(',').collect();
        let is_meant = |of: &str| {
            let (own_name, own_labels) = of.split_once('{').unwrap_or((of, ""));
            own_name == name && labels.iter().all(|label| own_labels.contains(label))
        };
        let series = self.metrics.iter().filter(|(of, _)| is_meant(of));
        series.map(|(_, value)| *value).reduce(|one, other| one + other)
    }

    /// A line has all these words; the first of them begin with its level.
    fn logs(&self, words: &[String], before: &Self) -> bool {
        let (level, first) = words[0].split_once(' ').unwrap();
        let mut lines = self.log[before.log.len()..].iter();
        lines.any(|line| {
            let mut words = [level, first].into_iter().chain(words[1..].iter().map(String::as_str));
            words.all(|word| line.contains(word))
        })
    }
}

impl Scene {
    /// What can be seen now.
    pub async fn sight(&self) -> Sight {
        let plane = self.world.fleet.control_plane();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let cluster = self.world.cluster(MEMBER).await;
        let ready = cluster.condition(condition::READY).unwrap();
        let works = self.world.works(MEMBER).await;
        let of_works = works.iter().flat_map(|work| &work.status.as_ref().unwrap().conditions);
        let events = plane.list("v1", "Event").into_iter();
        let about = events.filter(|event| event["involvedObject"]["name"] == MEMBER);
        let mut counted = BTreeMap::new();
        for event in about {
            let told = (text(&event["reason"]), text(&event["message"]));
            *counted.entry(told).or_default() += event["count"].as_u64().unwrap_or(1);
        }
        let leases = plane.list("coordination.k8s.io/v1", "Lease").into_iter();
        let held = leases.filter(|lease| !text(&lease["spec"]["holderIdentity"]).is_empty());
        let said = |lease: Value| {
            let annotations = &lease["metadata"]["annotations"];
            let said = text(&annotations[controller_kit::leader::DISTURBANCES_ANNOTATION]);
            (text(&lease["metadata"]["name"]), said)
        };
        let metrics = self.process().metrics().render();
        let values = metrics.lines().filter(|line| !line.starts_with('#'));
        Sight {
            cluster: [format!("Ready={} {}", ready.status, ready.reason)].into(),
            works: of_works
                .map(|condition| format!("{}={}", condition.type_, condition.status))
                .collect(),
            events: counted,
            readyz: self.process().readiness().notes().into_iter().collect(),
            leases: held.map(said).collect(),
            metrics: values
                .filter_map(|line| {
                    let (series, value) = line.rsplit_once(' ')?;
                    Some((series.to_owned(), value.parse().ok()?))
                })
                .collect(),
            log: self.log_lines(),
        }
    }

    /// The weather is seen now in all the places that the table names, and was not while all was fine.
    pub async fn assert_told(&self, weather: &str) {
        let now = self.sight().await;
        let missing = now.missing(&row(weather), self.fine());
        assert!(
            missing.is_empty(),
            "{weather}: nothing new of {missing:?}; under /readyz {:?}, on Leases {:?}, of the member {:?} {:?}, {:?}",
            now.readyz,
            now.leases,
            now.cluster,
            now.works,
            now.events
        );
    }

    /// The weather has ended; when its time is up, the disturbance is told nowhere any more.
    pub async fn assert_over(&mut self, weather: &str) {
        let status = row(weather).status;
        let mut disturbances = status.iter().filter_map(|status| status.strip_prefix("/readyz "));
        let disturbance = disturbances
            .next()
            .expect("what is not under /readyz is no disturbance");
        // A minute more: for the look that finds it, and the renewals that bring it to the Leases.
        self.minutes(minutes_until_over(disturbance) + 1).await;
        let now = self.sight().await;
        assert!(now.readyz.is_empty(), "{weather}: {:?}", now.readyz);
        assert!(
            !now.leases.is_empty() && now.leases.values().all(String::is_empty),
            "{:?}",
            now.leases
        );
        let disturbed = now.sum(&format!("failover_disturbed{{disturbance=\"{disturbance}\"}}"));
        assert!(disturbed.unwrap_or(0.0) == 0.0, "{weather}: {disturbed:?}");
    }
}

/// What start-up does, and what goes on while nothing is wrong, is told as no weather.
#[test]
fn nothing_of_the_table_is_told_in_fine_weather() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        scene.minutes(5).await;
        let now = scene.sight().await;
        for (weather, row) in table() {
            let cells = row.status.len() + row.metric.len() + 1;
            let missing = now.missing(&row, scene.fine());
            assert_eq!(missing.len(), cells, "{weather}: only {missing:?} cannot be seen");
        }
        scene.finish().await;
    });
}

/// The test that a row names is there and looks for this row.
#[test]
fn each_weather_of_the_table_is_looked_for_by_its_test() {
    let table = table();
    assert!(table.len() >= 14, "has the form of {PAGE} changed?");
    for (weather, row) in table {
        let [file, name] = row.test.as_slice() else {
            panic!("{weather}: {:?} is not a file and a test", row.test);
        };
        let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        let test = source.split(&format!("fn {name}(")).nth(1);
        let test = test.unwrap_or_else(|| panic!("{weather}: {file} has no {name}"));
        let body = test.split("\n}\n").next().unwrap();
        assert!(
            body.contains(&format!("assert_told(\"{weather}\")")),
            "{file}: {name} does not look for {weather:?}"
        );
        let is_disturbance = row.status.iter().any(|status| status.starts_with("/readyz "));
        assert!(
            !is_disturbance || body.contains(&format!("assert_over(\"{weather}\")")),
            "{file}: {name} does not look for the end of {weather:?}"
        );
    }
}
