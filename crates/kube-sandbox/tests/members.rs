//! Simulated members: workloads follow the script, links break and come back, the fleet finds members.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_pass_by_value
)] // Helpers of tests count as tests.

mod common;

use std::time::Duration;

use common::{deployment, paused, settle, simulated_now};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube_sandbox::{Behaviour, Fleet, Who};
use serde_json::{Value, json};

fn typed<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

async fn ready(api: &Api<Deployment>, name: &str) -> (i32, i32, String) {
    let status = api.get(name).await.unwrap().status.unwrap_or_default();
    let available = status
        .conditions
        .iter()
        .flatten()
        .find(|c| c.type_.as_deref() == Some("Available"))
        .and_then(|c| c.status.clone());
    (
        status.replicas.unwrap_or(0),
        status.ready_replicas.unwrap_or(0),
        available.unwrap_or_default(),
    )
}

#[test]
fn workloads_follow_the_script() {
    paused(async {
        let fleet = Fleet::start(&simulated_now(), &["member1"]);
        let member = fleet.member("member1").unwrap();
        member.behave(Who::Image("broken".into()), Behaviour::NeverReady);
        member.behave(
            Who::Name("flaky".into()),
            Behaviour::CrashAfter {
                ready: Duration::from_secs(2),
                crash: Duration::from_secs(10),
            },
        );
        let api: Api<Deployment> = Api::default_namespaced(member.client());
        for (name, image) in [("good", "nginx:1"), ("bad", "broken:1"), ("flaky", "nginx:1")] {
            api.create(&Default::default(), &typed(deployment(name, 3, image)))
                .await
                .unwrap();
        }
        settle().await;
        assert_eq!(ready(&api, "good").await, (3, 0, "False".into()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(ready(&api, "good").await, (3, 3, "True".into()));
        let good = api.get("good").await.unwrap();
        assert_eq!(good.status.unwrap().observed_generation, good.metadata.generation);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(ready(&api, "flaky").await, (3, 3, "True".into()));
        assert_eq!(ready(&api, "bad").await, (3, 0, "False".into()));
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(ready(&api, "flaky").await, (3, 0, "False".into()));

        // Fewer replicas are there at once, more become ready later.
        let scale = |n: i32| Patch::Merge(json!({"spec": {"replicas": n}}));
        api.patch_scale("good", &PatchParams::default(), &scale(2))
            .await
            .unwrap();
        settle().await;
        assert_eq!(ready(&api, "good").await, (2, 2, "True".into()));
        api.patch_scale("good", &PatchParams::default(), &scale(5))
            .await
            .unwrap();
        settle().await;
        assert_eq!(ready(&api, "good").await, (5, 2, "False".into()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(ready(&api, "good").await, (5, 5, "True".into()));

        // A change of the script judges what runs already.
        member.behave(Who::Image("broken".into()), Behaviour::ReadyAfter(Duration::ZERO));
        settle().await;
        assert_eq!(ready(&api, "bad").await, (3, 3, "True".into()));
        // And then nothing is written any more.
        let version = member.sandbox().resource_version();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(member.sandbox().resource_version(), version);
    });
}

#[test]
fn jobs_finish_or_fail_and_stateful_sets_report() {
    paused(async {
        let fleet = Fleet::start(&simulated_now(), &["member1"]);
        let member = fleet.member("member1").unwrap();
        member.behave(
            Who::Name("fails".into()),
            Behaviour::CrashAfter {
                ready: Duration::ZERO,
                crash: Duration::from_secs(5),
            },
        );
        let jobs: Api<Job> = Api::default_namespaced(member.client());
        for name in ["works", "fails"] {
            let job = json!({
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}},
            });
            jobs.create(&Default::default(), &typed(job)).await.unwrap();
        }
        let sets: Api<StatefulSet> = Api::default_namespaced(member.client());
        let mut set = deployment("db", 2, "db:1");
        set["kind"] = "StatefulSet".into();
        set["spec"]["serviceName"] = "db".into();
        sets.create(&Default::default(), &typed(set)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        let verdict = async |name: &str| -> Vec<String> {
            let status = jobs.get(name).await.unwrap().status.unwrap();
            status.conditions.into_iter().flatten().map(|c| c.type_).collect()
        };
        assert_eq!(verdict("works").await, ["SuccessCriteriaMet", "Complete"]);
        assert_eq!(verdict("fails").await, ["FailureTarget", "Failed"]);
        let status = sets.get("db").await.unwrap().status.unwrap();
        assert_eq!(
            (status.replicas, status.ready_replicas, status.available_replicas),
            (2, Some(2), Some(2))
        );
    });
}

#[test]
fn the_fleet_finds_members_and_stopped_ones_keep_their_state() {
    paused(async {
        let fleet = Fleet::start(&simulated_now(), &["member1", "member2"]);
        let connector = fleet.member_connector();
        let why = connector.connect("http://nobody.sandbox").err().unwrap().to_string();
        assert!(why.contains("http://member1.sandbox, http://member2.sandbox"), "{why}");
        let member = fleet.member("member1").unwrap();
        let client = connector.connect(&member.endpoint()).unwrap();
        let api: Api<Deployment> = Api::default_namespaced(client.clone());
        api.create(&Default::default(), &typed(deployment("d", 1, "nginx")))
            .await
            .unwrap();
        member.stop();
        assert!(matches!(api.get("d").await.unwrap_err(), kube::Error::Service(_)));
        tokio::time::sleep(Duration::from_secs(5)).await;
        member.resume();
        // It ran on while nobody could look.
        assert_eq!(ready(&api, "d").await, (1, 1, "True".into()));
        let other: Api<Deployment> = Api::all(connector.connect("http://member2.sandbox").unwrap());
        assert_eq!(other.list(&ListParams::default()).await.unwrap().items.len(), 0);
        let nodes: Api<Node> = Api::all(client.clone());
        assert_eq!(nodes.list(&ListParams::default()).await.unwrap().items.len(), 1);

        let health = || async {
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
            client.request_text(request).await
        };
        assert_eq!(health().await.unwrap(), "ok");
        member.unready();
        assert!(health().await.is_err());
        api.get("d").await.unwrap();
    });
}

/// Who adds up what is free on a member sees a node of the size that was asked for, and pods that come and go with what
/// they belong to.
#[test]
fn a_node_of_ones_own_size_has_pods_that_take_of_it() {
    paused(async {
        let fleet = Fleet::start(&simulated_now(), &["member1"]);
        let member = fleet.member("member1").unwrap();
        let api: Api<Deployment> = Api::default_namespaced(member.client());
        let mut web = deployment("web", 3, "nginx:1");
        let container = &mut web["spec"]["template"]["spec"]["containers"][0];
        container["resources"] = json!({"requests": {"cpu": "2"}});
        api.create(&Default::default(), &typed(web)).await.unwrap();
        settle().await;
        let pods = || {
            let pods = member.sandbox().list("v1", "Pod");
            let said = |pod: &Value| {
                let (name, phase) = (&pod["metadata"]["name"], &pod["status"]["phase"]);
                let (node, cpu) = (
                    &pod["spec"]["nodeName"],
                    &pod["spec"]["containers"][0]["resources"]["requests"]["cpu"],
                );
                [name, node, cpu, phase].map(|text| text.as_str().unwrap_or_default().to_owned())
            };
            pods.iter().map(|pod| said(pod).join(" ")).collect::<Vec<_>>()
        };
        assert!(pods().is_empty(), "nobody asked for them");

        member.set_cpu_cores(7);
        settle().await;
        let nodes: Api<Node> = Api::all(member.client());
        let status = nodes.get("member1-node").await.unwrap().status.unwrap();
        assert_eq!(status.allocatable.unwrap()["cpu"].0, "7");
        assert_eq!(pods().len(), 3);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            pods(),
            [0, 1, 2].map(|number| format!("web-{number} member1-node 2 Running"))
        );

        let smaller = json!({"spec": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "c", "image": "nginx:1", "resources": {"requests": {"cpu": "1"}}},
        ]}}}});
        api.patch("web", &PatchParams::default(), &Patch::Merge(smaller))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(pods(), ["web-0 member1-node 1 Running"]);
        let version = member.sandbox().resource_version();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(member.sandbox().resource_version(), version, "nothing is written twice");

        api.delete("web", &Default::default()).await.unwrap();
        settle().await;
        assert!(pods().is_empty());
    });
}
