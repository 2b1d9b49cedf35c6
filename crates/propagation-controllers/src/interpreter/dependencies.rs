//! What else has to be on a member for a workload to run there: the secrets, config maps, service accounts and volume
//! claims that its pods name, the certificates of an Ingress, the Service behind a ServiceImport.
//!
//! Guarantees: what cannot be read is an error, never "nothing"; the answer is in order and names nothing twice.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, EnvFromSource, EnvVar, PodSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{InterpretError, gvk};
use crate::json::{list, some_text, text};

/// What is tried, for errors.
const OPERATION: &str = "find the dependencies of";
/// The account that every namespace has by itself.
const DEFAULT_ACCOUNT: &str = "default";

/// An object, or all objects with certain labels, that another one needs.
///
/// Its JSON is that of stock's `resourcebinding.karmada.io/dependencies` annotation and of `GetDependencies` in Lua.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DependentObject {
    /// API version, such as `apps/v1`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty for objects in none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name; absent where labels choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Labels that choose; counts only where there is no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

impl DependentObject {
    fn named(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: Some(name.to_owned()),
            label_selector: None,
        }
    }
}

pub(super) fn dependencies(template: &Value) -> Result<Vec<DependentObject>, InterpretError> {
    let pod = match gvk(template) {
        ("apps/v1", "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet") | ("batch/v1", "Job") => {
            "/spec/template/spec"
        }
        ("batch/v1", "CronJob") => "/spec/jobTemplate/spec/template/spec",
        ("v1", "Pod") => "/spec",
        ("networking.k8s.io/v1", "Ingress") => return Ok(certificates(template)),
        ("multicluster.x-k8s.io/v1alpha1", "ServiceImport") => return Ok(derived_service(template)),
        _ => return Ok(Vec::new()),
    };
    let Some(spec) = template.pointer(pod).filter(|spec| !spec.is_null()) else {
        return Ok(Vec::new());
    };
    let spec: PodSpec = serde_json::from_value(spec.clone())
        .map_err(|error| InterpretError::new(OPERATION, template, format!("{pod}: {error}")))?;
    let own_claims: BTreeSet<&str> = match gvk(template) {
        ("apps/v1", "StatefulSet") => list(template, "/spec/volumeClaimTemplates")
            .iter()
            .filter_map(|claim| some_text(claim, "/metadata/name"))
            .collect(),
        _ => BTreeSet::new(),
    };
    Ok(of_pod(&spec, text(template, "/metadata/namespace"), &own_claims))
}

/// What the pod names, in `namespace`. `own_claims` are names of volumes that the workload makes claims for by itself.
pub(super) fn of_pod(pod: &PodSpec, namespace: &str, own_claims: &BTreeSet<&str>) -> Vec<DependentObject> {
    let mut named = Named::default();
    for secret in pod.image_pull_secrets.iter().flatten() {
        named.add("Secret", Some(&secret.name));
    }
    for container in pod.containers.iter().chain(pod.init_containers.iter().flatten()) {
        let Container { env, env_from, .. } = container;
        named.environment(env.as_deref(), env_from.as_deref());
    }
    for container in pod.ephemeral_containers.iter().flatten() {
        named.environment(container.env.as_deref(), container.env_from.as_deref());
    }
    for volume in pod.volumes.iter().flatten() {
        named.volume(volume, own_claims);
    }
    let account = pod.service_account_name.as_ref().filter(|name| !name.is_empty());
    let account = account.or(pod.service_account.as_ref());
    named.add("ServiceAccount", account.filter(|name| *name != DEFAULT_ACCOUNT));
    named.into_objects(namespace)
}

