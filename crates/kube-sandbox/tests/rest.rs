//! What a typed or dynamic client sees: create, read, update, patch, delete, in the words of the real server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_pass_by_value
)] // Helpers of tests count as tests.

mod common;

use common::{deployment, paused, sandbox, widget, widget_crd};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, GroupVersionKind};
use kube_sandbox::{Sandbox, Verb};
use rstest::rstest;
use serde_json::{Value, json};

fn widgets(sandbox: &Sandbox) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    Api::namespaced_with(sandbox.client(), "default", &kind)
}

fn dynamic(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn config_map(name: &str, data: Value) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": data})).unwrap()
}

fn status_of(error: kube::Error) -> (u16, String, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.reason.clone(), status.message.clone()),
        other => panic!("no answer of the API: {other}"),
    }
}

#[test]
fn an_object_lives_from_create_to_delete() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let made = api
            .create(&PostParams::default(), &config_map("a", json!({"k": "1"})))
            .await
            .unwrap();
        let meta = &made.metadata;
        assert_eq!(meta.namespace.as_deref(), Some("default"));
        assert!(meta.uid.is_some() && meta.creation_timestamp.is_some());
        assert_eq!(meta.generation, None);

        let error = api
            .create(&PostParams::default(), &config_map("a", json!({})))
            .await
            .unwrap_err();
        assert_eq!(
            status_of(error),
            (409, "AlreadyExists".into(), "configmaps \"a\" already exists".into())
        );

        let mut changed = made.clone();
        changed.data = Some([("k".to_owned(), "2".to_owned())].into());
        let second = api.replace("a", &PostParams::default(), &changed).await.unwrap();
        assert_ne!(second.metadata.resource_version, made.metadata.resource_version);
        let error = api.replace("a", &PostParams::default(), &changed).await.unwrap_err();
        assert_eq!(
            status_of(error),
            (
                409,
                "Conflict".into(),
                "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again".into()
            )
        );
        let unchanged = api.replace("a", &PostParams::default(), &second).await.unwrap();
        assert_eq!(unchanged.metadata.resource_version, second.metadata.resource_version);

        api.delete("a", &DeleteParams::default())
            .await
            .unwrap()
            .right()
            .unwrap();
        let error = api.get("a").await.unwrap_err();
        assert_eq!(
            status_of(error),
            (404, "NotFound".into(), "configmaps \"a\" not found".into())
        );
    });
}

#[test]
fn generation_counts_changes_of_the_spec_only() {
    paused(async {
        let sandbox = sandbox();
        sandbox.apply_crd(widget_crd()).unwrap();
        let api = widgets(&sandbox);
        let made = api.create(&PostParams::default(), &dynamic(widget("w"))).await.unwrap();
        assert_eq!(made.metadata.generation, Some(1));
        let merge = |patch: Value| {
            let api = api.clone();
            async move {
                api.patch("w", &PatchParams::default(), &Patch::Merge(patch))
                    .await
                    .unwrap()
            }
        };
        assert_eq!(
            merge(json!({"metadata": {"labels": {"a": "b"}}}))
                .await
                .metadata
                .generation,
            Some(1)
        );
        assert_eq!(
            merge(json!({"spec": {"color": "blue"}})).await.metadata.generation,
            Some(2)
        );
        // The main resource does not touch the status, and the status resource touches nothing else.
        let ignored = merge(json!({"status": {"replicas": 3}})).await;
        assert_eq!(ignored.data["status"], Value::Null);
        let patch = Patch::Merge(
            json!({"status": {"replicas": 3}, "spec": {"color": "green"}, "metadata": {"labels": {"x": "y"}}}),
        );
        let status = api.patch_status("w", &PatchParams::default(), &patch).await.unwrap();
        assert_eq!(status.data["status"]["replicas"], 3);
        assert_eq!(status.data["spec"]["color"], "blue");
        assert_eq!(status.metadata.labels.as_ref().unwrap().get("x"), None);
        assert_eq!(status.metadata.generation, Some(2));
    });
}

