//! Requests as RBAC sees them.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use tower::service_fn;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// About objects.
    Resource {
        verb: String,
        group: String,
        /// With its subresource: `works/status`.
        resource: String,
        namespace: Option<String>,
        name: Option<String>,
    },
    /// Discovery, health, version.
    Path { verb: String, path: String },
}

/// The requests of one client, in order.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Asked>>>);

impl Log {
    /// The same client, its requests noted here.
    pub fn noting(&self, client: Client) -> Client {
        let log = self.0.clone();
        let namespace = client.default_namespace().to_owned();
        let service = service_fn(move |request: http::Request<Body>| {
            log.lock().push(read(&request));
            let client = client.clone();
            async move { client.send(request).await }
        });
        Client::new(service, namespace)
    }

    pub fn all(&self) -> Vec<Asked> {
        self.0.lock().clone()
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// What a request is, by its method and URL, as the API server works it out.
fn read(request: &http::Request<Body>) -> Asked {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
        ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
        _ => {
            return Asked::Path {
                verb: request.method().as_str().to_lowercase(),
                path: path.to_owned(),
            };
        }
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
        other => (None, other),
    };
    let selected = query.split('&').find_map(|pair| {
        let value = pair.strip_prefix("fieldSelector=")?;
        value.strip_prefix("metadata.name%3D").map(str::to_owned)
    });
    let named = rest.get(1).map(|name| (*name).to_owned());
    let verb = match (request.method().as_str(), &named) {
        ("GET", _) if query.contains("watch=true") => "watch",
        ("GET", Some(_)) => "get",
        ("GET", None) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", Some(_)) => "delete",
        ("DELETE", None) => "deletecollection",
        (other, _) => panic!("{other} {path}"),
    };
    let resource = match rest.get(2) {
        Some(subresource) => format!("{}/{subresource}", rest[0]),
        None => rest[0].to_owned(),
    };
    Asked::Resource {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource,
        namespace,
        name: named.or(selected),
    }
}

/// Whether one rule allows the request; the rule's scope is the caller's matter.
pub fn covers(rule: &PolicyRule, asked: &Asked) -> bool {
    let has = |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|one| one == "*" || one == wanted);
    match asked {
        Asked::Resource {
            verb,
            group,
            resource,
            name,
            ..
        } => {
            let names = rule.resource_names.as_deref().unwrap_or_default();
            rule.verbs.contains(verb)
                && has(&rule.api_groups, group)
                && has(&rule.resources, resource)
                && (names.is_empty() || name.as_ref().is_some_and(|name| names.contains(name)))
        }
        Asked::Path { verb, path } => {
            let urls = rule.non_resource_urls.iter().flatten();
            rule.verbs.contains(verb)
                && urls.into_iter().any(|url| match url.strip_suffix('*') {
                    Some(prefix) => path.starts_with(prefix),
                    None => path == url,
                })
        }
    }
}
