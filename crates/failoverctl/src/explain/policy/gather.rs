//! What `explain policy` asks for.

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use k8s_openapi::api::coordination::v1::Lease;

use crate::control_plane::{ControlPlane, no_such};
use crate::controllers::Mode;
use crate::failure::{ExitStatus, Failure};

/// Everything that the report is made from.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// Name of the policy; it is among `policies`.
    pub name: String,
    /// All ClusterTaintPolicies.
    pub policies: Vec<ClusterTaintPolicy>,
    /// All Clusters.
    pub clusters: Vec<Cluster>,
    /// All Leases of the system namespace.
    pub leases: Vec<Lease>,
    /// Whose control plane it is.
    pub mode: Mode,
    /// The namespace of the Leases.
    pub system_namespace: String,
}

/// Asks the API server.
///
/// # Errors
/// There is no such ClusterTaintPolicy, or the API server does not answer.
pub async fn gather(
    control_plane: &ControlPlane,
    leases: Vec<Lease>,
    mode: Mode,
    name: &str,
) -> Result<Gathered, Failure> {
    if name.contains('/') {
        return Err(Failure::new(
            ExitStatus::Usage,
            format!("cannot explain policy {name}"),
            "a ClusterTaintPolicy has no namespace, and a PropagationPolicy is explained by what it does to a workload",
            "give the name of a ClusterTaintPolicy, or ask failoverctl explain binding NAMESPACE/NAME",
        ));
    }
    control_plane.require_taint_policies().await?;
    let policies = control_plane.taint_policies().await?;
    let known: Vec<String> = policies
        .iter()
        .filter_map(|policy| policy.metadata.name.clone())
        .collect();
    if !known.iter().any(|other| other == name) {
        return Err(no_such("ClusterTaintPolicy", name, "clustertaintpolicies", known));
    }
    Ok(Gathered {
        name: name.to_owned(),
        policies,
        clusters: control_plane.clusters().await?,
        leases,
        mode,
        system_namespace: control_plane.system_namespace().to_owned(),
    })
}