#[rstest]
#[case::enumeration(json!({"color": "pink"}), "spec.color: Unsupported value: \"pink\": supported values: \"red\", \"green\", \"blue\"")]
#[case::missing(json!({}), "spec.color: Required value")]
#[case::wrong_type(json!({"color": 1}), "spec.color: Invalid value: \"integer\": spec.color in body must be of type string: \"integer\", spec.color: Unsupported value: 1: supported values: \"red\", \"green\", \"blue\"")]
#[case::maximum(json!({"color": "red", "replicas": 11}), "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10")]
#[case::pattern(json!({"color": "red", "code": "A1"}), "spec.code: Invalid value: \"A1\": spec.code in body should match '^[a-z]+$'")]
#[case::too_long(json!({"color": "red", "code": "abcdef"}), "spec.code: Too long: may not be more than 5 bytes")]
#[case::too_many(json!({"color": "red", "parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]}), "spec.parts: Too many: 4: must have at most 3 items")]
#[case::duplicate_key(json!({"color": "red", "parts": [{"name": "a"}, {"name": "a"}]}), "spec.parts[1]: Duplicate value: {\"name\":\"a\"}")]
#[case::rule(json!({"color": "red", "low": 3, "high": 2}), "spec: Invalid value: low must not exceed high")]
#[case::neither_int_nor_string(json!({"color": "red", "port": true}), "spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"")]
fn refuses_what_the_schema_refuses(#[case] spec: Value, #[case] words: &str) {
    paused(async {
        let sandbox = sandbox();
        sandbox.apply_crd(widget_crd()).unwrap();
        let mut object = widget("w");
        object["spec"] = spec;
        let error = widgets(&sandbox)
            .create(&PostParams::default(), &dynamic(object))
            .await
            .unwrap_err();
        let (code, reason, message) = status_of(error);
        assert_eq!((code, reason.as_str()), (422, "Invalid"));
        let alone = format!("Widget.example.com \"w\" is invalid: {words}");
        let noted =
            format!("Widget.example.com \"w\" is invalid: [{words}, <nil>: Invalid value: null: some validation rules");
        assert!(message == alone || message.starts_with(&noted), "{message}");
        assert_eq!(sandbox.get("example.com/v1", "Widget", Some("default"), "w"), None);
    });
}

#[test]
fn prunes_defaults_and_compares_with_the_old_object() {
    paused(async {
        let sandbox = sandbox();
        sandbox.apply_crd(widget_crd()).unwrap();
        let mut object = widget("w");
        object["spec"] = json!({
            "color": "red", "unknown": 1, "note": null, "code": null, "fixed": "f", "port": 80,
            "parts": [{"name": "a", "other": 1}], "free": {"any": {"thing": 1}},
        });
        let api = widgets(&sandbox);
        let made = api.create(&PostParams::default(), &dynamic(object)).await.unwrap();
        assert_eq!(
            made.data["spec"],
            json!({
                "color": "red", "note": null, "fixed": "f", "port": 80, "replicas": 1,
                "parts": [{"name": "a", "size": 7}], "free": {"any": {"thing": 1}},
            })
        );
        let patch = Patch::Merge(json!({"spec": {"fixed": "g"}}));
        let error = api.patch("w", &PatchParams::default(), &patch).await.unwrap_err();
        assert_eq!(
            status_of(error).2,
            "Widget.example.com \"w\" is invalid: spec.fixed: Invalid value: \"g\": fixed is immutable"
        );
    });
}

#[test]
fn what_was_wrong_before_a_stricter_crd_may_stay_wrong() {
    paused(async {
        let sandbox = sandbox();
        sandbox.apply_crd(widget_crd()).unwrap();
        sandbox.create(widget("w")).unwrap();
        let mut stricter = widget_crd();
        stricter["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"]["enum"] =
            json!(["blue"]);
        sandbox.apply_crd(stricter).unwrap();
        let api = widgets(&sandbox);
        let patch = |p: Value| Patch::Merge(p);
        api.patch("w", &PatchParams::default(), &patch(json!({"spec": {"replicas": 2}})))
            .await
            .unwrap();
        let error = api
            .patch(
                "w",
                &PatchParams::default(),
                &patch(json!({"spec": {"color": "green"}})),
            )
            .await
            .unwrap_err();
        assert_eq!(status_of(error).0, 422);
    });
}

#[test]
fn finalizers_hold_an_object_until_the_last_one_goes() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let mut object = config_map("a", json!({}));
        object.metadata.finalizers = Some(vec!["example.com/x".into(), "example.com/y".into()]);
        api.create(&PostParams::default(), &object).await.unwrap();
        let marked = api.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
        assert!(marked.metadata.deletion_timestamp.is_some());
        let version = marked.metadata.resource_version.clone();
        let again = api.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
        assert_eq!(again.metadata.resource_version, version);

        let more =
            Patch::Merge(json!({"metadata": {"finalizers": ["example.com/x", "example.com/y", "example.com/z"]}}));
        let error = api.patch("a", &PatchParams::default(), &more).await.unwrap_err();
        assert_eq!(
            status_of(error).2,
            "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"example.com/z\"}"
        );
        let one = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/y"]}}));
        api.patch("a", &PatchParams::default(), &one).await.unwrap();
        let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        api.patch("a", &PatchParams::default(), &none).await.unwrap();
        assert_eq!(status_of(api.get("a").await.unwrap_err()).0, 404);
    });
}

