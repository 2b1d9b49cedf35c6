//! The way of an object to its members and of its status back.

use serde_json::json;

use crate::world::{World, edit, limited};

#[tokio::test(start_paused = true)]
async fn a_deployment_reaches_its_members_and_its_status_comes_back() {
    limited(async {
        let world = World::running_web().await;
        assert_eq!(world.deployment_on("m1", "web").unwrap()["spec"]["replicas"], 1);
        assert_eq!(world.deployment_on("m2", "web").unwrap()["spec"]["replicas"], 2);
        assert_eq!(
            world.events_from("execution-controller"),
            [""; 0],
            "what succeeds at once is no news: it stands in the Work's conditions"
        );
        assert_eq!(
            world.events_from("propagation"),
            [""; 0],
            "each controller signs itself"
        );
        let item = world.item("web-deployment", "m2");
        assert_eq!(
            (&item["applied"], &item["settled"], &item["status"]["availableReplicas"]),
            (&json!(true), &json!(true), &json!(2))
        );
        assert!(item["creationTimestamp"].is_string() && item["collectedAt"].is_string());
        assert_eq!(
            world.condition("web-deployment", "FullyApplied")["reason"],
            "FullyAppliedSuccess"
        );
        assert_eq!(
            world.condition("web-deployment", "Scheduled")["status"],
            "True",
            "the scheduler's condition stays"
        );
        let template = world
            .control_plane()
            .get("apps/v1", "Deployment", Some("shop"), "web")
            .unwrap();
        assert_eq!(template["status"]["availableReplicas"], 3);
        assert_eq!(
            template["status"]["observedGeneration"],
            template["metadata"]["generation"]
        );
        assert!(template["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"].is_string());
        assert_eq!(
            template["metadata"]["annotations"]["propagationpolicy.karmada.io/name"],
            "deployment"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_nothing_changes() {
    limited(async {
        let mut world = World::running_web().await;
        world.settle().await;
        world.forget_writes();
        world.pass(3_600_000).await;
        assert_eq!(world.writes(), []);
        assert_eq!(world.member_writes("m1"), []);

        world.stop().await;
        world.forget_writes();
        world.start().await;
        world.pass(60_000).await;
        assert_eq!(world.writes(), [], "a restart changes nothing");
        assert_eq!(world.member_writes("m1"), []);
        assert_eq!(world.member_writes("m2"), []);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_template_and_a_changed_policy_reach_the_members() {
    limited(async {
        let world = World::running_web().await;
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        });
        world.settle().await;
        assert_eq!(
            world.deployment_on("m1", "web").unwrap()["spec"]["template"]["spec"]["containers"][0]["image"],
            "nginx:2"
        );

        world.edit(
            "policy.karmada.io/v1alpha1",
            "PropagationPolicy",
            Some("shop"),
            "deployment",
            |policy| {
                policy["spec"]["failover"] = json!({"cluster": {"purgeMode": "Directly"}});
                policy["spec"]["placement"]["clusterTolerations"] =
                    json!([{"key": "x", "operator": "Exists", "effect": "NoExecute"}]);
            },
        );
        world.settle().await;
        let spec = &world.binding("web-deployment").unwrap()["spec"];
        assert_eq!(spec["failover"]["cluster"]["purgeMode"], "Directly");
        assert_eq!(spec["placement"]["clusterTolerations"][0]["key"], "x");
        assert_eq!(
            spec["clusters"],
            json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}])
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_kind_arrives() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
        let always = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        for (api_version, kind, fields) in [
            ("v1", "ConfigMap", json!({"data": {"k": "v"}})),
            ("v1", "Secret", json!({"data": {"k": "dg=="}, "type": "Opaque"})),
            ("v1", "Service", json!({"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}})),
            ("batch/v1", "Job", json!({"spec": {"parallelism": 2, "completions": 2, "template": pod}})),
            ("apps/v1", "StatefulSet", json!({"spec": {"replicas": 2, "serviceName": "x", "selector": {"matchLabels": {"a": "b"}}, "template": always}})),
        ] {
            let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "shop", "name": "thing"}});
            for (field, value) in fields.as_object().unwrap() {
                object[field] = value.clone();
            }
            world.put(object);
            world.propagate(api_version, kind, json!({}));
            world.settle().await;
            let binding = format!("thing-{}", kind.to_lowercase());
            let replicas = i32::try_from(world.binding(&binding).unwrap()["spec"]["replicas"].as_i64().unwrap_or(0)).unwrap();
            world.schedule(&binding, &[("m1", replicas)]);
            world.settle().await;
            assert!(world.on("m1", api_version, kind, "thing").is_some(), "{kind}");
            assert_eq!(world.item(&binding, "m1")["health"], "Healthy", "{kind}: {}", world.item(&binding, "m1"));
            assert_eq!(world.condition(&binding, "FullyApplied")["status"], "True", "{kind}");
        }
        world.settle().await;
        world.forget_writes();
        world.pass(600_000).await;
        assert_eq!(world.writes(), []);
        assert_eq!(world.member_writes("m1"), []);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_member_changes_is_put_right_and_what_it_adds_stays() {
    limited(async {
        let world = World::running_web().await;
        let member = world.member("m1");
        edit(member.sandbox(), "apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["replicas"] = json!(7);
            web["metadata"]["labels"]["member"] = json!("own");
            web["metadata"]["labels"].as_object_mut().unwrap().remove("app");
        });
        world.settle().await;
        let web = world.deployment_on("m1", "web").unwrap();
        assert_eq!(web["spec"]["replicas"], 1);
        assert_eq!(
            (&web["metadata"]["labels"]["member"], &web["metadata"]["labels"]["app"]),
            (&json!("own"), &json!("web"))
        );

        crate::world::delete(member.sandbox(), "apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert!(
            world.deployment_on("m1", "web").is_some(),
            "what is deleted there comes back"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_karmada_did_not_make_is_left_alone_until_the_owner_says_otherwise() {
    limited(async {
        let mut world = World::new(&["m1"]);
        let there = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "thing"}, "data": {"k": "theirs"}});
        let member = world.member("m1");
        member.sandbox().put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})).unwrap();
        member.sandbox().put(there).unwrap();
        world.start().await;
        world.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "thing"}, "data": {"k": "ours"}}));
        world.propagate("v1", "ConfigMap", json!({}));
        world.settle().await;
        world.schedule("thing-configmap", &[("m1", 0)]);
        world.settle().await;
        let data = |world: &World| world.on("m1", "v1", "ConfigMap", "thing").unwrap()["data"]["k"].clone();
        assert_eq!(data(&world), "theirs");
        let item = world.item("thing-configmap", "m1");
        assert!(item["appliedMessage"].as_str().unwrap().contains("was not made by Karmada"), "{item}");
        assert_eq!(item["health"], "Unknown");
        assert!(world.events("thing").contains(&"SyncFailed".to_owned()));

        world.edit("policy.karmada.io/v1alpha1", "PropagationPolicy", Some("shop"), "configmap", |policy| {
            policy["spec"]["conflictResolution"] = json!("Overwrite");
        });
        world.settle().await;
        assert_eq!(data(&world), "ours");
        assert_eq!(world.item("thing-configmap", "m1")["applied"], true);
        let last = world.events_from("execution-controller").pop();
        let said = "ConfigMap thing SyncSucceed: Successfully applied resource(shop/thing) to cluster m1";
        assert_eq!(last.as_deref(), Some(said), "after a refusal it is news");
    })
    .await;
}

