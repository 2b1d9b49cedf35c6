//! A test on a bench is under the rules without asking for it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use controller_kit::{Controller, KitFlags};
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::{Bench, paused};

/// Something that breaks a rule when a process does it.
#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Two evictions at once, of a cluster that is tainted.
    EvictTwice,
    /// An eviction from a cluster on which nothing is wrong.
    EvictWithoutCause,
    /// Two tasks for one cluster.
    WriteTwoTasks,
    /// The only copy that runs is given up.
    DropTheLastCopy,
    /// A taint that somebody else added is taken away.
    TakeATaint,
    /// A change of whatever version is there.
    WriteBlindly,
}

impl Deed {
    async fn done(self, client: Client) {
        let tasks = |names: &[&str]| -> Vec<Value> { names.iter().map(|name| task(name)).collect() };
        match self {
            Self::EvictTwice => {
                let left = json!({"spec": {"clusters": [], "gracefulEvictionTasks": tasks(&["tainted"])}});
                patch_binding(&client, "a", left.clone()).await;
                patch_binding(&client, "b", left).await;
            }
            Self::EvictWithoutCause => {
                let left =
                    json!({"spec": {"clusters": [{"name": "tainted"}], "gracefulEvictionTasks": tasks(&["healthy"])}});
                patch_binding(&client, "a", left).await;
            }
            Self::WriteTwoTasks => {
                let twice = json!({"spec": {"clusters": [], "gracefulEvictionTasks": tasks(&["tainted", "tainted"])}});
                patch_binding(&client, "a", twice).await;
            }
            Self::DropTheLastCopy => {
                patch_binding(&client, "a", json!({"spec": {"clusters": [{"name": "tainted"}]}})).await;
            }
            Self::TakeATaint => {
                let api = Api::<Cluster>::all(client);
                let read = api.get("tainted").await.unwrap();
                let patch = json!({"metadata": {"resourceVersion": read.resource_version()}, "spec": {"taints": null}});
                api.patch("tainted", &PatchParams::default(), &Patch::Merge(patch))
                    .await
                    .unwrap();
            }
            Self::WriteBlindly => {
                let patch = json!({"metadata": {"labels": {"k": "v"}}});
                Api::<Cluster>::all(client)
                    .patch("healthy", &PatchParams::default(), &Patch::Merge(patch))
                    .await
                    .unwrap();
            }
        }
    }
}

fn task(from: &str) -> Value {
    json!({"fromCluster": from, "reason": "TaintUntolerated", "producer": "TaintManager"})
}

async fn patch_binding(client: &Client, name: &str, mut patch: Value) {
    let api = Api::<Binding>::namespaced_with(client.clone(), "default", &BindingKind::Namespaced);
    let read = api.get(name).await.unwrap();
    patch["metadata"]["resourceVersion"] = read.resource_version().into();
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

/// A healthy cluster, a tainted one, and two bindings on both; one copy of each is known to run.
fn bench() -> Bench {
    let bench = Bench::new(&[]);
    let taint = json!({"key": "k", "effect": "NoExecute", "timeAdded": bench.started});
    for (name, taints) in [("healthy", json!([])), ("tainted", json!([taint]))] {
        bench.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "taints": taints}}),
        );
    }
    for name in ["a", "b"] {
        bench.put(
            json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "default", "name": name},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
                     "clusters": [{"name": "healthy"}, {"name": "tainted"}]},
            "status": {"aggregatedStatus": [{"clusterName": "healthy", "applied": true, "health": "Healthy"}]}}),
        );
    }
    bench
}

/// A process of one controller that does this when it leads.
fn rogue(deed: Deed) -> Controller {
    Controller::new("rogue", move |ctx| async move {
        deed.done(ctx.client.clone()).await;
        ctx.shutdown.cancelled().await;
        Ok(())
    })
}

/// How the test ends that holds this body.
pub fn ending(body: impl Future<Output = ()>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| paused(body))).map_err(|panic| *panic.downcast::<String>().unwrap())
}

#[rstest]
#[case(Deed::EvictTwice, "rule 1 broken", "2 evictions within")]
#[case(
    Deed::EvictWithoutCause,
    "rule 2 broken",
    "default/a was evicted from healthy without a cause"
)]
#[case(Deed::WriteTwoTasks, "rule 3 broken", "default/a: two tasks for tainted")]
#[case(
    Deed::DropTheLastCopy,
    "rule 4 broken",
    "default/a: the copy on healthy was given up"
)]
#[case(Deed::TakeATaint, "rule 7 broken", "tainted: taint k:NoExecute is not ours")]
#[case(
    Deed::WriteBlindly,
    "rule 8 broken",
    "rogue wrote clusters -/healthy on whatever version"
)]
fn what_a_process_breaks_fails_the_test_at_its_end(#[case] deed: Deed, #[case] rule: &str, #[case] evidence: &str) {
    let ending = ending(async {
        let bench = bench();
        let process = bench.process("rogue", "rogue-0", KitFlags::default());
        let _running = process.controllers([rogue(deed)]).start().await.unwrap();
        bench.until(30).await;
    });
    let said = ending.expect_err("the bench lets it pass");
    assert!(said.contains(rule) && said.contains(evidence), "{said}");
}

