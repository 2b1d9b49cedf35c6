//! Kinds whose copies report a health once they run. One table for those who compute the health in a member cluster and
//! those who judge by it: a kind is its API version and its name, since other groups have a `Job` and a `Service` too.

/// `apiVersion` and `kind` of every kind with a health rule, in order.
pub const KINDS_WITH_HEALTH: [(&str, &str); 11] = [
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "Ingress"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "Service"),
];

/// `apiVersion` and `kind` of kinds of Kubernetes itself whose copies work as soon as they are there, in order: they have
/// no status that tells more, and nobody has a rule for them.
pub const KINDS_WITHOUT_HEALTH: [(&str, &str); 20] = [
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("networking.k8s.io/v1", "IngressClass"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("v1", "ConfigMap"),
    ("v1", "Endpoints"),
    ("v1", "LimitRange"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolume"),
    ("v1", "ResourceQuota"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
];

/// Whether a copy of this kind may report a health. A custom kind may: by a script of a
/// ResourceInterpreterCustomization, or beside stock by its other interpreters. Whether it has such a rule is not known
/// here; but whoever reads copies says Healthy of those without a rule, too, as soon as they were looked at.
#[must_use]
pub fn may_report_health(api_version: &str, kind: &str) -> bool {
    !KINDS_WITHOUT_HEALTH.contains(&(api_version, kind))
}

/// Whether copies of this kind report a health: without a status they are not healthy yet.
#[must_use]
pub fn has_health_rule(api_version: &str, kind: &str) -> bool {
    KINDS_WITH_HEALTH.contains(&(api_version, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_is_in_both_tables_and_both_are_in_order() {
        assert!(KINDS_WITH_HEALTH.is_sorted() && KINDS_WITHOUT_HEALTH.is_sorted());
        assert!(
            KINDS_WITH_HEALTH
                .iter()
                .all(|(api_version, kind)| may_report_health(api_version, kind))
        );
    }
}
