//! Writes against the simulated API server: what lands, what does not, and what is said about it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::sync::Arc;

use api_types::BindingKey;
use api_types::conditions::Say;
use api_types::work::{Binding, BindingKind, GracefulEvictionTask};
use binding_writer::{BindingEdit, BindingWriter, WriteError, WriteOutcome};
use controller_kit::Clock;
use kube::Api;
use kube_sandbox::{Effect, Match, Sandbox, SandboxOptions};
use serde_json::{Value, json};

struct Bench {
    plane: Sandbox,
    clock: Clock,
    writer: BindingWriter,
}

impl Bench {
    fn new() -> Self {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let now = clock.clone();
        let plane = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
        for crd in api_types::crds() {
            plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
        }
        for key in [BindingKey::namespaced("default", "b"), BindingKey::cluster("b")] {
            plane.create(stored(&key)).unwrap();
        }
        let writer = BindingWriter::new(plane.client());
        Self { plane, clock, writer }
    }

    async fn read(&self, key: &BindingKey) -> Binding {
        let api: Api<Binding> = match &key.namespace {
            Some(namespace) => Api::namespaced_with(self.plane.observer(), namespace, &key.kind()),
            None => Api::all_with(self.plane.observer(), &key.kind()),
        };
        api.get(&key.name).await.unwrap()
    }

    /// Somebody else writes.
    fn disturb(&self, key: &BindingKey) {
        let mut object = self.raw(key);
        object["metadata"]["labels"] = json!({"by": "somebody"});
        self.plane.put(object).unwrap();
    }

    fn raw(&self, key: &BindingKey) -> Value {
        let kind = if key.kind() == BindingKind::Namespaced {
            "ResourceBinding"
        } else {
            "ClusterResourceBinding"
        };
        self.plane
            .get("work.karmada.io/v1alpha2", kind, key.namespace.as_deref(), &key.name)
            .unwrap()
    }

    fn writes(&self) -> usize {
        self.plane.faults().writes().len()
    }
}

fn stored(key: &BindingKey) -> Value {
    let kind = if key.kind() == BindingKind::Namespaced {
        "ResourceBinding"
    } else {
        "ClusterResourceBinding"
    };
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"},
            "replicas": 3,
            "clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}],
        },
    })
}

fn task(cluster: &str) -> GracefulEvictionTask {
    GracefulEvictionTask {
        from_cluster: cluster.to_owned(),
        reason: "TaintUntolerated".to_owned(),
        producer: "TaintManager".to_owned(),
        replicas: Some(1),
        ..GracefulEvictionTask::default()
    }
}

fn both_kinds() -> [BindingKey; 2] {
    [BindingKey::namespaced("default", "b"), BindingKey::cluster("b")]
}

#[tokio::test(start_paused = true)]
async fn an_eviction_and_its_restore_are_one_write_each() {
    let bench = Bench::new();
    for key in both_kinds() {
        let read = bench.read(&key).await;
        let before = bench.writes();
        let WriteOutcome::Written(evicted) = bench.writer.evict(&read, &task("m1")).await.unwrap() else {
            panic!("written")
        };
        assert_eq!(evicted.spec.clusters.len(), 1);
        assert_eq!(evicted.spec.task(&"m1".into()).map(|task| task.replicas), Some(Some(1)));
        let WriteOutcome::Written(restored) = bench.writer.restore(&evicted, &"m1".into()).await.unwrap() else {
            panic!("written")
        };
        assert_eq!(
            restored.spec.target(&"m1".into()).map(|target| target.replicas),
            Some(1)
        );
        assert!(restored.spec.graceful_eviction_tasks.is_empty());
        assert_eq!(bench.writes(), before + 2);
        let again = bench.writer.restore(&restored, &"m1".into()).await.unwrap();
        assert!(matches!(again, WriteOutcome::NotNeeded));
        assert_eq!(bench.writes(), before + 2, "what changes nothing is not sent");
    }
}

