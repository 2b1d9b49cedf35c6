//! Members that stop, hang, come back, or go for good.

use serde_json::json;

use crate::handmade::config;
use crate::world::{World, delete, limited};

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_a_member_that_is_away_and_happens_at_once_on_its_return() {
    limited(async {
        let world = World::running_web().await;
        world.lose("m1");
        world.pass(50_000).await;
        assert_eq!(
            world.item("web-deployment", "m1")["health"],
            "Healthy",
            "away for a moment"
        );
        world.pass(15_000).await;
        assert_eq!(
            world.item("web-deployment", "m1")["health"],
            "Unknown",
            "a silent cluster is not called healthy for ever"
        );
        world.evict("web-deployment", "m1", "Gracefully", &[("m2", 3)]);
        world.settle().await;
        assert_eq!(world.deployment_on("m2", "web").unwrap()["spec"]["replicas"], 3);
        let old = world.work("m1", "Deployment", "web").unwrap();
        assert!(
            old["metadata"]["deletionTimestamp"].is_null(),
            "it stays until the task goes"
        );
        assert_eq!(
            old["spec"]["workload"]["manifests"][0]["spec"]["replicas"], 1,
            "and is not rendered anew"
        );

        world.drop_tasks("web-deployment");
        // Something new for m1 while it is away: it has to wait until the old is gone.
        world.deployment("api", 1);
        world.settle().await;
        world.schedule("api-deployment", &[("m1", 1)]);
        world.pass(30 * 60_000).await;
        let old = world.work("m1", "Deployment", "web").unwrap();
        assert!(old["metadata"]["deletionTimestamp"].is_string());
        assert_eq!(
            old["metadata"]["finalizers"],
            json!(["karmada.io/execution-controller"])
        );
        assert!(world.deployment_on("m1", "web").is_some());
        assert!(world.item("web-deployment", "m1").is_null());

        world.forget_writes();
        // Also when the member is slow to say what it has of the old copy.
        let slow = kube_sandbox::Match::any()
            .verb(kube_sandbox::Verb::Get)
            .resource("deployments")
            .name("web");
        world
            .member("m1")
            .faults()
            .inject(slow, kube_sandbox::Effect::Latency(std::time::Duration::from_secs(1)));
        world.regain("m1");
        world.pass(4_000).await;
        assert!(world.deployment_on("m1", "web").is_none(), "gone within seconds");
        assert!(world.work("m1", "Deployment", "web").is_none());
        assert!(world.deployment_on("m1", "api").is_some());
        let first = &world.member_writes("m1")[0];
        assert_eq!(
            (first.verb, first.name.as_deref()),
            (kube_sandbox::Verb::Delete, Some("web")),
            "before anything is applied"
        );
        assert_eq!(world.deployment_on("m2", "web").unwrap()["spec"]["replicas"], 3);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_task_and_place_loses_its_copy() {
    limited(async {
        let world = World::running_web().await;
        world.schedule("web-deployment", &[("m2", 3)]);
        world.settle().await;
        assert!(world.deployment_on("m1", "web").is_none());
        assert!(world.work("m1", "Deployment", "web").is_none());
        assert_eq!(world.condition("web-deployment", "FullyApplied")["status"], "True");
        // argoproj/argo-cd#11939: a truly empty result is no error, and what is there goes.
        world.schedule("web-deployment", &[]);
        world.settle().await;
        assert!(world.deployment_on("m2", "web").is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn directly_the_old_copy_goes_before_the_new_one_comes() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.start().await;
        world.propagate("apps/v1", "Deployment", json!({}));
        world.deployment("web", 3);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 3)]);
        world.settle().await;
        world.forget_writes();
        world.evict("web-deployment", "m1", "Directly", &[("m2", 3)]);
        world.settle().await;
        assert!(world.deployment_on("m1", "web").is_none());
        assert_eq!(world.deployment_on("m2", "web").unwrap()["spec"]["replicas"], 3);
        let gone_at = world.member_writes("m1")[0].at;
        let created_at = world.member_writes("m2")[0].at;
        assert!(gone_at <= created_at, "{gone_at} {created_at}");
        let works: Vec<_> = world
            .writes()
            .into_iter()
            .filter(|w| w.resource == "works" && w.changed)
            .collect();
        let released = works
            .iter()
            .position(|w| w.verb == kube_sandbox::Verb::Patch && w.namespace.as_deref() == Some("karmada-es-m1"))
            .unwrap();
        let created = works
            .iter()
            .position(|w| w.verb == kube_sandbox::Verb::Create && w.namespace.as_deref() == Some("karmada-es-m2"))
            .unwrap();
        assert!(released < created);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn directly_a_silent_cluster_is_waited_for_and_then_named() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.start().await;
        world.propagate("apps/v1", "Deployment", json!({}));
        world.deployment("web", 3);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 3)]);
        world.settle().await;
        world.lose("m1");
        world.evict("web-deployment", "m1", "Directly", &[("m2", 3)]);
        world.pass(29_000).await;
        assert!(world.deployment_on("m2", "web").is_none());
        world.pass(2_000).await;
        assert!(world.deployment_on("m2", "web").is_some());
        world.settle().await;
        let warnings = world.events("web-deployment");
        assert_eq!(
            warnings
                .iter()
                .filter(|reason| *reason == "OldCopyNotConfirmedGone")
                .count(),
            1
        );
        world.regain("m1");
        world.settle().await;
        assert!(world.deployment_on("m1", "web").is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_hangs_delays_no_other() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.start().await;
        world.member("m1").hang();
        world.propagate("v1", "ConfigMap", json!({}));
        for n in 0..20 {
            world.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": format!("c{n}")}, "data": {"k": "v"}}));
        }
        world.settle().await;
        for n in 0..20 {
            world.schedule(&format!("c{n}-configmap"), &[("m1", 0), ("m2", 0)]);
        }
        world.pass(1_000).await;
        assert!((0..20).all(|n| world.on("m2", "v1", "ConfigMap", &format!("c{n}")).is_some()));
        world.pass(60_000).await;
        let item = world.item("c0-configmap", "m1");
        assert_eq!((&item["health"], item["applied"].as_bool()), (&json!("Unknown"), None));
        world.member("m1").resume();
        world.pass(360_000).await;
        assert!((0..20).all(|n| world.on("m1", "v1", "ConfigMap", &format!("c{n}")).is_some()));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_secret_is_missing_is_named_and_the_others_go_on() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.delete("v1", "Secret", Some("karmada-cluster"), "m1").await;
        world.start().await;
        world.propagate("v1", "ConfigMap", json!({}));
        world.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "c"}, "data": {"k": "v"}}));
        world.settle().await;
        world.schedule("c-configmap", &[("m1", 0), ("m2", 0)]);
        world.settle().await;
        assert!(world.on("m2", "v1", "ConfigMap", "c").is_some());
        assert!(world.on("m1", "v1", "ConfigMap", "c").is_none());
        let said = world.condition("c-configmap", "FullyApplied");
        let words = "nothing has been said of the Work for cluster m1 yet";
        assert!(said["status"] == "False" && said["message"].as_str().unwrap().contains(words), "{said}");
        world.join("m1");
        world.settle().await;
        assert!(world.on("m1", "v1", "ConfigMap", "c").is_some(), "with its Secret it is served");
        assert_eq!(world.condition("c-configmap", "FullyApplied")["status"], "True");
    })
    .await;
}

