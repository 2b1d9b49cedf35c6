//! Reviews of access by the RBAC objects that are stored: rules of ClusterRoles by ClusterRoleBindings and RoleBindings,
//! rules of Roles by RoleBindings. Aggregated ClusterRoles are not filled in, and `system:masters` may do everything.

use serde_json::{Value, json};

use crate::state::{State, render_value};

const GROUP: &str = "rbac.authorization.k8s.io/v1";

/// Whose access is reviewed.
pub(crate) struct Subject {
    pub name: String,
    pub groups: Vec<String>,
}

impl Subject {
    /// As the spec of a SubjectAccessReview says.
    pub fn of(spec: &Value) -> Self {
        let groups = spec["groups"].as_array().into_iter().flatten();
        Self {
            name: spec["user"].as_str().unwrap_or_default().to_owned(),
            groups: groups.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }

    fn is_one_of(&self, binding: &Value) -> bool {
        let namespace = binding["metadata"]["namespace"].as_str().unwrap_or_default();
        items(&binding["subjects"]).any(|subject| {
            let name = subject["name"].as_str().unwrap_or_default();
            match subject["kind"].as_str() {
                Some("User") => name == self.name,
                Some("Group") => self.groups.iter().any(|group| group == name),
                Some("ServiceAccount") => {
                    let namespace = subject["namespace"].as_str().unwrap_or(namespace);
                    self.name == format!("system:serviceaccount:{namespace}:{name}")
                }
                _ => false,
            }
        })
    }
}

/// The status of a review with this spec.
pub(crate) fn review(state: &State, subject: &Subject, spec: &Value) -> Value {
    if subject.groups.iter().any(|group| group == "system:masters") {
        return json!({"allowed": true});
    }
    let namespace = spec["resourceAttributes"]["namespace"].as_str().unwrap_or_default();
    let bindings = all(state, "ClusterRoleBinding").chain(
        all(state, "RoleBinding")
            .filter(|binding| !namespace.is_empty() && binding["metadata"]["namespace"].as_str() == Some(namespace)),
    );
    for binding in bindings.filter(|binding| subject.is_one_of(binding)) {
        let (kind, name) = (&binding["roleRef"]["kind"], &binding["roleRef"]["name"]);
        let role = all(state, kind.as_str().unwrap_or_default()).find(|role| {
            let of_binding = kind != "Role" || role["metadata"]["namespace"] == binding["metadata"]["namespace"];
            role["metadata"]["name"] == *name && of_binding
        });
        if role.is_some_and(|role| items(&role["rules"]).any(|rule| allows(rule, spec))) {
            let (kind, name) = (text(&binding["kind"]), text(&binding["metadata"]["name"]));
            return json!({
                "allowed": true,
                "reason": format!(
                    "RBAC: allowed by {kind} {name:?} of {} {:?} to User {:?}",
                    text(&binding["roleRef"]["kind"]),
                    text(&binding["roleRef"]["name"]),
                    subject.name
                ),
            });
        }
    }
    json!({"allowed": false})
}

fn allows(rule: &Value, spec: &Value) -> bool {
    let has = |list: &Value, wanted: &str| items(list).any(|item| item == "*" || item == wanted);
    let path = &spec["nonResourceAttributes"];
    if !path.is_null() {
        return has(&rule["verbs"], text(&path["verb"])) && has(&rule["nonResourceURLs"], text(&path["path"]));
    }
    let about = &spec["resourceAttributes"];
    let resource = match text(&about["subresource"]) {
        "" => text(&about["resource"]).to_owned(),
        subresource => format!("{}/{subresource}", text(&about["resource"])),
    };
    let names = &rule["resourceNames"];
    has(&rule["verbs"], text(&about["verb"]))
        && has(&rule["apiGroups"], text(&about["group"]))
        && has(&rule["resources"], &resource)
        && (items(names).next().is_none() || items(names).any(|name| *name == about["name"]))
}

fn all<'a>(state: &'a State, kind: &str) -> impl Iterator<Item = Value> + use<'a> {
    let def = state.registry.by_kind(GROUP, kind);
    let table = def.as_ref().and_then(|def| state.store.existing(&def.storage));
    let objects: Vec<Value> = match (&def, table) {
        (Some(def), Some(table)) => table
            .range(None, None)
            .map(|stored| render_value(def, stored))
            .collect(),
        _ => Vec::new(),
    };
    objects.into_iter()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_allows_what_it_names() {
        let rule = json!({
            "apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"], "verbs": ["get", "update"],
        });
        let asked = |rule: &Value, about: Value| allows(rule, &json!({"resourceAttributes": about}));
        let about =
            |verb: &str, group: &str, resource: &str| json!({"verb": verb, "group": group, "resource": resource});
        assert!(asked(&rule, about("get", "apps", "deployments")));
        for (verb, group, resource) in [
            ("list", "apps", "deployments"),
            ("get", "", "deployments"),
            ("get", "apps", "statefulsets"),
        ] {
            assert!(!asked(&rule, about(verb, group, resource)), "{verb} {group} {resource}");
        }
        let mut scale = about("update", "apps", "deployments");
        scale["subresource"] = "scale".into();
        assert!(asked(&rule, scale.clone()));
        scale["subresource"] = "status".into();
        assert!(!asked(&rule, scale));

        let mut named = rule.clone();
        named["resourceNames"] = json!(["one"]);
        let mut one = about("get", "apps", "deployments");
        assert!(!asked(&named, one.clone()), "without a name");
        one["name"] = "one".into();
        assert!(asked(&named, one));

        let all = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
        assert!(asked(&all, about("x", "y", "z")));
        let path = json!({"nonResourceAttributes": {"path": "/metrics", "verb": "get"}});
        assert!(!allows(&all, &path), "paths are not resources");
        assert!(allows(
            &json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}),
            &path
        ));
    }

    #[test]
    fn subjects_are_users_groups_and_service_accounts() {
        let subject = Subject {
            name: "system:serviceaccount:ns:sa".to_owned(),
            groups: vec!["g".to_owned()],
        };
        let is = |of: Value| subject.is_one_of(&json!({"metadata": {"namespace": "ns"}, "subjects": [of]}));
        assert!(is(json!({"kind": "ServiceAccount", "namespace": "ns", "name": "sa"})));
        assert!(is(json!({"kind": "User", "name": "system:serviceaccount:ns:sa"})));
        assert!(is(json!({"kind": "Group", "name": "g"})));
        assert!(!is(json!({"kind": "User", "name": "g"})));
        assert!(!is(
            json!({"kind": "ServiceAccount", "namespace": "other", "name": "sa"})
        ));
    }
}
