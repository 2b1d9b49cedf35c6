//! The alerts and the dashboard ask for metrics that there are, each alert is tested firing and silent, and has a
//! runbook. What promtool and a real Prometheus say is in [`crate::prometheus`] and [`crate::faults`].

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use crate::scan::root;
use crate::{catalogue, faults, prometheus};

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&std::fs::read_to_string(root().join(path)).unwrap()).unwrap()
}

/// Each group of alerts: the file of its tests in the chart, and the alerts.
fn groups() -> Vec<(String, Vec<Value>)> {
    let rules = yaml("charts/monitoring/rules/failover.yaml");
    let groups = rules["groups"].as_array().unwrap().iter().map(|group| {
        let name = group["name"].as_str().unwrap().strip_prefix("failover.").unwrap();
        (format!("tests/{name}.yaml"), group["rules"].as_array().unwrap().clone())
    });
    groups.collect()
}

/// The alerts.
pub fn alerts() -> Vec<Value> {
    groups().into_iter().flat_map(|(_, alerts)| alerts).collect()
}

/// The files of their tests in the chart.
pub fn test_files() -> Vec<String> {
    groups().into_iter().map(|(tests, _)| tests).collect()
}

/// The alerts that a file of tests asks for, and whether they are to fire.
fn tested(file: &str) -> Vec<(String, bool)> {
    let tests = yaml(&format!("charts/monitoring/{file}"));
    let tests = tests["tests"].as_array().unwrap().iter();
    let asked = tests.flat_map(|test| test["alert_rule_test"].as_array().unwrap().clone());
    asked
        .map(|asked| {
            let fires = !asked["exp_alerts"].as_array().unwrap().is_empty();
            (asked["alertname"].as_str().unwrap().to_owned(), fires)
        })
        .collect()
}

/// Every query of the dashboard.
pub fn queries() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("charts/monitoring/dashboards/failover.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .collect()
}

/// Labels that Prometheus gives to whatever it scrapes; `cluster` where one hears several Kubernetes clusters.
const OF_TARGETS: [&str; 5] = ["namespace", "job", "pod", "instance", "cluster"];

/// What a query asks for that is none of our metrics, and labels that the metric has not.
fn unknown(query: &str) -> Vec<String> {
    let rows = catalogue::rows();
    let selector = Regex::new(r"\b([a-z]+_[a-z_]+[a-z])\b(?:\{([^}]*)\})?").unwrap();
    let label = Regex::new(r"([a-z_]+)(?:=~|!~|!=|=)").unwrap();
    let grouping = Regex::new(r"\b(?:by|on|without|ignoring) ?\(([^)]*)\)").unwrap();
    let functions = ["max_over_time", "histogram_quantile"];
    let text = grouping.replace_all(query, "");
    let mut wrong = Vec::new();
    let mut has: BTreeSet<String> = OF_TARGETS.map(str::to_owned).into();
    has.insert("le".to_owned());
    for hit in selector.captures_iter(&text) {
        let name = &hit[1];
        let inside_labels = text[..hit.get(0).unwrap().start()].matches('{').count()
            > text[..hit.get(0).unwrap().start()].matches('}').count();
        if inside_labels || functions.contains(&name) {
            continue;
        }
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .filter_map(|part| name.strip_suffix(part));
        let Some(row) = family.chain([name]).find_map(|name| rows.get(name)) else {
            wrong.push(format!("{name} is no metric of ours"));
            continue;
        };
        has.extend(row.labels.iter().cloned());
        let labels = hit.get(2).map_or("", |labels| labels.as_str());
        for label in label.captures_iter(labels) {
            if !row.labels.contains(&label[1]) && !OF_TARGETS.contains(&&label[1]) {
                wrong.push(format!("{name} has no label {}", &label[1]));
            }
        }
    }
    for group in grouping.captures_iter(query) {
        let names = group[1].split(',').map(str::trim).filter(|name| !name.is_empty());
        let unknown = names.filter(|name| !has.contains(*name));
        wrong.extend(unknown.map(|name| format!("grouped by {name}, a label that nothing in the query has")));
    }
    wrong
}