// Correctness rule 8: no write without the version that was read; a conflict loses nobody's change.
#[tokio::test(start_paused = true)]
async fn a_binding_that_changed_since_is_a_conflict() {
    let bench = Bench::new();
    for key in both_kinds() {
        let read = bench.read(&key).await;
        bench.disturb(&key);
        let outcome = bench.writer.evict(&read, &task("m1")).await.unwrap();
        assert!(matches!(outcome, WriteOutcome::Conflict), "{outcome:?}");
        let now = bench.read(&key).await;
        assert_eq!(
            (now.spec.clusters.len(), now.metadata.labels.unwrap()["by"].as_str()),
            (2, "somebody")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_is_gone_or_another_is_gone() {
    let bench = Bench::new();
    let key = BindingKey::namespaced("default", "b");
    let read = bench.read(&key).await;
    let api: Api<Binding> = Api::namespaced_with(bench.plane.observer(), "default", &BindingKind::Namespaced);
    api.delete("b", &kube::api::DeleteParams::default()).await.unwrap();
    assert!(matches!(
        bench.writer.evict(&read, &task("m1")).await.unwrap(),
        WriteOutcome::Gone
    ));
    bench.plane.create(stored(&key)).unwrap();
    assert!(
        matches!(
            bench.writer.evict(&read, &task("m1")).await.unwrap(),
            WriteOutcome::Gone
        ),
        "another UID"
    );
    assert_eq!(bench.read(&key).await.spec.clusters.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_told_apart_from_what_nobody_knows() {
    let bench = Bench::new();
    let key = BindingKey::namespaced("default", "b");
    let read = bench.read(&key).await;
    let mut nonsense = task("m1");
    nonsense.reason = "no word".to_owned();
    let refused = bench.writer.evict(&read, &nonsense).await.unwrap_err();
    assert!(matches!(refused, WriteError::Refused { .. }), "{refused}");
    assert!(refused.to_string().contains("default/b"), "{refused}");

    let faults = bench.plane.faults();
    faults.inject_times(Match::writes(), 0, 1, Effect::AnswerLost);
    let unknown = bench.writer.evict(&read, &task("m1")).await.unwrap_err();
    assert!(matches!(unknown, WriteError::Unknown { .. }), "{unknown}");
    assert!(
        bench.read(&key).await.spec.task(&"m1".into()).is_some(),
        "it was stored all the same"
    );
}

#[tokio::test(start_paused = true)]
async fn several_steps_are_one_write() {
    let bench = Bench::new();
    let key = BindingKey::namespaced("default", "b");
    let read = bench.read(&key).await;
    let mut edit = BindingEdit::of(&read);
    edit.evict(&task("m1"));
    edit.remember(&"m1".into(), bench.clock.now());
    edit.stamp_tasks(bench.clock.now());
    let before = bench.writes();
    assert!(matches!(
        bench.writer.write(&edit).await.unwrap(),
        WriteOutcome::Written(_)
    ));
    let after = bench.read(&key).await;
    assert_eq!(
        bench.writes(),
        before + 2,
        "the trial of the first history, and the write"
    );
    assert!(after.spec.graceful_eviction_tasks[0].creation_timestamp.is_some());
    assert_eq!(after.spec.active_eviction_history[0].cluster_name, "m1");
}

#[tokio::test(start_paused = true)]
async fn a_condition_is_set_once_and_cleared() {
    let bench = Bench::new();
    let key = BindingKey::namespaced("default", "b");
    let say = Say {
        type_: "EvictionPending",
        status: "True",
        reason: "Queued",
        message: "cluster m1",
    };
    let read = bench.read(&key).await;
    let WriteOutcome::Written(written) = bench.writer.set_condition(&read, say, bench.clock.now()).await.unwrap()
    else {
        panic!("written")
    };
    assert_eq!(written.condition("EvictionPending").unwrap().reason, "Queued");
    let again = bench
        .writer
        .set_condition(&written, say, bench.clock.now())
        .await
        .unwrap();
    assert!(matches!(again, WriteOutcome::NotNeeded));
    assert!(matches!(
        bench.writer.clear_condition(&written, "EvictionPending").await.unwrap(),
        WriteOutcome::Written(_)
    ));
    assert!(bench.read(&key).await.condition("EvictionPending").is_none());
}
