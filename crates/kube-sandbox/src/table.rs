//! Tables: what `kubectl get` prints, for built-in kinds and by the printer columns of CRDs.

use serde_json::{Value, json};

use crate::jsonpath;
use crate::read::{RowObject, metadata_only};
use crate::registry::ResourceDef;

/// A column as code: name, type, priority, and the cell of an object.
struct BuiltInColumn {
    name: &'static str,
    type_: &'static str,
    priority: i64,
    cell: fn(&Value, jiff::Timestamp) -> Value,
}

const fn column(name: &'static str, cell: fn(&Value, jiff::Timestamp) -> Value) -> BuiltInColumn {
    BuiltInColumn {
        name,
        type_: "string",
        priority: 0,
        cell,
    }
}

const fn number(name: &'static str, cell: fn(&Value, jiff::Timestamp) -> Value) -> BuiltInColumn {
    BuiltInColumn {
        name,
        type_: "integer",
        priority: 0,
        cell,
    }
}

const fn date(name: &'static str, cell: fn(&Value, jiff::Timestamp) -> Value) -> BuiltInColumn {
    BuiltInColumn {
        name,
        type_: "date",
        priority: 0,
        cell,
    }
}

const fn wide(name: &'static str, cell: fn(&Value, jiff::Timestamp) -> Value) -> BuiltInColumn {
    BuiltInColumn {
        name,
        type_: "string",
        priority: 1,
        cell,
    }
}

/// What the real server says of names.
const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

const NAME: BuiltInColumn = column("Name", |o, _| o["metadata"]["name"].clone());
const AGE: BuiltInColumn = column("Age", |o, now| age(&o["metadata"]["creationTimestamp"], now));

/// A whole table of objects in the given version.
pub(crate) fn table(
    def: &ResourceDef,
    objects: &[Value],
    meta: &Value,
    rows: RowObject,
    now: jiff::Timestamp,
) -> Value {
    let built_in = columns(def);
    let definitions: Vec<Value> = if def.is_custom() {
        custom_definitions(def)
    } else {
        built_in
            .iter()
            .map(|c| {
                definition(
                    c.name,
                    c.type_,
                    if c.name == "Name" { "name" } else { "" },
                    "",
                    c.priority,
                )
            })
            .collect()
    };
    let row = |object: &Value| {
        let cells: Vec<Value> = if def.is_custom() {
            custom_cells(def, object, now)
        } else {
            built_in.iter().map(|c| (c.cell)(object, now)).collect()
        };
        let mut row = json!({"cells": cells});
        match rows {
            RowObject::Nothing => row["object"] = Value::Null,
            RowObject::Metadata => row["object"] = metadata_only(object),
            RowObject::Whole => row["object"] = object.clone(),
        }
        row
    };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": meta,
        "columnDefinitions": definitions,
        "rows": objects.iter().map(row).collect::<Vec<_>>(),
    })
}

fn definition(name: &str, type_: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({"name": name, "type": type_, "format": format, "description": description, "priority": priority})
}

fn custom_definitions(def: &ResourceDef) -> Vec<Value> {
    let mut all = vec![definition("Name", "string", "name", NAME_DESCRIPTION, 0)];
    if def.columns.is_empty() {
        all.push(definition("Age", "date", "", "", 0));
    }
    all.extend(
        def.columns
            .iter()
            .map(|c| definition(&c.name, &c.type_, &c.format, &c.description, c.priority)),
    );
    all
}

