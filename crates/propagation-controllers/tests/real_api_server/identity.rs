//! What an object is called.

use std::fmt;

use api_types::names::work_name;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Id {
    pub api_version: String,
    pub kind: String,
    pub namespace: Option<String>,
    pub name: String,
}

impl Id {
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let required = |pointer: &str| text(pointer).unwrap_or_else(|| panic!("no {pointer} in {object}"));
        Self::new(
            required("/apiVersion"),
            required("/kind"),
            text("/metadata/namespace"),
            required("/metadata/name"),
        )
    }

    pub fn namespace(name: &str) -> Self {
        Self::new("v1", "Namespace", None, name)
    }

    pub fn cluster(name: &str) -> Self {
        Self::new("cluster.karmada.io/v1alpha1", "Cluster", None, name)
    }

    /// Where the credentials of a member are.
    pub fn credentials(cluster: &str) -> Self {
        Self::new("v1", "Secret", Some("karmada-cluster"), cluster)
    }

    /// The Work that brings an object to a member.
    pub fn work(cluster: &str, object: &Self) -> Self {
        let name = work_name(&object.kind, object.namespace.as_deref(), &object.name);
        Self::new(
            "work.karmada.io/v1alpha1",
            "Work",
            Some(&format!("karmada-es-{cluster}")),
            &name,
        )
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// A template and what stands for it on the control plane.
#[derive(Clone, Debug)]
pub struct Bound {
    pub template: Id,
    pub policy: Id,
    pub binding: Id,
}

impl Bound {
    pub fn of(template: Id) -> Self {
        let kind = template.kind.to_lowercase();
        let namespace = template.namespace.as_deref();
        let (policies, bindings) = match namespace {
            Some(_) => ("PropagationPolicy", "ResourceBinding"),
            None => ("ClusterPropagationPolicy", "ClusterResourceBinding"),
        };
        let policy = format!("{kind}-{}", template.name);
        let binding = format!("{}-{kind}", template.name);
        Self {
            policy: Id::new("policy.karmada.io/v1alpha1", policies, namespace, &policy),
            binding: Id::new("work.karmada.io/v1alpha2", bindings, namespace, &binding),
            template,
        }
    }

    pub fn work(&self, cluster: &str) -> Id {
        Id::work(cluster, &self.template)
    }
}
