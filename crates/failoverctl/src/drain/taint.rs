//! The drain taint on the API server: the only place of these commands that writes there. Each write is on the version that
//! was read, and touches no other taint.

use api_types::cluster::Cluster;
use api_types::names::namespace::CLUSTER_SCOPED_EVENTS;
use api_types::second_home;
use api_types::second_home::cluster::by_home;
use controller_kit::api_errors;
use failover_core::taint_policy::TaintId;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use scheduler_filters::FewerCopies;
use scheduler_filters::feasibility::ACCEPT_FEWER_COPIES;
use scheduler_filters::plan::drain_taint;
use serde::Serialize;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::failure::{ExitStatus, Failure};

const NEEDED: &str = "use a kubeconfig whose user may get and patch clusters.cluster.karmada.io";
/// A write that somebody came before is tried again so many times.
const TRIES: usize = 5;

/// Whether the server only says what would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DryRun {
    Yes,
    No,
}

/// What a drain changes on the Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Change {
    /// The taint comes.
    Added,
    /// It stands, and gets another value.
    ValueChanged,
    /// It stands with that value, and gets the time from which tolerations count.
    TimeAdded,
    /// It stands so already.
    None,
}

/// The drain taint of a Cluster.
pub(super) fn on(cluster: &Cluster) -> Option<&Taint> {
    index(cluster).map(|index| &cluster.spec.taints[index])
}

fn index(cluster: &Cluster) -> Option<usize> {
    let id = TaintId::of(&drain_taint(FewerCopies::Refused, Timestamp::UNIX_EPOCH));
    let (stored, _) = by_home(cluster);
    stored.iter().position(|taint| TaintId::of(taint) == id)
}

/// The taint that the Cluster should have. Where it stands and nothing is said of fewer copies, it keeps its value.
pub(super) fn wanted(cluster: &Cluster, fewer_copies: Option<FewerCopies>, now: Timestamp) -> Taint {
    let new = drain_taint(fewer_copies.unwrap_or(FewerCopies::Refused), now);
    match (fewer_copies, on(cluster)) {
        (None, Some(present)) => Taint {
            value: present.value.clone(),
            ..new
        },
        _ => new,
    }
}

/// Whether a taint says that fewer copies are accepted.
pub(super) fn fewer_copies_of(taint: &Taint) -> FewerCopies {
    if taint.value.as_deref() == Some(ACCEPT_FEWER_COPIES) {
        FewerCopies::AcceptedIfOneIsHealthy
    } else {
        FewerCopies::Refused
    }
}

/// The Cluster as it is without the drain.
pub(super) fn without(cluster: &Cluster) -> Cluster {
    let mut without = cluster.clone();
    if let Some(index) = index(cluster) {
        without.spec.taints.remove(index);
    }
    without
}

/// What makes the Cluster drained so; nothing when it is.
pub(super) fn added(cluster: &Cluster, wanted: &Taint) -> Option<(Change, Vec<Value>)> {
    let Some(index) = index(cluster) else {
        // What the annotation of a Cluster has stands behind these, and is no part of the list that is written.
        let operation = if second_home::cluster::by_home(cluster).0.is_empty() {
            json!({"op": "add", "path": "/spec/taints", "value": [wanted]})
        } else {
            json!({"op": "add", "path": "/spec/taints/-", "value": wanted})
        };
        return Some((Change::Added, vec![operation]));
    };
    let present = &cluster.spec.taints[index];
    let value = |taint: &Taint| taint.value.clone().filter(|value| !value.is_empty());
    let path = format!("/spec/taints/{index}/value");
    let mut operations = match (value(present), value(wanted)) {
        (before, now) if before == now => vec![],
        (_, Some(now)) => vec![json!({"op": "add", "path": path, "value": now})],
        (_, None) => vec![json!({"op": "remove", "path": path})],
    };
    let change = if operations.is_empty() {
        Change::TimeAdded
    } else {
        Change::ValueChanged
    };
    if present.time_added.is_none() {
        let path = format!("/spec/taints/{index}/timeAdded");
        operations.push(json!({"op": "add", "path": path, "value": wanted.time_added}));
    }
    (!operations.is_empty()).then_some((change, operations))
}

