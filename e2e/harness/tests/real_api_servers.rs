//! The harness on real programs: what it promises holds, and how long its starts take is printed.
#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use e2e_harness::{ControlPlane, Error, Identity, Member, Tool, available, eventually};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::json;
use tokio::time::Instant;

const SOON: Duration = Duration::from_secs(60);

fn deployment(name: &str, image: &str, replicas: i32) -> Deployment {
    serde_json::from_value(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": image }] },
            },
        },
    }))
    .unwrap()
}

fn job(name: &str, image: &str) -> Job {
    serde_json::from_value(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name },
        "spec": {
            "backoffLimit": 0,
            "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": image }] } },
        },
    }))
    .unwrap()
}

async fn ready_replicas(deployments: &Api<Deployment>, name: &str) -> Result<i32, String> {
    let found = deployments.get(name).await.map_err(|error| error.to_string())?;
    Ok(found.status.and_then(|status| status.ready_replicas).unwrap_or(0))
}

/// A member runs workloads, loses its API server and gets it back with everything on it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_runs_workloads_and_survives_its_api_server() {
    if available("the test of a member cluster on real API servers").is_none() {
        return;
    }
    let start = Instant::now();
    let control_plane = ControlPlane::start().await.unwrap();
    println!("control plane ready after {:.1} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let mut member = control_plane.start_member("member1").await.unwrap();
    println!("member ready after {:.1} s", start.elapsed().as_secs_f64());

    let deployments: Api<Deployment> = Api::default_namespaced(member.client().await.unwrap());
    let start = Instant::now();
    deployments
        .create(&PostParams::default(), &deployment("nginx", "nginx:1.29", 3))
        .await
        .unwrap();
    let all_ready = async || match ready_replicas(&deployments, "nginx").await? {
        3 => Ok(()),
        ready => Err(format!("{ready} ready")),
    };
    eventually("3 ready replicas", SOON, all_ready).await.unwrap();
    println!("a Deployment of 3 ready after {:.1} s", start.elapsed().as_secs_f64());

    images_decide(&member).await;

    let endpoint = member.api().endpoint().to_owned();
    member.stop_apiserver().unwrap();
    let refused = deployments.get("nginx").await.unwrap_err();
    assert!(
        !matches!(refused, kube::Error::Api(_)),
        "answered although it is down: {refused}"
    );

    let start = Instant::now();
    member.start_apiserver().await.unwrap();
    println!("API server back after {:.1} s", start.elapsed().as_secs_f64());
    assert_eq!(member.api().endpoint(), endpoint);
    assert_eq!(ready_replicas(&deployments, "nginx").await.unwrap(), 3);
    // Its controllers, its scheduler and its node find it again.
    let more = json!({ "spec": { "replicas": 4 } });
    deployments
        .patch(
            "nginx",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(more),
        )
        .await
        .unwrap();
    eventually("a 4th ready replica", SOON, async || {
        match ready_replicas(&deployments, "nginx").await? {
            4 => Ok(()),
            ready => Err(format!("{ready} ready")),
        }
    })
    .await
    .unwrap();

    // The control plane shares the member's etcd and must not share its objects.
    let above: Api<Deployment> = Api::default_namespaced(control_plane.client().await.unwrap());
    assert!(above.list(&ListParams::default()).await.unwrap().items.is_empty());
}