// One cluster whose execution namespace is missing or terminating keeps a new namespace from no other.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_takes_no_work_keeps_no_namespace_from_the_others() {
    limited(async {
        let mut world = World::new(&["m1", "m2", "m3"]);
        world.start().await;
        let refusal = kube_sandbox::Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "namespace karmada-es-m1 is being terminated".into(),
        };
        let creates = kube_sandbox::Match::any()
            .verb(kube_sandbox::Verb::Create)
            .resource("works");
        world
            .control_plane()
            .faults()
            .inject(creates.namespace("karmada-es-m1"), refusal);
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bank"}}));
        world.settle().await;
        let has = |name: &str| {
            world
                .member(name)
                .sandbox()
                .get("v1", "Namespace", None, "bank")
                .is_some()
        };
        assert_eq!((has("m1"), has("m2"), has("m3")), (false, true, true));
        let told = world.events_from("namespace-sync-controller");
        let words = "Namespace bank SyncWorkFailed: the Work that makes this namespace in cluster m1 was not written: \
            HTTP 403: namespace karmada-es-m1 is being terminated";
        assert!(told.iter().any(|said| said == words), "{told:?}");
        world.control_plane().faults().clear();
        world.pass(1_000_000).await;
        assert!(has("m1"));
    })
    .await;
}

