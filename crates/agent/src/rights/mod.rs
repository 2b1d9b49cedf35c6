//! What an agent may do, on the control plane and on its member: the complete list, as RBAC objects.
//!
//! Rights on the control plane are of one agent: they name its Cluster, its Leases and its execution namespace, so that
//! an agent that is broken into harms no other member. Two of them RBAC cannot narrow further, because a request that
//! makes an object carries no name: the agent may create Clusters, and Leases in two namespaces.

mod control_plane;
mod member;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

pub use control_plane::control_plane;
pub use member::member;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A set of rights.
#[derive(Clone, Debug, PartialEq)]
pub struct Rights {
    /// What is of cluster scope.
    pub cluster_role: ClusterRole,
    /// What is in a namespace; the namespaces must exist first.
    pub roles: Vec<Role>,
}

impl Rights {
    /// Everything to apply, in this order, so that `subject` has these rights: namespaces, roles, and their bindings.
    #[must_use]
    pub fn objects(&self, subject: &Subject) -> Vec<Value> {
        let mut objects = Vec::new();
        let mut namespaces: Vec<&str> = self.roles.iter().filter_map(namespace_of).collect();
        namespaces.extend(subject.namespace.as_deref());
        namespaces.sort_unstable();
        namespaces.dedup();
        for name in namespaces {
            objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        }
        if subject.kind == "ServiceAccount" {
            objects.push(json!({"apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": subject.name, "namespace": subject.namespace}}));
        }
        let role_ref = |kind: &str, name: &Option<String>| RoleRef {
            api_group: Some(GROUP.to_owned()),
            kind: kind.to_owned(),
            name: name.clone().unwrap_or_default(),
        };
        objects.push(json!(self.cluster_role));
        objects.push(json!(ClusterRoleBinding {
            metadata: self.cluster_role.metadata.clone(),
            role_ref: role_ref("ClusterRole", &self.cluster_role.metadata.name),
            subjects: Some(vec![subject.clone()]),
        }));
        for role in &self.roles {
            objects.push(json!(role));
            objects.push(json!(RoleBinding {
                metadata: role.metadata.clone(),
                role_ref: role_ref("Role", &role.metadata.name),
                subjects: Some(vec![subject.clone()]),
            }));
        }
        objects
    }
}

fn namespace_of(role: &Role) -> Option<&str> {
    role.metadata.namespace.as_deref()
}

/// A service account.
#[must_use]
pub fn service_account(name: &str, namespace: &str) -> Subject {
    Subject {
        api_group: None,
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        namespace: Some(namespace.to_owned()),
    }
}

fn cluster_role(name: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        rules: Some(rules),
        aggregation_rule: None,
    }
}

fn role(name: &str, namespace: &str, rules: Vec<PolicyRule>) -> Role {
    Role {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        rules: Some(rules),
    }
}

/// Verbs on all objects of a resource.
fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(owned(&[group])),
        resources: Some(owned(&[resource])),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

/// The same on objects of these names alone.
fn rule_on(group: &str, resource: &str, verbs: &[&str], names: Vec<String>) -> PolicyRule {
    PolicyRule {
        resource_names: Some(names),
        ..rule(group, resource, verbs)
    }
}