// A member that comes back re-installed is Ready before anything was read there.
#[tokio::test(start_paused = true)]
async fn a_member_that_comes_back_is_not_healthy_by_what_it_ran_before() {
    limited(async {
        let world = World::running_web().await;
        world.lose("m1");
        world.lose("m2");
        world.pass(70_000).await;
        let health = |member: &str| world.item("web-deployment", member)["health"].clone();
        assert_eq!((health("m1"), health("m2")), (json!("Unknown"), json!("Unknown")));
        let member = world.member("m1");
        delete(member.sandbox(), "apps/v1", "Deployment", Some("shop"), "web").await;
        member.behave(kube_sandbox::Who::Everything, kube_sandbox::Behaviour::NeverReady);
        world.regain("m1");
        world.regain("m2");
        for _ in 0..400 {
            assert_ne!(health("m1"), "Healthy");
            world.pass(100).await;
        }
        assert_eq!(health("m1"), "Unhealthy");
        assert_eq!(health("m2"), "Healthy", "as nothing else was reported");
    })
    .await;
}

// A field of which the Work says nothing may be a default, or another controller's: what our own write left there tells.
#[tokio::test(start_paused = true)]
async fn what_somebody_adds_is_taken_away_while_our_last_write_is_known() {
    limited(async {
        let mut world = World::running_web().await;
        let add = |world: &World| {
            let member = world.member("m1");
            let mut copy = member
                .sandbox()
                .get("apps/v1", "Deployment", Some("shop"), "web")
                .unwrap();
            copy["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
            member.sandbox().put(copy).unwrap();
        };
        let added = |world: &World| {
            world.deployment_on("m1", "web").unwrap()["spec"]["template"]["spec"]["nodeSelector"].clone()
        };
        add(&world);
        world.settle().await;
        assert!(added(&world).is_null());

        world.stop().await;
        add(&world);
        world.forget_writes();
        world.start().await;
        world.pass(60_000).await;
        assert_eq!(world.member_writes("m1"), [], "a start writes nothing");
        assert!(!added(&world).is_null());
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        });
        world.settle().await;
        assert!(added(&world).is_null(), "gone with the next change of the Work");
    })
    .await;
}