// Without requests it is no workload while it has no replicas, and it is everywhere. Scaled up, its template says more
// before its binding and its result do.
#[tokio::test(start_paused = true)]
async fn what_is_scaled_up_from_nothing_runs_nowhere_more_than_it_should() {
    limited(async {
        let mut world = World::new(&["m1", "m2", "m3"]);
        world.start().await;
        world.propagate("apps/v1", "Deployment", json!({}));
        world.deployment("web", 1);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 1)]);
        world.settle().await;
        let scale = |replicas: i32| {
            world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
                web["spec"]["replicas"] = json!(replicas);
            });
        };
        let asked = || -> i64 {
            let works = world.works();
            let manifests = works.iter().map(|work| &work["spec"]["workload"]["manifests"][0]);
            manifests
                .filter_map(|manifest| manifest["spec"]["replicas"].as_i64())
                .sum()
        };
        scale(0);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 0), ("m2", 0), ("m3", 0)]);
        world.settle().await;
        assert_eq!(
            (
                world
                    .works()
                    .iter()
                    .filter(|work| work["spec"]["workload"]["manifests"][0]["kind"] == "Deployment")
                    .count(),
                asked()
            ),
            (3, 0)
        );
        // The binding follows its template late.
        let slow = kube_sandbox::Effect::Latency(std::time::Duration::from_secs(3));
        let bindings = kube_sandbox::Match::writes().resource("resourcebindings");
        world.control_plane().faults().inject(bindings, slow);
        scale(5);
        for step in 0..100 {
            if step == 50 {
                world.schedule("web-deployment", &[("m2", 5)]);
            }
            world.pass(100).await;
            assert!(asked() <= 5, "{} replicas", asked());
        }
        assert_eq!(world.deployment_on("m2", "web").unwrap()["spec"]["replicas"], 5);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_made_in_the_members() {
    limited(async {
        let mut world = World::with_housekeeping(&["m1"], kube_sandbox::Housekeeping::AtOnce);
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "private", "labels": {"namespace.karmada.io/skip-auto-propagation": "true"}}}));
        world.start().await;
        let names = |world: &World| -> Vec<String> {
            let all = world.member("m1").sandbox().list("v1", "Namespace");
            all.iter().map(|namespace| namespace["metadata"]["name"].as_str().unwrap().to_owned()).collect()
        };
        assert!(names(&world).contains(&"shop".to_owned()));
        for kept in ["private", "karmada-system", "karmada-cluster", "karmada-es-m1"] {
            assert!(!names(&world).contains(&kept.to_owned()), "{kept}");
        }
        let kube_system = world.member("m1").sandbox().get("v1", "Namespace", None, "kube-system").unwrap();
        assert!(kube_system["metadata"]["labels"]["karmada.io/managed"].is_null());

        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bank"}}));
        world.settle().await;
        assert!(names(&world).contains(&"bank".to_owned()));
        // One that the member had before is neither changed nor deleted.
        world.member("m1").sandbox().put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}})).unwrap();
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}}));
        world.settle().await;
        world.delete("v1", "Namespace", None, "theirs").await;
        world.settle().await;
        let theirs = world.member("m1").sandbox().get("v1", "Namespace", None, "theirs").unwrap();
        assert!(theirs["metadata"]["deletionTimestamp"].is_null() && theirs["metadata"]["labels"]["karmada.io/managed"].is_null());
        world.delete("v1", "Namespace", None, "bank").await;
        world.settle().await;
        assert!(!names(&world).contains(&"bank".to_owned()));
    })
    .await;
}
