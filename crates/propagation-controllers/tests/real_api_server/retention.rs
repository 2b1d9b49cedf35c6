//! What of an object is the member's: it stays when the template changes, and is not fought over.

use serde_json::{Value, json};

use crate::identity::Bound;
use crate::world::{World, deployment, pod};

async fn on_m1(world: &World, template: Value, replicas: i32) -> Bound {
    let bound = world.spread(template, json!({})).await;
    world.place(&bound, &[("m1", replicas)]).await;
    world.applied(&bound, "m1").await;
    bound
}

pub async fn what_is_the_members_stays(world: &World) {
    replicas_of_an_autoscaler(world).await;
    addresses_of_a_service(world).await;
    volume_of_a_claim(world).await;
    secrets_of_an_account(world).await;
    selector_of_a_job(world).await;
}

async fn replicas_of_an_autoscaler(world: &World) {
    let mut scaled = deployment("retention", "scaled", 1);
    scaled["metadata"]["labels"] = json!({"resourcetemplate.karmada.io/retain-replicas": "true"});
    let scaled = on_m1(world, scaled, 1).await;
    // The member's own autoscaler, and people who add what is nobody else's business.
    let own =
        json!({"labels": {"team": "a"}, "annotations": {"example.io/note": "b"}, "finalizers": ["example.io/audit"]});
    world
        .m1
        .merge(&scaled.template, json!({"spec": {"replicas": 3}, "metadata": own}))
        .await;
    let image = json!([{"name": "c", "image": "nginx:2"}]);
    world
        .plane
        .merge(
            &scaled.template,
            json!({"spec": {"template": {"spec": {"containers": image}}}}),
        )
        .await;
    let follows = |copy: &Value| copy.pointer("/spec/template/spec/containers/0/image") == Some(&json!("nginx:2"));
    let copy = world.m1.until(&scaled.template, "follows", follows).await;
    assert_eq!(copy["spec"]["replicas"], 3);
    assert_eq!(copy["metadata"]["labels"]["team"], "a");
    assert_eq!(copy["metadata"]["annotations"]["example.io/note"], "b");
    assert_eq!(copy["metadata"]["finalizers"], json!(["example.io/audit"]));
    world
        .item(&scaled, "m1", "three replicas", |item| item["status"]["replicas"] == 3)
        .await;
    world.healthy(&scaled, "m1").await;
}

async fn addresses_of_a_service(world: &World) {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "retention", "name": "front"},
        "spec": {"type": "NodePort", "selector": {"app": "x"}, "ports": [{"name": "a", "port": 80}]}});
    let service = on_m1(world, service, 0).await;
    let before = world.m1.get(&service.template).await.unwrap();
    let ours = world.plane.get(&service.template).await.unwrap();
    assert_ne!(
        before["spec"]["clusterIP"], ours["spec"]["clusterIP"],
        "by chance: run it again"
    );
    let more = json!({"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}});
    world.plane.merge(&service.template, more).await;
    let two = |copy: &Value| copy["spec"]["ports"].as_array().is_some_and(|ports| ports.len() == 2);
    let copy = world.m1.until(&service.template, "has two ports", two).await;
    for field in ["clusterIP", "clusterIPs", "ipFamilies"] {
        assert_eq!(copy["spec"][field], before["spec"][field], "{field}");
    }
    assert_eq!(
        copy["spec"]["ports"][0]["nodePort"],
        before["spec"]["ports"][0]["nodePort"]
    );

    // Without node ports, then without any address, and back.
    world
        .plane
        .merge(&service.template, json!({"spec": {"type": "ClusterIP"}}))
        .await;
    let copy = world
        .m1
        .until(&service.template, "is a ClusterIP", |copy| {
            copy["spec"]["type"] == "ClusterIP"
        })
        .await;
    assert_eq!(copy["spec"]["clusterIP"], before["spec"]["clusterIP"]);
    assert!(copy["spec"]["ports"][0]["nodePort"].is_null());
    world
        .plane
        .merge(
            &service.template,
            json!({"spec": {"type": "ExternalName", "externalName": "x.example.io"}}),
        )
        .await;
    world
        .m1
        .until(&service.template, "is a name", |copy| {
            copy["spec"]["type"] == "ExternalName"
        })
        .await;
    world.applied(&service, "m1").await;
    world
        .plane
        .merge(
            &service.template,
            json!({"spec": {"type": "ClusterIP", "externalName": null}}),
        )
        .await;
    world
        .m1
        .until(&service.template, "has an address", |copy| {
            copy["spec"]["clusterIP"].is_string()
        })
        .await;
    world.applied(&service, "m1").await;
}

/// A controller of the member binds it; here a hand does.
async fn volume_of_a_claim(world: &World) {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "retention", "name": "disk"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow", "resources": {"requests": {"storage": "1Gi"}}}});
    let claim = on_m1(world, claim, 0).await;
    world
        .m1
        .merge(&claim.template, json!({"spec": {"volumeName": "pv-7"}}))
        .await;
    world.m1.merge_status(&claim.template, json!({"phase": "Bound"})).await;
    world.healthy(&claim, "m1").await;
    world
        .plane
        .merge(&claim.template, json!({"metadata": {"labels": {"version": "2"}}}))
        .await;
    let follows = |copy: &Value| copy["metadata"]["labels"]["version"] == "2";
    let copy = world.m1.until(&claim.template, "follows", follows).await;
    assert_eq!(copy["spec"]["volumeName"], "pv-7");
    world
        .plane
        .until(&claim.template, "is bound here too", |claim| {
            claim["status"]["phase"] == "Bound"
        })
        .await;
}

async fn secrets_of_an_account(world: &World) {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "secrets": [{"name": "ours"}],
        "metadata": {"namespace": "retention", "name": "runner"}});
    let account = on_m1(world, account, 0).await;
    world
        .m1
        .merge(
            &account.template,
            json!({"secrets": [{"name": "ours"}, {"name": "runner-token-x"}]}),
        )
        .await;
    world
        .plane
        .merge(&account.template, json!({"imagePullSecrets": [{"name": "registry"}]}))
        .await;
    let follows = |copy: &Value| copy["imagePullSecrets"] == json!([{"name": "registry"}]);
    let copy = world.m1.until(&account.template, "follows", follows).await;
    assert_eq!(copy["secrets"], json!([{"name": "ours"}, {"name": "runner-token-x"}]));
}

/// Each API server draws the selector of a Job by itself; the pods of a running Job go by it.
async fn selector_of_a_job(world: &World) {
    let mut template = pod("batch", "nginx");
    template["spec"]["restartPolicy"] = json!("Never");
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "retention", "name": "batch"},
        "spec": {"parallelism": 1, "completions": 9, "template": template}});
    let job = on_m1(world, job, 1).await;
    let before = world.m1.get(&job.template).await.unwrap();
    world
        .plane
        .merge(&job.template, json!({"spec": {"parallelism": 2}}))
        .await;
    world
        .plane
        .until(&job.binding, "asks for two", |binding| binding["spec"]["replicas"] == 2)
        .await;
    world.place(&job, &[("m1", 2)]).await;
    let copy = world
        .m1
        .until(&job.template, "runs two", |copy| copy["spec"]["parallelism"] == 2)
        .await;
    assert_eq!(copy["spec"]["selector"], before["spec"]["selector"]);
    world
        .item(&job, "m1", "two at work", |item| item["status"]["active"] == 2)
        .await;
}