/// What ends the drain; nothing when the Cluster is not drained.
pub(super) fn removed(cluster: &Cluster) -> Option<Vec<Value>> {
    let index = index(cluster)?;
    Some(vec![json!({"op": "remove", "path": format!("/spec/taints/{index}")})])
}

/// Clusters, for a command that does `what`.
pub(super) struct Taints<'a> {
    clusters: Api<Cluster>,
    events: Api<Event>,
    what: &'a str,
}

impl<'a> Taints<'a> {
    pub(super) fn of(control_plane: &ControlPlane, what: &'a str) -> Self {
        Self {
            clusters: Api::all(control_plane.client()),
            events: Api::namespaced(control_plane.client(), CLUSTER_SCOPED_EVENTS),
            what,
        }
    }

    /// Writes what `edit` makes of the Cluster as it is now, on exactly that version; nothing is written where it wants
    /// nothing.
    pub(super) async fn write(
        &self,
        name: &str,
        dry_run: DryRun,
        edit: impl Fn(&Cluster) -> Result<Option<Vec<Value>>, Failure>,
    ) -> Result<Cluster, Failure> {
        let params = PatchParams {
            dry_run: dry_run == DryRun::Yes,
            ..PatchParams::default()
        };
        for _ in 0..TRIES {
            let read = self.clusters.get(name).await.map_err(|error| self.failed(&error))?;
            let Some(edits) = edit(&read)? else { return Ok(read) };
            let version =
                json!({"op": "replace", "path": "/metadata/resourceVersion", "value": read.metadata.resource_version});
            let operations: Vec<Value> = [version].into_iter().chain(edits).collect();
            let patch = serde_json::from_value(Value::Array(operations)).map_err(kube::Error::SerdeError);
            let patch: Patch<Cluster> = Patch::Json(patch.map_err(|error| self.failed(&error))?);
            match self.clusters.patch(name, &params, &patch).await {
                Ok(written) => return Ok(written),
                Err(error) if api_errors::is_conflict(&error) => {}
                Err(error) => return Err(self.failed(&error)),
            }
        }
        Err(Failure::new(
            ExitStatus::Problem,
            format!("cannot {}", self.what),
            format!("Cluster {name} was changed by others each of the {TRIES} times that it was tried"),
            "try again; who writes it so often: kubectl get cluster -o yaml --show-managed-fields",
        ))
    }

    fn failed(&self, error: &kube::Error) -> Failure {
        let what = format!("cannot {}", self.what);
        Failure::of_invalid(&what, error, "see what the server has against it")
            .unwrap_or_else(|| Failure::of_api_needing(&what, error, NEEDED))
    }

    /// An Event on the Cluster.
    pub(super) async fn tell(
        &self,
        cluster: &Cluster,
        event: &str,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let name = cluster.cluster_name();
        let event = Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: Some(CLUSTER_SCOPED_EVENTS.to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: ObjectReference {
                api_version: Some("cluster.karmada.io/v1alpha1".to_owned()),
                kind: Some("Cluster".to_owned()),
                name: Some(name.to_string()),
                uid: cluster.metadata.uid.clone(),
                ..ObjectReference::default()
            },
            type_: Some("Normal".to_owned()),
            reason: Some(event.to_owned()),
            message: Some(format!("{} by failoverctl{because}", in_words(event))),
            source: Some(EventSource {
                component: Some("failoverctl".to_owned()),
                host: None,
            }),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            count: Some(1),
            ..Event::default()
        };
        let made = self.events.create(&PostParams::default(), &event).await;
        made.map(|_| ()).map_err(|error| {
            Failure::of_api_needing(
                "cannot write an Event",
                &error,
                "use a kubeconfig whose user may create events",
            )
        })
    }
}

