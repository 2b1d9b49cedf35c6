//! Over real sockets and in real time, with the tools' own protocols: health and reflection.

use std::sync::Arc;

use controller_kit::{Clock, KitFlags, Process};
use eviction_queue::{Flags, controllers};
use eviction_queue_api::{QueueClient, v1};
use futures::StreamExt;
use kube_sandbox::{Sandbox, SandboxOptions};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

#[tokio::test]
async fn health_and_reflection() {
    let clock = Clock::system();
    let now = clock.clone();
    let plane = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
    for crd in api_types::crds() {
        plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
    }
    plane
        .put(serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
        .unwrap();
    let queue = Process::builder("eviction-queue", plane.client())
        .clock(clock)
        .identity("q")
        .flags(KitFlags::default())
        .controllers(controllers(Flags::default()))
        .start()
        .await
        .unwrap();
    let client = QueueClient::by_lease(plane.observer(), "karmada-system", "test");
    let call = |mut service: v1::queue_inspection_client::QueueInspectionClient<_>| async move {
        service.get_status(v1::GetStatusRequest {}).await
    };
    let status = client.inspect(std::time::Duration::from_secs(30), call).await.unwrap();
    assert_eq!(status.leader, "q");
    let address = client.address().await.unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");

    let channel = tonic::transport::Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap();
    let service = "karmada.failover.evictionqueue.v1.QueueInspection".to_owned();
    let health = HealthClient::new(channel.clone())
        .check(tonic_health::pb::HealthCheckRequest {
            service: service.clone(),
        })
        .await
        .unwrap();
    assert_eq!(health.into_inner().status(), ServingStatus::Serving);

    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = ServerReflectionClient::new(channel)
        .server_reflection_info(futures::stream::iter([request]))
        .await
        .unwrap()
        .into_inner();
    let answer = answers.next().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("a list of services")
    };
    let names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    assert!(
        names.contains(&service) && names.contains(&"grpc.health.v1.Health".to_owned()),
        "{names:?}"
    );
    queue.stop().await;
}
