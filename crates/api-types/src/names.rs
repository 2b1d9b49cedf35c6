//! Every well-known name: labels, annotations, finalizers, taint keys, namespaces, reasons; and the rules by which
//! names of bindings, Works and namespaces are made. They are Karmada's, byte by byte, where Karmada has them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Labels.
pub mod label {
    /// UUID of the PropagationPolicy that claimed an object.
    pub const PROPAGATION_POLICY_ID: &str = "propagationpolicy.karmada.io/permanent-id";
    /// UUID of the ClusterPropagationPolicy that claimed an object.
    pub const CLUSTER_PROPAGATION_POLICY_ID: &str = "clusterpropagationpolicy.karmada.io/permanent-id";
    /// UUID of a ResourceBinding; Works carry it, so that they are found by it.
    pub const RESOURCE_BINDING_ID: &str = "resourcebinding.karmada.io/permanent-id";
    /// UUID of a ClusterResourceBinding; Works carry it.
    pub const CLUSTER_RESOURCE_BINDING_ID: &str = "clusterresourcebinding.karmada.io/permanent-id";
    /// UUID of a Work; the object in the member carries it.
    pub const WORK_ID: &str = "work.karmada.io/permanent-id";
    /// Who manages a binding that no policy made.
    pub const BINDING_MANAGED_BY: &str = "binding.karmada.io/managed-by";
    /// Prefix of labels by which an attached binding names those that depend on it.
    pub const DEPENDED_BY_PREFIX: &str = "resourcebinding.karmada.io/depended-by-";
    /// `true` on every object that Karmada made in a member.
    pub const MANAGED: &str = "karmada.io/managed";
    /// `true` on objects of the control plane itself.
    pub const SYSTEM: &str = "karmada.io/system";
    /// `true` keeps a namespace from being made in the members.
    pub const SKIP_AUTO_PROPAGATION: &str = "namespace.karmada.io/skip-auto-propagation";
    /// `true` leaves the replicas of the member's object alone.
    pub const RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";
}

/// Annotations.
pub mod annotation {
    /// JSON of the placement that the scheduler last acted on.
    pub const APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";
    /// Namespace of the claiming PropagationPolicy.
    pub const PROPAGATION_POLICY_NAMESPACE: &str = "propagationpolicy.karmada.io/namespace";
    /// Name of the claiming PropagationPolicy.
    pub const PROPAGATION_POLICY_NAME: &str = "propagationpolicy.karmada.io/name";
    /// Name of the claiming ClusterPropagationPolicy.
    pub const CLUSTER_PROPAGATION_POLICY_NAME: &str = "clusterpropagationpolicy.karmada.io/name";
    /// Namespace of the ResourceBinding that a Work belongs to.
    pub const RESOURCE_BINDING_NAMESPACE: &str = "resourcebinding.karmada.io/namespace";
    /// Name of the ResourceBinding that a Work belongs to.
    pub const RESOURCE_BINDING_NAME: &str = "resourcebinding.karmada.io/name";
    /// Name of the ClusterResourceBinding that a Work belongs to.
    pub const CLUSTER_RESOURCE_BINDING_NAME: &str = "clusterresourcebinding.karmada.io/name";
    /// `abort` or `overwrite`: what to do when the member has such an object already.
    pub const CONFLICT_RESOLUTION: &str = "work.karmada.io/conflict-resolution";
    /// Namespace of the Work that an object in a member comes from.
    pub const WORK_NAMESPACE: &str = "work.karmada.io/namespace";
    /// Name of the Work that an object in a member comes from.
    pub const WORK_NAME: &str = "work.karmada.io/name";
    /// UID of the template.
    pub const TEMPLATE_UID: &str = "resourcetemplate.karmada.io/uid";
    /// Generation of the template that a Work was rendered from.
    pub const TEMPLATE_GENERATION: &str = "resourcetemplate.karmada.io/generation";
    /// Comma separated names of the labels that the template sets in the member.
    pub const MANAGED_LABELS: &str = "resourcetemplate.karmada.io/managed-labels";
    /// Comma separated names of the annotations that the template sets in the member.
    pub const MANAGED_ANNOTATIONS: &str = "resourcetemplate.karmada.io/managed-annotations";

