//! Rights of one agent on the control plane.

use api_types::ClusterName;
use api_types::names::{execution_namespace, namespace};
use controller_kit::leader::lease_name;

use super::{Rights, cluster_role, role, rule, rule_on};

/// The controllers of an agent, each with its own Lease.
const CONTROLLERS: [&str; 3] = ["clusterStatus", "execution", "workStatus"];

/// What the agent of this cluster may do on the control plane, where its controllers' Leases are in `system_namespace`.
#[must_use]
pub fn control_plane(cluster: &ClusterName, system_namespace: &str) -> Rights {
    let name = format!("karmada-failover:agent:{cluster}");
    let own = || vec![cluster.to_string()];
    let leases = CONTROLLERS.map(|controller| format!("{}-{cluster}", lease_name(controller)));
    let events = || rule("", "events", &["create", "patch"]);
    Rights {
        cluster_role: cluster_role(
            &name,
            vec![
                // Its own Cluster: found by a field selector on the name. Its spec is for people and for others.
                rule("cluster.karmada.io", "clusters", &["create"]),
                rule_on("cluster.karmada.io", "clusters", &["get", "list", "watch"], own()),
                rule_on("cluster.karmada.io", "clusters/status", &["patch"], own()),
                // How objects of kinds with rules of their own are read: the same for every member.
                rule(
                    "config.karmada.io",
                    "resourceinterpretercustomizations",
                    &["get", "list", "watch"],
                ),
            ],
        ),
        roles: vec![
            role(
                &name,
                &execution_namespace(cluster),
                vec![
                    // `patch` lets go a Work whose objects are gone: its finalizer is ours.
                    rule("work.karmada.io", "works", &["get", "list", "watch", "patch"]),
                    rule("work.karmada.io", "works/status", &["patch"]),
                    events(),
                ],
            ),
            role(
                &name,
                namespace::CLUSTER,
                vec![
                    rule("coordination.k8s.io", "leases", &["create"]),
                    rule_on("coordination.k8s.io", "leases", &["get", "update"], own()),
                ],
            ),
            role(
                &name,
                system_namespace,
                vec![
                    rule("coordination.k8s.io", "leases", &["create"]),
                    rule_on("coordination.k8s.io", "leases", &["get", "update"], leases.to_vec()),
                ],
            ),
            role(&name, namespace::CLUSTER_SCOPED_EVENTS, vec![events()]),
        ],
    }
}
