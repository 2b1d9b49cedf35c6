//! `preserveResourcesOnDeletion`: what stays in the members, and how it is taken up again.

use serde_json::{Value, json};

use crate::world::{MEMBERS, World, deployment};

pub async fn what_is_kept_is_the_members_own(world: &World) {
    let kept = world
        .on_both(
            deployment("preserving", "kept", 1),
            json!({"preserveResourcesOnDeletion": true}),
            1,
        )
        .await;
    for name in MEMBERS {
        world.healthy(&kept, name).await;
    }
    let uid = |object: Value| object["metadata"]["uid"].clone();
    let first = uid(world.m1.get(&kept.template).await.unwrap());
    world.withdraw(&kept).await;
    for name in MEMBERS {
        let copy = world.member(name).get(&kept.template).await.unwrap();
        assert!(copy["metadata"]["deletionTimestamp"].is_null());
        for marks in ["labels", "annotations"] {
            let marks = copy["metadata"][marks].as_object().cloned().unwrap_or_default();
            assert!(!marks.keys().any(|key| key.contains("karmada.io/")), "{marks:?}");
        }
    }

    // The template comes again: what is there is not Karmada's any more, until the owner says so.
    world.plane.create(deployment("preserving", "kept", 2)).await;
    world.place(&kept, &MEMBERS.map(|name| (name, 2))).await;
    let words = "is in the member already and was not made by Karmada; conflictResolution is Abort";
    for name in MEMBERS {
        world.refused(&kept, name, words).await;
    }
    assert_eq!(world.m1.get(&kept.template).await.unwrap()["spec"]["replicas"], 1);
    let taken = json!({"spec": {"conflictResolution": "Overwrite", "preserveResourcesOnDeletion": false}});
    world.plane.merge(&kept.policy, taken).await;
    for name in MEMBERS {
        world.applied(&kept, name).await;
        world.healthy(&kept, name).await;
    }
    let again = world.m1.get(&kept.template).await.unwrap();
    assert_eq!(again["spec"]["replicas"], 2);
    assert_eq!(again["metadata"]["labels"]["karmada.io/managed"], "true");
    assert_eq!(uid(again), first, "the pods of before run on");

    world.withdraw(&kept).await;
    for name in MEMBERS {
        world.member(name).until_gone(&kept.template).await;
    }
}