#[test]
fn preconditions_guard_a_delete() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let made = api
            .create(&PostParams::default(), &config_map("a", json!({})))
            .await
            .unwrap();
        let uid = made.metadata.uid.unwrap();
        let with = |uid: &str, version: Option<&str>| DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.into()),
                resource_version: version.map(Into::into),
            }),
            ..DeleteParams::default()
        };
        let error = api.delete("a", &with("other", None)).await.unwrap_err();
        let (code, reason, message) = status_of(error);
        assert_eq!((code, reason.as_str()), (409, "Conflict"));
        assert!(
            message.contains("the UID in the precondition (other) does not match the UID in record"),
            "{message}"
        );
        assert_eq!(
            status_of(api.delete("a", &with(&uid, Some("1"))).await.unwrap_err()).0,
            409
        );
        api.delete("a", &with(&uid, made.metadata.resource_version.as_deref()))
            .await
            .unwrap();
    });
}

#[test]
fn patches_of_every_kind() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<Deployment> = Api::default_namespaced(sandbox.client());
        let object: Deployment = serde_json::from_value(deployment("d", 2, "nginx:1")).unwrap();
        let made = api.create(&PostParams::default(), &object).await.unwrap();
        let spec = &made.spec;
        assert_eq!(spec.progress_deadline_seconds, Some(600));
        assert_eq!(
            spec.template.spec.as_ref().unwrap().containers[0]
                .image_pull_policy
                .as_deref(),
            Some("IfNotPresent")
        );

        let strategic =
            Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "x"}]}}}}));
        let two = api.patch("d", &PatchParams::default(), &strategic).await.unwrap();
        let names = |d: &Deployment| -> Vec<String> {
            d.spec
                .template
                .spec
                .as_ref()
                .unwrap()
                .containers
                .iter()
                .map(|c| c.name.clone())
                .collect()
        };
        // A new item goes first, as on the real server.
        assert_eq!(names(&two), ["side", "main"]);
        assert_eq!(two.metadata.generation, Some(2));

        let json: json_patch::Patch = serde_json::from_value(json!([
            {"op": "test", "path": "/spec/replicas", "value": 2},
            {"op": "replace", "path": "/spec/replicas", "value": 5},
        ]))
        .unwrap();
        assert_eq!(
            api.patch("d", &PatchParams::default(), &Patch::Json::<()>(json.clone()))
                .await
                .unwrap()
                .spec
                .replicas,
            Some(5)
        );
        let error = api
            .patch("d", &PatchParams::default(), &Patch::Json::<()>(json))
            .await
            .unwrap_err();
        assert_eq!(status_of(error).0, 422);

        let apply = Patch::Apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}
        }));
        let maps: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        maps.patch("c", &PatchParams::apply("me"), &apply).await.unwrap();
        assert_eq!(maps.get("c").await.unwrap().data.unwrap()["a"], "1");

        let stale = Patch::Merge(json!({"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 1}}));
        assert_eq!(
            status_of(api.patch("d", &PatchParams::default(), &stale).await.unwrap_err()).0,
            409
        );
        let selector = Patch::Merge(json!({"spec": {"selector": {"matchLabels": {"app": "other"}}}}));
        assert_eq!(
            status_of(api.patch("d", &PatchParams::default(), &selector).await.unwrap_err()).0,
            422
        );
    });
}

#[test]
fn versions_are_demanded_where_the_real_server_demands_them() {
    paused(async {
        let sandbox = sandbox();
        sandbox.apply_crd(widget_crd()).unwrap();
        sandbox.create(widget("w")).unwrap();
        let error = widgets(&sandbox)
            .replace("w", &PostParams::default(), &dynamic(widget("w")))
            .await
            .unwrap_err();
        let (code, _, message) = status_of(error);
        assert_eq!(code, 422);
        assert!(
            message.contains("widgets.example.com \"w\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"),
            "{message}"
        );

        // A lease may be made by an update.
        let leases: Api<Lease> = Api::default_namespaced(sandbox.client());
        let lease: Lease =
            serde_json::from_value(json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})).unwrap();
        leases.replace("l", &PostParams::default(), &lease).await.unwrap();
        assert_eq!(
            leases.get("l").await.unwrap().spec.unwrap().holder_identity.as_deref(),
            Some("me")
        );
    });
}

