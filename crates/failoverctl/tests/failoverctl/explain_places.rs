//! `explain binding` of what has no place, or has one by rules of its own: what a person is told about each cluster.

use api_types::cluster::Cluster;
use api_types::work::Binding;
use failoverctl::controllers::Mode;
use failoverctl::explain::binding::{FromQueue, Gathered, report};
use failoverctl::failure::ExitStatus;
use failoverctl::output::Format;
use insta::assert_snapshot;
use rstest::rstest;
use serde_json::{Value, json};

use crate::objects::{after, binding, calm, cluster, leases, now, tainted};
use crate::show;

fn gathered(binding: Binding, clusters: Vec<Cluster>) -> Gathered {
    Gathered {
        binding,
        clusters,
        leases: leases(),
        mode: Mode::Standalone,
        system_namespace: "karmada-system".to_owned(),
        queue: Ok(FromQueue {
            status: calm(),
            entries: vec![],
            recent: vec![],
        }),
        moves: vec![],
    }
}

/// A binding that runs nowhere, with this placement and what its condition says.
fn waiting(placement: Value, reason: &str, message: &str) -> Binding {
    let mut binding = binding();
    binding.spec.clusters.clear();
    binding.spec.placement = Some(serde_json::from_value(placement).unwrap());
    let status = binding.status.get_or_insert_default();
    status.aggregated_status.clear();
    status.conditions = serde_json::from_value(json!([{
        "type": "Scheduled", "status": "False", "reason": reason, "message": message, "lastTransitionTime": after(-60),
    }]))
    .unwrap();
    binding
}

fn with_room(name: &str, cpus: &str) -> Cluster {
    let mut cluster = cluster(name, "True");
    cluster.status.get_or_insert_default().resource_summary =
        Some(serde_json::from_value(json!({"allocatable": {"cpu": cpus, "pods": "110"}})).unwrap());
    cluster
}

/// Twelve clusters, and each is out for a reason of its own kind: the verdict, and then the whole list.
#[test]
fn no_cluster_takes_it() {
    let mut clusters: Vec<Cluster> = (1..=12)
        .map(|number| cluster(&format!("member{number:02}"), "True"))
        .collect();
    for (number, cluster) in clusters.iter_mut().enumerate() {
        let status = cluster.status.get_or_insert_default();
        match number {
            0..=4 => {}
            5..=7 => *cluster = tainted(&format!("member{:02}", number + 1), "NoSchedule"),
            8..=9 => status.api_enablements.clear(),
            10 => status.conditions.clear(),
            _ => cluster.spec.region = Some("south".to_owned()),
        }
    }
    let names: Vec<String> = (6..=12).map(|number| format!("member{number:02}")).collect();
    let placement = json!({
        "clusterAffinity": {"clusterNames": names},
        "spreadConstraints": [{"spreadByField": "region", "minGroups": 1, "maxGroups": 1}, {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
    });
    let mut binding = waiting(
        placement,
        "NoClusterFit",
        "0/12 clusters are available: as it was then.",
    );
    // It failed where there is a region.
    binding.spec.failover = Some(
        serde_json::from_value(json!({"application": {"decisionConditions": {}, "blockPredecessorSeconds": 600}}))
            .unwrap(),
    );
    binding.spec.active_eviction_history =
        serde_json::from_value(json!([{"clusterName": "member12", "creationTimestamp": after(-60)}])).unwrap();
    let report = report(&gathered(binding, clusters), now());
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!("no_cluster_takes_it", show(&report, Format::Table));
    assert_eq!(report.searches[0].places.len(), 12);
}

#[test]
fn too_few_clusters_take_it() {
    let placement = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 3, "maxGroups": 3}]});
    let message =
        "failed to select clusters: the number of feasible clusters is less than spreadConstraint.MinGroups (2 of 3)";
    let clusters = vec![
        cluster("member1", "True"),
        cluster("member2", "True"),
        tainted("member3", "NoExecute"),
    ];
    let report = report(
        &gathered(waiting(placement, "SchedulerError", message), clusters),
        now(),
    );
    assert_snapshot!("too_few_clusters_take_it", show(&report, Format::Table));
}

#[test]
fn too_few_regions() {
    let placement = json!({"spreadConstraints": [{"spreadByField": "region", "minGroups": 2, "maxGroups": 2}]});
    let mut clusters = vec![
        cluster("member1", "True"),
        cluster("member2", "True"),
        cluster("member3", "True"),
    ];
    clusters[0].spec.region = Some("north".to_owned());
    clusters[1].spec.region = Some("north".to_owned());
    let binding = waiting(placement, "SchedulerError", "as it was then");
    assert_snapshot!(
        "too_few_regions",
        show(&report(&gathered(binding, clusters), now()), Format::Table)
    );
}