fn custom_cells(def: &ResourceDef, object: &Value, now: jiff::Timestamp) -> Vec<Value> {
    let mut cells = vec![object["metadata"]["name"].clone()];
    if def.columns.is_empty() {
        cells.push(age(&object["metadata"]["creationTimestamp"], now));
    }
    for column in &def.columns {
        let found = jsonpath::all(object, &column.json_path);
        let Some(first) = found.first() else {
            cells.push(Value::Null);
            continue;
        };
        cells.push(match column.type_.as_str() {
            "integer" => first.as_i64().map_or(Value::Null, Value::from),
            "number" => first.as_f64().map_or(Value::Null, Value::from),
            "boolean" => first.as_bool().map_or(Value::Null, Value::from),
            "date" => age(first, now),
            // Like the real printer: several values stand side by side, separated by commas.
            _ => found.iter().map(|v| plain(v)).collect::<Vec<_>>().join(",").into(),
        });
    }
    cells
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// The columns of built-in kinds; Name and Age where there are no better ones.
fn columns(def: &ResourceDef) -> Vec<BuiltInColumn> {
    let mut all = vec![NAME];
    let mut rest = match def.kind.as_str() {
        "Namespace" => vec![column("Status", |o, _| o["status"]["phase"].clone()), AGE],
        "ConfigMap" => vec![
            column("Data", |o, _| (entries(&o["data"]) + entries(&o["binaryData"])).into()),
            AGE,
        ],
        "Secret" => {
            vec![
                column("Type", |o, _| o["type"].clone()),
                column("Data", |o, _| entries(&o["data"]).into()),
                AGE,
            ]
        }
        "ServiceAccount" => vec![number("Secrets", |o, _| entries(&o["secrets"]).into()), AGE],
        "Service" => vec![
            column("Type", |o, _| o["spec"]["type"].clone()),
            column("Cluster-IP", |o, _| or_none(&o["spec"]["clusterIP"])),
            column("External-IP", |o, _| {
                or_none(&o["status"]["loadBalancer"]["ingress"][0]["ip"])
            }),
            column("Port(s)", |o, _| ports(o)),
            AGE,
            wide("Selector", |o, _| labels(&o["spec"]["selector"])),
        ],
        "Deployment" => vec![
            column("Ready", |o, _| {
                ready(&o["status"]["readyReplicas"], &o["spec"]["replicas"])
            }),
            column("Up-to-date", |o, _| count(&o["status"]["updatedReplicas"])),
            column("Available", |o, _| count(&o["status"]["availableReplicas"])),
            AGE,
            wide("Containers", |o, _| containers(o, "name")),
            wide("Images", |o, _| containers(o, "image")),
            wide("Selector", |o, _| labels(&o["spec"]["selector"]["matchLabels"])),
        ],
        "StatefulSet" => vec![
            column("Ready", |o, _| {
                ready(&o["status"]["readyReplicas"], &o["spec"]["replicas"])
            }),
            AGE,
            wide("Containers", |o, _| containers(o, "name")),
            wide("Images", |o, _| containers(o, "image")),
        ],
        "ReplicaSet" => vec![
            number("Desired", |o, _| count(&o["spec"]["replicas"])),
            number("Current", |o, _| count(&o["status"]["replicas"])),
            number("Ready", |o, _| count(&o["status"]["readyReplicas"])),
            AGE,
        ],
        "DaemonSet" => vec![
            number("Desired", |o, _| count(&o["status"]["desiredNumberScheduled"])),
            number("Current", |o, _| count(&o["status"]["currentNumberScheduled"])),
            number("Ready", |o, _| count(&o["status"]["numberReady"])),
            number("Up-to-date", |o, _| count(&o["status"]["updatedNumberScheduled"])),
            number("Available", |o, _| count(&o["status"]["numberAvailable"])),
            AGE,
        ],
        "Job" => vec![
            column("Status", |o, _| job_status(o)),
            column("Completions", |o, _| {
                ready(&o["status"]["succeeded"], &o["spec"]["completions"])
            }),
            column("Duration", job_duration),
            AGE,
        ],
        "Pod" => vec![
            column("Ready", |o, _| pod_ready(o)),
            column("Status", |o, _| o["status"]["phase"].clone()),
            column("Restarts", |_, _| "0".into()),
            AGE,
            wide("Node", |o, _| or_none(&o["spec"]["nodeName"])),
        ],
        "Node" => vec![
            column("Status", |o, _| node_status(o)),
            column("Roles", |_, _| "<none>".into()),
            AGE,
            column("Version", |o, _| o["status"]["nodeInfo"]["kubeletVersion"].clone()),
        ],
        "Lease" => vec![column("Holder", |o, _| o["spec"]["holderIdentity"].clone()), AGE],
        "CustomResourceDefinition" => vec![date("Created At", |o, _| o["metadata"]["creationTimestamp"].clone())],
        "Event" => {
            return vec![
                column("Last Seen", |o, now| age(event_time(o), now)),
                column("Type", |o, _| o["type"].clone()),
                column("Reason", |o, _| o["reason"].clone()),
                column("Object", |o, _| event_object(o)),
                column("Message", |o, _| event_field(o, "message", "note")),
                wide("Source", |o, _| event_source(o)),
                wide("First Seen", |o, now| age(event_first(o), now)),
                wide("Count", |o, _| event_count(o)),
                wide("Name", |o, _| o["metadata"]["name"].clone()),
            ];
        }
        _ => vec![AGE],
    };
    all.append(&mut rest);
    all
}

fn entries(value: &Value) -> u64 {
    (value.as_object().map_or(0, serde_json::Map::len) + value.as_array().map_or(0, Vec::len)) as u64
}

fn count(value: &Value) -> Value {
    value.as_i64().unwrap_or(0).into()
}

fn or_none(value: &Value) -> Value {
    value.as_str().filter(|s| !s.is_empty()).unwrap_or("<none>").into()
}

fn ready(have: &Value, want: &Value) -> Value {
    format!("{}/{}", have.as_i64().unwrap_or(0), want.as_i64().unwrap_or(1)).into()
}

fn labels(map: &Value) -> Value {
    let pairs: Vec<String> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() {
        "<none>".into()
    } else {
        pairs.join(",").into()
    }
}

fn containers(object: &Value, field: &str) -> Value {
    let list = object["spec"]["template"]["spec"]["containers"].as_array();
    list.into_iter()
        .flatten()
        .filter_map(|c| c[field].as_str())
        .collect::<Vec<_>>()
        .join(",")
        .into()
}

fn ports(service: &Value) -> Value {
    let list = service["spec"]["ports"].as_array().into_iter().flatten();
    let texts: Vec<String> = list
        .map(|p| {
            let node = p["nodePort"].as_i64().map(|n| format!(":{n}")).unwrap_or_default();
            format!("{}{node}/{}", p["port"], p["protocol"].as_str().unwrap_or("TCP"))
        })
        .collect();
    if texts.is_empty() {
        "<none>".into()
    } else {
        texts.join(",").into()
    }
}

fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|c| c["type"] == type_)
}