    /// Ours, on a Cluster: the open windows of ClusterTaintPolicies, JSON keyed by policy UID.
    pub const TAINT_WINDOWS: &str = "failover.karmada.io/taint-windows";
    /// Ours, on a Cluster: which taints our policies added, JSON of key, effect → policy names.
    pub const MANAGED_TAINTS: &str = "failover.karmada.io/managed-taints";
    /// Ours, on a Cluster: what ClusterTaintPolicies will do next and when, a line each, for people.
    pub const TAINT_FORECAST: &str = "failover.karmada.io/taint-forecast";
    /// Ours, on a Cluster: score and time of settled Ready transitions.
    pub const FLAP_SCORE: &str = "failover.karmada.io/flap-score";
    /// Ours, on a Cluster: `true` ends a blocked deletion at once.
    pub const FORCE_DELETE: &str = "failover.karmada.io/force-delete";
    /// Ours, on a binding: JSON list of `{cluster, verdict}`; while it matches, the binding stays there.
    pub const STAY: &str = "failover.karmada.io/stay";
    /// Ours, on a binding: since when a copy is unhealthy, per cluster, and its second home of `settled`.
    pub const HEALTH_CLOCK: &str = "failover.karmada.io/health-clock";
    /// Ours, on a binding: the copies of its result that the scheduler has no place for and keeps until another one works, as
    /// `cluster:replicas`, separated by commas.
    pub const KEPT_COPIES: &str = "failover.karmada.io/kept-copies";
    /// Ours, on a Cluster: the second home of its PreferNoExecute taints, a JSON list
    /// ([`second_home::cluster`](crate::second_home::cluster)).
    pub const PREFER_NO_EXECUTE_TAINTS: &str = "failover.karmada.io/prefer-no-execute-taints";
    /// Ours, on a ClusterTaintPolicy of stock's form: the second home of the windows of its taints, a JSON list
    /// ([`second_home::taint_policy`](crate::second_home::taint_policy)).
    pub const WINDOWS: &str = "failover.karmada.io/windows";
    /// Ours, on a PropagationPolicy, and carried from it to its bindings: the second home of what stock does not know of
    /// `spec.failover`, JSON of the same shape ([`second_home::failover`](crate::second_home::failover)).
    pub const FAILOVER: &str = "failover.karmada.io/failover";
    /// Ours, on a binding: the second home of `spec.activeEvictionHistory`, a JSON list
    /// ([`second_home::history`](crate::second_home::history)).
    pub const ACTIVE_EVICTION_HISTORY: &str = "failover.karmada.io/active-eviction-history";
    /// Ours, on a Work: JSON of the labels that its object carries because a failover preserved them of the copy before it.
    pub const PRESERVED_LABELS: &str = "failover.karmada.io/preserved-labels";
    /// Ours, on the Lease of `clusterStatus`: names of the Push Clusters whose last completed probe is older than the
    /// grace period, in order, separated by commas; absent or empty for none.
    pub const PROBES_OVERDUE: &str = "failover.karmada.io/probes-overdue";
    /// Ours, on the Lease of the eviction queue: why it releases nothing at all; empty while it does.
    pub const STANDSTILL: &str = "failover.karmada.io/standstill";
    /// A person's word on the Lease of the controller `cluster`: until this time (RFC 3339) clusters are marked Unknown
    /// also while the monitor seems to be isolated. Not under `failover.karmada.io/`, whose annotations on a Lease
    /// belong to its holder and are removed by the next renewal.
    pub const NOT_ISOLATED_UNTIL: &str = "override.failover.karmada.io/not-isolated-until";
}

/// Finalizers.
pub mod finalizer {
    /// On a Cluster: its execution namespace and its bindings go first.
    pub const CLUSTER: &str = "karmada.io/cluster-controller";
    /// On a Work: the object in the member goes first.
    pub const EXECUTION: &str = "karmada.io/execution-controller";
    /// On a ResourceBinding: its Works go first.
    pub const BINDING: &str = "karmada.io/binding-controller";
    /// On a ClusterResourceBinding: its Works go first.
    pub const CLUSTER_BINDING: &str = "karmada.io/cluster-resource-binding-controller";
    /// On a ResourceBinding: its attached bindings go first.
    pub const DEPENDENCIES: &str = "karmada.io/binding-dependencies-distributor";
    /// On a PropagationPolicy: claims are released first.
    pub const PROPAGATION_POLICY: &str = "karmada.io/propagation-policy-controller";
    /// On a ClusterPropagationPolicy: claims are released first.
    pub const CLUSTER_PROPAGATION_POLICY: &str = "karmada.io/cluster-propagation-policy-controller";
}

/// Keys of taints on a Cluster.
pub mod taint {
    /// The member says that it is not ready, or does not answer.
    pub const NOT_READY: &str = "cluster.karmada.io/not-ready";
    /// Nobody has heard of the member.
    pub const UNREACHABLE: &str = "cluster.karmada.io/unreachable";
    /// A person cordoned the cluster.
    pub const UNSCHEDULABLE: &str = "cluster.karmada.io/unschedulable";
    /// A person drains the cluster (ours).
    pub const DRAIN: &str = "cluster.karmada.io/drain";
    /// Ours, with effect NoSchedule: stands as long as a PreferNoExecute taint does, for a scheduler that does not know
    /// that effect and would place back what was moved away.
    pub const COMPANION: &str = "failover.karmada.io/prefer-no-execute";
}

/// Namespaces.
pub mod namespace {
    /// The control plane's own objects; Leases live here.
    pub const SYSTEM: &str = "karmada-system";
    /// Secrets and leases of members.
    pub const CLUSTER: &str = "karmada-cluster";
    /// Prefix of the namespaces that hold the Works of one member.
    pub const EXECUTION_PREFIX: &str = "karmada-es-";
    /// Where events about cluster-scoped objects are kept.
    pub const CLUSTER_SCOPED_EVENTS: &str = "default";
}