/// A replica wants two processors; eight of ten find room, and one cluster has told nothing of its resources.
#[test]
fn too_little_room() {
    let placement =
        json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}});
    let mut binding = waiting(
        placement,
        "Unschedulable",
        "Clusters available replicas 8 are not enough to schedule.",
    );
    binding.spec.replicas = Some(10);
    binding.spec.replica_requirements = Some(serde_json::from_value(json!({"resourceRequest": {"cpu": "2"}})).unwrap());
    let clusters = vec![
        with_room("member1", "15"),
        with_room("member2", "3"),
        cluster("member3", "True"),
        tainted("member4", "NoExecute"),
    ];
    let report = report(&gathered(binding, clusters), now());
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!("too_little_room", show(&report, Format::Table));
    assert_snapshot!("too_little_room_json", show(&report, Format::Json));
}

/// Scaled up beyond the room that is left: what runs stays, and how it would be placed is told by the scheduler's own words.
#[test]
fn what_runs_stays_where_it_is() {
    let placement =
        json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}});
    let mut binding = waiting(
        placement,
        "Unschedulable",
        "Clusters available replicas 3 are not enough to schedule.",
    );
    binding.spec.clusters = serde_json::from_value(json!([{"name": "member1", "replicas": 3}])).unwrap();
    binding.spec.replicas = Some(10);
    binding.spec.replica_requirements = Some(serde_json::from_value(json!({"resourceRequest": {"cpu": "2"}})).unwrap());
    let clusters = vec![with_room("member1", "2"), with_room("member2", "4")];
    assert_snapshot!(
        report(&gathered(binding, clusters), now()).conclusion.sentence(),
        @"default/nginx-deployment stays on member1 (3 replicas), and what is wanted has no place: Clusters available replicas 3 are not enough to schedule; it is placed as soon as clusters report enough room; those above say how much each has."
    );
}

#[test]
fn a_placement_that_cannot_be_done() {
    let placement = json!({"spreadConstraints": [{"spreadByLabel": "rack", "maxGroups": 2}]});
    let message = "this scheduler does not support spreadByLabel: the workload is left as it is";
    let clusters = vec![cluster("member1", "True"), cluster("member2", "True")];
    let report = report(
        &gathered(waiting(placement, "SchedulerError", message), clusters),
        now(),
    );
    assert_eq!(report.exit_status(), ExitStatus::Problem);
    assert_snapshot!("a_placement_that_cannot_be_done", show(&report, Format::Table));
}

fn changed(spec: &Value, labels: &Value) -> Binding {
    let mut stored = serde_json::to_value(binding()).unwrap();
    stored["status"] = Value::Null;
    stored["metadata"]["labels"] = labels.clone();
    for (field, value) in spec.as_object().unwrap() {
        stored["spec"][field] = value.clone();
    }
    serde_json::from_value(stored).unwrap()
}

#[rstest]
#[case::suspended(
    json!({"clusters": [], "suspension": {"scheduling": true}}), json!({"propagationpolicy.karmada.io/permanent-id": "p"}),
    "default/nginx-deployment has no place: nobody places it, because spec.suspension.scheduling is true; set it to false \
     in the PropagationPolicy (spec.suspension.scheduling).", ExitStatus::Problem
)]
#[case::suspended_where_it_runs(
    json!({"suspension": {"scheduling": true}}), json!({"propagationpolicy.karmada.io/permanent-id": "p"}),
    "default/nginx-deployment stays where it is: nobody places it, because spec.suspension.scheduling is true; set it to \
     false in the PropagationPolicy (spec.suspension.scheduling).", ExitStatus::Fine
)]
#[case::attached(
    json!({"clusters": [], "requiredBy": [{"namespace": "default", "name": "shop-deployment"}]}), json!({}),
    "default/nginx-deployment goes where default/shop-deployment go; ask about the binding of the workload that needs it.",
    ExitStatus::Fine
)]
#[case::nobodys(
    json!({"clusters": []}), json!({}),
    "default/nginx-deployment has no place: nobody places it, because no policy made it: it follows the workloads that \
     need it; ask about the binding of the workload that needs it.", ExitStatus::Problem
)]
fn what_no_scheduler_places(
    #[case] spec: Value,
    #[case] labels: Value,
    #[case] expected: &str,
    #[case] status: ExitStatus,
) {
    let clusters = vec![cluster("member1", "True"), cluster("member2", "True")];
    let report = report(&gathered(changed(&spec, &labels), clusters), now());
    assert_eq!(report.conclusion.sentence(), expected);
    assert_eq!(report.exit_status(), status);
    assert!(show(&report, Format::Table).contains("\nPlaced by   nobody: "));
}

#[test]
fn another_scheduler_is_named() {
    let spec = json!({"schedulerName": "tenants"});
    let binding = changed(&spec, &json!({"propagationpolicy.karmada.io/permanent-id": "p"}));
    let clusters = vec![cluster("member1", "True"), cluster("member2", "True")];
    let text = show(&report(&gathered(binding, clusters), now()), Format::Table);
    assert!(
        text.contains("\nPlaced by   scheduler tenants; what is said here of places is by the default plugins\n"),
        "{text}"
    );
}
