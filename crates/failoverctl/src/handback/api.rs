//! Objects on the API server: the only place of this command that writes there. Each write is on the version that was read.

use std::ops::ControlFlow;

use controller_kit::api_errors;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use serde_json::{Value, json};

use super::ours::{self, Removal, Settings};
use crate::control_plane::{ControlPlane, each_page};
use crate::failure::{ExitStatus, Failure};

const NEEDED: &str = "use a kubeconfig whose user is bound to ClusterRole karmada-failover:failoverctl-handback";
/// A write that somebody came before is tried again so many times.
const TRIES: usize = 5;

/// A kind that may carry something of ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    name: &'static str,
}

const fn kind(group: &'static str, version: &'static str, plural: &'static str, name: &'static str) -> Kind {
    Kind {
        group,
        version,
        plural,
        name,
    }
}

/// Clusters first: without their taints nothing new is asked for.
pub(super) const KINDS: [Kind; 7] = [
    kind("cluster.karmada.io", "v1alpha1", "clusters", "Cluster"),
    kind(
        "policy.karmada.io",
        "v1alpha1",
        "clustertaintpolicies",
        "ClusterTaintPolicy",
    ),
    kind(
        "policy.karmada.io",
        "v1alpha1",
        "propagationpolicies",
        "PropagationPolicy",
    ),
    kind(
        "policy.karmada.io",
        "v1alpha1",
        "clusterpropagationpolicies",
        "ClusterPropagationPolicy",
    ),
    kind("work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding"),
    kind(
        "work.karmada.io",
        "v1alpha2",
        "clusterresourcebindings",
        "ClusterResourceBinding",
    ),
    kind("work.karmada.io", "v1alpha1", "works", "Work"),
];

/// An object that carries something of ours.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) removal: Removal,
}

impl Found {
    pub(super) fn in_words(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind.name, self.name),
            None => format!("{} {}", self.kind.name, self.name),
        }
    }

    /// How kubectl writes a setting of it again.
    pub(super) fn annotate(&self, name: &str, value: &str) -> Vec<String> {
        let mut words = vec!["kubectl".to_owned(), "annotate".to_owned()];
        words.push(format!("{}.{}", self.kind.plural, self.kind.group));
        words.push(self.name.clone());
        if let Some(namespace) = &self.namespace {
            words.extend(["-n".to_owned(), namespace.clone()]);
        }
        words.push(format!("{name}={value}"));
        words
    }
}

fn resource(kind: Kind) -> ApiResource {
    ApiResource {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        api_version: format!("{}/{}", kind.group, kind.version),
        kind: kind.name.to_owned(),
        plural: kind.plural.to_owned(),
    }
}

/// The objects of a kind that carry something of ours; none where the kind is not served.
pub(super) async fn found(control_plane: &ControlPlane, kind: Kind, settings: Settings) -> Result<Vec<Found>, Failure> {
    let api: Api<DynamicObject> = Api::all_with(control_plane.client(), &resource(kind));
    let mut found = Vec::new();
    let read = each_page(
        ListParams::default(),
        async |params| api.list(params).await,
        |page: Vec<DynamicObject>| {
            found.extend(page.into_iter().filter_map(|object| {
                let mut whole = json!(object);
                whole["kind"] = kind.name.into();
                Some(Found {
                    kind,
                    removal: ours::of(&whole, settings)?,
                    namespace: object.metadata.namespace,
                    name: object.metadata.name.unwrap_or_default(),
                })
            }));
            ControlFlow::Continue(())
        },
    );
    match read.await {
        Ok(()) => Ok(found),
        Err(error) if api_errors::is_not_found(&error) => Ok(Vec::new()),
        Err(error) => Err(Failure::of_api_needing(
            &format!("cannot list {}", kind.plural),
            &error,
            NEEDED,
        )),
    }
}

/// Takes off what is ours on the object as it is now. One that is gone is as good.
pub(super) async fn take_off(
    control_plane: &ControlPlane,
    found: &Found,
    settings: Settings,
    dry_run: bool,
) -> Result<(), Failure> {
    let resource = resource(found.kind);
    let client = control_plane.client();
    let api: Api<DynamicObject> = match &found.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let what = format!("cannot take what is ours off {}", found.in_words());
    let failed = |error: &kube::Error| {
        Failure::of_invalid(&what, error, "see what the server has against it")
            .unwrap_or_else(|| Failure::of_api_needing(&what, error, NEEDED))
    };
    let params = PatchParams {
        dry_run,
        ..PatchParams::default()
    };
    for _ in 0..TRIES {
        let read = match api.get_opt(&found.name).await {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(()),
            Err(error) => return Err(failed(&error)),
        };
        let mut whole = json!(read);
        whole["kind"] = found.kind.name.into();
        let removal = ours::of(&whole, settings).unwrap_or_default();
        let mut version = read.metadata.resource_version;
        let mut written = Ok(());
        if !removal.operations.is_empty() {
            let patch = on_version(version.as_deref(), removal.operations).map_err(|error| failed(&error))?;
            match api.patch(&found.name, &params, &patch).await {
                // A trial changed nothing.
                Ok(_) if dry_run => {}
                Ok(now) => version = now.metadata.resource_version,
                Err(error) => written = Err(error),
            }
        }
        if written.is_ok() && !removal.status_operations.is_empty() {
            let patch = on_version(version.as_deref(), removal.status_operations).map_err(|error| failed(&error))?;
            written = api.patch_status(&found.name, &params, &patch).await.map(drop);
        }
        match written {
            Ok(()) => return Ok(()),
            Err(error) if api_errors::is_conflict(&error) => {}
            Err(error) if api_errors::is_not_found(&error) => return Ok(()),
            Err(error) => return Err(failed(&error)),
        }
    }
    Err(Failure::new(
        ExitStatus::Problem,
        what,
        format!("it was changed by others each of the {TRIES} times that it was tried"),
        "run failoverctl handback again",
    ))
}

/// A patch that counts only on this version.
fn on_version(version: Option<&str>, operations: Vec<Value>) -> Result<Patch<DynamicObject>, kube::Error> {
    let version = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version});
    let operations: Vec<Value> = [version].into_iter().chain(operations).collect();
    let patch = serde_json::from_value(Value::Array(operations)).map_err(kube::Error::SerdeError)?;
    Ok(Patch::Json(patch))
}

/// Deletes a Lease that nobody holds any more, if it is still as it was read: who took it since keeps it.
pub(super) async fn delete_lease(control_plane: &ControlPlane, lease: &Lease) -> Result<(), Failure> {
    let namespace = control_plane.system_namespace();
    let name = lease.metadata.name.as_deref().unwrap_or_default();
    let api = Api::<Lease>::namespaced(control_plane.client(), namespace);
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            resource_version: lease.metadata.resource_version.clone(),
            uid: lease.metadata.uid.clone(),
        }),
        ..DeleteParams::default()
    };
    let what = format!("cannot delete Lease {namespace}/{name}");
    match api.delete(name, &params).await {
        Ok(_) => Ok(()),
        Err(error) if api_errors::is_not_found(&error) => Ok(()),
        Err(error) if api_errors::is_conflict(&error) => Err(Failure::new(
            ExitStatus::Problem,
            what,
            "somebody wrote it meanwhile: a controller of ours may have been started",
            "stop our controllers and run failoverctl handback again",
        )),
        Err(error) => Err(Failure::of_api_needing(&what, &error, NEEDED)),
    }
}
