//! The same by kube's own client, which all our programs use.

use e2e_conformance::{KubeCall, Scenario, kube};
use futures::{FutureExt, StreamExt, TryStreamExt, pin_mut};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
    Preconditions, ValidationDirective, WatchEvent, WatchParams,
};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

fn maps(client: Client, ns: &str) -> Api<ConfigMap> {
    Api::namespaced(client, ns)
}

fn widgets(client: Client, ns: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("conformance.example.com", "v1", "Widget");
    Api::namespaced_with(client, ns, &ApiResource::from_gvk(&kind))
}

fn map(value: &Value) -> ConfigMap {
    serde_json::from_value(value.clone()).unwrap()
}

fn shown(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

macro_rules! call {
    (|$client:ident, $ns:ident| $body:expr) => {{
        let call: KubeCall = |$client: Client, $ns: String| async move { $body }.boxed();
        call
    }};
}

pub fn scenario() -> Scenario {
    Scenario::new(
        "kube-client",
        vec![
            kube(
                "create",
                call!(|client, ns| {
                    let object = map(&json!({"metadata": {"name": "a"}, "data": {"k": "v"}}));
                    maps(client, &ns)
                        .create(&PostParams::default(), &object)
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "create again",
                call!(|client, ns| {
                    maps(client, &ns)
                        .create(&PostParams::default(), &map(&json!({"metadata": {"name": "a"}})))
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "create in a dry run",
                call!(|client, ns| {
                    let dry = PostParams {
                        dry_run: true,
                        ..PostParams::default()
                    };
                    maps(client, &ns)
                        .create(&dry, &map(&json!({"metadata": {"name": "dry"}})))
                        .await
                        .map(shown)
                }),
            ),
            kube("get", call!(|client, ns| maps(client, &ns).get("a").await.map(shown))),
            kube(
                "get what is not there",
                call!(|client, ns| maps(client, &ns).get("none").await.map(shown)),
            ),
            kube(
                "get perhaps",
                call!(|client, ns| maps(client, &ns).get_opt("none").await.map(shown)),
            ),
            kube(
                "get metadata",
                call!(|client, ns| maps(client, &ns).get_metadata("a").await.map(shown)),
            ),
            kube(
                "replace",
                call!(|client, ns| {
                    let api = maps(client, &ns);
                    let mut object = api.get("a").await?;
                    object.data.get_or_insert_default().insert("k".into(), "2".into());
                    api.replace("a", &PostParams::default(), &object).await?;
                    // The version that was read is no longer the latest.
                    api.replace("a", &PostParams::default(), &object).await.map(shown)
                }),
            ),
            kube(
                "merge patch",
                call!(|client, ns| {
                    let patch = json!({"data": {"m": "1"}});
                    maps(client, &ns)
                        .patch("a", &PatchParams::default(), &Patch::Merge(&patch))
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "apply",
                call!(|client, ns| {
                    let patch =
                        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"m": "1"}});
                    maps(client, &ns)
                        .patch("b", &PatchParams::apply("me"), &Patch::Apply(&patch))
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "strict patch",
                call!(|client, ns| {
                    let strict = PatchParams {
                        field_validation: Some(ValidationDirective::Strict),
                        ..PatchParams::default()
                    };
                    maps(client, &ns)
                        .patch("a", &strict, &Patch::Merge(&json!({"dta": {}})))
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "list",
                call!(|client, ns| {
                    let list = maps(client, &ns).list(&ListParams::default().limit(1)).await?;
                    let next = ListParams::default()
                        .limit(1)
                        .continue_token(list.metadata.continue_.as_deref().unwrap_or_default());
                    Ok(json!([shown(&list), shown(maps_of(&list)), next.limit]))
                }),
            ),
            kube(
                "list metadata",
                call!(|client, ns| maps(client, &ns).list_metadata(&ListParams::default()).await.map(shown)),
            ),
            kube(
                "pages",
                call!(|client, ns| {
                    let api = maps(client, &ns);
                    let mut params = ListParams::default().limit(1);
                    let mut pages = Vec::new();
                    loop {
                        let page = api.list(&params).await?;
                        pages.push(json!({"items": shown(&page.items), "left": page.metadata.remaining_item_count}));
                        match page.metadata.continue_.filter(|token| !token.is_empty()) {
                            Some(token) => params = params.continue_token(&token),
                            None => return Ok(Value::Array(pages)),
                        }
                    }
                }),
            ),
            kube(
                "watch",
                call!(|client, ns| {
                    let api = maps(client, &ns);
                    let list = api.list(&ListParams::default()).await?;
                    let from = list.metadata.resource_version.unwrap_or_default();
                    api.create(&PostParams::default(), &map(&json!({"metadata": {"name": "seen"}})))
                        .await?;
                    api.delete("seen", &DeleteParams::default()).await?;
                    let events = api.watch(&WatchParams::default().timeout(2), &from).await?;
                    pin_mut!(events);
                    let mut seen = Vec::new();
                    while let Some(event) = events.try_next().await? {
                        seen.push(shown(&event));
                    }
                    Ok(Value::Array(seen))
                }),
            ),
            kube(
                "watch list",
                call!(|client, ns| {
                    let params = WatchParams::default().timeout(2).initial_events();
                    let events = maps(client, &ns).watch(&params, "0").await?;
                    let seen: Vec<Value> = events
                        .take_while(|event| std::future::ready(!matches!(event, Ok(WatchEvent::Bookmark(_)))))
                        .map_ok(shown)
                        .try_collect()
                        .await?;
                    Ok(Value::Array(seen))
                }),
            ),
            kube(
                "watch metadata",
                call!(|client, ns| {
                    let events = maps(client, &ns)
                        .watch_metadata(&WatchParams::default().timeout(1), "0")
                        .await?;
                    let first =
                        events.take_while(|event| std::future::ready(!matches!(event, Ok(WatchEvent::Bookmark(_)))));
                    first.map_ok(shown).try_collect::<Vec<_>>().await.map(Value::Array)
                }),
            ),
            kube(
                "delete with preconditions",
                call!(|client, ns| {
                    let wrong = Preconditions {
                        uid: Some("11111111-1111-4111-8111-111111111111".into()),
                        resource_version: None,
                    };
                    let params = DeleteParams {
                        preconditions: Some(wrong),
                        ..DeleteParams::default()
                    };
                    maps(client, &ns)
                        .delete("a", &params)
                        .await
                        .map(|e| e.either(shown, shown))
                }),
            ),
            kube(
                "delete",
                call!(|client, ns| {
                    maps(client, &ns)
                        .delete("a", &DeleteParams::background())
                        .await
                        .map(|e| e.either(shown, shown))
                }),
            ),
            kube(
                "delete a collection",
                call!(|client, ns| {
                    let all = ListParams::default();
                    maps(client, &ns)
                        .delete_collection(&DeleteParams::default(), &all)
                        .await
                        .map(|e| e.either(shown, shown))
                }),
            ),
            kube(
                "a widget",
                call!(|client, ns| {
                    let object: DynamicObject =
                        serde_json::from_value(json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget",
                    "metadata": {"name": "w"}, "spec": {"color": "red"}}))
                        .unwrap();
                    widgets(client, &ns)
                        .create(&PostParams::default(), &object)
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "its status",
                call!(|client, ns| {
                    let patch = json!({"status": {"replicas": 1}});
                    widgets(client, &ns)
                        .patch_status("w", &PatchParams::default(), &Patch::Merge(&patch))
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "replace its status",
                call!(|client, ns| {
                    let api = widgets(client, &ns);
                    let mut object = api.get_status("w").await?;
                    object.data["status"]["replicas"] = 5.into();
                    object.data["spec"]["color"] = "blue".into();
                    api.replace_status("w", &PostParams::default(), &object)
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "its scale",
                call!(|client, ns| widgets(client, &ns).get_scale("w").await.map(shown)),
            ),
            kube(
                "scale it",
                call!(|client, ns| {
                    let patch = json!({"spec": {"replicas": 3}});
                    widgets(client, &ns)
                        .patch_scale("w", &PatchParams::default(), &Patch::Merge(&patch))
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "a wrong widget",
                call!(|client, ns| {
                    let patch = json!({"spec": {"color": "pink"}});
                    widgets(client, &ns)
                        .patch("w", &PatchParams::default(), &Patch::Merge(&patch))
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "an entry",
                call!(|client, ns| {
                    let api = maps(client, &ns);
                    let entry = api
                        .entry("entry")
                        .await?
                        .or_insert(|| map(&json!({"data": {"k": "v"}})));
                    let mut entry = entry;
                    entry.commit(&PostParams::default()).await.unwrap();
                    Ok(shown(entry.get()))
                }),
            ),
            kube(
                "a lease",
                call!(|client, ns| {
                    let lease: Lease = serde_json::from_value(json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.000000Z"}})).unwrap();
                    Api::namespaced(client, &ns)
                        .create(&PostParams::default(), &lease)
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "an event",
                call!(|client, ns| {
                    let event: Event = serde_json::from_value(json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": ns, "name": "a", "kind": "ConfigMap"}, "reason": "R"})).unwrap();
                    Api::namespaced(client, &ns)
                        .create(&PostParams::default(), &event)
                        .await
                        .map(shown)
                }),
            ),
            kube(
                "a namespace",
                call!(|client, ns| Api::<Namespace>::all(client).get(&ns).await.map(shown)),
            ),
            kube(
                "discovery",
                call!(|client, ns| {
                    let _ = ns;
                    let list = client.list_api_group_resources("conformance.example.com/v1").await?;
                    Ok(shown(list))
                }),
            ),
        ],
    )
}

fn maps_of(list: &kube::api::ObjectList<ConfigMap>) -> Vec<String> {
    list.items.iter().map(ResourceExt::name_any).collect()
}