#[test]
fn alerts_and_dashboard_ask_for_what_there_is() {
    let mut wrong = Vec::new();
    for alert in alerts() {
        let query = alert["expr"].as_str().unwrap();
        wrong.extend(
            unknown(query)
                .into_iter()
                .map(|what| format!("{}: {what}", alert["alert"])),
        );
    }
    for query in queries() {
        wrong.extend(unknown(&query).into_iter().map(|what| format!("{query}: {what}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(unknown("max(failover_nothing{namespace=~\"a\"})").len(), 1);
    assert_eq!(
        unknown("sum by (state) (failover_queue_entries{stat=\"Ready\"})").len(),
        1
    );
    assert_eq!(unknown("sum by (namespace, stat) (failover_queue_entries)").len(), 1);
}

/// Agents have controllers that are called as the control plane's: who leads is asked of the ones or of the others.
#[test]
fn who_leads_is_asked_of_agents_or_of_the_others() {
    let selector = Regex::new(r"failover_(?:leader|controller_enabled)(\{[^}]*\})?").unwrap();
    let alerts = alerts()
        .into_iter()
        .filter(|alert| alert["alert"] != "FailoverTargetDown");
    let alerts = alerts.map(|alert| alert["expr"].as_str().unwrap().to_owned());
    let (mut asked, mut mixed) = (0, Vec::new());
    for query in alerts.chain(queries()) {
        for hit in selector.captures_iter(&query) {
            asked += 1;
            let labels = hit.get(1).map_or("", |labels| labels.as_str());
            if !labels.contains(r#"job="agent""#) && !labels.contains(r#"job!="agent""#) {
                mixed.push(query.clone());
            }
        }
    }
    assert!(asked > 10, "{asked}");
    assert!(mixed.is_empty(), "{mixed:#?}");
}

#[test]
fn every_alert_is_whole_and_tested_firing_and_silent() {
    for (file, alerts) in groups() {
        let tested = tested(&file);
        for alert in alerts {
            let name = alert["alert"].as_str().unwrap().to_owned();
            for fires in [true, false] {
                assert!(
                    tested.contains(&(name.clone(), fires)),
                    "{name} has no test in {file} where it fires: {fires}"
                );
            }
        }
    }
    let there = std::fs::read_dir(root().join("charts/monitoring/tests")).unwrap();
    assert_eq!(there.count(), test_files().len(), "a file of no group is never run");
    let mut names = BTreeSet::new();
    for alert in alerts() {
        let name = alert["alert"].as_str().unwrap().to_owned();
        assert!(
            matches!(alert["labels"]["severity"].as_str(), Some("critical" | "warning")),
            "{name}"
        );
        for text in ["summary", "description"] {
            assert!(
                alert["annotations"][text].as_str().is_some_and(|text| text.len() > 20),
                "{name}: {text}"
            );
        }
        let runbook = alert["annotations"]["runbook_url"].as_str().unwrap();
        assert_eq!(runbook, format!("docs/runbooks/{name}.md"));
        assert!(root().join(runbook).is_file(), "{runbook}");
        assert!(
            alert["expr"].as_str().unwrap().contains("namespace"),
            "{name}: control planes are told apart"
        );
        assert!(names.insert(name));
    }
    let pages = std::fs::read_dir(root().join("docs/runbooks")).unwrap();
    for page in pages {
        let page = page.unwrap().file_name().into_string().unwrap();
        let name = page.strip_suffix(".md").unwrap();
        assert!(
            name == "README" || names.contains(name),
            "docs/runbooks/{page} is of no alert"
        );
    }
}

/// Alerts that no scene lets fire, and why none can.
const NEVER_FIRED: [(&str, &str); 0] = [];

// The scenes fail when one of their alerts does not fire; here nobody may be forgotten.
#[test]
fn every_alert_fires_in_a_scene_that_a_real_prometheus_scrapes() {
    let names = |alerts: &[(&str, &str)]| {
        let names = alerts.iter().map(|(name, _)| (*name).to_owned());
        names.collect::<BTreeSet<String>>()
    };
    let fired = &names(&prometheus::FIRE) | &names(&faults::FIRE);
    let left_out = names(&NEVER_FIRED);
    let alerts: BTreeSet<String> = alerts()
        .iter()
        .map(|alert| alert["alert"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(&fired & &left_out, BTreeSet::new(), "it fires, and is left out");
    assert_eq!(&fired | &left_out, alerts);
}
