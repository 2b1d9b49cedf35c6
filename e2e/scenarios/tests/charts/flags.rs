//! The charts' settings are the programs' flags: each exists, has the default that the chart says, and none is forgotten.

use std::collections::BTreeMap;
use std::process::Command;

use e2e_harness::Programs;
use regex::Regex;
use serde_json::Value;

use crate::objects::{arguments, objects};
use crate::{COMPONENTS, chart, renderer};

/// Flags that are no settings: the charts give them by other values, or they are for other uses.
const NOT_SETTINGS: [&str; 35] = [
    // Other values of the charts.
    "kubeconfig",
    "context",
    "feature-gates",
    "admin-bind-address",
    "log-format",
    "log-level",
    "otlp-endpoint",
    "queue-bind-address",
    "queue-advertise-address",
    "rate-file",
    "queue-tls-cert-file",
    "queue-tls-key-file",
    "queue-client-ca-file",
    "queue-producers",
    "queue-consumers",
    "queue-readers",
    "queue-admins",
    "queue-token-auth",
    "queue-ca-file",
    "queue-client-cert-file",
    "queue-client-key-file",
    "queue-server-name",
    "eviction-queue-address",
    "beside-stock",
    "cluster-name",
    "webhook-bind-address",
    "tls-cert-file",
    "tls-key-file",
    "tls-client-ca-file",
    // Roles of the chart name the namespace; a chart installs whole components, whose replicas take Leases.
    "system-namespace",
    "controllers",
    "leader-elect",
    // The agent in a Pod talks to the member that it is in; rights are printed by hand.
    "member-kubeconfig",
    "member-context",
    "print-rights",
];
/// Flags that one component takes and its chart does not give: without effect there, or deprecated.
const NOT_OF_THIS_ONE: [(&str, &str); 4] = [
    ("graceful-eviction-controller", "graceful-eviction-timeout"),
    // All its replicas serve.
    ("webhook", "leader-elect-lease-duration"),
    ("webhook", "leader-elect-renew-deadline"),
    ("webhook", "leader-elect-retry-period"),
];
/// A token of another account, for those who have no certificate.
const BY_TOKEN: &str = "queue-token-file";

/// The flags of a program, with their defaults.
fn flags(program: &str) -> BTreeMap<String, Option<String>> {
    let path = Programs::find().unwrap().path(program).unwrap();
    let output = Command::new(path).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let flag = Regex::new(r"^ +(?:-\w, +)?--([a-z0-9-]+)").unwrap();
    let default = Regex::new(r"\[default: ([^\]]*)\]").unwrap();
    let (mut flags, mut last) = (BTreeMap::new(), None);
    for line in help.lines() {
        if let Some(found) = flag.captures(line) {
            flags.insert(found[1].to_owned(), None);
            last = Some(found[1].to_owned());
        }
        if let (Some(found), Some(last)) = (default.captures(line), &last) {
            flags.insert(last.clone(), Some(found[1].trim_matches('"').to_owned()));
        }
    }
    flags.retain(|name, _| name != "help" && name != "version");
    flags
}

/// As the charts make a flag of a setting's name.
fn kebab(name: &str) -> String {
    let mut flag = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(letter.to_ascii_lowercase());
    }
    flag
}

fn settings(name: &str) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(chart(name).join("values.yaml")).unwrap();
    let values: Value = serde_saphyr::from_str(&text).unwrap();
    serde_json::from_value(values["settings"].clone()).unwrap()
}

/// A value as a command line has it; none when the program's own default counts.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(list) if list.is_empty() => None,
        Value::Array(list) => {
            let words: Vec<&str> = list.iter().map(|word| word.as_str().unwrap()).collect();
            Some(words.join(","))
        }
        other => Some(other.to_string()),
    }
}

#[test]
fn settings_are_the_flags_with_their_defaults() {
    let mut wrong = Vec::new();
    for name in COMPONENTS {
        let flags = flags(name);
        let settings = settings(name);
        for (setting, value) in &settings {
            let flag = kebab(setting);
            match (flags.get(&flag), shown(value)) {
                (None, _) => wrong.push(format!("{name} has no flag --{flag}")),
                (Some(default), Some(value))
                    if default.as_ref() != Some(&value.replace(',', " ")) && default.as_ref() != Some(&value) =>
                {
                    wrong.push(format!(
                        "{name} --{flag}: {default:?} in the program, {value:?} in the chart"
                    ));
                }
                _ => {}
            }
        }
        let known: Vec<String> = settings.keys().map(|setting| kebab(setting)).collect();
        for flag in flags.keys() {
            let is_told = known.contains(flag)
                || NOT_SETTINGS.contains(&flag.as_str())
                || NOT_OF_THIS_ONE.contains(&(name, flag))
                || flag == BY_TOKEN;
            if !is_told {
                wrong.push(format!("{name} --{flag} is no setting of its chart"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In every mode.
#[test]
fn every_rendered_flag_exists() {
    let Some(helm) = renderer() else { return };
    for name in COMPONENTS {
        let flags = flags(name);
        let beside: &[&str] = match name {
            "agent" | "cluster-health-controller" | "propagation-controllers" => &[],
            "scheduler" => &["--set", "mode=beside,settings.schedulerName=ours"],
            _ => &["--set", "mode=beside"],
        };
        for settings in [
            &[][..],
            beside,
            &[
                "--set",
                "karmada.kubeconfigSecret=k,karmada.context=c,otlpEndpoint=http://o:4317",
            ],
        ] {
            for argument in arguments(&objects(&helm, name, settings)) {
                let flag = argument
                    .strip_prefix("--")
                    .and_then(|rest| rest.split('=').next())
                    .unwrap();
                assert!(flags.contains_key(flag), "{name} has no --{flag}");
            }
        }
    }
}
