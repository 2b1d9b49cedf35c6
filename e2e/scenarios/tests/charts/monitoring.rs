//! The rules as the chart renders them are what promtool takes, and those that were tested.

use std::process::Command;

use e2e_harness::available_prometheus;
use serde_json::{Value, json};

use crate::objects::{objects, only};
use crate::{chart, renderer};

fn shipped() -> Value {
    let text = std::fs::read_to_string(chart("monitoring").join("rules/failover.yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

fn rules(spec: &Value) -> impl Iterator<Item = &Value> {
    let groups = spec["groups"].as_array().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_array().unwrap())
}

#[test]
fn the_rules_that_are_rendered_are_those_that_are_shipped() {
    let Some(helm) = renderer() else { return };
    let rendered = objects(&helm, "monitoring", &[]);
    assert_eq!(only(&rendered, "PrometheusRule")["spec"], shipped());
}

#[test]
fn promtool_takes_the_rules_as_they_are_rendered() {
    let Some(helm) = renderer() else { return };
    let Some(prometheus) = available_prometheus("the rendered rules") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let own = "runbooks=https://git.example.com/runbooks/,prometheusRule.alertLabels.team=platform,\
               prometheusRule.alertLabels.severity=none";
    for (name, flags) in [("defaults", &[][..]), ("own", &["--set", own])] {
        let rendered = objects(&helm, "monitoring", flags);
        let spec = &only(&rendered, "PrometheusRule")["spec"];
        let file = folder.path().join(format!("{name}.yaml"));
        std::fs::write(&file, spec.to_string()).unwrap();
        let output = Command::new(prometheus.promtool())
            .args(["check", "rules", "--lint=all", "--lint-fatal"])
            .arg(&file)
            .output()
            .unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (said(&output.stdout), said(&output.stderr));
        assert!(output.status.success(), "{name}: {out}{err}");
        let all = rules(&shipped()).count();
        assert!(out.contains(&format!("SUCCESS: {all} rules found")), "{name}: {out}");
    }
}

/// One's own labels are on every alert, and change none of the chart's.
#[test]
fn each_alert_has_ones_own_labels_and_links() {
    let Some(helm) = renderer() else { return };
    let own = "runbooks=https://git.example.com/runbooks/,prometheusRule.alertLabels.team=platform,\
               prometheusRule.alertLabels.severity=none";
    let rendered = objects(&helm, "monitoring", &["--set", own]);
    let mut spec = only(&rendered, "PrometheusRule")["spec"].clone();
    let shipped = shipped();
    for group in spec["groups"].as_array_mut().unwrap() {
        for rule in group["rules"].as_array_mut().unwrap() {
            let labels = rule["labels"].as_object_mut().unwrap();
            assert_eq!(labels.remove("team"), Some(json!("platform")), "{rule}");
            let link = rule["annotations"]["runbook_url"].as_str().unwrap();
            let page = link.strip_prefix("https://git.example.com/runbooks/");
            let page = page.unwrap_or_else(|| panic!("{link}"));
            rule["annotations"]["runbook_url"] = json!(format!("docs/runbooks/{page}"));
        }
    }
    assert_eq!(spec, shipped);
}
