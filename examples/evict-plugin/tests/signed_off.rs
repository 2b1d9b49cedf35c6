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

fn put(bench: &Bench) {
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
    }));
}

#[test]
fn a_copy_goes_when_it_is_signed_off() {
    paused(async {
        let bench = Bench::new(&[]);
        put(&bench);
        let wiring = Wiring::default().with_plugins(EvictPlugins::all().with(SignedOff));
        let flags = Flags {
            evict_plugins: vec!["*".to_owned()],
            ..Flags::default()
        };
        let _process = bench
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
            said.contains("SignedOff: annotation example.com/signed-off does not name member1"),
            "{said}"
        );

        let signed = json!({"metadata": {"annotations": {SIGNED_OFF: "member9, member1"}}});
        bindings
            .patch("settings-configmap", &Default::default(), &Patch::Merge(signed))
            .await
            .unwrap();
        bench.until(3_601).await;
        let binding = bindings.get("settings-configmap").await.unwrap();
        assert!(binding.spec.graceful_eviction_tasks.is_empty());
        let said = bench.events("ResourceBinding", "settings-configmap");
        let told = "Evict from cluster member1 succeed. SignedOff: the copy on member1 was signed off";
        assert!(said.iter().any(|(_, note)| note == told), "{said:?}");
    });
}
