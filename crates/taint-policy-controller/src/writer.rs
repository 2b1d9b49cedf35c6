//! The only place that writes Clusters: one JSON patch a look, on the version that was judged, and the events about it.
//!
//! Taints are touched one by one, so that what others put on the Cluster, and fields that this version does not know,
//! stay as they are.

use api_types::cluster::Cluster;
use controller_kit::{Context, EventType, api_errors};
use failover_core::taint_policy::{Evaluation, TaintChange, TaintId};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

/// Stamped taints that a summary names; more are counted.
const MOST_NAMED: usize = 3;

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// Stored.
    Written {
        /// The version that it made of the Cluster.
        version: Option<String>,
    },
    /// The Cluster was changed meanwhile: judge the newest version.
    Conflict,
    /// The Cluster is gone.
    Gone,
}

/// Writes the changes and says what was done.
pub(crate) async fn write(
    ctx: &Context,
    cluster: &Cluster,
    evaluation: &Evaluation,
) -> Result<WriteOutcome, kube::Error> {
    let operations = Value::Array(operations(cluster, evaluation));
    let patch: Patch<Cluster> = Patch::Json(serde_json::from_value(operations).map_err(kube::Error::SerdeError)?);
    let api = Api::<Cluster>::all(ctx.client.clone());
    match api
        .patch(cluster.cluster_name().as_str(), &PatchParams::default(), &patch)
        .await
    {
        Ok(stored) => {
            tell_success(ctx, cluster, evaluation);
            let version = stored.metadata.resource_version;
            Ok(WriteOutcome::Written { version })
        }
        Err(error) if api_errors::is_outdated(&error) => Ok(WriteOutcome::Conflict),
        Err(error) if api_errors::is_not_found(&error) => Ok(WriteOutcome::Gone),
        Err(error) => Err(error),
    }
}

/// The Cluster as it is stored now; `None` when it is gone, or is another one of the same name.
pub(crate) async fn read_again(ctx: &Context, cluster: &Cluster) -> Result<Option<Cluster>, kube::Error> {
    let live = Api::<Cluster>::all(ctx.client.clone())
        .get_opt(cluster.cluster_name().as_str())
        .await?;
    Ok(live.filter(|live| live.metadata.uid == cluster.metadata.uid))
}

/// The changes in words: `added not-ready:NoExecute (policy not-ready: Ready=False for 300 s)`.
pub(crate) fn summary(evaluation: &Evaluation) -> String {
    let mut stamped = Vec::new();
    let mut texts: Vec<String> = evaluation
        .taints
        .iter()
        .filter_map(|change| match change {
            TaintChange::Add { taint, why } => Some(format!("added {} ({why})", TaintId::of(taint))),
            TaintChange::Remove { id, why, .. } => Some(format!("removed {id} ({why})")),
            TaintChange::SetValue { id, value, why, .. } => Some(format!("set the value of {id} to {value:?} ({why})")),
            TaintChange::Stamp { id, .. } => {
                stamped.push(id);
                None
            }
        })
        .collect();
    match &stamped[..] {
        [] => {}
        few if few.len() <= MOST_NAMED => {
            texts.extend(few.iter().map(|id| format!("set the missing timeAdded of {id}")));
        }
        many => texts.push(format!("set the missing timeAdded of {} taints", many.len())),
    }
    texts.join(", ")
}

fn tell_success(ctx: &Context, cluster: &Cluster, evaluation: &Evaluation) {
    if !evaluation.taints.is_empty() {
        let note = format!("Taint cluster succeed: {}", summary(evaluation));
        ctx.events
            .publish_for(cluster, EventType::Normal, "TaintClusterSucceed", note);
    }
    for notice in &evaluation.notices {
        let event_type = if notice.is_warning {
            EventType::Warning
        } else {
            EventType::Normal
        };
        ctx.events
            .publish_for(cluster, event_type, notice.reason, notice.text.clone());
    }
}

/// Says what could not be done. Windows alone are no news to anybody.
pub(crate) fn tell_failure(ctx: &Context, cluster: &Cluster, evaluation: &Evaluation, error: &str) {
    if !evaluation.taints.is_empty() {
        let note = format!("Taint cluster failed: {error}; not done: {}", summary(evaluation));
        ctx.events
            .publish_for(cluster, EventType::Warning, "TaintClusterFailed", note);
    }
}

