//! Commands of helm: verbs and flags that it has, charts and files of values that are here, and values that the charts have.
//! What they render is looked at where helm itself is.

use serde_json::Value;

use crate::programs::words;
use crate::walk::root;

const VERBS: &[&str] = &[
    "get",
    "history",
    "install",
    "list",
    "package",
    "rollback",
    "status",
    "template",
    "uninstall",
    "upgrade",
];
const SWITCHES: &[&str] = &[
    "--create-namespace",
    "--dry-run",
    "--install",
    "--reset-then-reuse-values",
    "--reuse-values",
    "--wait",
];
const WITH_VALUE: &[&str] = &[
    "--kube-context",
    "--kubeconfig",
    "--namespace",
    "--set",
    "--set-string",
    "--timeout",
    "--values",
    "--version",
    "-f",
    "-n",
];

pub fn judged(words: &[String]) -> Result<(), String> {
    let verb = words[0].as_str();
    if !VERBS.contains(&verb) {
        return Err(format!("helm has no {verb}"));
    }
    let chart = words.iter().find_map(|word| word.strip_prefix("charts/"));
    let mut rest = words[1..].iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let flag = word.split('=').next().unwrap_or_default();
        if WITH_VALUE.contains(&flag) {
            let value = match word.split_once('=') {
                Some((_, value)) => value,
                None => rest.next().ok_or(format!("{flag} has no value"))?,
            };
            if matches!(flag, "--values" | "-f") {
                there(value)?;
            }
            if matches!(flag, "--set" | "--set-string") {
                value.split(',').try_for_each(|setting| is_value(chart, setting))?;
            }
        } else if word.starts_with('-') && !SWITCHES.contains(&word) {
            return Err(format!("{word} is not among what is known here"));
        } else {
            there(word)?;
        }
    }
    Ok(())
}

/// Something that begins like a path of the charts.
fn there(path: &str) -> Result<(), String> {
    if !path.starts_with("charts/") || root().join(path).exists() {
        return Ok(());
    }
    Err(format!("there is no {path}"))
}

/// Whether a chart has a value, or any has one where it is not said which.
fn is_value(chart: Option<&str>, setting: &str) -> Result<(), String> {
    let (path, _) = setting.split_once('=').ok_or(format!("{setting} is no NAME=VALUE"))?;
    let parts: Vec<&str> = path.split('.').collect();
    let has = |chart: &str| schema(chart).is_some_and(|schema| has(&schema, &parts));
    let there = match chart {
        Some(chart) => has(chart),
        None => {
            let mut folders = std::fs::read_dir(root().join("charts")).unwrap();
            folders.any(|folder| has(folder.unwrap().file_name().to_str().unwrap()))
        }
    };
    let of = chart.unwrap_or("any chart");
    there.then_some(()).ok_or(format!("{path} is no value of {of}"))
}

fn schema(chart: &str) -> Option<Value> {
    let file = root().join("charts").join(chart).join("values.schema.json");
    Some(serde_json::from_str(&std::fs::read_to_string(file).ok()?).unwrap())
}

fn has(schema: &Value, path: &[&str]) -> bool {
    let [first, rest @ ..] = path else { return true };
    if let Some(below) = schema["properties"].get(first) {
        // Another chart in this one.
        let other = below["description"].as_str() == Some("Judged by the chart's own schema.");
        return match self::schema(first).filter(|_| other) {
            Some(schema) => has(&schema, rest),
            None => has(below, rest),
        };
    }
    // The index of one of a list stands right behind its name.
    let list = schema["properties"].get(first.trim_end_matches(|letter: char| letter.is_ascii_digit()));
    if let Some(list) = list.filter(|list| list["type"] == "array") {
        return has(&list["items"], rest);
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(any)) => *any,
        Some(values) => has(values, rest),
        // An object of which nothing more is said, or a value that holds no others.
        None => schema["properties"].is_null() && schema["type"] == "object",
    }
}

#[test]
fn what_is_not_there_is_found() {
    let judge = |line: &str| judged(&words(line));
    for wrong in [
        "instal a charts/agent",
        "install a charts/agnet",
        "install a charts/agent --sett a=b",
        "upgrade a charts/agent --values charts/agent/valuez.yaml",
        "upgrade a charts/agent --set",
        "upgrade a charts/agent --set image.registri=x",
        "upgrade a charts/agent --set image=x,image.registry.x=y",
        "upgrade a charts/karmada-failover --set control-plane.polices.notReadyNoExecute=true",
        "upgrade a charts/karmada-failover --set image.registry=x",
        "upgrade … --set nothing.of.the.kind=1",
    ] {
        assert!(judge(wrong).is_err(), "{wrong}");
    }
    for right in [
        "upgrade a charts/agent --namespace=b --set clusterName=b --values charts/agent/values.yaml --wait",
        "upgrade a charts/karmada-failover --set control-plane.policies.notReadyNoExecute=true",
        "upgrade a charts/karmada-failover --set global.featureGates.Failover=true,global.imagePullSecrets0.name=b",
        "upgrade … --set-string eviction-queue.tls.generation=2",
    ] {
        assert_eq!(judge(right), Ok(()), "{right}");
    }
}
