//! A whole fleet starts side by side, on one etcd.
#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use e2e_harness::{ControlPlane, available};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_members_start_side_by_side() {
    if available("the test of a fleet on real API servers").is_none() {
        return;
    }
    let start = Instant::now();
    let control_plane = ControlPlane::start().await.unwrap();
    let members = tokio::try_join!(
        control_plane.start_member("member1"),
        control_plane.start_member("member2"),
        control_plane.start_member("member3"),
    );
    let members = members.unwrap();
    println!(
        "a control plane and three members ready after {:.1} s",
        start.elapsed().as_secs_f64()
    );
    for member in [&members.0, &members.1, &members.2] {
        let nodes: Api<Node> = Api::all(member.client().await.unwrap());
        let names: Vec<_> = nodes
            .list(&ListParams::default())
            .await
            .unwrap()
            .into_iter()
            .map(|node| node.metadata.name)
            .collect();
        assert_eq!(names, [Some(format!("{}-node", member.name()))]);
    }
}