fn in_words(event: &str) -> &'static str {
    if event == "ClusterDrainEnded" {
        "the drain was ended"
    } else {
        "drained"
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn cluster(taints: &Value) -> Cluster {
        serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "taints": taints},
        }))
        .unwrap()
    }

    fn changed(taints: &Value, fewer_copies: Option<FewerCopies>) -> Option<(Change, Value)> {
        let cluster = cluster(taints);
        let wanted = wanted(&cluster, fewer_copies, "2026-01-31T12:00:00.7Z".parse().unwrap());
        added(&cluster, &wanted).map(|(change, operations)| (change, json!(operations)))
    }

    const DRAIN: &str = "cluster.karmada.io/drain";

    #[rstest]
    #[case::the_first_taint(json!([]), Change::Added, json!([{"op": "add", "path": "/spec/taints", "value": [
        {"key": DRAIN, "effect": "NoExecute", "timeAdded": "2026-01-31T12:00:00Z"},
    ]}]))]
    #[case::behind_others(
        json!([{"key": "k", "effect": "NoExecute"}, {"key": DRAIN, "effect": "NoSchedule"}]),
        Change::Added,
        json!([
            {"op": "add", "path": "/spec/taints/-", "value": {"key": DRAIN, "effect": "NoExecute", "timeAdded": "2026-01-31T12:00:00Z"}},
        ])
    )]
    #[case::another_value(
        json!([{"key": "k", "effect": "NoExecute"}, {"key": DRAIN, "effect": "NoExecute", "value": "v", "timeAdded": "2026-01-01T00:00:00Z"}]),
        Change::ValueChanged,
        json!([{"op": "remove", "path": "/spec/taints/1/value"}])
    )]
    #[case::nobody_stamped_it(json!([{"key": DRAIN, "effect": "NoExecute"}]), Change::TimeAdded, json!([
        {"op": "add", "path": "/spec/taints/0/timeAdded", "value": "2026-01-31T12:00:00Z"},
    ]))]
    fn a_drain_adds_its_taint_and_touches_no_other(
        #[case] taints: Value,
        #[case] change: Change,
        #[case] operations: Value,
    ) {
        assert_eq!(changed(&taints, Some(FewerCopies::Refused)), Some((change, operations)));
    }

    #[test]
    fn what_stands_so_already_is_left() {
        let taints = json!([{"key": DRAIN, "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]);
        assert_eq!(changed(&taints, Some(FewerCopies::Refused)), None);
        assert_eq!(changed(&taints, None), None);
        let operations = json!([{"op": "add", "path": "/spec/taints/0/value", "value": "accept-fewer-copies"}]);
        assert_eq!(
            changed(&taints, Some(FewerCopies::AcceptedIfOneIsHealthy)),
            Some((Change::ValueChanged, operations))
        );
    }

    /// Who only follows says nothing of fewer copies, and changes nothing of what was agreed on.
    #[test]
    fn a_value_that_nothing_is_said_of_stays() {
        let taints = json!([{
            "key": DRAIN, "effect": "NoExecute", "value": "accept-fewer-copies", "timeAdded": "2026-01-01T00:00:00Z",
        }]);
        assert_eq!(changed(&taints, None), None);
        let taken_back = changed(&taints, Some(FewerCopies::Refused));
        assert_eq!(taken_back.map(|(change, _)| change), Some(Change::ValueChanged));
    }

    #[test]
    fn an_end_removes_exactly_that_taint() {
        let taints = json!([{"key": DRAIN, "effect": "NoSchedule"}, {"key": DRAIN, "effect": "NoExecute"}]);
        assert_eq!(
            json!(removed(&cluster(&taints))),
            json!([{"op": "remove", "path": "/spec/taints/1"}])
        );
        assert_eq!(
            removed(&cluster(&json!([{"key": DRAIN, "effect": "NoSchedule"}]))),
            None
        );
    }
}
