//! The rights that this program uses, by the manifest that grants them: one list for the chart, for `check` and for the test
//! that compares it with what is asked for.

use serde_json::Value;

/// Reads everything: the roles of this name.
const VIEW: &str = "karmada-failover:failoverctl-view";
/// Drains, pauses and orders.
const CHANGE: &str = "karmada-failover:failoverctl";

const MANIFEST: &str = include_str!("../../../../charts/control-plane/rbac/failoverctl.yaml");
/// The namespace that the manifest is written for.
const SYSTEM: &str = api_types::names::namespace::SYSTEM;

/// A right to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The API group.
    pub group: String,
    /// The resource, in the plural.
    pub resource: String,
    /// The verb.
    pub verb: String,
    /// The only namespace in which it is needed.
    pub namespace: Option<String>,
    /// Whether only commands that change something need it.
    pub to_change: bool,
}

impl Wanted {
    /// `resource.group`, and where.
    #[must_use]
    pub fn in_words(&self) -> String {
        let resource = if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        };
        match &self.namespace {
            Some(namespace) => format!("{resource} in namespace {namespace}"),
            None => resource,
        }
    }
}

/// The rights of those who look, and of those who change something.
///
/// # Errors
/// The manifest makes no sense, which would be a defect of this program.
pub fn wanted(system_namespace: &str) -> Result<Vec<Wanted>, String> {
    let mut found = Vec::new();
    for role in roles()? {
        let to_change = match role["metadata"]["name"].as_str() {
            Some(VIEW) => false,
            Some(CHANGE) => true,
            _ => continue,
        };
        let namespace = role["metadata"]["namespace"].as_str().map(|namespace| match namespace {
            SYSTEM => system_namespace.to_owned(),
            other => other.to_owned(),
        });
        for rule in list(&role["rules"]) {
            for group in list(&rule["apiGroups"]) {
                for resource in list(&rule["resources"]) {
                    for verb in list(&rule["verbs"]) {
                        found.push(Wanted {
                            group: text(group),
                            resource: text(resource),
                            verb: text(verb),
                            namespace: namespace.clone(),
                            to_change,
                        });
                    }
                }
            }
        }
    }
    // Rights on the queue stand for no resource that an API serves.
    found.retain(|wanted| wanted.resource != "evictionqueues");
    Ok(found)
}

/// The Roles and ClusterRoles of the manifest.
fn roles() -> Result<Vec<Value>, String> {
    let documents = MANIFEST.split("\n---\n").map(|document| {
        serde_saphyr::from_str::<Value>(document).map_err(|error| format!("the rights of this program: {error}"))
    });
    let documents: Vec<Value> = documents.collect::<Result<_, _>>()?;
    let is_role = |object: &Value| matches!(object["kind"].as_str(), Some("Role" | "ClusterRole"));
    Ok(documents.into_iter().filter(is_role).collect())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_read() {
        let wanted = wanted("elsewhere").unwrap();
        assert!(wanted.len() > 20);
        let leases = wanted
            .iter()
            .find(|wanted| wanted.resource == "leases" && wanted.verb == "list");
        assert_eq!(
            leases.map(Wanted::in_words).as_deref(),
            Some("leases.coordination.k8s.io in namespace elsewhere")
        );
        let looks = ["get", "list", "watch"];
        for wanted in &wanted {
            assert!(
                wanted.to_change || looks.contains(&wanted.verb.as_str()),
                "who looks changes nothing: {wanted:?}"
            );
        }
    }
}
