//! From no replicas at all to the most that the API has a number for.

use serde_json::{Value, json};

use crate::world::{MEMBERS, World, deployment, pod};

/// More than that no API server takes.
const MOST: i32 = i32::MAX;

pub async fn from_nothing_to_the_largest(world: &World) {
    // Nobody makes the pods of a paused one.
    let mut web = deployment("replicas", "web", 0);
    web["spec"]["paused"] = json!(true);
    let web = world.on_both(web, json!({}), 0).await;
    let copies = async |wanted: i32| {
        for name in MEMBERS {
            world
                .member(name)
                .until(&web.template, &format!("asks for {wanted}"), |copy| {
                    copy["spec"]["replicas"] == wanted
                })
                .await;
            world.applied(&web, name).await;
        }
    };
    copies(0).await;
    for name in MEMBERS {
        world.healthy(&web, name).await;
    }
    world
        .plane
        .merge(&web.policy, json!({"spec": {"placement": null}}))
        .await;
    world
        .plane
        .merge(&web.template, json!({"spec": {"replicas": MOST}}))
        .await;
    world
        .plane
        .until(&web.binding, "asks for the most", |binding| {
            binding["spec"]["replicas"] == MOST
        })
        .await;
    world.place(&web, &MEMBERS.map(|name| (name, MOST))).await;
    copies(MOST).await;
    for name in MEMBERS {
        world
            .item(&web, name, "that it does not run", |item| item["health"] == "Unhealthy")
            .await;
    }
    world.plane.merge(&web.template, json!({"spec": {"replicas": 0}})).await;
    world
        .plane
        .until(&web.binding, "asks for none", |binding| {
            binding["spec"]["replicas"] == 0
        })
        .await;
    world.place(&web, &MEMBERS.map(|name| (name, 0))).await;
    copies(0).await;

    // A Job that is held back has no pods either; what it has to complete is divided.
    let mut template = pod("job", "nginx");
    template["spec"]["restartPolicy"] = json!("Never");
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "replicas", "name": "job"},
        "spec": {"parallelism": MOST, "completions": MOST, "suspend": true, "template": template}});
    let job = world.spread(job, json!({})).await;
    let shares = [MOST / 2 + 1, MOST / 2];
    world.place(&job, &[("m1", shares[0]), ("m2", shares[1])]).await;
    let mut sum = 0;
    for (name, share) in MEMBERS.into_iter().zip(shares) {
        let copy = world
            .member(name)
            .until(&job.template, "has its share", |copy| {
                copy["spec"]["parallelism"] == share
            })
            .await;
        sum += copy["spec"]["completions"].as_i64().unwrap();
    }
    assert_eq!(sum, i64::from(MOST));
}

/// Each member may report as much as the API has a number for; their sum is more.
pub async fn sums_stay_numbers_that_the_api_takes(world: &World) {
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"namespace": "replicas", "name": "scaler"}, "spec": {"maxReplicas": MOST,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let scaler = world.on_both(scaler, json!({}), 0).await;
    for name in MEMBERS {
        let most = json!({"desiredReplicas": MOST, "currentReplicas": 1, "conditions": []});
        world.member(name).merge_status(&scaler.template, most).await;
        world
            .item(&scaler, name, "how many it wants", |item| {
                item["status"]["desiredReplicas"] == MOST
            })
            .await;
    }
    let sums = |scaler: &Value| scaler["status"]["desiredReplicas"] == MOST && scaler["status"]["currentReplicas"] == 2;
    world.plane.until(&scaler.template, "has the sums", sums).await;
}
