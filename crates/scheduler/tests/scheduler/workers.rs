//! Several workers: many bindings at once, one binding never twice.

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::work::{Binding, BindingKind};
use jiff::Timestamp;
use kube::Api;
use kube_sandbox::{Effect, Match};
use serde_json::json;
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown};

const BINDINGS: usize = 20;
/// What the API server takes for a write of the scheduler.
const LATENCY: Duration = Duration::from_secs(1);

fn slow(bench: &Bench) {
    let writes = Match::writes().resource("resourcebindings").client("scheduler");
    bench.plane.faults().inject(writes, Effect::Latency(LATENCY));
}

fn name(number: usize) -> String {
    format!("settings-{number:02}")
}

fn put_binding(bench: &Bench, number: usize) {
    let name = name(number);
    bench.put(json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": "default", "name": name, "labels": {"propagationpolicy.karmada.io/permanent-id": "p"}},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": name},
            "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
        },
    }));
}

/// When each binding was written, in order.
fn writes(bench: &Bench) -> BTreeMap<String, Vec<Timestamp>> {
    let mut writes: BTreeMap<String, Vec<Timestamp>> = BTreeMap::new();
    for write in bench.plane.faults().writes() {
        if write.client == "scheduler" && write.resource == "resourcebindings" {
            writes.entry(write.name.unwrap()).or_default().push(write.at);
        }
    }
    writes
}

async fn process_with(bench: &Bench, workers: usize) -> controller_kit::Running {
    let flags = scheduler::Flags {
        concurrent_binding_schedules: workers,
        ..scheduler::Flags::default()
    };
    bench
        .start("scheduler", "a", "Failover=true", scheduler::controllers(flags))
        .await
}

/// Two writes of a second each a binding.
#[test]
fn as_many_bindings_at_once_as_there_are_workers() {
    for (workers, seconds) in [(1, 40), (5, 8), (20, 2)] {
        paused(async {
            let bench = Bench::new(&["member1"]);
            slow(&bench);
            (0..BINDINGS).for_each(|number| put_binding(&bench, number));
            let _process = process_with(&bench, workers).await;
            bench.until(120).await;
            let writes = writes(&bench);
            assert_eq!(writes.len(), BINDINGS);
            assert!(writes.values().all(|of_one| of_one.len() == 2), "{writes:?}");
            let all = || writes.values().flatten();
            let mut at_once: BTreeMap<&Timestamp, usize> = BTreeMap::new();
            all().for_each(|at| *at_once.entry(at).or_default() += 1);
            assert_eq!(at_once.values().max(), Some(&workers), "never more than there are");
            let took = all().max().unwrap().duration_since(*all().min().unwrap());
            assert_eq!(took.as_secs() + 1, seconds, "with {workers} workers");
        });
    }
}

/// It changes again and again while the scheduler writes, with workers enough for every change.
#[test]
fn one_binding_is_never_with_two_workers_and_its_last_change_counts() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        slow(&bench);
        let _process = process_with(&bench, 5).await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        for replicas in 4..=30 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            bench.patch(json!({"spec": {"replicas": replicas}})).await;
        }
        bench.until(300).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:10 member2:20");
        assert_eq!(
            binding.status.unwrap().scheduler_observed_generation,
            binding.metadata.generation
        );
        let writes = &writes(&bench)["nginx-deployment"];
        let apart = writes.windows(2).map(|pair| pair[1].duration_since(pair[0]));
        assert!(writes.len() > 4 && apart.min().unwrap().as_secs() >= 1, "{writes:?}");
    });
}

/// One API server that refuses one binding holds nobody else up.
#[test]
fn a_binding_that_cannot_be_written_holds_up_no_other() {
    paused(async {
        let bench = Bench::new(&["member1"]);
        let broken = Match::writes()
            .resource("resourcebindings")
            .client("scheduler")
            .name(&name(0));
        let refused = Effect::Error {
            code: 500,
            reason: "InternalError".to_owned(),
            message: "etcd is away".to_owned(),
        };
        bench.plane.faults().inject_times(broken, 0, 5, refused);
        let process = process_with(&bench, 1).await;
        (0..BINDINGS).for_each(|number| put_binding(&bench, number));
        bench.until(1).await;
        let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "default", &BindingKind::Namespaced);
        let placed = |binding: &Binding| binding.condition("Scheduled").is_some_and(|says| says.status == "True");
        let count = || async {
            let all = bindings.list(&Default::default()).await.unwrap().items;
            all.iter().filter(|binding| placed(binding)).count()
        };
        assert_eq!(count().await, BINDINGS - 1);
        bench.until(60).await;
        assert_eq!(count().await, BINDINGS);
        let failed = [("event", "ScheduleAttemptFailure")];
        let failed = process
            .metrics()
            .value("karmada_scheduler_queue_incoming_bindings_total", &failed);
        assert_eq!(failed, Some(5.0));
    });
}