fn job_status(job: &Value) -> Value {
    let is_true = |type_: &str| condition(job, type_).is_some_and(|c| c["status"] == "True");
    for (type_, word) in [
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
    ] {
        if is_true(type_) {
            return word.into();
        }
    }
    "Running".into()
}

fn job_duration(job: &Value, now: jiff::Timestamp) -> Value {
    let Some(start) = timestamp(&job["status"]["startTime"]) else {
        return "".into();
    };
    let end = timestamp(&job["status"]["completionTime"]).unwrap_or(now);
    human_duration(end.as_second() - start.as_second()).into()
}

fn pod_ready(pod: &Value) -> Value {
    let all = pod["spec"]["containers"].as_array().map_or(0, Vec::len);
    let ready = pod["status"]["containerStatuses"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|c| c["ready"] == true)
        .count();
    format!("{ready}/{all}").into()
}

fn node_status(node: &Value) -> Value {
    let mut text = match condition(node, "Ready") {
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node["spec"]["unschedulable"] == Value::Bool(true) {
        text.push_str(",SchedulingDisabled");
    }
    text.into()
}

fn event_field(event: &Value, core: &str, new: &str) -> Value {
    event
        .get(core)
        .or_else(|| event.get(new))
        .cloned()
        .unwrap_or(Value::Null)
}

fn event_time(event: &Value) -> &Value {
    let places = [
        &event["series"]["lastObservedTime"],
        &event["lastTimestamp"],
        &event["deprecatedLastTimestamp"],
        &event["eventTime"],
    ];
    places
        .into_iter()
        .find(|v| v.is_string())
        .unwrap_or(&event["metadata"]["creationTimestamp"])
}

fn event_first(event: &Value) -> &Value {
    let places = [
        &event["firstTimestamp"],
        &event["deprecatedFirstTimestamp"],
        &event["eventTime"],
    ];
    places.into_iter().find(|v| v.is_string()).unwrap_or(&Value::Null)
}

fn event_object(event: &Value) -> Value {
    let object = event_field(event, "involvedObject", "regarding");
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    let name = object["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        kind.into()
    } else {
        format!("{kind}/{name}").into()
    }
}

fn event_source(event: &Value) -> Value {
    let source = event_field(event, "source", "deprecatedSource");
    let component = source["component"].as_str().filter(|c| !c.is_empty());
    component
        .or_else(|| event["reportingComponent"].as_str())
        .or_else(|| event["reportingController"].as_str())
        .unwrap_or_default()
        .into()
}

fn event_count(event: &Value) -> Value {
    event["series"]["count"]
        .as_i64()
        .or_else(|| event_field(event, "count", "deprecatedCount").as_i64())
        .unwrap_or(1)
        .into()
}

fn timestamp(value: &Value) -> Option<jiff::Timestamp> {
    value.as_str()?.parse().ok()
}

fn age(value: &Value, now: jiff::Timestamp) -> Value {
    match timestamp(value) {
        Some(then) => human_duration(now.as_second() - then.as_second()).into(),
        None => "<unknown>".into(),
    }
}

/// A duration as kubectl prints it (`k8s.io/apimachinery/pkg/util/duration`).
fn human_duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |big: i64, unit: char, small: i64, rest: char| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{rest}")
        }
    };
    match seconds {
        i64::MIN..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(days, 'd', hours % 24, 'h'),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case(-5, "<invalid>")]
    #[case(0, "0s")]
    #[case(119, "119s")]
    #[case(120, "2m")]
    #[case(125, "2m5s")]
    #[case(700, "11m")]
    #[case(3 * 3600, "3h")]
    #[case(3 * 3600 + 120, "3h2m")]
    #[case(9 * 3600 + 120, "9h")]
    #[case(50 * 3600, "2d2h")]
    #[case(800 * 86_400, "2y70d")]
    fn durations_as_kubectl_prints_them(#[case] seconds: i64, #[case] text: &str) {
        assert_eq!(super::human_duration(seconds), text);
    }
}
