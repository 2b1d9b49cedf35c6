//! What an agent says about its member, and how little it asks for.

use test_bench::paused;

use crate::log::Asked;
use crate::world::World;

#[test]
fn thresholds_are_those_of_push_members() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let agent = world.start_agent("agent-0").await;
        world.until(65).await;
        world.m1().unready();
        world.until(94).await;
        assert_eq!(world.ready().await.0, "True");
        world.until(106).await;
        assert_eq!(world.ready().await, ("False".to_owned(), "ClusterNotReady".to_owned()));
        world.m1().resume();
        world.until(135).await;
        assert_eq!(world.ready().await.0, "False");
        world.until(147).await;
        assert_eq!(world.ready().await.0, "True");
        let told = world.reasons("Cluster", "m1");
        for reason in ["ClusterReady", "ClusterNotReady"] {
            assert!(told.contains(&reason.to_owned()), "{told:?}");
        }
        let value = agent
            .metrics()
            .value("cluster_ready_state", &[("member_cluster", "m1")]);
        assert_eq!(value, Some(1.0), "the member's series are the agent's");
    });
}

/// Its own credentials may be refused: a person is told whose.
#[test]
fn a_member_that_refuses_the_agent_is_quoted() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(60).await;
        world.m1().fail(403);
        world.until(105).await;
        let cluster = world.cluster().await.unwrap();
        let message = &cluster.condition("Ready").unwrap().message;
        assert!(message.contains("the member refuses the agent (HTTP 403)"), "{message}");
    });
}

/// A restarted agent whose member is down reports it, though the member cannot say who it is.
#[test]
fn a_restart_while_the_member_is_down_goes_on_reporting() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let agent = world.start_agent("agent-0").await;
        world.until(60).await;
        agent.stop().await;
        world.m1().hang();
        let _next = world.start_agent("agent-1").await;
        world.until(150).await;
        assert_eq!(
            world.ready().await,
            ("False".to_owned(), "ClusterNotReachable".to_owned())
        );
    });
}

/// At rest: its Leases, its watches, its probes; no write, and no list but those that find what a watch missed.
#[test]
fn an_hour_at_rest_costs_leases_and_probes() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let _agent = world.start_agent("agent-0").await;
        world.until(20).await;
        world.put_work("Deployment", "web");
        world.until(120).await;
        for log in &world.asked {
            log.clear();
        }
        world.until(3720).await;
        let [plane, member] = &world.asked;
        let count = |log: &crate::log::Log, which: &dyn Fn(&str, &str) -> bool| {
            let all = log.all();
            let fits = all.iter().filter(|asked| match asked {
                Asked::Resource { verb, resource, .. } => which(verb, resource),
                Asked::Path { .. } => false,
            });
            fits.count()
        };
        let renewals = count(plane, &|_, resource| resource == "leases");
        assert_eq!(renewals, 3 * 720 + 360, "three Leases of controllers, and the member's");
        let writes = |verb: &str| matches!(verb, "create" | "update" | "patch" | "delete");
        assert_eq!(count(plane, &|verb, resource| writes(verb) && resource != "leases"), 0);
        assert_eq!(count(member, &|verb, _| writes(verb)), 0);
        assert!(count(plane, &|verb, _| verb == "list") <= 2 * 2);
        assert_eq!(count(plane, &|verb, resource| verb == "get" && resource != "leases"), 0);
        let asked = member.all();
        let probes = asked
            .iter()
            .filter(|asked| matches!(asked, Asked::Path { path, .. } if path == "/readyz"));
        assert_eq!(probes.count(), 360);
    });
}
