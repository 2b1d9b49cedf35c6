//! Pods of ours in a namespace that takes restricted ones only: what that is a real API server judges.

use e2e_harness::{ControlPlane, Helm, Tool, available_with};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::COMPONENTS;
use crate::objects::{objects, only};

const NAMESPACE: &str = "restricted";

/// The Pod of a component, as its Deployment's controller would make it.
fn pod(helm: &Helm, component: &str, flags: &[&str]) -> Value {
    let objects = objects(helm, component, flags);
    let template = &only(&objects, "Deployment")["spec"]["template"];
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": component, "labels": template["metadata"]["labels"]},
        "spec": template["spec"],
    })
}

/// What is said against it.
async fn refusal(pods: &Api<Pod>, pod: &Value) -> Option<String> {
    let tried = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let pod: Pod = serde_json::from_value(pod.clone()).unwrap();
    pods.create(&tried, &pod).await.err().map(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_takes_all_pods_where_only_restricted_ones_may_be() {
    let Some(binaries) = available_with(Tool::Helm, "Pods in a namespace for restricted ones") else {
        return;
    };
    let helm = Helm::new(&binaries, "/dev/null").unwrap();
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let namespace: Namespace = serde_json::from_value(json!({
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }))
    .unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    for component in COMPONENTS {
        for flags in [&[][..], &["--set", "karmada.kubeconfigSecret=k"]] {
            let pod = pod(&helm, component, flags);
            assert_eq!(refusal(&pods, &pod).await, None, "{component} {flags:?}");
        }
    }
    // The server judges: without any one of these it takes no Pod.
    let taken = pod(&helm, "scheduler", &[]);
    for wanted in [
        "/spec/securityContext/runAsNonRoot",
        "/spec/securityContext/seccompProfile",
        "/spec/containers/0/securityContext/allowPrivilegeEscalation",
        "/spec/containers/0/securityContext/capabilities",
    ] {
        let mut without = taken.clone();
        let field = without.pointer_mut(wanted);
        *field.unwrap_or_else(|| panic!("the chart says no {wanted}")) = Value::Null;
        let refused = refusal(&pods, &without).await.unwrap_or_default();
        assert!(
            refused.contains("violates PodSecurity \"restricted:latest\""),
            "without {wanted}: {refused:?}"
        );
    }
}
