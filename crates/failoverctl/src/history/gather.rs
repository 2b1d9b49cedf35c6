//! What `history` asks for.

use api_types::BindingKey;
use api_types::failover::FailoverRecord;
use api_types::work::Binding;
use jiff::Timestamp;
use kube::Api;

use super::report::{MoveHistory, PROPOSALS, RecordView, history, similar};
use crate::cli::HistoryArgs;
use crate::control_plane::{ControlPlane, all_of};
use crate::entries::CLUSTER_SCOPE;
use crate::failure::{ExitStatus, Failure};

/// Reads the records that may be wanted, page by page, and keeps those that are.
///
/// # Errors
/// The API server does not have the kind, does not let us list it, or does not answer.
pub async fn gather(control_plane: &ControlPlane, args: &HistoryArgs, now: Timestamp) -> Result<MoveHistory, Failure> {
    let namespace = namespace(args, control_plane.system_namespace());
    let records = records(control_plane, namespace.as_deref()).await?;
    let mut told = history(&records, args, now);
    told.looked_in = namespace;
    if let Some(record) = args.record.as_ref().filter(|_| told.records.is_empty()) {
        return Err(no_such_record(record, &records, control_plane.system_namespace()));
    }
    if let Some(binding) = args.binding.as_ref().filter(|_| told.records.is_empty()) {
        // A courtesy: who may not look into other namespaces gets none.
        let everywhere = self::records(control_plane, None).await.unwrap_or_default();
        told.meant = similar(&everywhere, binding);
    }
    Ok(told)
}

/// A record that is not there; proposes those of its namespace.
fn no_such_record(wanted: &BindingKey, others: &[FailoverRecord], system_namespace: &str) -> Failure {
    let namespace = wanted.namespace.as_deref().unwrap_or(system_namespace);
    let names = others.iter().filter_map(|record| record.metadata.name.as_deref());
    let names: Vec<&str> = names.take(PROPOSALS).collect();
    let next = match &names[..] {
        [] => "it may be older than --record-retention; those that there are: failoverctl history -o wide".to_owned(),
        names => format!(
            "choose one of those that there are, as in {}: failoverctl history -o wide",
            names.join(" or ")
        ),
    };
    Failure::new(
        ExitStatus::Problem,
        format!("cannot tell FailoverRecord {namespace}/{}", wanted.name),
        "there is no such object",
        next,
    )
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
    let named = args.binding.as_ref().or(args.record.as_ref());
    let of_binding = named.map(|named| named.namespace.clone());
    let given = args
        .namespace
        .clone()
        .map(|namespace| Some(namespace).filter(|namespace| namespace != CLUSTER_SCOPE));
    of_binding
        .or(given)
        .map(|namespace| namespace.unwrap_or_else(|| system_namespace.to_owned()))
}
