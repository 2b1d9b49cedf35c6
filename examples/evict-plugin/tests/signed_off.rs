//! The controller with the plugin on a simulated control plane: a task ends by its word, and not without it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use api_types::work::{Binding, BindingKind};
use controller_kit::KitFlags;
use evict_plugin::{SIGNED_OFF, SignedOff};
use failover_core::graceful::EvictPlugins;
use graceful_eviction_controller::{Flags, Wiring, controllers_with};
use kube::Api;
use kube::api::Patch;
use serde_json::json;
use test_bench::{Bench, paused};

fn put(bench: &Bench, works: bool) {
    for (name, ready) in [("member1", "False"), ("member2", "True")] {
        let condition = json!({"type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": bench.started});
        bench.put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push"}, "status": {"conditions": [condition]},
        }));
    }
    let task = json!({
        "fromCluster": "member1", "reason": "TaintUntolerated", "producer": "TaintManager", "creationTimestamp": bench.started,
    });
    bench.put(json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": "default", "name": "settings-configmap"},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"},
            "clusters": [{"name": "member2"}], "gracefulEvictionTasks": [task],
        },
        // The scheduler has said nothing yet, so ResourceHealth waits for it.
        "status": {"aggregatedStatus": [{"clusterName": "member2", "applied": works}]},
    }));
}

/// The controller with the plugin, and what is there; an hour later the copy is signed off, by this word.
async fn signed_off(works: bool, word: impl Fn(&Bench) -> String) -> (Bench, Binding, controller_kit::Running) {
    let bench = Bench::new(&[]);
    put(&bench, works);
    let wiring = Wiring::default().with_plugins(EvictPlugins::all().with(SignedOff));
    let flags = Flags {
        evict_plugins: vec!["*".to_owned()],
        ..Flags::default()
    };
    let process = bench
        .process("evict-plugin", "e", KitFlags::default())
        .controllers(controllers_with(&flags, wiring))
        .start()
        .await
        .unwrap();
    let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "default", &BindingKind::Namespaced);
    bench.until(3_600).await;
    let binding = bindings.get("settings-configmap").await.unwrap();
    let said = &binding.condition("GracefulEviction").unwrap().message;
    assert!(
        said.contains("SignedOff: annotation example.com/signed-off does not name member1@"),
        "{said}"
    );
    let signed = json!({"metadata": {"annotations": {SIGNED_OFF: word(&bench)}}});
    bindings
        .patch("settings-configmap", &Default::default(), &Patch::Merge(signed))
        .await
        .unwrap();
    bench.until(3_601).await;
    let binding = bindings.get("settings-configmap").await.unwrap();
    (bench, binding, process)
}

fn this_copy(bench: &Bench) -> String {
    format!("member9@2020-01-01T00:00:00Z, member1@{}", bench.started)
}

#[test]
fn a_copy_goes_when_it_is_signed_off() {
    paused(async {
        let (bench, binding, _process) = signed_off(true, this_copy).await;
        assert!(binding.spec.graceful_eviction_tasks.is_empty());
        let said = bench.events("ResourceBinding", "settings-configmap");
        let told = format!("SignedOff: member1@{} was signed off", bench.started);
        assert!(said.iter().any(|(_, note)| note.ends_with(&told)), "{said:?}");
    });
}

#[test]
fn the_word_on_an_earlier_move_is_none_on_this() {
    paused(async {
        let (_bench, binding, _process) = signed_off(true, |_| "member1@2020-01-01T00:00:00Z".to_owned()).await;
        assert_eq!(binding.spec.graceful_eviction_tasks.len(), 1);
    });
}

#[test]
fn no_plugin_takes_the_last_copy_that_works() {
    paused(async {
        let (_bench, binding, _process) = signed_off(false, this_copy).await;
        assert_eq!(binding.spec.graceful_eviction_tasks.len(), 1);
        let said = &binding.condition("GracefulEviction").unwrap().message;
        assert!(
            said.contains("was signed off; member2 has not applied the copy yet: kept because"),
            "{said}"
        );
    });
}
