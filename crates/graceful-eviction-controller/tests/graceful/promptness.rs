//! Many tasks: nothing is written at rest, and each goes within a second of the event that allows it.

use std::time::Duration;

use api_types::work::{Binding, BindingKind};
use kube::Api;
use kube::api::{ListParams, Patch};
use serde_json::json;
use test_bench::paused;

use crate::bench::{Bench, task};
use crate::{COMPONENT, start};

const BINDINGS: usize = 300;

/// Bindings of ConfigMaps that left member1; member2 has not applied them.
fn put_bindings(bench: &Bench) {
    for number in 0..BINDINGS {
        let mut left = task("member1", 0, bench.started);
        left["clustersBeforeFailover"] = json!(["member1"]);
        let condition = json!({"type": "Scheduled", "status": "True", "reason": "R", "message": "", "lastTransitionTime": bench.started});
        bench.put(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "default", "name": format!("settings-{number}-configmap")},
            "spec": {
                "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": format!("settings-{number}")},
                "placement": {}, "clusters": [{"name": "member2"}], "gracefulEvictionTasks": [left],
            },
            "status": {"schedulerObservedGeneration": 1, "conditions": [condition]},
        }));
    }
}

async fn open(bench: &Bench) -> Vec<String> {
    let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "default", &BindingKind::Namespaced);
    let all = bindings.list(&ListParams::default()).await.unwrap().items;
    let open = all
        .iter()
        .filter(|binding| !binding.spec.graceful_eviction_tasks.is_empty());
    open.map(|binding| binding.key().name).collect()
}

async fn apply(bench: &Bench, name: &str) {
    let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "default", &BindingKind::Namespaced);
    let status = json!({"status": {"aggregatedStatus": [{"clusterName": "member2", "applied": true}]}});
    bindings
        .patch_status(name, &Default::default(), &Patch::Merge(status))
        .await
        .unwrap();
}

#[test]
fn nothing_is_written_at_rest_and_each_goes_within_a_second() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        bench.fail_cluster("member1");
        put_bindings(&bench);
        let _graceful = start(&bench).await;
        bench.until(60).await;
        // One condition each, and one record of each move that the evictor owes.
        let written = bench.writes(COMPONENT).len();
        assert_eq!(written, 2 * BINDINGS);
        bench.until(3_660).await;
        // A Cluster that matters to all changes in a way that changes no verdict: all are judged, and nothing is written.
        bench.put_cluster(
            "member1",
            "Unknown",
            &json!([{"key": "down", "effect": "NoExecute", "timeAdded": bench.started}]),
        );
        bench.until(3_700).await;
        assert_eq!(bench.writes(COMPONENT).len(), written);

        // One after the other.
        let names = open(&bench).await;
        assert_eq!(names.len(), BINDINGS);
        for (gone, name) in names.iter().take(20).enumerate() {
            apply(&bench, name).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(open(&bench).await.len(), BINDINGS - gone - 1);
        }
        // All at once.
        for name in &names[20..] {
            apply(&bench, name).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(open(&bench).await.is_empty());
    });
}

// A moment that is known in advance needs no event: the grace periods of all are over in the same second.
#[test]
fn grace_periods_end_in_their_second() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        bench.fail_cluster("member1");
        put_bindings(&bench);
        let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "default", &BindingKind::Namespaced);
        for name in open(&bench).await {
            let mut left = task("member1", 0, bench.started);
            left["gracePeriodSeconds"] = json!(900);
            let patch = Patch::Merge(json!({"spec": {"gracefulEvictionTasks": [left]}}));
            bindings.patch(&name, &Default::default(), &patch).await.unwrap();
        }
        let _graceful = start(&bench).await;
        bench.until(899).await;
        assert_eq!(open(&bench).await.len(), BINDINGS);
        bench.until(901).await;
        assert!(open(&bench).await.is_empty());
    });
}