/// Kind and name of what is named, all of the core group and of one namespace.
#[derive(Default)]
struct Named(BTreeSet<(&'static str, String)>);

impl Named {
    fn add(&mut self, kind: &'static str, name: Option<&String>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.0.insert((kind, name.clone()));
        }
    }

    fn environment(&mut self, env: Option<&[EnvVar]>, env_from: Option<&[EnvFromSource]>) {
        for source in env
            .into_iter()
            .flatten()
            .filter_map(|variable| variable.value_from.as_ref())
        {
            self.add("Secret", source.secret_key_ref.as_ref().map(|key| &key.name));
            self.add("ConfigMap", source.config_map_key_ref.as_ref().map(|key| &key.name));
        }
        for source in env_from.into_iter().flatten() {
            self.add("Secret", source.secret_ref.as_ref().map(|secret| &secret.name));
            self.add("ConfigMap", source.config_map_ref.as_ref().map(|map| &map.name));
        }
    }

    fn volume(&mut self, volume: &Volume, own_claims: &BTreeSet<&str>) {
        let claim = volume.persistent_volume_claim.as_ref().map(|claim| &claim.claim_name);
        let is_own = |name: &&String| own_claims.contains(name.as_str()) || own_claims.contains(volume.name.as_str());
        self.add("PersistentVolumeClaim", claim.filter(|name| !is_own(name)));
        self.add("ConfigMap", volume.config_map.as_ref().map(|map| &map.name));
        for source in volume.projected.iter().flat_map(|p| &p.sources).flatten() {
            self.add("Secret", source.secret.as_ref().map(|secret| &secret.name));
            self.add("ConfigMap", source.config_map.as_ref().map(|map| &map.name));
        }
        let secrets = [
            volume.secret.as_ref().and_then(|v| v.secret_name.as_ref()),
            volume.azure_file.as_ref().map(|v| &v.secret_name),
            volume
                .cephfs
                .as_ref()
                .and_then(|v| v.secret_ref.as_ref())
                .map(|s| &s.name),
            volume
                .cinder
                .as_ref()
                .and_then(|v| v.secret_ref.as_ref())
                .map(|s| &s.name),
            volume
                .csi
                .as_ref()
                .and_then(|v| v.node_publish_secret_ref.as_ref())
                .map(|s| &s.name),
            volume
                .flex_volume
                .as_ref()
                .and_then(|v| v.secret_ref.as_ref())
                .map(|s| &s.name),
            volume
                .iscsi
                .as_ref()
                .and_then(|v| v.secret_ref.as_ref())
                .map(|s| &s.name),
            volume.rbd.as_ref().and_then(|v| v.secret_ref.as_ref()).map(|s| &s.name),
            volume.scale_io.as_ref().map(|v| &v.secret_ref.name),
            volume
                .storageos
                .as_ref()
                .and_then(|v| v.secret_ref.as_ref())
                .map(|s| &s.name),
        ];
        for secret in secrets {
            self.add("Secret", secret);
        }
    }

    fn into_objects(self, namespace: &str) -> Vec<DependentObject> {
        let object = |(kind, name): (&str, String)| DependentObject::named("v1", kind, namespace, &name);
        self.0.into_iter().map(object).collect()
    }
}

fn certificates(ingress: &Value) -> Vec<DependentObject> {
    let mut named = Named::default();
    for tls in list(ingress, "/spec/tls") {
        named.add("Secret", some_text(tls, "/secretName").map(str::to_owned).as_ref());
    }
    named.into_objects(text(ingress, "/metadata/namespace"))
}

/// The Service that stands for imported ones, and its addresses.
fn derived_service(import: &Value) -> Vec<DependentObject> {
    let (namespace, name) = (text(import, "/metadata/namespace"), text(import, "/metadata/name"));
    let service = format!("derived-{name}");
    let of_service = BTreeMap::from([("kubernetes.io/service-name".to_owned(), service.clone())]);
    vec![
        DependentObject::named("v1", "Service", namespace, &service),
        DependentObject {
            api_version: "discovery.k8s.io/v1".to_owned(),
            kind: "EndpointSlice".to_owned(),
            namespace: namespace.to_owned(),
            name: None,
            label_selector: Some(LabelSelector {
                match_labels: Some(of_service),
                ..LabelSelector::default()
            }),
        },
    ]
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
