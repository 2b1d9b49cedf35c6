//! Every script that a stock Karmada brings, unchanged, on the objects by which stock tests it: what ours makes of them is what
//! stock's own interpreter makes of them. `stock_scripts_tests.json` holds what that one answered when it was asked the same, as
//! `e2e/control-plane/stock` records it; of an object that it changes how, as a merge patch (of its status, for AggregateStatus).
//! `NOW` stands for the time of the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use api_types::config::ResourceInterpreterCustomization;
use e2e_harness::available_stock;
use serde::Deserialize;

use super::*;
use crate::json::merge_patch;

/// Where stock keeps them: a folder for each group, version and kind.
const SCRIPTS: &str = "pkg/resourceinterpreter/default/thirdparty/resourcecustomizations";

/// By kind, and by operation and files, what stock makes of them.
const RECORDED: &str = include_str!("stock_scripts_tests.json");

/// When ours are asked.
const NOW: &str = "2031-05-05T05:05:05Z";

/// `customizations_tests.yaml`.
#[derive(Deserialize)]
struct Tests {
    tests: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Question {
    operation: String,
    desired_input_path: Option<String>,
    observed_input_path: Option<String>,
    status_input_path: Option<String>,
    desired_replicas: Option<i32>,
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every folder with scripts, by `group/version/Kind`.
fn kinds(scripts: &Path) -> BTreeMap<String, PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let groups = below(scripts).into_iter();
    let folders = groups
        .flat_map(|group| below(&group))
        .flat_map(|version| below(&version));
    folders
        .map(|folder| (folder.strip_prefix(scripts).unwrap().display().to_string(), folder))
        .collect()
}

/// What ours makes of it, in the form in which stock's answers are recorded.
fn answer(scripted: &Scripted, folder: &Path, question: &Question) -> Result<Value, InterpretError> {
    let file = |path: &Option<String>| path.as_ref().map(|path| folder.join(path.trim_start_matches('/')));
    let [desired, observed] = [&question.desired_input_path, &question.observed_input_path]
        .map(|path| file(path).map(|path| read::<Value>(&path)));
    let object = desired.as_ref().or(observed.as_ref()).unwrap();
    Ok(match question.operation.trim() {
        "InterpretHealth" => json!(scripted.health(object)? == Health::Healthy),
        "InterpretReplica" => {
            let replicas = scripted.replicas(object)?.unwrap();
            json!({"replicas": replicas.count, "requirements": replicas.requirements})
        }
        "InterpretStatus" => json!(scripted.reflect(object)?),
        "InterpretDependency" => json!(scripted.dependencies(object)?),
        "ReviseReplica" => {
            let mut revised = object.clone();
            scripted.revise(&mut revised, question.desired_replicas.unwrap())?;
            json!(merge_patch(object, &revised))
        }
        "Retain" => {
            let mut retained = object.clone();
            scripted.retain(&mut retained, observed.as_ref().unwrap())?;
            json!(merge_patch(object, &retained))
        }
        "AggregateStatus" => {
            let text = fs::read_to_string(file(&question.status_input_path).unwrap()).unwrap();
            let mut items: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
            for item in &mut items {
                // Go reads what names no cluster, too.
                let fields = item.as_object_mut().unwrap();
                fields.entry("clusterName").or_insert_with(|| json!(""));
            }
            let items: Vec<AggregatedStatusItem> = serde_json::from_value(json!(items)).unwrap();
            json!(scripted.aggregate(object, &items)?)
        }
        other => panic!("an operation that this test does not know: {other}"),
    })
}

/// A value without what is empty in it: of a status stock forgets what stands empty in the object, and ours keep it.
fn without_empty(value: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match value {
        Value::Array(items) => items.iter().map(without_empty).filter(|item| !is_empty(item)).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, field)| (name.clone(), without_empty(field)));
            Value::Object(kept.filter(|(_, field)| !is_empty(field)).collect())
        }
        other => other.clone(),
    }
}

#[test]
fn they_mean_here_what_they_mean_there() {
    let Some(stock) = available_stock("the scripts that a stock Karmada brings") else {
        return;
    };
    let began: jiff::Timestamp = NOW.parse().unwrap();
    let mut answers = BTreeMap::<String, BTreeMap<String, Value>>::new();
    for (kind, folder) in kinds(&stock.join(SCRIPTS)) {
        let customization: ResourceInterpreterCustomization = read(&folder.join("customizations.yaml"));
        let scripted = Scripted::new(Clock::simulated(began));
        let (rules, shadowed) = Rules::of(&[Arc::new(customization)], &Rules::default());
        assert_eq!(shadowed, []);
        scripted.replace(rules);
        let of_kind = answers.entry(kind).or_default();
        for question in read::<Tests>(&folder.join("customizations_tests.yaml")).tests {
            // Its answer, GetComponents, is used by nobody here.
            if question.operation == "InterpretComponent" {
                continue;
            }
            let files = [&question.desired_input_path, &question.observed_input_path];
            let names = files.into_iter().flatten().filter_map(|path| path.rsplit('/').next());
            let name = std::iter::once(question.operation.trim())
                .chain(names)
                .collect::<Vec<_>>()
                .join(" ");
            let answer = answer(&scripted, &folder, &question);
            let answer = answer.unwrap_or_else(|error| json!({"error": error.to_string()}));
            of_kind.insert(name, answer);
        }
    }
    let text = serde_json::to_string(&answers).unwrap().replace(NOW, "NOW");
    let answers: BTreeMap<String, BTreeMap<String, Value>> = serde_json::from_str(&text).unwrap();
    let recorded: BTreeMap<String, BTreeMap<String, Value>> = serde_json::from_str(RECORDED).unwrap();
    let names = |of: &BTreeMap<String, BTreeMap<String, Value>>| -> Vec<String> {
        of.iter()
            .flat_map(|(kind, answers)| answers.keys().map(move |name| format!("{kind} {name}")))
            .collect()
    };
    assert_eq!(names(&answers), names(&recorded));
    let mut differ = Vec::new();
    for (kind, of_kind) in &answers {
        for (name, ours) in of_kind {
            let stocks = &recorded[kind][name];
            let is_status = name.starts_with("InterpretStatus ") || name.starts_with("AggregateStatus ");
            let same = if is_status {
                without_empty(ours) == without_empty(stocks)
            } else {
                ours == stocks
            };
            if !same {
                differ.push(format!("{kind} {name}\n  ours   {ours}\n  stock's {stocks}"));
            }
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}
