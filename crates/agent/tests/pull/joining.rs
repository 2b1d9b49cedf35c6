//! How a member joins, and whom the agent refuses to be.

use agent::Flags;
use api_types::cluster::ClusterSyncMode;
use controller_kit::Ended;
use serde_json::json;

use test_bench::paused;

use crate::world::World;

#[test]
fn a_member_joins_by_itself_and_is_described() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(5).await;
        let cluster = world.cluster().await.expect("the agent has made it");
        assert_eq!(cluster.spec.sync_mode, ClusterSyncMode::Pull);
        assert_eq!(cluster.spec.region.as_deref(), Some("north"));
        let kube_system = world
            .m1()
            .sandbox()
            .get("v1", "Namespace", None, "kube-system")
            .unwrap();
        assert_eq!(cluster.spec.id.as_deref(), kube_system["metadata"]["uid"].as_str());
        assert_eq!(world.ready().await, ("True".to_owned(), "ClusterReady".to_owned()));
        let status = cluster.status.unwrap();
        assert!(status.kubernetes_version.is_some());
        assert_eq!(status.node_summary.unwrap().ready_num, 1);
        assert!(status.resource_summary.unwrap().allocatable.contains_key("cpu"));
        assert!(status.api_enablements.iter().any(|api| api.group_version == "apps/v1"));
    });
}

#[test]
fn a_cluster_that_exists_is_not_changed() {
    paused(async {
        let world = World::new();
        world.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
            "spec": {"syncMode": "Pull", "region": "south",
                     "taints": [{"key": "person", "effect": "NoSchedule"}]}}),
        );
        let before = world.cluster().await.unwrap();
        let _agent = world.start_agent("agent-0").await;
        world.until(30).await;
        let after = world.cluster().await.unwrap();
        assert_eq!(after.spec, before.spec);
        assert_eq!(world.ready().await.0, "True");
    });
}

#[test]
fn a_push_cluster_of_the_same_name_ends_the_agent() {
    paused(async {
        let world = World::new();
        world.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
            "spec": {"syncMode": "Push", "apiEndpoint": "http://m1.sandbox"}}),
        );
        let agent = world.start_agent("agent-0").await;
        let Ended::Failed(why) = agent.ended().await else {
            panic!("it must not go on")
        };
        assert!(why.to_string().contains("Cluster m1 is in Push mode"), "{why}");
        assert!(world.lease().await.is_none());
    });
}

#[test]
fn another_member_under_this_name_ends_the_agent() {
    paused(async {
        let world = World::new();
        let first = world.start_agent("agent-0").await;
        world.until(30).await;
        first.stop().await;
        // The same command line, in the wrong cluster.
        let flags = Flags {
            cluster_name: "m1".to_owned(),
            ..Flags::default()
        };
        let other = world.member("m2").sandbox().client_named("agent-1");
        let second = world.start_agent_with("agent-1", flags, other).await;
        let Ended::Failed(why) = second.ended().await else {
            panic!("it must not go on")
        };
        assert!(why.to_string().contains("belongs to another member"), "{why}");
        let held = world.lease().await.unwrap().spec.unwrap().holder_identity;
        assert_eq!(held.as_deref(), Some("agent-0"), "it renewed nothing");
    });
}

#[test]
fn a_member_that_does_not_answer_joins_when_it_does() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        world.m1().stop();
        let _agent = world.start_agent("agent-0").await;
        world.until(120).await;
        assert!(world.cluster().await.is_none(), "who it is, only it can say");
        let tries = world.asked[1].all().len();
        assert!((5..=40).contains(&tries), "{tries} tries in two minutes");
        world.m1().resume();
        world.until(150).await;
        assert_eq!(world.ready().await.0, "True");
    });
}

#[test]
fn a_deleted_cluster_is_not_made_anew_and_asks_for_nothing() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let agent = world.start_agent("agent-0").await;
        world.until(60).await;
        let clusters = kube::Api::<api_types::cluster::Cluster>::all(world.plane().observer());
        clusters.delete("m1", &Default::default()).await.unwrap();
        world.until(120).await;
        assert!(world.cluster().await.is_none(), "its deletion ends");
        assert!(world.lease().await.is_none(), "its Lease goes with it");
        world.asked[1].clear();
        world.until(600).await;
        assert!(world.cluster().await.is_none());
        assert!(world.lease().await.is_none());
        assert_eq!(world.asked[1].all(), [], "nobody probes for a Cluster that is gone");
        agent.stop().await;
        let _again = world.start_agent("agent-1").await;
        world.until(660).await;
        assert_eq!(
            world.ready().await.0,
            "True",
            "a person started it again: it joins anew"
        );
    });
}
