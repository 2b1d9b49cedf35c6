//! What a member offers, as far as it can be listed.

use crate::bench::{Bench, paused};

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