#[test]
fn lists_page_by_page_on_one_snapshot() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        for i in 0..7 {
            api.create(
                &PostParams::default(),
                &config_map(&format!("c{i}"), json!({"n": i.to_string()})),
            )
            .await
            .unwrap();
        }
        let first = api.list(&ListParams::default().limit(3)).await.unwrap();
        assert_eq!(first.metadata.remaining_item_count, Some(4));
        // Changes between the pages are not seen by them.
        api.delete("c5", &DeleteParams::default()).await.unwrap();
        api.patch(
            "c4",
            &PatchParams::default(),
            &Patch::Merge(json!({"data": {"n": "new"}})),
        )
        .await
        .unwrap();
        api.create(&PostParams::default(), &config_map("c45", json!({})))
            .await
            .unwrap();
        let mut names: Vec<String> = first.items.iter().map(|o| o.metadata.name.clone().unwrap()).collect();
        let mut token = first.metadata.continue_.clone();
        while let Some(next) = token.filter(|t| !t.is_empty()) {
            let page = api
                .list(&ListParams::default().limit(3).continue_token(&next))
                .await
                .unwrap();
            assert_eq!(page.metadata.resource_version, first.metadata.resource_version);
            for object in &page.items {
                assert_ne!(object.data.as_ref().unwrap()["n"], "new");
                names.push(object.metadata.name.clone().unwrap());
            }
            token = page.metadata.continue_.clone();
        }
        assert_eq!(names, ["c0", "c1", "c2", "c3", "c4", "c5", "c6"]);

        let stale = api
            .list(&ListParams::default().limit(3))
            .await
            .unwrap()
            .metadata
            .continue_
            .unwrap();
        api.delete("c0", &DeleteParams::default()).await.unwrap();
        sandbox.compact();
        let error = api
            .list(&ListParams::default().limit(3).continue_token(&stale))
            .await
            .unwrap_err();
        assert_eq!(status_of(error).0, 410);
    });
}

#[rstest]
#[case("tier=a", &["x"])]
#[case("tier!=a", &["y", "z"])]
#[case("tier in (a,b)", &["x", "y"])]
#[case("tier notin (a)", &["y", "z"])]
#[case("!tier", &["z"])]
#[case("tier,zone", &["y"])]
fn label_selectors(#[case] selector: &str, #[case] expected: &[&str]) {
    paused(async {
        let sandbox = sandbox();
        for (name, labels) in [
            ("x", json!({"tier": "a"})),
            ("y", json!({"tier": "b", "zone": "1"})),
            ("z", json!({})),
        ] {
            sandbox.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default", "labels": labels}})).unwrap();
        }
        let api: Api<k8s_openapi::api::core::v1::Secret> = Api::default_namespaced(sandbox.client());
        let found = api.list(&ListParams::default().labels(selector)).await.unwrap();
        let names: Vec<String> = found.items.into_iter().map(|o| o.metadata.name.unwrap()).collect();
        assert_eq!(names, expected);
    });
}

#[test]
fn field_selectors() {
    paused(async {
        let sandbox = sandbox();
        sandbox.apply_crd(widget_crd()).unwrap();
        sandbox.create(widget("a")).unwrap();
        let mut blue = widget("b");
        blue["spec"]["color"] = "blue".into();
        sandbox.create(blue).unwrap();
        let api = widgets(&sandbox);
        let names = async |selector: &str| -> Vec<String> {
            let found = api.list(&ListParams::default().fields(selector)).await.unwrap();
            found.items.into_iter().map(|o| o.metadata.name.unwrap()).collect()
        };
        assert_eq!(names("metadata.name=b").await, ["b"]);
        assert_eq!(names("metadata.name!=b").await, ["a"]);
        assert_eq!(names("spec.color=blue").await, ["b"]);
        let error = api
            .list(&ListParams::default().fields("spec.code=x"))
            .await
            .unwrap_err();
        assert_eq!(
            status_of(error),
            (400, "BadRequest".into(), "field label not supported: spec.code".into())
        );
    });
}