/// Pods fare as their images say.
async fn images_decide(member: &Member) {
    let client = member.client().await.unwrap();
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client);
    let create = PostParams::default();
    deployments
        .create(&create, &deployment("slow", "registry.test/never-ready:1", 1))
        .await
        .unwrap();
    deployments
        .create(&create, &deployment("broken", "crash", 1))
        .await
        .unwrap();
    jobs.create(&create, &job("good", "finish")).await.unwrap();
    jobs.create(&create, &job("bad", "fail:2")).await.unwrap();

    eventually("one Job finished and one failed", SOON, async || {
        let of = async |name: &str| jobs.get(name).await.map_err(|error| error.to_string());
        let (good, bad) = (
            of("good").await?.status.unwrap_or_default(),
            of("bad").await?.status.unwrap_or_default(),
        );
        if good.succeeded == Some(1) && bad.failed == Some(1) {
            Ok(())
        } else {
            Err(format!("{good:?} {bad:?}"))
        }
    })
    .await
    .unwrap();
    let fates = eventually("all pods started", SOON, async || {
        let pods = pods
            .list(&ListParams::default())
            .await
            .map_err(|error| error.to_string())?;
        let mut fates = BTreeMap::new();
        for pod in pods {
            let labels = pod.metadata.labels.unwrap_or_default();
            let status = pod.status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            let ready = conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True");
            let waits_for = status.container_statuses.unwrap_or_default().into_iter().next();
            let waits_for = waits_for
                .and_then(|container| container.state?.waiting?.reason)
                .unwrap_or_default();
            if let Some(app) = labels.get("app").filter(|app| *app != "nginx") {
                fates.insert(app.clone(), (status.phase.unwrap_or_default(), ready, waits_for));
            }
        }
        if fates.values().all(|(phase, ..)| phase == "Running") && fates.len() == 2 {
            Ok(fates)
        } else {
            Err(format!("{fates:?}"))
        }
    })
    .await
    .unwrap();
    assert_eq!(fates["slow"], ("Running".to_owned(), false, String::new()));
    assert_eq!(
        fates["broken"],
        ("Running".to_owned(), false, "CrashLoopBackOff".to_owned())
    );
    assert_eq!(ready_replicas(&deployments, "slow").await, Ok(0));
    for name in ["slow", "broken"] {
        deployments.delete(name, &DeleteParams::foreground()).await.unwrap();
    }
    eventually("deleted pods go", SOON, async || {
        let left = pods.list(&ListParams::default().labels("app in (slow, broken)")).await;
        let left = left.map_err(|error| error.to_string())?.items.len();
        if left == 0 { Ok(()) } else { Err(format!("{left} left")) }
    })
    .await
    .unwrap();
}

/// Each component has its own user with no more rights than it is given; namespaces go; a hang is a hang; our programs
/// get their kubeconfig; a restart keeps everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_control_plane_checks_rights_hangs_and_restarts() {
    if available("the test of a control plane on real API servers").is_none() {
        return;
    }
    let mut control_plane = ControlPlane::start().await.unwrap();
    let queue = Identity::Component("eviction-queue");
    let as_queue = control_plane.api().client(queue).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(as_queue);
    let refused = maps.list(&ListParams::default()).await.unwrap_err();
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.code == 403),
        "{refused}"
    );
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: vec!["list".to_owned()],
        ..PolicyRule::default()
    };
    control_plane.grant(queue, "read-maps", vec![rule]).await.unwrap();
    eventually("the right counts", SOON, async || {
        maps.list(&ListParams::default())
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    })
    .await
    .unwrap();

    // kubectl in the place of one of our programs: it gets the kubeconfig of its user, and its log is in the folder.
    let kubectl = control_plane.binaries().path(Tool::Kubectl);
    let mut who = control_plane
        .spawn("who", &kubectl, queue, ["auth", "whoami", "-o=name"])
        .unwrap();
    let ended = who.wait(SOON).await.unwrap();
    assert!(ended.success(), "{}", who.log_tail());
    let mut who = control_plane.spawn("version", &kubectl, queue, ["version"]).unwrap();
    who.wait(SOON).await.unwrap();
    assert!(who.log_tail().contains("Server Version: v1."), "{}", who.log_tail());

    let namespaces: Api<Namespace> = Api::all(control_plane.client().await.unwrap());
    let team: Namespace = serde_json::from_value(json!({ "metadata": { "name": "team" } })).unwrap();
    namespaces.create(&PostParams::default(), &team).await.unwrap();
    namespaces.delete("team", &DeleteParams::default()).await.unwrap();
    eventually("a deleted namespace goes", SOON, async || {
        match namespaces.get_opt("team").await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err("still there".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    })
    .await
    .unwrap();

    control_plane.api().pause().unwrap();
    let hangs = tokio::time::timeout(Duration::from_millis(500), namespaces.get("default")).await;
    assert!(hangs.is_err(), "a paused server answered: {hangs:?}");
    control_plane.api().resume().unwrap();
    namespaces.get("default").await.unwrap();

    namespaces.create(&PostParams::default(), &team).await.unwrap();
    control_plane.restart().await.unwrap();
    namespaces.get("team").await.unwrap();
    control_plane.stop().await.unwrap();
    assert!(namespaces.get("team").await.is_err());
    assert!(matches!(control_plane.api().pause(), Err(Error::NotRunning(_))));
}