// C104, C118; karmada#387: the delete of a Work while its cluster is down is not forgotten; and the cluster can still leave.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_gone_for_good_releases_its_works() {
    limited(async {
        let world = World::running_web().await;
        world.lose("m1");
        world.schedule("web-deployment", &[("m2", 3)]);
        world.pass(600_000).await;
        assert!(world.work("m1", "Deployment", "web").is_some());
        world.delete("cluster.karmada.io/v1alpha1", "Cluster", None, "m1").await;
        world.settle().await;
        assert!(world.work("m1", "Deployment", "web").is_none());
        let told = world
            .events("m1")
            .into_iter()
            .filter(|reason| reason == "WorksReleased");
        assert_eq!(told.count(), 1);
        let metrics = world.metrics();
        assert!(
            metrics.contains("member=\"m2\"") && !metrics.contains("m1"),
            "{metrics}"
        );
        assert_eq!(controller_kit::metrics::complaints(&metrics), [""; 0]);
    })
    .await;
}

// C118, Azure/fleet#881: 500 Works are let go many at a time, however long each answer takes.
#[tokio::test(start_paused = true)]
async fn five_hundred_works_of_a_cluster_that_is_gone_are_let_go_together() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start_only("execution").await;
        world.settle().await;
        for n in 0..500 {
            world.bring("m1", &format!("c{n}"), &[config(&format!("c{n}"), "v")]);
        }
        world.pass(20_000).await;
        world.lose("m1");
        for n in 0..500 {
            world.withdraw("m1", &format!("c{n}")).await;
        }
        world.pass(60_000).await;
        assert_eq!(world.works().len(), 500, "it may come back");
        let slow = kube_sandbox::Effect::Latency(std::time::Duration::from_millis(100));
        world.control_plane().faults().inject(kube_sandbox::Match::any(), slow);
        world.delete("cluster.karmada.io/v1alpha1", "Cluster", None, "m1").await;
        // Two requests for each: 100 s one by one.
        world.pass(10_000).await;
        assert_eq!(world.works().len(), 0);
    })
    .await;
}

// C102, karmada#3740.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_given_up_releases_its_works_with_its_namespace() {
    limited(async {
        let world = World::running_web().await;
        world.lose("m1");
        world.edit("cluster.karmada.io/v1alpha1", "Cluster", None, "m1", |cluster| {
            cluster["metadata"]["finalizers"] = json!(["karmada.io/cluster-controller"]);
        });
        world.schedule("web-deployment", &[("m2", 3)]);
        world.delete("cluster.karmada.io/v1alpha1", "Cluster", None, "m1").await;
        world.pass(600_000).await;
        assert!(
            world.work("m1", "Deployment", "web").is_some(),
            "it may come back until it is given up"
        );
        world.delete("v1", "Namespace", None, "karmada-es-m1").await;
        world.settle().await;
        assert!(world.work("m1", "Deployment", "web").is_none());
    })
    .await;
}

