//! What tests begin with: a fleet of three, its controllers, and what the queue says about them.

use api_types::cluster::Cluster;
use api_types::work::Binding;
use eviction_queue_api::v1;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::{Value, json};

pub const NOT_READY: &str = "cluster.karmada.io/not-ready";

pub fn now() -> Timestamp {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

/// `seconds` from now; before it when negative.
pub fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

pub fn proto(seconds: i64) -> Option<prost_types::Timestamp> {
    Some(prost_types::Timestamp {
        seconds: after(seconds).as_second(),
        nanos: 0,
    })
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub fn cluster(name: &str, ready: &str) -> Cluster {
    read(json!({
        "metadata": {"name": name, "uid": format!("uid-{name}")},
        "spec": {"syncMode": "Push"},
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}],
            "conditions": [{
                "type": "Ready", "status": ready, "reason": if ready == "True" { "ClusterReady" } else { "ClusterNotReachable" },
                "message": "", "lastTransitionTime": after(-600),
            }],
        },
    }))
}

pub fn tainted(name: &str, effect: &str) -> Cluster {
    let mut cluster = cluster(name, "False");
    cluster.spec.taints = read(json!([{"key": NOT_READY, "effect": effect, "timeAdded": after(-60)}]));
    cluster
}

pub fn fleet(member1: Cluster) -> Vec<Cluster> {
    vec![member1, cluster("member2", "True"), cluster("member3", "True")]
}

pub const CONTROLLERS: [&str; 16] = [
    "cluster-status",
    "cluster",
    "cluster-taint-policy",
    "taint-manager",
    "application-failover",
    "eviction-queue",
    "evictor",
    "scheduler",
    "graceful-eviction",
    "detector",
    "dependencies",
    "binding",
    "execution",
    "work-status",
    "binding-status",
    "namespace",
];

pub fn lease(name: &str, renewed: i64, gates: &str) -> Lease {
    let mut annotations = json!({
        "failover.karmada.io/version": "0.1.0",
        "failover.karmada.io/gates": gates,
        "failover.karmada.io/controllers": "all",
    });
    if name == "eviction-queue" {
        annotations["failover.karmada.io/address"] = json!("127.0.0.1:9443");
    }
    read(json!({
        "metadata": {"name": name, "namespace": "karmada-system", "annotations": annotations},
        "spec": {
            "holderIdentity": "host-a_7f3c", "leaseDurationSeconds": 15, "leaseTransitions": 1,
            "renewTime": format!("{:.6}", after(renewed)),
        },
    }))
}

/// A controller, or an agent's, that runs and says that it is of this version.
pub fn lease_of_version(name: &str, version: &str) -> Lease {
    let mut lease = lease(name, -3, "Failover=true");
    let annotations = lease.metadata.annotations.get_or_insert_default();
    annotations.insert("failover.karmada.io/version".to_owned(), version.to_owned());
    lease
}

/// A controller that runs and says for what it takes the control plane.
pub fn lease_in_mode(name: &str, mode: &str) -> Lease {
    let mut lease = lease(name, -3, "Failover=true");
    let annotations = lease.metadata.annotations.get_or_insert_default();
    annotations.insert("failover.karmada.io/mode".to_owned(), mode.to_owned());
    lease
}

/// All controllers run, with the gate on.
pub fn leases() -> Vec<Lease> {
    CONTROLLERS
        .iter()
        .map(|name| lease(name, -3, "Failover=true"))
        .collect()
}

/// All but these.
pub fn leases_without(gone: &[&str]) -> Vec<Lease> {
    CONTROLLERS
        .iter()
        .filter(|name| !gone.contains(name))
        .map(|name| lease(name, -3, "Failover=true"))
        .collect()
}

/// nginx in three replicas, one on member1 and two on member2.
pub fn binding() -> Binding {
    read(json!({
        "metadata": {
            "name": "nginx-deployment", "namespace": "default", "uid": "uid-b", "generation": 3,
            "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx", "uid": "u"},
            "replicas": 3,
            "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2}],
            "placement": {
                "clusterAffinity": {"clusterNames": ["member1", "member2"]},
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": [
                        {"targetCluster": {"clusterNames": ["member1"]}, "weight": 1},
                        {"targetCluster": {"clusterNames": ["member2"]}, "weight": 2},
                    ]},
                },
            },
            "failover": {"cluster": {"purgeMode": "Gracefully", "tolerationSeconds": 90}},
        },
        "status": {
            "schedulerObservedGeneration": 3,
            "conditions": [{
                "type": "Scheduled", "status": "True", "reason": "Success",
                "message": "Binding has been scheduled successfully.", "lastTransitionTime": after(-3600),
            }],
            "aggregatedStatus": [
                {"clusterName": "member1", "applied": true, "health": "Unknown", "status": {"readyReplicas": 1, "replicas": 1}},
                {"clusterName": "member2", "applied": true, "health": "Healthy", "status": {"readyReplicas": 2, "replicas": 2}},
            ],
        },
    }))
}

