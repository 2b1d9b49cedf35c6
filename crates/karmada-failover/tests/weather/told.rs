//! Where bad weather is seen: the table of `docs/weather.md` is what the tests look for, word by word.

use std::collections::BTreeMap;
use std::path::Path;

use api_types::cluster::condition;
use serde_json::Value;

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

/// The rows by their weather.
fn table() -> BTreeMap<String, Row> {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let lines = page.lines().skip_while(|line| !line.starts_with("| weather |"));
    let rows = lines.skip(2).take_while(|line| line.starts_with("| "));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let quoted = |cell: usize| -> Vec<String> {
            let words = cells[cell].split('`').skip(1).step_by(2);
            words.map(|word| word.replace("NAME", MEMBER)).collect()
        };
        let row = Row {
            status: quoted(1),
            metric: quoted(2),
            log: quoted(3),
            test: quoted(4),
        };
        (cells[0].to_owned(), row)
    })
    .collect()
}

impl Scene {
    /// The weather is seen now in all the places that the table names.
    pub async fn assert_told(&self, weather: &str) {
        let table = table();
        let row = table
            .get(weather)
            .unwrap_or_else(|| panic!("{weather:?} is not in {PAGE}"));
        assert!(!row.status.is_empty() && !row.metric.is_empty() && !row.log.is_empty());
        for status in &row.status {
            let seen = self.status(status).await;
            assert!(
                seen.iter().any(|seen| seen.contains(rest(status))),
                "{weather}: {status:?} is not in {seen:#?}"
            );
        }
        for metric in &row.metric {
            self.assert_counted(weather, metric);
        }
        let (level, first) = row.log[0].split_once(' ').unwrap();
        let words: Vec<&str> = [level, first]
            .into_iter()
            .chain(row.log[1..].iter().map(String::as_str))
            .collect();
        self.assert_logged(&words);
    }

    /// What is seen at the place that a status of the table begins with.
    async fn status(&self, status: &str) -> Vec<String> {
        let plane = self.world.fleet.control_plane();
        match status.split(' ').next().unwrap() {
            "Cluster" => {
                let cluster = self.world.cluster(MEMBER).await;
                let ready = cluster.condition(condition::READY).unwrap();
                vec![format!("Ready={} {}", ready.status, ready.reason)]
            }
            "Work" => {
                let works = self.world.works(MEMBER).await;
                let conditions = works.iter().flat_map(|work| &work.status.as_ref().unwrap().conditions);
                conditions
                    .map(|condition| format!("{}={}", condition.type_, condition.status))
                    .collect()
            }
            "Event" => {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let events = plane.list("v1", "Event").into_iter();
                let about = events.filter(|event| event["involvedObject"]["name"] == MEMBER);
                about
                    .flat_map(|event| {
                        // A status names the reason, and words of the note wherever they stand.
                        let (reason, note) = (text(&event["reason"]), text(&event["message"]));
                        let wanted = rest(status).split_once(": ").unwrap_or((rest(status), ""));
                        (reason == wanted.0 && note.contains(wanted.1)).then(|| rest(status).to_owned())
                    })
                    .collect()
            }
            "/readyz" => self.process().readiness().notes(),
            "Lease" => {
                let leases = plane.list("coordination.k8s.io/v1", "Lease").into_iter();
                let said = |lease: Value| {
                    let said = &lease["metadata"]["annotations"][controller_kit::leader::DISTURBANCES_ANNOTATION];
                    said.as_str().map(str::to_owned)
                };
                leases.filter_map(said).collect()
            }
            other => panic!("{other:?} is no place that tests know"),
        }
    }

    /// A series like `name{label="value"}`, other labels aside, is above 0, or has the value that is given.
    fn assert_counted(&self, weather: &str, metric: &str) {
        let (series, value) = match metric.rsplit_once(' ') {
            Some((series, value)) => (series, Some(value.parse::<f64>().unwrap())),
            None => (metric, None),
        };
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let labels: Vec<&str> = labels
            .trim_end_matches('}')
            .split(',')
            .filter(|label| !label.is_empty())
            .collect();
        let text = self.process().metrics().render();
        let of_name = text
            .lines()
            .filter(|line| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} ")));
        let mut values = of_name
            .filter(|line| labels.iter().all(|label| line.contains(label)))
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
            .peekable();
        assert!(values.peek().is_some(), "{weather}: no series {series}");
        let sum: f64 = values.sum();
        let is_seen = value.map_or(sum > 0.0, |value| (sum - value).abs() < f64::EPSILON);
        assert!(is_seen, "{weather}: {metric}: {sum}");
    }
}

/// What follows the place.
fn rest(status: &str) -> &str {
    status.split_once(' ').unwrap().1
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
    }
}