// C102, the other order: its namespace has begun to go while the member still answered, and slowly, or so it seems.
#[tokio::test(start_paused = true)]
async fn a_member_that_dies_after_its_namespace_began_to_go_releases_its_works() {
    limited(async {
        let world = World::running_web().await;
        world.edit("cluster.karmada.io/v1alpha1", "Cluster", None, "m1", |cluster| {
            cluster["metadata"]["finalizers"] = json!(["karmada.io/cluster-controller"]);
        });
        world.delete("cluster.karmada.io/v1alpha1", "Cluster", None, "m1").await;
        world.member("m1").hang();
        world.schedule("web-deployment", &[("m2", 3)]);
        world.delete("v1", "Namespace", None, "karmada-es-m1").await;
        world.pass(60_000).await;
        assert!(
            world.work("m1", "Deployment", "web").is_some(),
            "it counts as Ready, so it may answer"
        );
        world.ready("m1", "Unknown");
        world.settle().await;
        assert!(world.work("m1", "Deployment", "web").is_none());
        assert!(world.events("m1").contains(&"WorksReleased".to_owned()));
    })
    .await;
}

// FullyApplied is of this version of the Works, not of the one that the member was given last.
#[tokio::test(start_paused = true)]
async fn a_version_that_a_member_has_not_been_given_is_said() {
    limited(async {
        let world = World::running_web().await;
        let change = |image: &str| {
            world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
                web["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
            });
        };
        world.forget_writes();
        world.lose("m1");
        change("nginx:2");
        world.pass(4_000).await;
        assert_eq!(world.condition("web-deployment", "FullyApplied")["status"], "True", "for a moment");
        world.pass(4_000).await;
        let said = world.condition("web-deployment", "FullyApplied");
        let words = "Failed to apply all works, see status.aggregatedStatus for details; cluster m1: this version is not applied yet";
        assert_eq!((&said["status"], &said["message"]), (&json!("False"), &json!(words)));
        assert_eq!(world.item("web-deployment", "m1")["applied"], true, "the copy that is there was");
        world.regain("m1");
        world.settle().await;
        assert_eq!(world.condition("web-deployment", "FullyApplied")["status"], "True");
    })
    .await;
}

// What a change costs that goes through at once.
#[tokio::test(start_paused = true)]
async fn a_change_that_goes_through_costs_no_word() {
    limited(async {
        let mut world = World::new(&["m1", "m2", "m3"]);
        world.start().await;
        world.propagate("v1", "ConfigMap", json!({}));
        world.put(config("c", "1"));
        world.settle().await;
        world.schedule("c-configmap", &[("m1", 0), ("m2", 0), ("m3", 0)]);
        world.settle().await;
        for (member, seconds) in [("m2", 1), ("m3", 2)] {
            let slow = kube_sandbox::Effect::Latency(std::time::Duration::from_secs(seconds));
            world
                .member(member)
                .faults()
                .inject(kube_sandbox::Match::writes(), slow);
        }
        world.forget_writes();
        world.put(config("c", "2"));
        world.pass(60_000).await;
        for member in ["m1", "m2", "m3"] {
            assert_eq!(world.on(member, "v1", "ConfigMap", "c").unwrap()["data"]["k"], "2");
        }
        let of_bindings = world
            .writes()
            .into_iter()
            .filter(|write| write.resource == "resourcebindings");
        assert_eq!(of_bindings.collect::<Vec<_>>(), []);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_refuses_us_is_quoted() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.start().await;
        let refusal = kube_sandbox::Effect::Error { code: 401, reason: "Unauthorized".into(), message: "token expired".into() };
        world.member("m1").faults().inject(kube_sandbox::Match::any(), refusal);
        world.propagate("v1", "ConfigMap", json!({}));
        world.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "c"}, "data": {"k": "v"}}));
        world.settle().await;
        world.schedule("c-configmap", &[("m1", 0), ("m2", 0)]);
        world.pass(20_000).await;
        let message = world.item("c-configmap", "m1")["appliedMessage"].clone();
        assert_eq!(message, "Failed to apply all manifests (0/1): HTTP 401: token expired");
        assert_eq!(world.item("c-configmap", "m2")["applied"], true);
        world.member("m1").faults().clear();
        world.pass(360_000).await;
        assert_eq!(world.item("c-configmap", "m1")["applied"], true);
    })
    .await;
}
