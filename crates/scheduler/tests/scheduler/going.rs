//! Clusters that go: who takes workloads off them, and what becomes of a result that names one that is gone.

use api_types::work::{Binding, BindingKind};
use serde_json::json;
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown};

#[test]
fn a_cluster_that_does_not_exist_any_more_leaves_the_result() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        let clusters = kube::Api::<api_types::cluster::Cluster>::all(bench.plane.observer());
        clusters
            .delete("member2", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        bench.until(2).await;
        assert_eq!(bench.placed().await, "member1:3");
        clusters
            .delete("member1", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        bench.until(3).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "", "nothing runs where nothing is");
        assert_eq!(
            binding.condition("Scheduled").unwrap().message,
            "0/0 clusters are available: no cluster exists."
        );
        assert_eq!(
            bench.reasons().iter().filter(|reason| *reason == "ClusterGone").count(),
            2
        );
    });
}

// C103, karmada#6438: a deletion ends with the gate off, and without a taint manager, too.
#[test]
fn a_cluster_that_is_being_deleted_is_left_to_the_queue_or_without_the_gate_to_the_scheduler() {
    for (gates, expected) in [
        ("Failover=true", "member1:1 member2:2"),
        ("Failover=false", "member2:3"),
    ] {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let controllers = scheduler::controllers(scheduler::Flags::default());
            let _process = bench.start("scheduler", "a", gates, controllers).await;
            bench.put_deployment(&json!({"placement": one_to_two()}));
            bench.until(1).await;
            let clusters = kube::Api::<api_types::cluster::Cluster>::all(bench.plane.observer());
            let held = kube::api::Patch::Merge(json!({"metadata": {"finalizers": ["karmada.io/cluster-controller"]}}));
            clusters
                .patch("member1", &kube::api::PatchParams::default(), &held)
                .await
                .unwrap();
            clusters
                .delete("member1", &kube::api::DeleteParams::default())
                .await
                .unwrap();
            bench.until(2).await;
            assert_eq!(bench.placed().await, expected, "{gates}");
        });
    }
}

// C103, karmada#6438: the gate is on, but nobody is there who would feed the queue.
#[test]
fn without_a_taint_manager_at_work_the_scheduler_empties_a_cluster_that_is_deleted() {
    let renewed = |bench: &Bench, gates: &str| {
        bench.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "taint-manager", "namespace": "karmada-system", "annotations": {"failover.karmada.io/gates": gates}},
            "spec": {"holderIdentity": "t", "renewTime": format!("{:.6}", bench.clock.now())}
        }));
    };
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let controllers = scheduler::controllers(scheduler::Flags::default());
        renewed(&bench, "Failover=true");
        let _process = bench.start("scheduler", "a", "Failover=true", controllers).await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        bench.begin_deletion("member1").await;
        for second in (5..=400).step_by(5) {
            bench.until(second).await;
            renewed(&bench, "Failover=true");
        }
        bench.until(699).await;
        assert_eq!(
            bench.placed().await,
            "member1:1 member2:2",
            "it may be away for five minutes"
        );
        bench.until(701).await;
        assert_eq!(bench.placed().await, "member2:3");
    });
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let controllers = scheduler::controllers(scheduler::Flags::default());
        renewed(&bench, "Failover=true");
        let _process = bench.start("scheduler", "a", "Failover=true", controllers).await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        bench.begin_deletion("member1").await;
        bench.until(3).await;
        assert_eq!(bench.placed().await, "member1:1 member2:2");
        renewed(&bench, "Failover=false");
        bench.until(4).await;
        assert_eq!(
            bench.placed().await,
            "member2:3",
            "it says itself that it moves nothing"
        );
    });
}

/// After a failover all three replicas are on member2. Deleting it is no reason to divide them 1:2 anew: they leave
/// through the queue, at its rate and under its pauses.
#[test]
fn what_was_moved_is_not_divided_anew_because_its_cluster_goes() {
    for (gates, expected) in [("Failover=true", "member2:3"), ("Failover=false", "member1:3")] {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let controllers = scheduler::controllers(scheduler::Flags::default());
            let _process = bench.start("scheduler", "a", gates, controllers).await;
            bench.put_deployment(&json!({"placement": one_to_two()}));
            bench.until(1).await;
            let bindings =
                kube::Api::<Binding>::namespaced_with(bench.plane.observer(), "default", &BindingKind::Namespaced);
            let moved = kube::api::Patch::Merge(json!({"spec": {"clusters": [{"name": "member2", "replicas": 3}]}}));
            let unconditional = kube::api::PatchParams::default();
            bindings
                .patch("nginx-deployment", &unconditional, &moved)
                .await
                .unwrap();
            bench.until(2).await;
            assert_eq!(bench.placed().await, "member2:3");
            let clusters = kube::Api::<api_types::cluster::Cluster>::all(bench.plane.observer());
            let held = kube::api::Patch::Merge(json!({"metadata": {"finalizers": ["karmada.io/cluster-controller"]}}));
            clusters.patch("member2", &unconditional, &held).await.unwrap();
            clusters
                .delete("member2", &kube::api::DeleteParams::default())
                .await
                .unwrap();
            bench.until(5).await;
            assert_eq!(bench.placed().await, expected, "{gates}");
        });
    }
}
