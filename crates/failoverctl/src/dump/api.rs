//! The API server of a dump: it answers reads as the one did that it is of.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};

use super::kinds::{KINDS, Kind};
use super::read::Contents;
use super::report::{NOT_SERVED, NotRead};

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// What is answered about a kind of which the dump has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// That part, of which the person is told that it is one.
    Shown,
    /// That it is not known: an answer worked out from a part would be wrong.
    Refused,
}

pub(super) fn client(contents: Arc<Contents>, parts: Parts) -> kube::Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (code, body) = if request.method() == Method::GET {
            answer(
                &contents,
                parts,
                request.uri().path(),
                request.uri().query().unwrap_or_default(),
            )
        } else {
            refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "MethodNotAllowed",
                "a dump can only be read",
            )
        };
        async move {
            let response = Response::builder()
                .status(code)
                .header("content-type", "application/json");
            Ok::<_, Failed>(response.body(Body::from(body.to_string().into_bytes()))?)
        }
    });
    kube::Client::new(service, "default")
}

/// The answer to a GET.
fn answer(contents: &Contents, parts: Parts, path: &str, query: &str) -> (StatusCode, Value) {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match &segments[..] {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return not_there(path),
    };
    let of_group = |kind: &&Kind| kind.group == group && kind.version == version;
    let (namespace, plural, name) = match rest {
        [] => return (StatusCode::OK, discovery(KINDS.iter().filter(of_group))),
        ["namespaces", namespace, plural] => (Some(*namespace), *plural, None),
        ["namespaces", namespace, plural, name] => (Some(*namespace), *plural, Some(*name)),
        [plural] => (None, *plural, None),
        [plural, name] => (None, *plural, Some(*name)),
        _ => return not_there(path),
    };
    let Some(kind) = KINDS.iter().filter(of_group).find(|kind| kind.plural == plural) else {
        return not_there(path);
    };
    let is_wanted = |object: &&Value| {
        let metadata = &object["metadata"];
        object["kind"] == kind.kind
            && namespace.is_none_or(|namespace| metadata["namespace"] == namespace)
            && name.is_none_or(|name| metadata["name"] == name)
    };
    let found: Vec<&Value> = contents.objects.iter().filter(is_wanted).collect();
    if let Some(why) = why_not(contents, plural, namespace) {
        let message = match (found.is_empty(), parts) {
            (true, _) if why == NOT_SERVED => return not_there(plural),
            (true, _) if name.is_none() => Some(format!("they are not in the dump: {why}")),
            // Nobody knows whether it was there.
            (true, _) | (false, Parts::Refused) => Some(format!("they are not all in the dump: {why}")),
            (false, Parts::Shown) => None,
        };
        if let Some(message) = message {
            return refusal(StatusCode::FORBIDDEN, "Forbidden", &message);
        }
    }
    if let Some(name) = name {
        return match found.first() {
            Some(object) => (StatusCode::OK, (*object).clone()),
            None => not_there(name),
        };
    }
    let selected: Vec<&Value> = found.into_iter().filter(|object| selects(query, object)).collect();
    let list = json!({
        "apiVersion": kind.api_version(), "kind": format!("{}List", kind.kind), "metadata": {"resourceVersion": "1"},
        "items": selected,
    });
    (StatusCode::OK, list)
}

/// Why a kind is not in the dump, or not as a whole.
fn why_not(contents: &Contents, plural: &str, namespace: Option<&str>) -> Option<String> {
    let is_asked = |not: &&NotRead| match (not.what.split_once(" in namespace "), namespace) {
        (None, _) => not.what == plural,
        (Some((what, of)), Some(namespace)) => what == plural && of == namespace,
        (Some((what, _)), None) => what == plural,
    };
    let not = contents.not_read.iter().find(is_asked)?;
    Some(not.why.clone())
}

fn discovery<'a>(kinds: impl Iterator<Item = &'a Kind>) -> Value {
    let mut group_version = String::new();
    let resources: Vec<Value> = kinds
        .map(|kind| {
            group_version = kind.api_version();
            json!({
                "name": kind.plural, "kind": kind.kind, "singularName": "", "namespaced": kind.is_namespaced(),
                "verbs": ["get", "list"],
            })
        })
        .collect();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources})
}

/// Whether the field selector of a query takes an object: fields that have these values.
fn selects(query: &str, object: &Value) -> bool {
    let selector = query.split('&').find_map(|part| part.strip_prefix("fieldSelector="));
    let selector = selector.map(decoded).unwrap_or_default();
    let requirements = selector
        .split(',')
        .filter_map(|requirement| requirement.split_once('='));
    requirements.into_iter().all(|(field, wanted)| {
        let found = field.split('.').fold(object, |value, name| &value[name]);
        found.as_str().unwrap_or_default() == wanted.trim_start_matches('=')
    })
}

/// A part of a query as it was meant.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex
            .filter(|_| *first == b'%')
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn not_there(what: &str) -> (StatusCode, Value) {
    refusal(StatusCode::NOT_FOUND, "NotFound", &format!("the dump has no {what}"))
}

fn refusal(code: StatusCode, reason: &str, message: &str) -> (StatusCode, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code.as_u16(), "message": message,
    });
    (code, status)
}
