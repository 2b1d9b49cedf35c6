//! A real API server takes the CRDs as they lie in the repository, and serves every kind of ours.
#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::path::Path;
use std::time::Duration;

use e2e_harness::{ControlPlane, Identity, Tool, available, eventually};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;

const SOON: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_takes_all_crds() {
    if available("the test of the CRDs on a real API server").is_none() {
        return;
    }
    let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts");
    let folders = ["control-plane/kinds", "karmada-crds/kinds"].map(|folder| charts.join(folder));
    let control_plane = ControlPlane::start().await.unwrap();
    let kubectl = control_plane.binaries().path(Tool::Kubectl);
    let arguments = [
        "apply",
        "--server-side",
        "--validate=strict",
        "-f",
        folders[0].to_str().unwrap(),
        "-f",
        folders[1].to_str().unwrap(),
    ];
    let mut apply = control_plane
        .spawn("apply-crds", &kubectl, Identity::Admin, arguments)
        .unwrap();
    let status = apply.wait(SOON).await.unwrap();
    assert!(status.success(), "{}", apply.log_tail());

    let crds: Api<CustomResourceDefinition> = Api::all(control_plane.client().await.unwrap());
    let expected = api_types::crds();
    assert!(!expected.is_empty());
    for crd in expected {
        let name = crd.metadata.name.unwrap();
        eventually(&format!("{name} is established"), SOON, async || {
            let status = crds
                .get(&name)
                .await
                .map_err(|error| error.to_string())?
                .status
                .unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            let is_true = |type_: &str| conditions.iter().any(|c| c.type_ == type_ && c.status == "True");
            // An API server also takes a schema that is not structural; then it neither defaults nor prunes.
            if is_true("Established") && !is_true("NonStructuralSchema") {
                Ok(())
            } else {
                Err(format!("{conditions:?}"))
            }
        })
        .await
        .unwrap();
    }
}
