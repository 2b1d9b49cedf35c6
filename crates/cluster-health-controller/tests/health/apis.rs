//! What a member offers, as far as it can be listed.

use std::time::Duration;

use kube_sandbox::{Effect, Match, Verb};

use crate::bench::Bench;
use test_bench::paused;

/// A member whose answers make no sense for a moment is healthy by its probe and offers nothing. Workloads find no place
/// on it meanwhile, so it is asked again soon, not with the next look for news.
#[test]
fn what_could_not_be_listed_is_asked_for_again_soon() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.member("m1").garbage();
        let _process = bench.start("health-0").await;
        bench.until(25).await;
        let complete = async || {
            bench
                .cluster("m1")
                .await
                .condition("CompleteAPIEnablements")
                .map(|c| c.status.clone())
        };
        assert_ne!(complete().await.as_deref(), Some("True"));
        bench.member("m1").resume();
        bench.until(70).await;
        assert_eq!(complete().await.as_deref(), Some("True"));
    });
}

/// A member far away: to say what it serves takes it longer than a period. It is described all the same, it is Ready
/// before that, and every probe is on time.
#[test]
fn what_takes_longer_than_a_look_comes_with_a_later_one() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let slow = Match::any().verb(Verb::Other);
        bench
            .member("m1")
            .faults()
            .inject(slow, Effect::Latency(Duration::from_secs(5)));
        let _process = bench.start("health-0").await;
        bench.until(9).await;
        assert_eq!(bench.ready("m1").await.0, "True");
        bench.until(61).await;
        let cluster = bench.cluster("m1").await;
        assert_eq!(cluster.condition("CompleteAPIEnablements").unwrap().status, "True");
        assert!(cluster.status.unwrap().kubernetes_version.is_some());
        let probes = &bench.probes()["m1"];
        assert!(
            probes
                .windows(2)
                .all(|pair| pair[1] - pair[0] == Duration::from_secs(10)),
            "{probes:?}"
        );
    });
}

/// What cannot be summed up, for lack of rights on pods, holds up neither the condition nor the list of APIs.
#[test]
fn a_member_whose_pods_cannot_be_read_is_still_described() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let refusal = Effect::Error {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "pods is forbidden".to_owned(),
        };
        bench
            .member("m1")
            .faults()
            .inject(Match::any().resource("pods"), refusal);
        let _process = bench.start("health-0").await;
        bench.until(30).await;
        let cluster = bench.cluster("m1").await;
        assert!(cluster.is_ready());
        assert_eq!(cluster.condition("CompleteAPIEnablements").unwrap().status, "True");
        let status = cluster.status.unwrap();
        assert_eq!(status.resource_summary, None, "unknown is not nothing");
        let probes = &bench.probes()["m1"];
        assert!(
            probes
                .windows(2)
                .all(|pair| pair[1] - pair[0] == Duration::from_secs(10)),
            "{probes:?}"
        );
    });
}
