//! What `history` asks for.

use api_types::failover::FailoverRecord;
use api_types::work::Binding;
use jiff::Timestamp;
use kube::Api;

use super::report::{MoveHistory, RecordView, history, similar};
use crate::cli::HistoryArgs;
use crate::control_plane::{ControlPlane, all_of};
use crate::entries::CLUSTER_SCOPE;
use crate::failure::Failure;

/// Reads the records that may be wanted, page by page, and keeps those that are.
///
/// # Errors
/// The API server does not have the kind, does not let us list it, or does not answer.
pub async fn gather(control_plane: &ControlPlane, args: &HistoryArgs, now: Timestamp) -> Result<MoveHistory, Failure> {
    let namespace = namespace(args, control_plane.system_namespace());
    let records = records(control_plane, namespace.as_deref()).await?;
    let mut told = history(&records, args, now);
    told.looked_in = namespace;
    if let Some(binding) = args.binding.as_ref().filter(|_| told.records.is_empty()) {
        // A courtesy: who may not look into other namespaces gets none.
        let everywhere = self::records(control_plane, None).await.unwrap_or_default();
        told.meant = similar(&everywhere, binding);
    }
    Ok(told)
}

async fn records(control_plane: &ControlPlane, namespace: Option<&str>) -> Result<Vec<FailoverRecord>, Failure> {
    let client = control_plane.client();
    let api: Api<FailoverRecord> = match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let needed = "use a kubeconfig whose user may list failoverrecords.failover.karmada.io";
    all_of(&api, "FailoverRecord", "failoverrecords", needed).await
}

/// The last moves of a binding, newest first. They are a courtesy: who may not read records gets none.
pub(crate) async fn of_binding(control_plane: &ControlPlane, binding: &Binding, at_most: usize) -> Vec<RecordView> {
    let args = HistoryArgs {
        binding: Some(binding.key()),
        limit: at_most,
        ..HistoryArgs::default()
    };
    let namespace = namespace(&args, control_plane.system_namespace());
    let records = records(control_plane, namespace.as_deref()).await.unwrap_or_default();
    history(&records, &args, Timestamp::MAX).records
}

/// Where the records are: a binding's namespace, or for bindings of cluster scope the system namespace; nothing: all.
fn namespace(args: &HistoryArgs, system_namespace: &str) -> Option<String> {
    let of_binding = args.binding.as_ref().map(|binding| binding.namespace.clone());
    let given = args
        .namespace
        .clone()
        .map(|namespace| Some(namespace).filter(|namespace| namespace != CLUSTER_SCOPE));
    of_binding
        .or(given)
        .map(|namespace| namespace.unwrap_or_else(|| system_namespace.to_owned()))
}