/// JSON patch operations. Replacing the version, not testing it: the server then answers with a conflict, as it does
/// for updates.
fn operations(cluster: &Cluster, evaluation: &Evaluation) -> Vec<Value> {
    let mut operations =
        vec![json!({"op": "replace", "path": "/metadata/resourceVersion", "value": cluster.metadata.resource_version})];
    taint_operations(cluster, &evaluation.taints, &mut operations);
    if !evaluation.annotations.is_empty() && cluster.metadata.annotations.is_none() {
        operations.push(json!({"op": "add", "path": "/metadata/annotations", "value": {}}));
    }
    for change in &evaluation.annotations {
        let path = format!(
            "/metadata/annotations/{}",
            change.name.replace('~', "~0").replace('/', "~1")
        );
        operations.push(match &change.value {
            Some(text) => json!({"op": "add", "path": path, "value": text}),
            None => json!({"op": "remove", "path": path}),
        });
    }
    operations
}

fn taint_operations(cluster: &Cluster, changes: &[TaintChange], operations: &mut Vec<Value>) {
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            TaintChange::Add { taint, .. } => added.push(taint),
            TaintChange::Remove { index, .. } => removed.push(*index),
            TaintChange::SetValue { index, value, .. } => {
                operations.push(json!({"op": "add", "path": format!("/spec/taints/{index}/value"), "value": value}));
            }
            TaintChange::Stamp { index, time_added, .. } => operations
                .push(json!({"op": "add", "path": format!("/spec/taints/{index}/timeAdded"), "value": time_added})),
        }
    }
    if removed.len() == cluster.spec.taints.len() {
        if !added.is_empty() {
            operations.push(json!({"op": "add", "path": "/spec/taints", "value": added}));
        } else if !removed.is_empty() {
            operations.push(json!({"op": "remove", "path": "/spec/taints"}));
        }
        return;
    }
    // From the end, so that the positions before stay right.
    removed.sort_unstable();
    for index in removed.into_iter().rev() {
        operations.push(json!({"op": "remove", "path": format!("/spec/taints/{index}")}));
    }
    for taint in added {
        operations.push(json!({"op": "add", "path": "/spec/taints/-", "value": taint}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Taint;
    use rstest::rstest;

    fn taint(key: &str) -> Taint {
        Taint {
            key: key.to_owned(),
            value: None,
            effect: "NoExecute".to_owned(),
            time_added: None,
        }
    }

    #[rstest]
    #[case::first(&[], &[], &["a"], &["a"])]
    #[case::beside_others(&["x"], &[], &["a"], &["x", "a"])]
    #[case::last(&["a"], &[0], &[], &[])]
    #[case::from_the_middle(&["a", "x", "b", "y"], &[0, 2], &["c"], &["x", "y", "c"])]
    #[case::of_two_equal_ones_the_one_that_is_meant(&["a", "x", "a"], &[2], &[], &["a", "x"])]
    #[case::all_replaced(&["a"], &[0], &["b"], &["b"])]
    fn taints_are_touched_one_by_one(
        #[case] before: &[&str],
        #[case] removed: &[usize],
        #[case] added: &[&str],
        #[case] after: &[&str],
    ) {
        let remove = |index: &usize| TaintChange::Remove {
            id: TaintId::of(&taint(before[*index])),
            index: *index,
            why: String::new(),
        };
        let add = |key: &&str| TaintChange::Add {
            taint: taint(key),
            why: String::new(),
        };
        let changes: Vec<TaintChange> = removed.iter().map(remove).chain(added.iter().map(add)).collect();
        let mut document = json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}});
        if !before.is_empty() {
            document["spec"]["taints"] = json!(before.iter().map(|key| taint(key)).collect::<Vec<_>>());
        }
        let cluster: Cluster = serde_json::from_value(document.clone()).unwrap();
        let mut operations = Vec::new();
        taint_operations(&cluster, &changes, &mut operations);
        let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations)).unwrap();
        json_patch::patch(&mut document, &patch).unwrap();
        let cluster: Cluster = serde_json::from_value(document).unwrap();
        let keys: Vec<&str> = cluster.spec.taints.iter().map(|t| t.key.as_str()).collect();
        assert_eq!(keys, after);
    }
}