/// Feature gates.
pub mod gate {
    /// Whether a cluster's failure may cause a move. Default off.
    pub const FAILOVER: &str = "Failover";
    /// Accepted without effect: graceful eviction is always there.
    pub const GRACEFUL_EVICTION: &str = "GracefulEviction";
}

/// Name of a member cluster. Clones share the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterName(Arc<str>);

impl ClusterName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ClusterName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for ClusterName {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl From<Arc<str>> for ClusterName {
    fn from(name: Arc<str>) -> Self {
        Self(name)
    }
}

impl Serialize for ClusterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ClusterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl AsRef<str> for ClusterName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for ClusterName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names one binding, namespaced or of cluster scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BindingKey {
    /// Namespace; absent for a ClusterResourceBinding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl BindingKey {
    /// Key of a ResourceBinding.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            name: name.into(),
        }
    }

    /// Key of a ClusterResourceBinding.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self {
            namespace: None,
            name: name.into(),
        }
    }

    /// Which of the two kinds the key names.
    #[must_use]
    pub fn kind(&self) -> crate::work::BindingKind {
        match self.namespace {
            Some(_) => crate::work::BindingKind::Namespaced,
            None => crate::work::BindingKind::Cluster,
        }
    }
}

impl fmt::Display for BindingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl std::str::FromStr for BindingKey {
    type Err = std::convert::Infallible;

    /// `namespace/name` or, of cluster scope, `name`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once('/') {
            Some((namespace, name)) => Self::namespaced(namespace, name),
            None => Self::cluster(text),
        })
    }
}

/// Namespace that holds the Works of a member.
#[must_use]
pub fn execution_namespace(cluster: &ClusterName) -> String {
    format!("{}{cluster}", namespace::EXECUTION_PREFIX)
}

/// The member whose Works live in this namespace.
#[must_use]
pub fn cluster_of_execution_namespace(namespace: &str) -> Option<ClusterName> {
    namespace
        .strip_prefix(namespace::EXECUTION_PREFIX)
        .filter(|name| !name.is_empty())
        .map(ClusterName::from)
}

/// Name of the binding of a template: `name-kind` in lower case, `:` as `.`.
#[must_use]
pub fn binding_name(kind: &str, name: &str) -> String {
    format!("{name}-{kind}").to_lowercase().replace(':', ".")
}

/// Name of the Work of a template: the same in every execution namespace.
///
/// The object's name in lower case with `:` as `.`, and a hash of namespace, name and kind: FNV-1a of 32 bits, printed
/// in decimal, each character mapped to an alphabet without vowels.
#[must_use]
pub fn work_name(kind: &str, namespace: Option<&str>, name: &str) -> String {
    let hashed = match namespace.filter(|n| !n.is_empty()) {
        Some(namespace) => format!("{namespace}-{name}-{kind}"),
        None => format!("{name}-{kind}"),
    };
    format!(
        "{}-{}",
        name.to_lowercase().replace(':', "."),
        safe_hash(&hashed.to_lowercase())
    )
}

/// Label by which the attached binding names one that depends on it.
#[must_use]
pub fn depended_by_label(key: &BindingKey) -> String {
    format!("{}{}", label::DEPENDED_BY_PREFIX, safe_hash(&key.to_string()))
}

/// Name of the FailoverRecord of one move: the same whoever writes it. The binding's UID, the cluster that is left and the
/// task's `creationTimestamp`, to the second, hashed: FNV-1a of 64 bits, in hexadecimal.
#[must_use]
pub fn failover_record_name(binding_uid: &str, from_cluster: &ClusterName, task_created_at: jiff::Timestamp) -> String {
    let hashed = format!("{binding_uid}/{from_cluster}/{}", task_created_at.as_second());
    let hash = hashed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("move-{hash:016x}")
}

/// FNV-1a, 32 bits: Karmada breaks ties of a static division by its parity over the UID.
#[must_use]
pub fn fnv1a_32(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn safe_hash(text: &str) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    fnv1a_32(text)
        .to_string()
        .bytes()
        .map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_karmadas() {
        assert_eq!(work_name("Deployment", Some("default"), "nginx"), "nginx-687f7fb96f");
        assert_eq!(binding_name("Deployment", "nginx"), "nginx-deployment");
        assert_eq!(binding_name("ClusterRole", "system:Node"), "system.node-clusterrole");
        assert_eq!(execution_namespace(&"member1".into()), "karmada-es-member1");
        assert_eq!(
            cluster_of_execution_namespace("karmada-es-member1"),
            Some("member1".into())
        );
        assert_eq!(cluster_of_execution_namespace("karmada-es-"), None);
    }

    #[test]
    fn a_key_reads_as_it_is_printed() {
        for text in ["default/nginx-deployment", "reader-clusterrole"] {
            let key: BindingKey = text.parse().unwrap();
            assert_eq!(key.to_string(), text);
        }
    }
}
