//! A history goes where the API server keeps it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::sync::Arc;

use api_types::work::{Binding, EvictionHistoryItem};
use binding_writer::{BindingEdit, BindingWriter, WriteOutcome};
use controller_kit::Clock;
use kube::Api;
use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::{Value, json};

const ANNOTATION: &str = "failover.karmada.io/active-eviction-history";

struct Bench {
    plane: Sandbox,
    clock: Clock,
    writer: BindingWriter,
}

/// Whether bindings have the field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    AsOurs,
    AsStocks,
}

impl Bench {
    fn new(served: Served) -> Self {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let now = clock.clone();
        let plane = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
        let bench = Self {
            writer: BindingWriter::new(plane.client()),
            plane,
            clock,
        };
        bench.serve(served);
        let binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"}},
        });
        bench.plane.create(binding).unwrap();
        bench
    }

    fn serve(&self, served: Served) {
        for crd in api_types::crds() {
            let mut crd = serde_json::to_value(crd).unwrap();
            let spec = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
            if served == Served::AsStocks
                && let Some(fields) = spec.as_object_mut()
            {
                fields.remove("activeEvictionHistory");
            }
            self.plane.apply_crd(crd).unwrap();
        }
    }

    async fn read(&self) -> Binding {
        let api: Api<Binding> = Api::namespaced_with(self.plane.observer(), "default", &Default::default());
        api.get("b").await.unwrap()
    }

    /// What is stored: the field, and the annotation.
    fn stored(&self) -> (Value, Value) {
        let raw = self
            .plane
            .get("work.karmada.io/v1alpha2", "ResourceBinding", Some("default"), "b")
            .unwrap();
        let text = raw["metadata"]["annotations"][ANNOTATION].as_str();
        let annotation = text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
        (raw["spec"]["activeEvictionHistory"].clone(), annotation)
    }

    async fn remember(&self, cluster: &str) -> Vec<EvictionHistoryItem> {
        let read = self.read().await;
        let mut edit = BindingEdit::of(&read);
        edit.remember(&cluster.into(), self.clock.now());
        self.written(&edit).await
    }

    async fn forget(&self, cluster: &str) -> Vec<EvictionHistoryItem> {
        let read = self.read().await;
        let mut edit = BindingEdit::of(&read);
        edit.forget(&cluster.into());
        self.written(&edit).await
    }

    async fn written(&self, edit: &BindingEdit<'_>) -> Vec<EvictionHistoryItem> {
        let WriteOutcome::Written(written) = self.writer.write(edit).await.unwrap() else {
            panic!("written")
        };
        assert_eq!(
            written.spec.active_eviction_history,
            self.read().await.spec.active_eviction_history
        );
        written.spec.active_eviction_history
    }
}

fn item(cluster: &str) -> Value {
    json!({"clusterName": cluster, "creationTimestamp": "2026-01-01T00:00:00Z"})
}

#[tokio::test(start_paused = true)]
async fn a_server_that_knows_the_field_has_it_there() {
    let bench = Bench::new(Served::AsOurs);
    bench.remember("m1").await;
    assert_eq!(bench.stored(), (json!([item("m1")]), Value::Null));
    assert!(bench.forget("m1").await.is_empty());
    assert_eq!(bench.stored().1, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn where_it_is_pruned_the_annotation_has_it() {
    let bench = Bench::new(Served::AsStocks);
    assert_eq!(bench.remember("m1").await.len(), 1);
    assert_eq!(bench.stored(), (Value::Null, json!([item("m1")])));
    assert_eq!(bench.remember("m2").await.len(), 2);
    assert_eq!(bench.stored(), (Value::Null, json!([item("m1"), item("m2")])));
    bench.forget("m1").await;
    assert_eq!(bench.stored(), (Value::Null, json!([item("m2")])));
    // Who forgets first, after a restart, has seen nothing of the server yet.
    let restarted = Bench {
        writer: BindingWriter::new(bench.plane.client()),
        ..bench
    };
    assert!(restarted.forget("m2").await.is_empty());
    assert_eq!(
        restarted.stored(),
        (Value::Null, Value::Null),
        "with its last item the annotation goes"
    );
}

// Stock's upgrade applies its CRDs over whatever is there.
#[tokio::test(start_paused = true)]
async fn a_field_that_goes_while_we_run_is_missed_at_once() {
    let bench = Bench::new(Served::AsOurs);
    bench.remember("m1").await;
    bench.serve(Served::AsStocks);
    bench.remember("m2").await;
    let (field, annotation) = bench.stored();
    assert_eq!(field, Value::Null);
    assert!(annotation.to_string().contains("m2"), "{annotation}");
}

#[tokio::test(start_paused = true)]
async fn a_field_that_comes_takes_what_the_annotation_has() {
    let bench = Bench::new(Served::AsStocks);
    bench.remember("m1").await;
    bench.serve(Served::AsOurs);
    let restarted = Bench {
        writer: BindingWriter::new(bench.plane.client()),
        ..bench
    };
    restarted.remember("m2").await;
    assert_eq!(restarted.stored(), (json!([item("m1"), item("m2")]), Value::Null));
}