/// The same after it has left member1.
pub fn evicted_binding(scheduled: &str) -> Binding {
    let mut binding = binding();
    binding.spec.clusters = read(json!([{"name": "member2", "replicas": 3}]));
    binding.spec.graceful_eviction_tasks = read(json!([{
        "fromCluster": "member1", "purgeMode": "Gracefully", "replicas": 1, "reason": "TaintUntolerated",
        "message": format!("taint {NOT_READY}:NoExecute, added at {:.0}, is not tolerated", after(-60)),
        "producer": "TaintManager", "creationTimestamp": after(-20), "clustersBeforeFailover": ["member1", "member2"],
    }]));
    if let Some(status) = &mut binding.status {
        status.conditions = read(json!([{
            "type": "Scheduled", "status": scheduled, "reason": if scheduled == "True" { "Success" } else { "NoClusterFit" },
            "message": if scheduled == "True" { "Binding has been scheduled successfully." } else { "0/3 clusters are available." },
            "lastTransitionTime": after(-19),
        }]));
    }
    binding
}

pub fn cause() -> String {
    format!("{NOT_READY}:NoExecute@{:.0}", after(-60))
}

pub fn key(name: &str, cluster: &str) -> v1::EntryKey {
    v1::EntryKey {
        cause: cause(),
        cluster: cluster.to_owned(),
        cluster_uid: format!("uid-{cluster}"),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: "uid-b".to_owned(),
    }
}

pub fn entry(name: &str, due: i64, state: v1::EntryState) -> v1::Entry {
    v1::Entry {
        published: Some(v1::PublishedEntry {
            key: Some(key(name, "member1")),
            due_at: proto(due),
            resource: Some(v1::ResourceRef {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                namespace: "default".to_owned(),
                name: name.trim_end_matches("-deployment").to_owned(),
            }),
            replicas: 1,
            purge_mode: v1::PurgeMode::Gracefully.into(),
            reason: format!(
                "taint {NOT_READY}:NoExecute, added at {:.0}, is not tolerated",
                after(-60)
            ),
            binding_generation: 3,
            ..v1::PublishedEntry::default()
        }),
        producer: "taintManager".to_owned(),
        cause_kind: v1::CauseKind::Taint.into(),
        state: state.into(),
        since: proto(due.min(-58)),
        queued_at: proto(-58),
        ..v1::Entry::default()
    }
}

pub fn held(name: &str, reason: v1::HoldReason, message: &str) -> v1::Entry {
    v1::Entry {
        hold: Some(v1::Hold {
            reason: reason.into(),
            message: message.to_owned(),
            until: None,
            dropped: false,
        }),
        since: proto(-5),
        ..entry(name, -60, v1::EntryState::Held)
    }
}

/// The queue of a fleet in which nothing is wrong.
pub fn calm() -> v1::GetStatusResponse {
    v1::GetStatusResponse {
        regime: v1::Regime::Normal.into(),
        reason: "0 of 3 clusters are faulty, a share of 0 that is not above 0.55".to_owned(),
        evictions_per_second: 0.5,
        clusters: 3,
        unhealthy_threshold: 0.55,
        totals: Some(v1::Totals::default()),
        leader: "host-a_7f3c".to_owned(),
        queue_epoch: "uid-lease/1".to_owned(),
        as_of: proto(0),
        producers: vec![v1::ProducerStatus {
            producer: "taintManager".to_owned(),
            identity: "host-a_7f3c".to_owned(),
            synced: true,
            ..v1::ProducerStatus::default()
        }],
        consumers: 1,
        max_outstanding_leases: 1,
        tokens: 1.0,
        ..v1::GetStatusResponse::default()
    }
}

/// The queue while member1 is away.
pub fn busy() -> v1::GetStatusResponse {
    v1::GetStatusResponse {
        reason: "1 of 3 clusters is faulty, a share of 0.33 that is not above 0.55".to_owned(),
        faulty_clusters: 1,
        faulty_share: 1.0 / 3.0,
        faulty: vec![v1::FaultyCluster {
            cluster: "member1".to_owned(),
            taint: format!("{NOT_READY}:NoExecute"),
            since: proto(-60),
        }],
        totals: Some(v1::Totals {
            waiting: 1,
            ready: 2,
            leased: 0,
            held: 1,
        }),
        oldest_ready_since: proto(-60),
        tokens: 0.25,
        ..calm()
    }
}

pub fn lanes() -> Vec<v1::Lane> {
    vec![v1::Lane {
        cluster: "member1".to_owned(),
        cluster_uid: "uid-member1".to_owned(),
        faulty: true,
        since: proto(-60),
        totals: Some(v1::Totals {
            waiting: 1,
            ready: 2,
            leased: 0,
            held: 1,
        }),
        next_due_at: proto(30),
    }]
}

pub fn recent(name: &str, outcome: v1::Outcome, message: &str) -> v1::RecentOutcome {
    v1::RecentOutcome {
        key: Some(key(name, "member1")),
        outcome: outcome.into(),
        reason: "Done".to_owned(),
        message: message.to_owned(),
        due_at: proto(-60),
        released_at: proto(-21),
        ended_at: proto(-20),
        ..v1::RecentOutcome::default()
    }
}
