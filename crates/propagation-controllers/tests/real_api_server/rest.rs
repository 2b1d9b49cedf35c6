//! At rest nothing is written, neither here nor in the members, whatever kinds there are.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::kinds;
use crate::world::World;

const FLEET: [(&str, &str); 6] = [
    ("work.karmada.io/v1alpha2", "ResourceBinding"),
    ("work.karmada.io/v1alpha2", "ClusterResourceBinding"),
    ("work.karmada.io/v1alpha1", "Work"),
    ("policy.karmada.io/v1alpha1", "PropagationPolicy"),
    ("policy.karmada.io/v1alpha1", "ClusterPropagationPolicy"),
    ("v1", "Event"),
];
const WORKLOADS: [(&str, &str); 5] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
    ("v1", "Secret"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
];

/// Versions of all that propagation writes.
async fn versions(world: &World) -> BTreeSet<String> {
    let mut versions = BTreeSet::new();
    let kinds = kinds::all();
    let kinds = kinds.iter().map(|(version, kind)| (version.as_str(), kind.as_str()));
    for (version, kind) in FLEET.into_iter().chain(WORKLOADS).chain(kinds) {
        for (place, server) in [("control plane", &world.plane), ("m1", &world.m1), ("m2", &world.m2)] {
            for object in server.list(version, kind).await {
                let metadata = object.metadata;
                versions.insert(format!(
                    "{place} {kind} {:?}/{:?} {:?}",
                    metadata.namespace, metadata.name, metadata.resource_version
                ));
            }
        }
    }
    versions
}

pub async fn nothing_is_written(world: &World) {
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = versions(world).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let after = versions(world).await;
    let written: Vec<_> = after.symmetric_difference(&before).collect();
    assert!(written.is_empty(), "{written:#?}");
}