#[test]
fn owned_objects_go_with_their_owners_and_namespaces_with_their_contents() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let owner = api
            .create(&PostParams::default(), &config_map("owner", json!({})))
            .await
            .unwrap();
        let mut owned = config_map("owned", json!({}));
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid});
        owned.metadata.owner_references = Some(vec![serde_json::from_value(reference).unwrap()]);
        api.create(&PostParams::default(), &owned).await.unwrap();
        api.delete("owner", &DeleteParams::background()).await.unwrap();
        assert_eq!(status_of(api.get("owned").await.unwrap_err()).0, 404);

        let namespaces: Api<Namespace> = Api::all(sandbox.client());
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        let inside: Api<ConfigMap> = Api::namespaced(sandbox.client(), "n");
        let mut held = config_map("held", json!({}));
        held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
        inside.create(&PostParams::default(), &held).await.unwrap();
        inside
            .create(&PostParams::default(), &config_map("free", json!({})))
            .await
            .unwrap();
        namespaces.delete("n", &DeleteParams::default()).await.unwrap();
        assert_eq!(
            namespaces.get("n").await.unwrap().status.unwrap().phase.as_deref(),
            Some("Terminating")
        );
        assert_eq!(status_of(inside.get("free").await.unwrap_err()).0, 404);
        let error = inside
            .create(&PostParams::default(), &config_map("late", json!({})))
            .await
            .unwrap_err();
        assert_eq!(status_of(error).0, 403);
        inside
            .patch(
                "held",
                &PatchParams::default(),
                &Patch::Merge(json!({"metadata": {"finalizers": null}})),
            )
            .await
            .unwrap();
        assert_eq!(status_of(namespaces.get("n").await.unwrap_err()).0, 404);
        let error = inside
            .create(&PostParams::default(), &config_map("late", json!({})))
            .await
            .unwrap_err();
        assert_eq!(status_of(error).2, "namespaces \"n\" not found");
    });
}

#[test]
fn dry_runs_generated_names_and_the_write_log() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let before = sandbox.resource_version();
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        api.create(&dry, &config_map("dry", json!({}))).await.unwrap();
        assert_eq!(sandbox.resource_version(), before);
        let generated: ConfigMap = serde_json::from_value(json!({"metadata": {"generateName": "gen-"}})).unwrap();
        let name = api
            .create(&PostParams::default(), &generated)
            .await
            .unwrap()
            .metadata
            .name
            .unwrap();
        assert!(name.starts_with("gen-") && name.len() == 9, "{name}");
        let log = sandbox.faults().writes();
        assert_eq!(log.iter().map(|w| w.changed).collect::<Vec<_>>(), [false, true]);
        assert_eq!(
            (log[1].verb, log[1].name.as_deref(), log[1].code),
            (Verb::Create, Some(name.as_str()), 201)
        );
    });
}

#[test]
fn events_have_two_faces() {
    paused(async {
        let sandbox = sandbox();
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "me", "reportingInstance": "i",
            "action": "Do", "reason": "Done", "note": "it is done", "type": "Normal",
            "regarding": {"kind": "Widget", "name": "w", "namespace": "default"},
        });
        sandbox.create(event).unwrap();
        let core: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(sandbox.client());
        let found = core
            .list(&ListParams::default().fields("involvedObject.name=w,involvedObject.kind=Widget"))
            .await
            .unwrap();
        assert_eq!(found.items[0].message.as_deref(), Some("it is done"));
        let new: Api<k8s_openapi::api::events::v1::Event> = Api::default_namespaced(sandbox.client());
        assert_eq!(new.get("e").await.unwrap().note.as_deref(), Some("it is done"));
    });
}

#[test]
fn a_crd_goes_with_its_objects() {
    paused(async {
        let sandbox = sandbox();
        sandbox.apply_crd(widget_crd()).unwrap();
        sandbox.create(widget("w")).unwrap();
        let crds: Api<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition> =
            Api::all(sandbox.client());
        let crd = crds.get("widgets.example.com").await.unwrap();
        let conditions = crd.status.unwrap().conditions.unwrap();
        assert!(
            conditions
                .iter()
                .any(|c| c.type_ == "Established" && c.status == "True")
        );
        crds.delete("widgets.example.com", &DeleteParams::default())
            .await
            .unwrap();
        assert_eq!(status_of(crds.get("widgets.example.com").await.unwrap_err()).0, 404);
        let error = widgets(&sandbox).list(&ListParams::default()).await.unwrap_err();
        // Nothing of the group is left: the real server no longer answers in its own words here.
        assert_eq!(status_of(error).0, 404);
    });
}

#[test]
fn a_crd_whose_rules_cannot_be_evaluated_is_refused() {
    paused(async {
        let sandbox = sandbox();
        let mut crd = widget_crd();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] =
            json!([{"rule": "type(self.color) == string"}]);
        let error = sandbox.apply_crd(crd).unwrap_err();
        assert_eq!(error.code, 422);
    });
}
