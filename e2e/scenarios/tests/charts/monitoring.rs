//! The rules as the chart renders them are what promtool takes, and those that were tested; and what the charts say to the
//! Prometheus operator, which is not here, is such that it takes it, and that the rules find their processes.

use std::process::Command;

use e2e_harness::{ControlPlane, Helm, Tool, available_prometheus, available_with};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use regex::Regex;
use serde_json::{Value, json};

use crate::component_names::COMPONENTS;
use crate::objects::{objects, only};
use crate::stand_ins::{NAMESPACE, assert_taken, offer, serve, stand_in};
use crate::{chart, renderer};

const GROUP: &str = "monitoring.coreos.com";

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

/// What a chart renders where the operator is to scrape.
fn scraped(helm: &Helm, name: &str) -> Vec<Value> {
    objects(
        helm,
        name,
        &["--namespace", NAMESPACE, "--set", "serviceMonitor.enabled=true"],
    )
}

/// Whether an object has all of these labels.
fn has_labels(object: &Value, wanted: &Value) -> bool {
    let mut wanted = wanted.as_object().unwrap().iter();
    wanted.all(|(name, value)| object["metadata"]["labels"][name] == *value)
}

/// The operator asks the Services that have the labels, at the port of that name, and calls the job by a label of theirs.
#[test]
fn each_component_is_scraped_once_and_by_its_name() {
    let Some(helm) = renderer() else { return };
    for name in COMPONENTS {
        let rendered = scraped(&helm, name);
        let monitor = only(&rendered, "ServiceMonitor");
        let spec = &monitor["spec"];
        let [endpoint] = spec["endpoints"].as_array().unwrap().as_slice() else {
            panic!("{name}: {spec}")
        };
        let services = rendered.iter().filter(|object| object["kind"] == "Service");
        let asked: Vec<(&Value, &Value)> = services
            .filter(|service| has_labels(service, &spec["selector"]["matchLabels"]))
            .flat_map(|service| {
                service["spec"]["ports"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(move |port| (service, port))
            })
            .filter(|(_, port)| port["name"] == endpoint["port"])
            .collect();
        let [(service, port)] = asked.as_slice() else {
            panic!("{name}: {asked:#?}")
        };
        assert_eq!(
            service["metadata"]["namespace"], monitor["metadata"]["namespace"],
            "{name}"
        );
        let label = spec["jobLabel"].as_str().unwrap();
        assert_eq!(service["metadata"]["labels"][label], *name, "{name}: its job");
        let template = &only(&rendered, "Deployment")["spec"]["template"];
        assert!(has_labels(template, &service["spec"]["selector"]), "{name}: its Pods");
        let ports = template["spec"]["containers"][0]["ports"].as_array().unwrap();
        let admin = ports.iter().find(|of_pod| of_pod["name"] == port["targetPort"]);
        assert_eq!(admin.unwrap()["containerPort"], port["port"], "{name}");
        assert_eq!(endpoint["path"], "/metrics", "{name}");
    }
}

/// Every query of alerts and dashboard.
fn queries() -> Vec<String> {
    let rules: Vec<Value> = rules(&shipped()).cloned().collect();
    let text = std::fs::read_to_string(chart("monitoring").join("dashboards/failover.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let all = rules
        .iter()
        .chain(targets)
        .map(|query| query["expr"].as_str().unwrap().to_owned());
    all.collect()
}

/// Jobs have the components' names ([`each_component_is_scraped_once_and_by_its_name`]): what asks for others finds nothing.
#[test]
fn alerts_and_dashboard_know_the_jobs_that_there_are() {
    let selector = Regex::new(r#"\bjob(?:=~|!~|!=|=)"([^"]*)""#).unwrap();
    let jobs = |query: &str| -> Vec<Vec<String>> {
        let selectors = selector.captures_iter(query);
        selectors
            .map(|hit| hit[1].split('|').map(str::to_owned).collect())
            .collect()
    };
    let asked: Vec<String> = queries().iter().flat_map(|query| jobs(query)).flatten().collect();
    assert!(asked.len() > 10, "{asked:?}");
    let unknown: Vec<&String> = asked.iter().filter(|job| !COMPONENTS.contains(&job.as_str())).collect();
    assert!(unknown.is_empty(), "no component is called so: {unknown:?}");

    let shipped = shipped();
    let down = rules(&shipped)
        .find(|rule| rule["alert"] == "FailoverTargetDown")
        .unwrap();
    let watched = jobs(down["expr"].as_str().unwrap()).remove(0);
    let missing: Vec<&&str> = COMPONENTS
        .iter()
        .filter(|name| !watched.contains(&(**name).to_owned()))
        .collect();
    assert!(missing.is_empty(), "nobody is told when these are down: {missing:?}");
}

/// Of each kind what we say and what it demands, as the operator spells it; whatever else is said is unknown.
fn kinds() -> [CustomResourceDefinition; 2] {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let duration = json!({"type": "string", "pattern":
        "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"});
    let rule = json!({"type": "object", "required": ["expr"], "properties": {
        "alert": text, "record": text, "for": duration, "keep_firing_for": duration, "labels": texts, "annotations": texts,
        "expr": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    }});
    let group = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 1}, "interval": duration, "rules": {"type": "array", "items": rule},
    }});
    let groups = json!({"type": "object", "properties": {
        "groups": {"type": "array", "items": group, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    }});
    let endpoint = json!({"type": "object", "properties": {
        "port": text, "path": text, "interval": duration, "scrapeTimeout": duration,
        "scheme": {"type": "string", "enum": ["http", "https"]}, "honorLabels": {"type": "boolean"},
    }});
    let selector = json!({"type": "object", "properties": {"matchLabels": texts}});
    let monitor = json!({"type": "object", "required": ["endpoints", "selector"], "properties": {
        "jobLabel": text, "selector": selector, "endpoints": {"type": "array", "items": endpoint},
        "targetLabels": {"type": "array", "items": text},
    }});
    [
        stand_in(GROUP, "PrometheusRule", &groups),
        stand_in(GROUP, "ServiceMonitor", &monitor),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_takes_what_the_operator_is_told() {
    let Some(binaries) = available_with(Tool::Helm, "objects for the Prometheus operator on a real API server") else {
        return;
    };
    let helm = Helm::new(&binaries, "/dev/null").unwrap();
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().await.unwrap();
    serve(&client, kinds()).await;
    let of_the_operator = |rendered: Vec<Value>| -> Vec<Value> {
        let ours = rendered.into_iter();
        ours.filter(|object| object["apiVersion"].as_str().unwrap().starts_with(GROUP))
            .collect()
    };
    let own = "prometheusRule.labels.release=prometheus,prometheusRule.alertLabels.team=platform";
    let mut all: Vec<Value> = COMPONENTS
        .iter()
        .flat_map(|name| of_the_operator(scraped(&helm, name)))
        .collect();
    assert_eq!(all.len(), COMPONENTS.len());
    for flags in [&[][..], &["--set", own]] {
        let flags = [&["--namespace", NAMESPACE], flags].concat();
        all.extend(of_the_operator(objects(&helm, "monitoring", &flags)));
    }
    assert_eq!(all.len(), COMPONENTS.len() + 2);
    assert_taken(&client, &all).await;

    // It would say so.
    for (kind, path, wrong, complaint) in [
        (
            "ServiceMonitor",
            "/spec/endpoints/0/interval",
            json!("often"),
            "spec.endpoints[0].interval",
        ),
        (
            "ServiceMonitor",
            "/spec/endpoints/0",
            json!({"ports": "admin"}),
            "unknown field \"spec.endpoints[0].ports\"",
        ),
        (
            "PrometheusRule",
            "/spec/groups/0/rules/0/for",
            json!("a while"),
            "rules[0].for",
        ),
    ] {
        let mut other = all.iter().find(|object| object["kind"] == kind).unwrap().clone();
        *other.pointer_mut(path).unwrap() = wrong;
        let refused = offer(&client, &other).await.unwrap_err();
        assert!(refused.contains(complaint), "{refused}");
    }
}
