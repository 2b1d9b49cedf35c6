//! One API server and its objects as JSON, of any kind.

use e2e_harness::eventually;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::identity::Id;
use crate::world::SOON;

/// Makes a new version of an object until nobody else was first.
const TRIES: usize = 20;

#[derive(Clone)]
pub struct Server(Client);

impl Server {
    pub fn of(client: Client) -> Self {
        Self(client)
    }

    fn api(&self, id: &Id) -> Api<DynamicObject> {
        let (group, version) = id.api_version.split_once('/').unwrap_or(("", &id.api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &id.kind));
        match &id.namespace {
            Some(namespace) => Api::namespaced_with(self.0.clone(), namespace, &resource),
            None => Api::all_with(self.0.clone(), &resource),
        }
    }

    pub async fn try_create(&self, object: &Value, params: &PostParams) -> Result<(), kube::Error> {
        let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        self.api(&Id::of(object)).create(params, &typed).await.map(drop)
    }

    pub async fn create(&self, object: Value) -> Id {
        let id = Id::of(&object);
        let created = self.try_create(&object, &PostParams::default()).await;
        created.unwrap_or_else(|error| panic!("create {id}: {error}"));
        id
    }

    /// Creates what was deleted a moment ago, as soon as its name is free.
    pub async fn recreate(&self, object: Value) -> Value {
        let id = Id::of(&object);
        eventually(&format!("{id} can be made anew"), SOON, async || {
            let created = self.try_create(&object, &PostParams::default()).await;
            created.map_err(|error| error.to_string())
        })
        .await
        .unwrap();
        self.get(&id).await.unwrap()
    }

    pub async fn get(&self, id: &Id) -> Option<Value> {
        let found = self.api(id).get_opt(&id.name).await;
        let found = found.unwrap_or_else(|error| panic!("get {id}: {error}"))?;
        Some(serde_json::to_value(found).unwrap())
    }

    pub async fn has(&self, id: &Id) -> bool {
        self.get(id).await.is_some()
    }

    /// Every object of the kind, wherever it is; none of a kind that is not served.
    pub async fn list(&self, api_version: &str, kind: &str) -> Vec<DynamicObject> {
        let all = self
            .api(&Id::new(api_version, kind, None, ""))
            .list(&ListParams::default())
            .await;
        all.map(|list| list.items).unwrap_or_default()
    }

    pub async fn merge(&self, id: &Id, patch: Value) {
        let patched = self
            .api(id)
            .patch(&id.name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched.unwrap_or_else(|error| panic!("patch {id}: {error}"));
    }

    pub async fn merge_status(&self, id: &Id, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        let patched = self
            .api(id)
            .patch_status(&id.name, &PatchParams::default(), &patch)
            .await;
        patched.unwrap_or_else(|error| panic!("patch the status of {id}: {error}"));
    }

    /// Reads the object, changes its status, and writes exactly that version.
    pub async fn edit_status(&self, id: &Id, change: impl Fn(&mut Value)) {
        for _ in 0..TRIES {
            let mut object = self.get(id).await.unwrap_or_else(|| panic!("there is no {id}"));
            change(&mut object);
            let typed: DynamicObject = serde_json::from_value(object).unwrap();
            match self
                .api(id)
                .replace_status(&id.name, &PostParams::default(), &typed)
                .await
            {
                Ok(_) => return,
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => panic!("write the status of {id}: {error}"),
            }
        }
        panic!("somebody else was always first at {id}");
    }

    pub async fn delete(&self, id: &Id) {
        let deleted = self.api(id).delete(&id.name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("delete {id}: {error}"));
    }

    /// The object when `holds` is true of it.
    pub async fn until(&self, id: &Id, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{id} {what}"), SOON, async || match self.get(id).await {
            Some(object) if holds(&object) => Ok(object),
            other => Err(format!("{other:?}")),
        })
        .await
        .unwrap()
    }

    pub async fn until_gone(&self, id: &Id) {
        eventually(&format!("{id} is gone"), SOON, async || match self.get(id).await {
            None => Ok(()),
            Some(object) => Err(object.to_string()),
        })
        .await
        .unwrap();
    }

    /// Reasons and words of the Events about an object.
    pub async fn events(&self, about: &Id) -> Vec<(String, String)> {
        let namespace = about.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let events = self.api(&Id::new("v1", "Event", Some(&namespace), ""));
        let fields = format!("involvedObject.kind={},involvedObject.name={}", about.kind, about.name);
        let found = events.list(&ListParams::default().fields(&fields)).await.unwrap();
        let text = |event: &DynamicObject, field: &str| event.data[field].as_str().unwrap_or_default().to_owned();
        let told = found.items.iter();
        told.map(|event| (text(event, "reason"), text(event, "message")))
            .collect()
    }

    pub async fn until_told(&self, about: &Id, reason: &str, words: &str) {
        let what = format!("{reason} with {words:?} is told about {about}");
        eventually(&what, SOON, async || {
            let told = self.events(about).await;
            let found = told
                .iter()
                .any(|(because, note)| because == reason && note.contains(words));
            if found { Ok(()) } else { Err(format!("{told:?}")) }
        })
        .await
        .unwrap();
    }

    /// A token of an account of this server, good for an hour.
    pub async fn token(&self, namespace: &str, account: &str) -> String {
        let request =
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(request.to_string().into_bytes())
            .unwrap();
        let answer: Value = self.0.request(request).await.unwrap();
        answer["status"]["token"].as_str().unwrap().to_owned()
    }

    /// How many requests were answered with this code, by the server's own count.
    pub async fn answered(&self, verb: &str, resource: &str, code: u16) -> f64 {
        let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
        let metrics = self.0.request_text(request).await.unwrap();
        let wanted = [
            "apiserver_request_total{".to_owned(),
            format!("verb=\"{verb}\""),
            format!("resource=\"{resource}\""),
            format!("code=\"{code}\""),
        ];
        let of_these = metrics
            .lines()
            .filter(|line| wanted.iter().all(|part| line.contains(part)));
        let counts = of_these.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        counts.sum()
    }
}
