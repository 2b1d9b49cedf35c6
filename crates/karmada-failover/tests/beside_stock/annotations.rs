//! Second homes of fields on a server that keeps none of them: what is written, what a change does, and what becomes of text
//! that cannot be read.

use std::time::Duration;

use api_types::names::annotation;
use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::expect::BINDING;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube_sandbox::rules::Settings;
use serde_json::{Value, json};
use test_bench::stock::{in_stocks_form, serve_like_stock};

use crate::common::{World, simulate};

const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 0.5,
};
const LONG: Duration = Duration::from_secs(900);

fn world() -> World {
    let world = World::watched(&["member1", "member2"], Settings::exact(PACE.evictions_per_second));
    serve_like_stock(world.plane());
    world
}

fn stored(world: &World, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
    world.plane().get(api_version, kind, namespace, name).unwrap()
}

fn cluster(world: &World) -> Value {
    stored(world, "cluster.karmada.io/v1alpha1", "Cluster", None, "member1")
}

fn taints(cluster: &Value) -> Vec<String> {
    let taints = cluster["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let shown = |taint: &Value| {
        format!(
            "{}:{}",
            taint["key"].as_str().unwrap(),
            taint["effect"].as_str().unwrap()
        )
    };
    taints.iter().map(shown).collect()
}

fn annotated(object: &Value, name: &str) -> Option<Value> {
    let text = object["metadata"]["annotations"][name].as_str()?;
    Some(serde_json::from_str(text).unwrap())
}

async fn annotate(
    world: &World,
    (group, kind, plural): (&str, &str, &str),
    namespace: Option<&str>,
    name: &str,
    annotations: Value,
) {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1alpha1", kind), plural);
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(world.client(), namespace, &resource),
        None => Api::all_with(world.client(), &resource),
    };
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    api.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

fn events(world: &World, reason: &str) -> Vec<String> {
    let events = world.plane().list("v1", "Event");
    let notes = events.iter().filter(|event| event["reason"] == reason);
    notes
        .map(|event| event["message"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// PreferNoExecute while member1 is not ready.
fn prefer_no_execute() -> Value {
    let mut policy = example::taint_policies(&PACE).pop().unwrap();
    policy["spec"]["taintsToAdd"][0]["effect"] = json!("PreferNoExecute");
    in_stocks_form(policy)
}

#[test]
fn a_taint_that_the_server_refuses_stands_in_the_annotation_and_has_a_companion() {
    simulate(|| async {
        let world = world();
        world.create(prefer_no_execute());
        let ours = world.run("ours", &["--beside-stock"]).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        world.member("member1").stop();
        let tainted = || async { annotated(&cluster(&world), annotation::PREFER_NO_EXECUTE_TAINTS) };
        let taint = world.wait_for("the taint", LONG, tainted).await;
        assert_eq!(
            (&taint[0]["key"], &taint[0]["effect"]),
            (&json!("cluster.karmada.io/not-ready"), &json!("PreferNoExecute"))
        );
        assert!(taint[0]["timeAdded"].is_string());
        let companion = "failover.karmada.io/prefer-no-execute:NoSchedule".to_owned();
        assert!(taints(&cluster(&world)).contains(&companion));
        // The member is well again: the taint goes from the annotation, and its companion with it.
        world.member("member1").resume();
        let gone = || async {
            annotated(&cluster(&world), annotation::PREFER_NO_EXECUTE_TAINTS)
                .is_none()
                .then_some(())
        };
        world.wait_for("its end", LONG, gone).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!taints(&cluster(&world)).contains(&companion));
        world.finish(vec![ours]).await;
    });
}

#[test]
fn an_annotation_that_cannot_be_read_is_told_and_counts_as_absent() {
    simulate(|| async {
        let world = world();
        let mut policy = prefer_no_execute();
        policy["metadata"]["annotations"][annotation::WINDOWS] = json!("soon");
        policy["spec"]["removeOnConditions"] =
            json!([{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}]);
        policy["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
        let name = policy["metadata"]["name"].as_str().unwrap().to_owned();
        world.create(policy);
        let ours = world.run("ours", &["--beside-stock"]).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(events(&world, "AnnotationNotRead").len(), 1);
        world.member("member1").stop();
        let tainted = || async {
            taints(&cluster(&world))
                .contains(&"k:NoSchedule".to_owned())
                .then_some(world.clock.now())
        };
        world
            .wait_for("the taint, without a window", Duration::from_secs(60), tainted)
            .await;
        // Mended, and broken again in another way: told again.
        let kind = ("policy.karmada.io", "ClusterTaintPolicy", "clustertaintpolicies");
        for (text, told) in [("[]", 1), ("{}", 2)] {
            annotate(&world, kind, None, &name, json!({annotation::WINDOWS: text})).await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(events(&world, "AnnotationNotRead").len(), told, "{text}");
        }
        world.finish(vec![ours]).await;
    });
}

#[test]
fn what_a_policy_says_of_failover_is_carried_to_its_bindings() {
    simulate(|| async {
        let world = world();
        let ours = world.run("ours", &["--beside-stock"]).await;
        let mut policy = example::propagation_policy();
        policy["spec"]["failover"] = json!({"cluster": {"purgeMode": "Gracefully", "tolerationSeconds": 30}});
        let policy = in_stocks_form(policy);
        let name = policy["metadata"]["name"].as_str().unwrap().to_owned();
        world.create(example::deployment());
        world.create(policy);
        let said = |seconds: Option<i32>| {
            let world = &world;
            move || async move {
                let binding = world.binding(BINDING).await?;
                let behavior = binding.spec.failover?.cluster?;
                (behavior.toleration_seconds == seconds).then_some(())
            }
        };
        world.wait_for("what the annotation says", LONG, said(Some(30))).await;
        let raw = stored(
            &world,
            "work.karmada.io/v1alpha2",
            "ResourceBinding",
            Some("default"),
            "nginx-deployment",
        );
        assert_eq!(
            raw["spec"]["failover"]["cluster"],
            json!({"purgeMode": "Gracefully"}),
            "the server keeps stock's fields"
        );
        assert_eq!(
            raw["metadata"]["annotations"][annotation::FAILOVER],
            json!(r#"{"cluster":{"purgeMode":"Gracefully","tolerationSeconds":30}}"#)
        );
        // A change takes effect; one that cannot be read leaves stock's field, and is told; and none is none.
        let kind = ("policy.karmada.io", "PropagationPolicy", "propagationpolicies");
        for (text, seconds) in [
            (json!(r#"{"cluster": {"tolerationSeconds": 90}}"#), Some(90)),
            (json!(r#"{"cluster": {"tolerationSeconds": "x"}}"#), None),
            (json!(r#"{"cluster": {"tolerationSeconds": 7}}"#), Some(7)),
            (Value::Null, None),
        ] {
            annotate(
                &world,
                kind,
                Some("default"),
                &name,
                json!({annotation::FAILOVER: text}),
            )
            .await;
            world.wait_for("the change", LONG, said(seconds)).await;
        }
        assert_eq!(events(&world, "AnnotationNotRead").len(), 1);
        tokio::time::sleep(Duration::from_secs(30)).await;
        let quiet = world.plane().faults().writes().len();
        tokio::time::sleep(Duration::from_secs(30)).await;
        let writes = world.plane().faults().writes();
        let again: Vec<_> = writes[quiet..]
            .iter()
            .filter(|write| write.resource == "resourcebindings")
            .collect();
        assert!(again.is_empty(), "{again:?}");
        world.finish(vec![ours]).await;
    });
}
