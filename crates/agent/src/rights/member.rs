//! Rights of the agent on its member.

use k8s_openapi::api::rbac::v1::PolicyRule;
use propagation_controllers::kinds::{Kind, namespace, templates};

use super::{Rights, cluster_role, rule};

/// What the agent may do on its member: apply every kind that is carried to members, read what it sums up, and ask for
/// health, version and APIs.
#[must_use]
pub fn member() -> Rights {
    let applied = |kind: Kind| {
        rule(
            kind.group(),
            kind.plural(),
            &["get", "list", "watch", "create", "update", "patch", "delete"],
        )
    };
    let mut rules: Vec<PolicyRule> = templates().into_iter().chain([namespace()]).map(applied).collect();
    for resource in ["nodes", "pods"] {
        rules.push(rule("", resource, &["list", "watch"]));
    }
    rules.push(rule(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        &["list", "watch"],
    ));
    let paths = ["/readyz", "/healthz", "/version", "/api", "/api/*", "/apis", "/apis/*"];
    rules.push(PolicyRule {
        non_resource_urls: Some(paths.map(str::to_owned).to_vec()),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    });
    Rights {
        cluster_role: cluster_role("karmada-failover:agent", rules),
        roles: Vec::new(),
    }
}
