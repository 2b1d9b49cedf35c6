//! What the chart grants, as an API server works it out that puts no ClusterRoles together.

use std::fmt;
use std::path::{Path, PathBuf};

use controller_kit::Mode;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use crate::log::{Asked, covers};

/// One verb on one resource, of one name where the rule has names.
pub struct Right {
    /// Where it counts; everywhere when absent.
    namespace: Option<String>,
    rule: PolicyRule,
    role: String,
}

impl Right {
    pub fn allows(&self, asked: &Asked) -> bool {
        let is_there = match (&self.namespace, asked) {
            (None, _) => true,
            (Some(wanted), Asked::Resource { namespace, .. }) => Some(wanted) == namespace.as_ref(),
            (Some(_), Asked::Path { .. }) => false,
        };
        is_there && covers(&self.rule, asked)
    }

    pub fn one(&self) -> (&str, &str) {
        let resource = self.rule.resources.iter().flatten().next();
        (&self.rule.verbs[0], resource.map_or("", String::as_str))
    }

    pub fn is_on_templates(&self) -> bool {
        self.role.starts_with("karmada-failover:templates")
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, resource) = self.one();
        write!(f, "{verb} {resource}")?;
        for name in self.rule.resource_names.iter().flatten() {
            write!(f, " {name}")?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, " in {namespace}")?;
        }
        write!(f, " ({})", self.role)
    }
}

/// Where the chart has them.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/control-plane/rbac")
}

/// Whose rights there are: the names of the files, without their end, in order.
pub fn files() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|file| file.is_file());
    let mut names: Vec<String> = files
        .map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// All objects of the chart's folders of rights.
fn objects(mode: Mode) -> Vec<Value> {
    let folder = folder();
    let folders = match mode {
        Mode::Standalone => vec![folder],
        Mode::Beside => vec![folder.join("beside"), folder],
    };
    let mut objects = Vec::new();
    for folder in folders {
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| file.is_file()) {
            let text = std::fs::read_to_string(file).unwrap();
            objects.extend(serde_saphyr::from_multiple::<Value>(&text).unwrap());
        }
    }
    objects
}

/// The rights of this component's ServiceAccount, taken apart.
pub fn granted(component: &str, mode: Mode) -> Vec<Right> {
    let objects = objects(mode);
    let is_ours = |binding: &&Value| {
        let subjects = binding["subjects"].as_array();
        subjects.into_iter().flatten().any(|subject| {
            subject["kind"] == "ServiceAccount"
                && subject["namespace"] == "karmada-system"
                && subject["name"] == component
        })
    };
    let mut rights = Vec::new();
    for binding in objects.iter().filter(is_ours) {
        let namespace = binding["metadata"]["namespace"].as_str();
        let role = objects.iter().find(|role| {
            let is_near = role["kind"] == "ClusterRole" || role["metadata"]["namespace"].as_str() == namespace;
            is_near
                && role["kind"] == binding["roleRef"]["kind"]
                && role["metadata"]["name"] == binding["roleRef"]["name"]
        });
        let role = role.unwrap_or_else(|| panic!("no role for {binding}"));
        let name = role["metadata"]["name"].as_str().unwrap();
        let rules: Vec<PolicyRule> = serde_json::from_value(role["rules"].clone()).unwrap();
        for rule in rules {
            rights.extend(parts(&rule).map(|rule| Right {
                namespace: namespace.map(str::to_owned),
                rule,
                role: name.to_owned(),
            }));
        }
    }
    assert!(!rights.is_empty(), "nothing is granted to {component}");
    rights
}

fn parts(rule: &PolicyRule) -> impl Iterator<Item = PolicyRule> {
    let names: Vec<Option<Vec<String>>> = match &rule.resource_names {
        Some(names) => names.iter().map(|name| Some(vec![name.clone()])).collect(),
        None => vec![None],
    };
    let mut parts = Vec::new();
    for verb in &rule.verbs {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                parts.extend(names.iter().map(|names| PolicyRule {
                    verbs: vec![verb.clone()],
                    api_groups: Some(vec![group.clone()]),
                    resources: Some(vec![resource.clone()]),
                    resource_names: names.clone(),
                    non_resource_urls: None,
                }));
            }
        }
    }
    parts.into_iter()
}
