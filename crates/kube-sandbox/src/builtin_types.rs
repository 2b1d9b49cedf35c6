//! Built-in objects pass through their typed form: unknown fields go, wrong types are refused, values take the form
//! that the real server sends (times to the second, micro times to six digits). The types also carry the schemas.

use k8s_openapi::api::{apps, authentication, authorization, batch, coordination, core, policy, rbac};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use schemars::{Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::registry::ResourceDef;
use crate::status::ApiError;

fn through<T: Serialize + DeserializeOwned>(object: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(object)?)
}

macro_rules! types {
    ($($group:literal $kind:literal => $type:ty;)*) => {
        fn typed(group: &str, kind: &str, object: Value) -> Result<Value, serde_json::Error> {
            match (group, kind) {
                $(($group, $kind) => through::<$type>(object),)*
                _ => Ok(object),
            }
        }

        /// The schema of a built-in kind, with what it refers to put into the generator; none for questions that
        /// nobody explains.
        pub(crate) fn schema(group: &str, kind: &str, generator: &mut SchemaGenerator) -> Option<Schema> {
            match (group, kind) {
                $(($group, $kind) => Some(generator.subschema_for::<$type>()),)*
                _ => None,
            }
        }
    };
}

types! {
    "" "ConfigMap" => core::v1::ConfigMap;
    "" "Endpoints" => core::v1::Endpoints;
    "" "Event" => core::v1::Event;
    "" "Namespace" => core::v1::Namespace;
    "" "Node" => core::v1::Node;
    "" "PersistentVolumeClaim" => core::v1::PersistentVolumeClaim;
    "" "Pod" => core::v1::Pod;
    "" "Secret" => core::v1::Secret;
    "" "Service" => core::v1::Service;
    "" "ServiceAccount" => core::v1::ServiceAccount;
    "apiextensions.k8s.io" "CustomResourceDefinition" => apiextensions::v1::CustomResourceDefinition;
    "apps" "DaemonSet" => apps::v1::DaemonSet;
    "apps" "Deployment" => apps::v1::Deployment;
    "apps" "ReplicaSet" => apps::v1::ReplicaSet;
    "apps" "StatefulSet" => apps::v1::StatefulSet;
    "authentication.k8s.io" "TokenReview" => authentication::v1::TokenReview;
    "authorization.k8s.io" "SelfSubjectAccessReview" => authorization::v1::SelfSubjectAccessReview;
    "authorization.k8s.io" "SubjectAccessReview" => authorization::v1::SubjectAccessReview;
    "batch" "CronJob" => batch::v1::CronJob;
    "batch" "Job" => batch::v1::Job;
    "coordination.k8s.io" "Lease" => coordination::v1::Lease;
    "events.k8s.io" "Event" => k8s_openapi::api::events::v1::Event;
    "policy" "PodDisruptionBudget" => policy::v1::PodDisruptionBudget;
    "rbac.authorization.k8s.io" "ClusterRole" => rbac::v1::ClusterRole;
    "rbac.authorization.k8s.io" "ClusterRoleBinding" => rbac::v1::ClusterRoleBinding;
    "rbac.authorization.k8s.io" "Role" => rbac::v1::Role;
    "rbac.authorization.k8s.io" "RoleBinding" => rbac::v1::RoleBinding;
}

/// The object in the form of its type, still with `apiVersion` and `kind`.
pub(crate) fn normalize(def: &ResourceDef, object: Value) -> Result<Value, ApiError> {
    // Events of both groups are stored in the core form.
    let group = if def.kind == "Event" { "" } else { def.group.as_str() };
    typed(group, &def.kind, object).map_err(|why| {
        ApiError::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}",
            kind = def.kind,
            version = def.version,
        ))
    })
}
