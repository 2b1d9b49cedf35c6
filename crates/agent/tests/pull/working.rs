//! Works of a Pull member: applied by its agent, reported by its agent, and by nobody else.

use kube::api::{Api, DeleteParams};
use serde_json::json;

use test_bench::paused;

use crate::world::World;

#[test]
fn works_are_applied_reported_and_removed() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(20).await;
        world.put_work("Deployment", "web");
        world.put_work("ConfigMap", "settings");
        world.until(30).await;
        let member = world.m1();
        let there = |kind: &str, name: &str| {
            let version = if kind == "Deployment" { "apps/v1" } else { "v1" };
            member.sandbox().get(version, kind, Some("default"), name)
        };
        assert_eq!(there("Deployment", "web").unwrap()["spec"]["replicas"], 2);
        assert_eq!(there("ConfigMap", "settings").unwrap()["data"], json!({"k": "v"}));
        let status = world.work("web").await.unwrap().status.unwrap();
        let applied = status.conditions.iter().find(|c| c.type_ == "Applied").unwrap();
        assert_eq!(applied.status, "True");
        let reflected = serde_json::to_value(&status.manifest_statuses).unwrap();
        assert_eq!(reflected[0]["status"]["readyReplicas"], 2, "{reflected}");
        assert_eq!(reflected[0]["health"], "Healthy");
        assert_eq!(
            world.reasons("Work", "web"),
            [""; 0],
            "what succeeds at once is no news"
        );

        // Of what is news the agent speaks where it may: on the Work, in its own namespace.
        let theirs =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": "default"}});
        member.sandbox().put(theirs).unwrap();
        world.put_work("ConfigMap", "theirs");
        world.until(35).await;
        assert_eq!(world.reasons("Work", "theirs"), ["SyncFailed"]);

        let works = Api::<api_types::work::Work>::namespaced(world.plane().observer(), "karmada-es-m1");
        works.delete("web", &DeleteParams::default()).await.unwrap();
        world.until(40).await;
        assert!(there("Deployment", "web").is_none());
        assert!(world.work("web").await.is_none());
        assert!(there("ConfigMap", "settings").is_some());
        // The control plane's own controllers have not so much as connected to it.
        assert_eq!(*world.touched.lock(), [""; 0]);
    });
}

/// Also when the Cluster names an address and a Secret, as stock's agents have it.
#[test]
fn the_control_plane_does_not_touch_a_pull_member_that_has_an_address() {
    paused(async {
        let world = World::new();
        world.put(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m1", "namespace": "karmada-cluster"},
            "data": {"token": "dG9rZW4="}}),
        );
        world.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
            "spec": {"syncMode": "Pull", "apiEndpoint": "http://m1.sandbox",
                     "secretRef": {"namespace": "karmada-cluster", "name": "m1"}}}),
        );
        let plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(20).await;
        world.put_work("ConfigMap", "settings");
        world.until(200).await;
        let settings = world.m1().sandbox().get("v1", "ConfigMap", Some("default"), "settings");
        assert!(settings.is_some());
        assert_eq!(*world.touched.lock(), [""; 0]);
        let value = plane
            .metrics()
            .value("cluster_ready_state", &[("member_cluster", "m1")]);
        assert_eq!(value, None, "its series are its agent's");
    });
}

/// A Work that is deleted while the agent is away waits for it, and is dealt with before anything is applied.
#[test]
fn a_deletion_waits_for_the_agent() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let agent = world.start_agent("agent-0").await;
        world.until(20).await;
        world.put_work("ConfigMap", "old");
        world.until(30).await;
        agent.crash();
        let works = Api::<api_types::work::Work>::namespaced(world.plane().observer(), "karmada-es-m1");
        works.delete("old", &DeleteParams::default()).await.unwrap();
        world.put_work("ConfigMap", "new");
        world.until(200).await;
        assert!(world.work("old").await.is_some());
        let member = world.m1();
        let there = |name: &str| member.sandbox().get("v1", "ConfigMap", Some("default"), name).is_some();
        assert!(there("old") && !there("new"));
        let _next = world.start_agent("agent-1").await;
        world.until(280).await;
        assert!(!there("old") && there("new"));
        assert!(world.work("old").await.is_none());
    });
}