#[rstest]
fn what_a_person_does_is_not_judged(
    #[values(
        Deed::EvictTwice,
        Deed::EvictWithoutCause,
        Deed::DropTheLastCopy,
        Deed::TakeATaint,
        Deed::WriteBlindly
    )]
    deed: Deed,
) {
    paused(async {
        let bench = bench();
        deed.done(bench.client()).await;
    });
}

#[test]
fn a_test_that_fails_says_why_and_not_what_the_rules_say() {
    let ending = ending(async {
        let bench = bench();
        Deed::TakeATaint.done(bench.plane().client_named("rogue")).await;
        panic!("{}", "its own reason");
    });
    assert_eq!(ending, Err("its own reason".to_owned()));
}

#[test]
fn what_a_test_has_heard_does_not_fail_it() {
    paused(async {
        let bench = bench();
        Deed::TakeATaint.done(bench.plane().client_named("rogue")).await;
        Deed::WriteBlindly.done(bench.plane().client_named("rogue")).await;
        assert_eq!(bench.broken_rules().len(), 2);
        assert_eq!(bench.broken_rules(), [""; 0]);
    });
}

/// Neither a cut watch nor a fault hides anything: the bench reads what is stored.
#[test]
fn what_happens_at_the_very_end_is_judged() {
    let ending = ending(async {
        let bench = bench();
        bench.plane().compact();
        Deed::TakeATaint.done(bench.plane().client_named("rogue")).await;
    });
    assert!(ending.unwrap_err().contains("rule 7 broken"));
}

/// Something that stands in no reference.
#[derive(Clone, Copy, Debug)]
enum Word {
    /// A condition for a moment, of which nothing is left at the end.
    Condition,
    Event,
}

impl Word {
    async fn said(self, client: Client) {
        match self {
            Self::Condition => {
                let cluster = Api::<Cluster>::all(client);
                for reason in ["Splendid", "ClusterReady"] {
                    let read = cluster.get("healthy").await.unwrap();
                    let now = "2026-01-01T00:00:00Z";
                    let patch = json!({"metadata": {"resourceVersion": read.resource_version()}, "status": {"conditions": [
                        {"type": "Ready", "status": "True", "reason": reason, "message": "", "lastTransitionTime": now},
                        {"type": "Blue", "status": "True", "reason": "Sky", "message": "", "lastTransitionTime": now},
                    ]}});
                    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
                    cluster.patch_status("healthy", &params, &patch).await.unwrap();
                }
            }
            Self::Event => {
                let event = json!({"metadata": {"namespace": "default", "name": "e"}, "type": "Normal", "reason": "Splendid",
                    "involvedObject": {"kind": "Cluster", "name": "healthy"}, "message": ""});
                let events = Api::<Event>::namespaced(client, "default");
                let event = serde_json::from_value(event).unwrap();
                events.create(&PostParams::default(), &event).await.unwrap();
            }
        }
    }
}

#[rstest]
#[case(
    Word::Condition,
    &["condition Blue True Sky of Cluster", "condition Ready True Splendid of Cluster"],
)]
#[case(Word::Event, &["Event Splendid (Normal) on Cluster"])]
fn what_a_process_says_without_a_reference_fails_the_test(#[case] word: Word, #[case] lacking: &[&str]) {
    let ending = ending(async {
        let bench = bench();
        word.said(bench.plane().client_named("rogue")).await;
    });
    let said = ending.expect_err("the bench lets it pass");
    let named = lacking.iter().all(|lacking| said.contains(lacking));
    assert!(
        named && said.contains("conditions-and-events.md") && !said.contains("ClusterReady"),
        "{said}"
    );
}

/// Also when a process writes something else of the object afterwards.
#[rstest]
fn what_a_person_says_needs_no_reference(#[values(Word::Condition, Word::Event)] word: Word) {
    paused(async {
        let bench = bench();
        word.said(bench.client()).await;
        let clusters = Api::<Cluster>::all(bench.plane().client_named("process"));
        let read = clusters.get("healthy").await.unwrap();
        let patch = json!({"metadata": {"resourceVersion": read.resource_version(), "labels": {"k": "v"}}});
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        clusters.patch("healthy", &params, &patch).await.unwrap();
    });
}
