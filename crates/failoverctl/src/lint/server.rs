//! What the API server would say: objects are written, for trial, to the one in memory that the demo runs on, which
//! checks them as a real one does, by the same CRDs.

use std::collections::BTreeSet;
use std::sync::Arc;

use controller_kit::Clock;
use failover_core::lint::{Code, Finding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::{Value, json};

use crate::failure::{ExitStatus, Failure};

/// What the server itself writes: an object that was read from one has it, and may be written all the same.
const SERVERS_OWN: [&str; 6] = [
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// How the server says that a text belongs there.
const WRONG_TYPE: &str = "must be of type string";

/// HTTP's word for what is there already.
const CONFLICT: u16 = 409;

/// A server to try objects on.
pub(super) struct Server {
    sandbox: Sandbox,
    kinds: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

impl Server {
    pub fn new(clock: &Clock) -> Self {
        let clock = clock.clone();
        Self {
            sandbox: Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now()))),
            kinds: BTreeSet::new(),
            namespaces: BTreeSet::new(),
        }
    }

    /// What the server refuses of the object.
    pub async fn refusals(&mut self, crd: &CustomResourceDefinition, object: &Value) -> Result<Vec<Finding>, Failure> {
        let names = &crd.spec.names;
        if self.kinds.insert(names.plural.clone()) {
            self.sandbox
                .apply_crd(json!(crd))
                .map_err(|error| defect(&names.kind, &error.to_string()))?;
        }
        let mut trial = object.clone();
        if let Some(fields) = trial.as_object_mut() {
            fields.remove("status");
        }
        if let Some(metadata) = trial["metadata"].as_object_mut() {
            metadata.retain(|name, _| !SERVERS_OWN.contains(&name.as_str()));
        }
        let trial: DynamicObject = match serde_json::from_value(trial) {
            Ok(trial) => trial,
            Err(error) => return Ok(vec![refused("metadata", &error.to_string(), &Value::Null)]),
        };
        let version = &crd.spec.versions[0].name;
        let resource = ApiResource {
            group: crd.spec.group.clone(),
            version: version.clone(),
            api_version: format!("{}/{version}", crd.spec.group),
            kind: names.kind.clone(),
            plural: names.plural.clone(),
        };
        let client = self.sandbox.client();
        let api: Api<DynamicObject> = if crd.spec.scope == "Namespaced" {
            let namespace = trial.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned());
            if let Some(refusal) = self.make_namespace(&namespace) {
                return Ok(vec![refusal]);
            }
            Api::namespaced_with(client, &namespace, &resource)
        } else {
            Api::all_with(client, &resource)
        };
        let for_trial = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        match api.create(&for_trial, &trial).await {
            Ok(_) => Ok(Vec::new()),
            Err(kube::Error::Api(status)) => Ok(told(&status, object)),
            Err(error) => Err(defect(&names.kind, &error.to_string())),
        }
    }

    /// Why there can be no such namespace.
    fn make_namespace(&mut self, name: &str) -> Option<Finding> {
        if !self.namespaces.insert(name.to_owned()) {
            return None;
        }
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let error = self.sandbox.create(namespace).err()?;
        // It is there already.
        if error.code == CONFLICT {
            return None;
        }
        self.namespaces.remove(name);
        Some(refused("metadata.namespace", &error.message, &Value::Null))
    }
}

fn told(status: &kube::core::Status, object: &Value) -> Vec<Finding> {
    let causes = status
        .details
        .as_ref()
        .map(|details| details.causes.as_slice())
        .unwrap_or_default();
    let mut found: Vec<Finding> = causes
        .iter()
        .filter(|cause| cause.field != "<nil>")
        .map(|cause| refused(&cause.field, &cause.message, at(object, &cause.field)))
        .collect();
    if found.is_empty() {
        return vec![refused("", &status.message, &Value::Null)];
    }
    // What has the wrong type is none of the allowed values either.
    let of_wrong_type: Vec<String> = found
        .iter()
        .filter(|found| found.what.contains(WRONG_TYPE))
        .map(|found| found.field.clone())
        .collect();
    found.retain(|found| found.what.contains(WRONG_TYPE) || !of_wrong_type.contains(&found.field));
    found
}

/// The object with booleans that stand where a text belongs as texts: what their author meant is looked at too.
pub(super) fn corrected(object: &Value, refusals: &[Finding]) -> Value {
    let mut corrected = object.clone();
    for refusal in refusals.iter().filter(|refusal| refusal.what.contains(WRONG_TYPE)) {
        let pointer: String = parts(&refusal.field).map(|part| format!("/{part}")).collect();
        if let Some(value) = corrected.pointer_mut(&pointer).filter(|value| value.is_boolean()) {
            *value = capital(value).into();
        }
    }
    corrected
}

fn refused(field: &str, message: &str, value: &Value) -> Finding {
    let fix = if value.is_boolean() && message.contains(WRONG_TYPE) {
        format!(
            "quote it: \"{}\"; without quotes YAML takes it for a boolean",
            capital(value)
        )
    } else if message.starts_with("Required value") {
        "add it".to_owned()
    } else if message.contains("supported values") {
        "use one of the supported values, spelled exactly so".to_owned()
    } else {
        "correct it as the message says".to_owned()
    };
    Finding::new(
        Code::Refused,
        field,
        message,
        "the API server refuses the object as a whole",
        fix,
    )
}

/// `True` or `False`, as statuses are spelled.
fn capital(value: &Value) -> &'static str {
    if *value == Value::Bool(true) { "True" } else { "False" }
}

/// Follows a path like `spec.items[0].name`.
fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    let pointer: String = parts(path).map(|part| format!("/{part}")).collect();
    object.pointer(&pointer).unwrap_or(&Value::Null)
}

/// The names and indices of a path.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split(['.', '[']).map(|part| part.trim_end_matches(']'));
    parts.filter(|part| !part.is_empty())
}

fn defect(kind: &str, why: &str) -> Failure {
    Failure::new(
        ExitStatus::Problem,
        format!("cannot check a {kind}"),
        why,
        "report this as a defect of failoverctl",
    )
}
