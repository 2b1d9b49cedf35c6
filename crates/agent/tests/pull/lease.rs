//! The member's Lease, and those of the agent's controllers.

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::ResourceExt;
use kube::api::Api;
use kube_sandbox::{Effect, Match};

use test_bench::paused;

use crate::world::World;

async fn spec(world: &World) -> LeaseSpec {
    world.lease().await.expect("it is there").spec.unwrap()
}

#[test]
fn the_lease_is_renewed_every_quarter_of_its_duration() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(21).await;
        let lease = world.lease().await.expect("it is there");
        let owner = &lease.owner_references()[0];
        let cluster = world.cluster().await.unwrap();
        assert_eq!((owner.kind.as_str(), &owner.uid), ("Cluster", &cluster.uid().unwrap()));
        let first = lease.spec.unwrap();
        assert_eq!(first.lease_duration_seconds, Some(40));
        assert_eq!(first.holder_identity.as_deref(), Some("agent-0"));
        let mut renewals = vec![first.renew_time.unwrap().0];
        for second in [31, 41, 51, 61] {
            world.until(second).await;
            renewals.push(spec(&world).await.renew_time.unwrap().0);
        }
        for pair in renewals.windows(2) {
            assert_eq!(pair[1].duration_since(pair[0]), SignedDuration::from_secs(10));
        }
    });
}

/// One that is stopped lets its Lease grow old: the control plane sees it. The next one takes over.
#[test]
fn a_stopped_agent_renews_nothing_and_the_next_takes_over() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let agent = world.start_agent("agent-0").await;
        world.until(60).await;
        agent.crash();
        let last = spec(&world).await.renew_time;
        world.until(200).await;
        assert_eq!(spec(&world).await.renew_time, last);
        let _next = world.start_agent("agent-1").await;
        world.until(260).await;
        let taken = spec(&world).await;
        assert_eq!(taken.holder_identity.as_deref(), Some("agent-1"));
        assert_eq!(taken.lease_transitions, Some(1));
    });
}

/// An agent lives whether its member is well or not: that the member is not well is for its condition to say.
#[test]
fn a_member_that_is_down_is_reported_and_the_lease_renewed() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(60).await;
        world.m1().stop();
        world.until(101).await;
        assert_eq!(
            world.ready().await,
            ("False".to_owned(), "ClusterNotReachable".to_owned())
        );
        world.until(400).await;
        let renewed = spec(&world).await.renew_time.unwrap().0;
        assert!(world.clock.now().duration_since(renewed) <= SignedDuration::from_secs(11));
        assert_eq!(world.ready().await.1, "ClusterNotReachable");
    });
}

#[test]
fn whoever_touches_the_lease_does_not_stop_it() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(30).await;
        let leases = Api::<Lease>::namespaced(world.plane().observer(), "karmada-cluster");
        let label = kube::api::Patch::Merge(serde_json::json!({"metadata": {"labels": {"person": "here"}}}));
        leases.patch("m1", &Default::default(), &label).await.unwrap();
        world.until(42).await;
        let lease = world.lease().await.unwrap();
        assert_eq!(lease.labels()["person"], "here", "what others wrote stays");
        let renewed = lease.spec.unwrap().renew_time.unwrap().0;
        assert!(world.clock.now().duration_since(renewed) <= SignedDuration::from_secs(11));
        leases.delete("m1", &Default::default()).await.unwrap();
        world.until(53).await;
        assert!(world.lease().await.is_some(), "it is made anew");
        // A control plane that refuses for a while costs renewals, no more.
        let renewals = Match::writes().resource("leases").namespace("karmada-cluster");
        let refusal = Effect::Error {
            code: 503,
            reason: "ServiceUnavailable".to_owned(),
            message: "later".to_owned(),
        };
        world.plane().faults().inject_times(renewals, 0, 2, refusal);
        world.until(90).await;
        let renewed = spec(&world).await.renew_time.unwrap().0;
        assert!(world.clock.now().duration_since(renewed) <= SignedDuration::from_secs(11));
    });
}

#[test]
fn controllers_have_leases_of_their_own_for_each_member() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(30).await;
        let leases = Api::<Lease>::namespaced(world.plane().observer(), "karmada-system");
        for (name, holder) in [
            ("cluster-status-m1", "agent-0"),
            ("execution-m1", "agent-0"),
            ("work-status-m1", "agent-0"),
            ("cluster-status", "control-plane-0"),
            ("execution", "control-plane-0"),
        ] {
            let lease = leases.get(name).await.unwrap();
            assert_eq!(lease.spec.unwrap().holder_identity.as_deref(), Some(holder), "{name}");
        }
        // A second agent of the same member waits.
        let second = world.start_agent("agent-1").await;
        world.until(90).await;
        assert_eq!(spec(&world).await.holder_identity.as_deref(), Some("agent-0"));
        assert_eq!(second.has_ended(), None);
    });
}
