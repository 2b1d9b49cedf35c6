//! Kinds whose copies report a health once they run. One table for those who compute the health in a member cluster and
//! those who judge by it: a kind is its API version and its name, since other groups have a `Job` and a `Service` too.

/// `apiVersion` and `kind` of every kind with a health rule, in order.
pub const KINDS_WITH_HEALTH: [(&str, &str); 10] = [
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "Ingress"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "Service"),
];

/// Whether copies of this kind report a health: without a status they are not healthy yet.
#[must_use]
pub fn has_health_rule(api_version: &str, kind: &str) -> bool {
    KINDS_WITH_HEALTH.contains(&(api_version, kind))
}
