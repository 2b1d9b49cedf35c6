//! Propagation on a real control plane and a real member: what the sandbox cannot prove.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on fails, and its helpers are part of it"
)]

use std::time::Duration;

use api_types::names::work_name;
use controller_kit::{KitFlags, Process, Running};
use e2e_harness::{ControlPlane, Identity, Member, available, eventually};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use propagation_controllers::{Flags, controllers};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);

struct World {
    client: Client,
    member: Client,
    _process: Running,
}

fn api(client: &Client, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

async fn create(client: &Client, object: Value) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let (version, kind) = (text("/apiVersion").unwrap(), text("/kind").unwrap());
    let api = api(client, &version, &kind, text("/metadata/namespace").as_deref());
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object)
        .await
        .unwrap_or_else(|error| panic!("{kind}: {error}"));
}

async fn get(client: &Client, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
    let found = api(client, api_version, kind, namespace).get_opt(name).await.unwrap()?;
    Some(serde_json::to_value(found).unwrap())
}

async fn merge(client: &Client, api_version: &str, kind: &str, namespace: Option<&str>, name: &str, patch: Value) {
    let api = api(client, api_version, kind, namespace);
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

async fn merge_status(
    client: &Client,
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
    patch: Value,
) {
    let api = api(client, api_version, kind, namespace);
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

const RB: &str = "work.karmada.io/v1alpha2";

impl World {
    async fn start(control_plane: &ControlPlane, member: &Member) -> Self {
        let client = control_plane.client().await.unwrap();
        let crds =
            Api::<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition>::all(
                client.clone(),
            );
        for crd in api_types::crds() {
            crds.create(&PostParams::default(), &crd).await.unwrap();
        }
        let name = member.name();
        for namespace in [
            "karmada-system",
            "karmada-cluster",
            "shop",
            &format!("karmada-es-{name}"),
        ] {
            create(
                &client,
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            )
            .await;
        }
        create(
            &client,
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "karmada-cluster", "name": name},
            "stringData": {"token": member.api().token(Identity::Admin), "caBundle": member.api().ca_bundle()}}),
        )
        .await;
        eventually("the CRDs are served", SOON, async || {
            let clusters = api(&client, "cluster.karmada.io/v1alpha1", "Cluster", None);
            clusters
                .list(&kube::api::ListParams::default())
                .await
                .map(drop)
                .map_err(|error| error.to_string())
        })
        .await
        .unwrap();
        create(&client, json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "apiEndpoint": member.api().endpoint(), "secretRef": {"namespace": "karmada-cluster", "name": name}}})).await;
        let process = Process::builder("propagation", client.clone())
            .flags(KitFlags::default())
            .controllers(controllers(Flags::default()))
            .start()
            .await
            .unwrap();
        let world = Self {
            client,
            member: member.client().await.unwrap(),
            _process: process,
        };
        world.ready(name, "True").await;
        world
    }

    async fn ready(&self, cluster: &str, status: &str) {
        let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(controller_kit::Clock::system().now());
        let condition =
            json!({"type": "Ready", "status": status, "reason": "Test", "message": "", "lastTransitionTime": now});
        let patch = json!({"status": {"conditions": [condition]}});
        merge_status(
            &self.client,
            "cluster.karmada.io/v1alpha1",
            "Cluster",
            None,
            cluster,
            patch,
        )
        .await;
    }

    /// Template, policy, and the scheduler's result; waits until the copy is healthy.
    async fn run(&self, api_version: &str, kind: &str, fields: Value, cluster: &str) {
        let mut object =
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "shop", "name": "thing"}});
        for (field, value) in fields.as_object().unwrap() {
            object[field] = value.clone();
        }
        create(&self.client, object).await;
        create(
            &self.client,
            json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"namespace": "shop", "name": kind.to_lowercase()},
            "spec": {"resourceSelectors": [{"apiVersion": api_version, "kind": kind, "name": "thing"}],
                "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}}}),
        )
        .await;
        let name = format!("thing-{}", kind.to_lowercase());
        let binding = eventually("there is a binding", SOON, async || {
            get(&self.client, RB, "ResourceBinding", Some("shop"), &name)
                .await
                .ok_or_else(|| "none".to_owned())
        })
        .await
        .unwrap();
        let target = match binding["spec"]["replicas"].as_i64() {
            Some(replicas) => json!({"name": cluster, "replicas": replicas}),
            None => json!({"name": cluster}),
        };
        merge(
            &self.client,
            RB,
            "ResourceBinding",
            Some("shop"),
            &name,
            json!({"spec": {"clusters": [target]}}),
        )
        .await;
        eventually(&format!("{kind} is healthy"), SOON, async || {
            let binding = get(&self.client, RB, "ResourceBinding", Some("shop"), &name)
                .await
                .unwrap();
            let items = &binding["status"]["aggregatedStatus"];
            if items[0]["health"] == "Healthy" {
                Ok(())
            } else {
                Err(format!("{items}"))
            }
        })
        .await
        .unwrap();
    }

    /// Versions of all that propagation writes.
    async fn versions(&self) -> Vec<String> {
        let mut versions = Vec::new();
        let kinds = [
            (RB, "ResourceBinding"),
            ("work.karmada.io/v1alpha1", "Work"),
            ("apps/v1", "Deployment"),
            ("apps/v1", "StatefulSet"),
            ("batch/v1", "Job"),
            ("v1", "ConfigMap"),
            ("v1", "Secret"),
            ("v1", "Service"),
            ("v1", "Event"),
        ];
        for (version, kind) in kinds {
            for client in [&self.client, &self.member] {
                let listed = api(client, version, kind, None)
                    .list(&kube::api::ListParams::default())
                    .await;
                for object in listed.map(|list| list.items).unwrap_or_default() {
                    let metadata = object.metadata;
                    versions.push(format!("{kind} {:?} {:?}", metadata.name, metadata.resource_version));
                }
            }
        }
        versions
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_goes_its_whole_way() {
    if available("propagation on real API servers").is_none() {
        return;
    }
    let control_plane = ControlPlane::start().await.unwrap();
    let mut member = control_plane.start_member("m1").await.unwrap();
    let world = World::start(&control_plane, &member).await;

    let pod = |image: &str| json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": image}]}});
    let mut once = pod("finish");
    once["spec"]["restartPolicy"] = json!("Never");
    let selector = json!({"matchLabels": {"a": "b"}});
    for (api_version, kind, fields) in [
        (
            "apps/v1",
            "Deployment",
            json!({"spec": {"replicas": 2, "selector": selector, "template": pod("nginx")}}),
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"spec": {"replicas": 1, "serviceName": "x", "selector": selector, "template": pod("nginx")}}),
        ),
        (
            "batch/v1",
            "Job",
            json!({"spec": {"parallelism": 1, "completions": 1, "template": once}}),
        ),
        ("v1", "ConfigMap", json!({"data": {"k": "v"}})),
        ("v1", "Secret", json!({"data": {"k": "dg=="}, "type": "Opaque"})),
        (
            "v1",
            "Service",
            json!({"spec": {"type": "NodePort", "selector": {"a": "b"}, "ports": [{"port": 80}]}}),
        ),
    ] {
        world.run(api_version, kind, fields, "m1").await;
    }
    let template = get(&world.client, "apps/v1", "Deployment", Some("shop"), "thing")
        .await
        .unwrap();
    assert_eq!(template["status"]["availableReplicas"], 2, "{}", template["status"]);
    eventually("the Job is complete", SOON, async || {
        let job = get(&world.client, "batch/v1", "Job", Some("shop"), "thing")
            .await
            .unwrap();
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let complete = conditions
            .iter()
            .any(|c| c["type"] == "Complete" && c["status"] == "True");
        if complete {
            Ok(())
        } else {
            Err(format!("{}", job["status"]))
        }
    })
    .await
    .unwrap();
    let namespace = get(&world.member, "v1", "Namespace", None, "shop").await.unwrap();
    assert_eq!(namespace["metadata"]["labels"]["karmada.io/managed"], "true");

    // At rest nothing is written.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = world.versions().await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(world.versions().await, before);

    // What the member changes is put right; what it chose stays.
    let service = get(&world.member, "v1", "Service", Some("shop"), "thing")
        .await
        .unwrap();
    merge(
        &world.member,
        "v1",
        "Service",
        Some("shop"),
        "thing",
        json!({"spec": {"selector": {"a": "c"}}}),
    )
    .await;
    merge(
        &world.member,
        "v1",
        "ConfigMap",
        Some("shop"),
        "thing",
        json!({"data": {"added": "1"}}),
    )
    .await;
    merge(
        &world.member,
        "apps/v1",
        "Deployment",
        Some("shop"),
        "thing",
        json!({"spec": {"replicas": 5}}),
    )
    .await;
    eventually("the member is as it should be", SOON, async || {
        let config = get(&world.member, "v1", "ConfigMap", Some("shop"), "thing")
            .await
            .unwrap();
        let now = get(&world.member, "v1", "Service", Some("shop"), "thing")
            .await
            .unwrap();
        let web = get(&world.member, "apps/v1", "Deployment", Some("shop"), "thing")
            .await
            .unwrap();
        let right =
            config["data"] == json!({"k": "v"}) && now["spec"] == service["spec"] && web["spec"]["replicas"] == 2;
        if right {
            Ok(())
        } else {
            Err(format!(
                "{} {} {}",
                config["data"], now["spec"], web["spec"]["replicas"]
            ))
        }
    })
    .await
    .unwrap();

    // The member goes; the template is deleted meanwhile; the member comes back.
    member.stop_apiserver().unwrap();
    world.ready("m1", "False").await;
    let deployments = api(&world.client, "apps/v1", "Deployment", Some("shop"));
    deployments.delete("thing", &DeleteParams::default()).await.unwrap();
    let work = work_name("Deployment", Some("shop"), "thing");
    eventually("the Work waits", SOON, async || {
        let work = get(
            &world.client,
            "work.karmada.io/v1alpha1",
            "Work",
            Some("karmada-es-m1"),
            &work,
        )
        .await;
        let waits = work
            .as_ref()
            .is_some_and(|work| work["metadata"]["deletionTimestamp"].is_string());
        if waits { Ok(()) } else { Err(format!("{work:?}")) }
    })
    .await
    .unwrap();
    member.start_apiserver().await.unwrap();
    world.ready("m1", "True").await;
    eventually("the copy and its Work are gone", Duration::from_secs(15), async || {
        let copy = get(&world.member, "apps/v1", "Deployment", Some("shop"), "thing").await;
        let work = get(
            &world.client,
            "work.karmada.io/v1alpha1",
            "Work",
            Some("karmada-es-m1"),
            &work,
        )
        .await;
        let binding = get(&world.client, RB, "ResourceBinding", Some("shop"), "thing-deployment").await;
        if copy.is_none() && work.is_none() && binding.is_none() {
            Ok(())
        } else {
            Err(format!("{copy:?} {work:?} {binding:?}"))
        }
    })
    .await
    .unwrap();
    assert!(
        get(&world.member, "v1", "ConfigMap", Some("shop"), "thing")
            .await
            .is_some(),
        "the others stay"
    );
}
