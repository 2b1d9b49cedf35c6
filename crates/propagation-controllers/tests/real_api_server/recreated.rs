//! A template that is deleted and made anew at once, as `kubectl replace --force` does: its copies follow the new one,
//! whichever is first, the garbage collector or we.

use serde_json::json;

use crate::world::{MEMBERS, World, deployment, pod};

pub async fn a_template_made_anew_is_carried(world: &World) {
    let web = world.on_both(deployment("recreated", "web", 1), json!({}), 1).await;
    for image in ["nginx:1", "nginx:2", "nginx:3"] {
        world.plane.delete(&web.template).await;
        let mut anew = deployment("recreated", "web", 1);
        anew["spec"]["template"] = pod("web", image);
        let uid = world.plane.recreate(anew).await["metadata"]["uid"].clone();
        // A binding that went with the old template comes anew, without a place.
        let owned = |binding: &serde_json::Value| {
            binding["metadata"]["deletionTimestamp"].is_null()
                && binding["metadata"]["ownerReferences"][0]["uid"] == uid
        };
        world.plane.until(&web.binding, "is of the new template", owned).await;
        world.place(&web, &MEMBERS.map(|name| (name, 1))).await;
        for name in MEMBERS {
            let is_new = |copy: &serde_json::Value| copy["spec"]["template"]["spec"]["containers"][0]["image"] == image;
            world
                .member(name)
                .until(&web.template, &format!("runs {image}"), is_new)
                .await;
            world.healthy(&web, name).await;
        }
    }
}
