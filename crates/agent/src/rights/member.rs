//! Rights of the agent on its member.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{Rights, cluster_role, rule};

/// What the agent may do on its member: apply objects of whatever kind the member serves, read what it sums up, and ask
/// for health, version and APIs.
///
/// Which kinds policies select is not known beforehand, so these are all, with their subresources; only the verbs are
/// those that are needed. It is as good as cluster-admin: who may make pods and tokens of any ServiceAccount may do what
/// these may. Who wants less binds a ClusterRole that names the kinds, as `docs/probing.md` says. A member lets nobody give away rights that they do not have: a Role with further verbs (`escalate`, `bind`,
/// `impersonate`, `deletecollection`) is refused until a person binds these to the agent as well.
#[must_use]
pub fn member() -> Rights {
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let paths = ["/readyz", "/healthz", "/version", "/api", "/api/*", "/apis", "/apis/*"];
    let rules = vec![
        rule("*", "*", &verbs),
        PolicyRule {
            non_resource_urls: Some(paths.map(str::to_owned).to_vec()),
            verbs: vec!["get".to_owned()],
            ..PolicyRule::default()
        },
    ];
    Rights {
        cluster_role: cluster_role("karmada-failover:agent", rules),
        roles: Vec::new(),
    }
}
