//! The only place that writes Clusters: one JSON patch a look, on the version that was judged, and the events about it.
//!
//! Taints are touched one by one, so that what others put on the Cluster, and fields that this version does not know,
//! stay as they are. A PreferNoExecute taint goes where the API server keeps it: into `spec.taints`, or, where the effect is
//! refused there, into the annotation that is its second home.

use std::sync::atomic::{AtomicBool, Ordering};

use api_types::cluster::{Cluster, effect};
use api_types::names::annotation::PREFER_NO_EXECUTE_TAINTS;
use api_types::second_home::{Home, cluster as second_home};
use controller_kit::{Context, EventType, api_errors};
use failover_core::taint_policy::{AnnotationChange, Evaluation, TaintChange, TaintId};
use k8s_openapi::api::core::v1::Taint;
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

/// Whether the API server refused PreferNoExecute in `spec.taints`: a refusal changes nothing, so that the first such write
/// is itself the trial.
#[derive(Debug, Default)]
pub(crate) struct EffectRefused(AtomicBool);

impl EffectRefused {
    fn home(&self) -> Home {
        if self.0.load(Ordering::Relaxed) {
            Home::Annotation
        } else {
            Home::Field
        }
    }
}

/// Writes the changes and says what was done.
pub(crate) async fn write(
    ctx: &Context,
    cluster: &Cluster,
    evaluation: &Evaluation,
    refused: &EffectRefused,
) -> Result<WriteOutcome, kube::Error> {
    let home = refused.home();
    let mut sent = send(ctx, cluster, evaluation, home).await;
    if home == Home::Field
        && adds_prefer_no_execute(evaluation)
        && sent.as_ref().is_err_and(is_refused)
        && let second @ Ok(_) = send(ctx, cluster, evaluation, Home::Annotation).await
    {
        // With everything else the same: it was the effect.
        refused.0.store(true, Ordering::Relaxed);
        tracing::info!(
            annotation = PREFER_NO_EXECUTE_TAINTS,
            "the API server takes no PreferNoExecute in spec.taints: the annotation has these taints from now on"
        );
        sent = second;
    }
    match sent {
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

async fn send(ctx: &Context, cluster: &Cluster, evaluation: &Evaluation, home: Home) -> Result<Cluster, kube::Error> {
    let operations = Value::Array(operations(cluster, evaluation, home));
    let patch: Patch<Cluster> = Patch::Json(serde_json::from_value(operations).map_err(kube::Error::SerdeError)?);
    let api = Api::<Cluster>::all(ctx.client.clone());
    let name = cluster.cluster_name();
    api.patch(name.as_str(), &PatchParams::default(), &patch).await
}

fn adds_prefer_no_execute(evaluation: &Evaluation) -> bool {
    let mut changes = evaluation.taints.iter();
    changes.any(|change| matches!(change, TaintChange::Add { taint, .. } if taint.effect == effect::PREFER_NO_EXECUTE))
}

/// Whether the server has something against the object as it would be.
fn is_refused(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422) && !api_errors::is_outdated(error)
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
fn operations(cluster: &Cluster, evaluation: &Evaluation, home: Home) -> Vec<Value> {
    let mut operations =
        vec![json!({"op": "replace", "path": "/metadata/resourceVersion", "value": cluster.metadata.resource_version})];
    let second = taint_operations(cluster, &evaluation.taints, home, &mut operations);
    let annotations: Vec<AnnotationChange> = evaluation.annotations.iter().cloned().chain(second).collect();
    if !annotations.is_empty() && cluster.metadata.annotations.is_none() {
        operations.push(json!({"op": "add", "path": "/metadata/annotations", "value": {}}));
    }
    for change in &annotations {
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

/// Operations on `spec.taints`; and the change of the annotation, if one of its taints changes or one comes there.
fn taint_operations(
    cluster: &Cluster,
    changes: &[TaintChange],
    home: Home,
    operations: &mut Vec<Value>,
) -> Option<AnnotationChange> {
    let (in_spec, in_annotation) = second_home::by_home(cluster);
    let mut second: Vec<Option<Taint>> = in_annotation.iter().cloned().map(Some).collect();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            TaintChange::Add { taint, .. } if home == Home::Annotation && taint.effect == effect::PREFER_NO_EXECUTE => {
                second.push(Some(taint.clone()));
            }
            TaintChange::Add { taint, .. } => added.push(taint),
            TaintChange::Remove { index, .. } => match index.checked_sub(in_spec.len()) {
                None => removed.push(*index),
                Some(behind) => second[behind] = None,
            },
            TaintChange::SetValue { index, value, .. } => match index.checked_sub(in_spec.len()) {
                None => {
                    operations
                        .push(json!({"op": "add", "path": format!("/spec/taints/{index}/value"), "value": value}));
                }
                Some(behind) => {
                    if let Some(taint) = &mut second[behind] {
                        taint.value = Some(value.clone());
                    }
                }
            },
            TaintChange::Stamp { index, time_added, .. } => match index.checked_sub(in_spec.len()) {
                None => operations
                    .push(json!({"op": "add", "path": format!("/spec/taints/{index}/timeAdded"), "value": time_added})),
                Some(behind) => {
                    if let Some(taint) = &mut second[behind] {
                        taint.time_added = Some(time_added.clone());
                    }
                }
            },
        }
    }
    in_place(in_spec.len(), removed, &added, operations);
    let second: Vec<Taint> = second.into_iter().flatten().collect();
    // One that stands in both places is shown once, as that in the field: what is removed goes from both, or the other one
    // would appear, and be nobody's.
    let is_removed = |taint: &Taint| {
        let mut ids = changes.iter().filter_map(|change| match change {
            TaintChange::Remove { id, .. } => Some(id),
            _ => None,
        });
        ids.any(|id| *id == TaintId::of(taint))
    };
    let stored = second_home::stored(&cluster.metadata).unwrap_or_default();
    (second != in_annotation || stored.iter().any(is_removed)).then(|| AnnotationChange {
        name: PREFER_NO_EXECUTE_TAINTS,
        value: second_home::text(&second),
    })
}

/// Operations on a `spec.taints` of this length.
fn in_place(length: usize, mut removed: Vec<usize>, added: &[&Taint], operations: &mut Vec<Value>) {
    if removed.len() == length {
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
        taint_operations(&cluster, &changes, Home::Field, &mut operations);
        let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations)).unwrap();
        json_patch::patch(&mut document, &patch).unwrap();
        let cluster: Cluster = serde_json::from_value(document).unwrap();
        let keys: Vec<&str> = cluster.spec.taints.iter().map(|t| t.key.as_str()).collect();
        assert_eq!(keys, after);
    }

    fn prefer(key: &str) -> Taint {
        Taint {
            effect: "PreferNoExecute".to_owned(),
            ..taint(key)
        }
    }

    // As where a server came to take the effect, or a person wrote it into both.
    #[test]
    fn what_stands_in_both_places_goes_from_both() {
        let stored = second_home::text(&[prefer("p"), prefer("q")]).unwrap();
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1", "annotations": {PREFER_NO_EXECUTE_TAINTS: stored}},
            "spec": {"syncMode": "Push", "taints": [prefer("p")]},
        }))
        .unwrap();
        assert_eq!(cluster.spec.taints.len(), 2);
        let removed = [TaintChange::Remove {
            id: TaintId::of(&prefer("p")),
            index: 0,
            why: String::new(),
        }];
        let mut operations = Vec::new();
        let change = taint_operations(&cluster, &removed, Home::Field, &mut operations).unwrap();
        assert_eq!(change.value, second_home::text(&[prefer("q")]));
        assert_eq!(operations, [json!({"op": "remove", "path": "/spec/taints"})]);
    }

    #[test]
    fn what_the_annotation_has_is_changed_there() {
        let stored = second_home::text(&[prefer("p"), prefer("q"), prefer("r")]).unwrap();
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1", "annotations": {PREFER_NO_EXECUTE_TAINTS: stored}},
            "spec": {"syncMode": "Push", "taints": [taint("a"), taint("b")]},
        }))
        .unwrap();
        assert_eq!(cluster.spec.taints.len(), 5);
        let at = |index: usize| TaintId::of(&cluster.spec.taints[index]);
        let why = String::new;
        let time_added = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH);
        let changes = [
            TaintChange::Remove {
                id: at(0),
                index: 0,
                why: why(),
            },
            TaintChange::Remove {
                id: at(2),
                index: 2,
                why: why(),
            },
            TaintChange::SetValue {
                id: at(3),
                index: 3,
                value: "v".to_owned(),
                why: why(),
            },
            TaintChange::Stamp {
                id: at(4),
                index: 4,
                time_added: time_added.clone(),
            },
            TaintChange::Add {
                taint: prefer("new"),
                why: why(),
            },
            TaintChange::Add {
                taint: taint("c"),
                why: why(),
            },
        ];
        let mut operations = Vec::new();
        let change = taint_operations(&cluster, &changes, Home::Annotation, &mut operations).unwrap();
        assert_eq!(
            json!(operations),
            json!([
                {"op": "remove", "path": "/spec/taints/0"},
                {"op": "add", "path": "/spec/taints/-", "value": taint("c")},
            ])
        );
        let expected = [
            Taint {
                value: Some("v".to_owned()),
                ..prefer("q")
            },
            Taint {
                time_added: Some(time_added),
                ..prefer("r")
            },
            prefer("new"),
        ];
        assert_eq!(change.value, second_home::text(&expected));
    }

    #[test]
    fn the_first_taint_of_either_home_is_written_as_such() {
        let cluster: Cluster =
            serde_json::from_value(json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})).unwrap();
        let add = |taint: Taint| TaintChange::Add {
            taint,
            why: String::new(),
        };
        let mut operations = Vec::new();
        let change = taint_operations(
            &cluster,
            &[add(prefer("p")), add(taint("a"))],
            Home::Annotation,
            &mut operations,
        );
        assert_eq!(
            json!(operations),
            json!([{"op": "add", "path": "/spec/taints", "value": [taint("a")]}])
        );
        assert_eq!(change.unwrap().value, second_home::text(&[prefer("p")]));
        let mut operations = Vec::new();
        assert_eq!(
            taint_operations(&cluster, &[add(prefer("p"))], Home::Field, &mut operations),
            None
        );
        assert_eq!(
            json!(operations),
            json!([{"op": "add", "path": "/spec/taints", "value": [prefer("p")]}])
        );
    }
}
