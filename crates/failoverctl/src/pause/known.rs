//! Whether what is to be paused exists: a pause of a name that nobody has stops nothing, and its author believes that it
//! does.

use api_types::failover::{FailoverPauseSpec, PauseScope};

use crate::control_plane::{ControlPlane, others};
use crate::entries::CLUSTER_SCOPE;
use crate::failure::{ExitStatus, Failure};

/// Asks for the Clusters or namespaces that a pause names.
///
/// # Errors
/// One of them is not there (the failure proposes others), or the server does not answer. Who may not look is not held up.
pub(super) async fn check(control_plane: &ControlPlane, spec: &FailoverPauseSpec) -> Result<(), Failure> {
    match spec.scope {
        PauseScope::Clusters => {
            let known = control_plane.cluster_names().await?;
            known.map_or(Ok(()), |known| all_known("Cluster", "clusters", &spec.clusters, known))
        }
        PauseScope::Namespaces => match control_plane.namespaces().await? {
            Some(mut known) => {
                known.push(CLUSTER_SCOPE.to_owned());
                all_known("namespace", "namespaces", &spec.namespaces, known)
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn all_known(kind: &str, plural: &str, wanted: &[String], mut known: Vec<String>) -> Result<(), Failure> {
    let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) else {
        return Ok(());
    };
    known.retain(|name| name != CLUSTER_SCOPE);
    Err(Failure::new(
        ExitStatus::Problem,
        format!("cannot pause evictions of {kind} {unknown}"),
        format!("there is no such {kind}, so that would stop nothing"),
        others(unknown, plural, known),
    ))
}
