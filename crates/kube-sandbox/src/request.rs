//! From an HTTP request to what it asks for: verb, resource, names, options.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::registry::{Registry, ResourceDef};
use crate::status::{ApiError, FieldError};
use crate::write::UnknownFields;

/// A request as it arrives, with the body read.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub method: http::Method,
    pub path: String,
    pub query: Query,
    pub accept: String,
    pub content_type: String,
    pub authorization: Option<String>,
    pub body: Bytes,
    /// Who sent it: the name given to an in-process client, empty over HTTP without one.
    pub client: Arc<str>,
    pub origin: Origin,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From a client of this process, which is trusted without a token.
    InProcess,
    Network,
}

/// Query parameters, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(
            text.split('&')
                .filter(|p| !p.is_empty())
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (percent_decode(key), percent_decode(value))
                })
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(k, _)| k == name)
            .map(|(_, v)| v.as_str())
            .filter(|v| !v.is_empty())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(k, _)| k == name)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        // Kubernetes reads `?watch` and `?watch=1` as true.
        self.0
            .iter()
            .any(|(k, v)| k == name && !matches!(v.as_str(), "false" | "0"))
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(|v| v.parse().ok())
    }
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut i) = (Vec::with_capacity(bytes.len()), 0);
    while i < bytes.len() {
        let hex = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
        match (
            bytes[i],
            bytes.get(i + 1).copied().and_then(hex),
            bytes.get(i + 2).copied().and_then(hex),
        ) {
            (b'%', Some(high), Some(low)) => {
                out.push(high * 16 + low);
                i += 3;
            }
            (b'+', _, _) => {
                out.push(b' ');
                i += 1;
            }
            (other, _, _) => {
                out.push(other);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What a resource request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read many objects.
    List,
    /// Follow changes.
    Watch,
    /// Make a new object.
    Create,
    /// Replace an object.
    Update,
    /// Change parts of an object, also by apply.
    Patch,
    /// Remove an object, or mark it for removal.
    Delete,
    /// Remove all selected objects.
    DeleteCollection,
    /// Anything that is no resource request: discovery, health, version.
    Other,
}

impl Verb {
    /// Whether the request may change what is stored.
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Update | Self::Patch | Self::Delete | Self::DeleteCollection
        )
    }

    /// The word that Kubernetes uses, as in RBAC rules.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }
}

/// The addressed resource, still as text: what faults and counters match on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub group: String,
    pub version: String,
    pub resource: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub subresource: Option<String>,
}

/// A request to a resource.
#[derive(Clone, Debug)]
pub(crate) struct ResourceRequest {
    pub verb: Verb,
    pub target: Target,
}

/// Splits a path into the resource it names; `None` for everything that is no resource path.
pub(crate) fn parse_target(path: &str) -> Option<Target> {
    let mut parts = path.trim_matches('/').split('/').filter(|p| !p.is_empty());
    let (group, version) = match parts.next()? {
        "api" => (String::new(), parts.next()?.to_owned()),
        "apis" => (parts.next()?.to_owned(), parts.next()?.to_owned()),
        _ => return None,
    };
    let rest: Vec<String> = parts.map(percent_decode).collect();
    let mut target = Target {
        group,
        version,
        ..Target::default()
    };
    match rest.as_slice() {
        [] => return None,
        // `namespaces/x` is the namespace itself, and so are its two subresources.
        [ns, name] if ns == "namespaces" => {
            target.resource = ns.clone();
            target.name = Some(name.clone());
            target.namespace = Some(name.clone());
        }
        [ns, name, sub] if ns == "namespaces" && (sub == "status" || sub == "finalize") => {
            target.resource = ns.clone();
            target.name = Some(name.clone());
            target.namespace = Some(name.clone());
            target.subresource = Some(sub.clone());
        }
        [ns, namespace, resource, tail @ ..] if ns == "namespaces" => {
            target.namespace = Some(namespace.clone());
            target.resource = resource.clone();
            target.name = tail.first().cloned();
            target.subresource = tail.get(1).cloned();
            if tail.len() > 2 {
                return None;
            }
        }
        [resource, tail @ ..] => {
            target.resource = resource.clone();
            target.name = tail.first().cloned();
            target.subresource = tail.get(1).cloned();
            if tail.len() > 2 {
                return None;
            }
        }
    }
    Some(target)
}

impl Incoming {
    /// The verb and target, where the path is one of a resource.
    pub(crate) fn resource_request(&self) -> Option<ResourceRequest> {
        let target = parse_target(&self.path)?;
        let watch = self.query.flag("watch");
        let verb = match (&self.method, target.name.is_some()) {
            // The name of one object wins over `watch`, as on the real server.
            (&http::Method::GET | &http::Method::HEAD, true) => Verb::Get,
            (&http::Method::GET, _) if watch => Verb::Watch,
            (&http::Method::GET | &http::Method::HEAD, _) => Verb::List,
            (&http::Method::POST, _) => Verb::Create,
            (&http::Method::PUT, true) => Verb::Update,
            (&http::Method::PATCH, true) => Verb::Patch,
            (&http::Method::DELETE, true) => Verb::Delete,
            (&http::Method::DELETE, false) => Verb::DeleteCollection,
            _ => return None,
        };
        Some(ResourceRequest { verb, target })
    }

    /// What the client wants of fields that the schema does not know.
    pub(crate) fn unknown_fields(&self) -> Result<UnknownFields, ApiError> {
        match self.query.get("fieldValidation") {
            Some("Strict") => Ok(UnknownFields::Refused),
            None | Some("Warn" | "Ignore") => Ok(UnknownFields::Dropped),
            Some(other) => {
                let kind = match self.method {
                    http::Method::POST => "CreateOptions",
                    http::Method::PATCH => "PatchOptions",
                    _ => "UpdateOptions",
                };
                let allowed = ["", "Ignore", "Strict", "Warn"].map(Value::from);
                let error = FieldError::not_supported("fieldValidation", other.into(), &allowed);
                Err(ApiError::invalid_options(kind, &error))
            }
        }
    }

    pub(crate) fn dry_run(&self) -> Result<bool, ApiError> {
        match self.query.get("dryRun") {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(other) => {
                let kind = match self.method {
                    http::Method::POST => "CreateOptions",
                    http::Method::PUT => "UpdateOptions",
                    http::Method::PATCH => "PatchOptions",
                    _ => "DeleteOptions",
                };
                let error = FieldError::not_supported("dryRun", serde_json::json!([other]), &["All".into()]);
                Err(ApiError::invalid_options(kind, &error))
            }
        }
    }
}

impl Target {
    /// The definition, checked for scope: a path whose form does not fit the resource is not found.
    pub(crate) fn resolve(&self, registry: &Registry) -> Result<Arc<ResourceDef>, ApiError> {
        let def = registry
            .get(&self.group, &self.version, &self.resource)
            .ok_or_else(ApiError::no_such_path)?;
        let in_namespace = self.namespace.is_some() && self.resource != "namespaces";
        if in_namespace && !def.namespaced {
            return Err(ApiError::no_such_path());
        }
        if def.namespaced && !in_namespace && self.name.is_some() {
            return Err(ApiError::no_such_path());
        }
        Ok(def)
    }

    /// The namespace of the object meant, `None` for cluster-scoped ones.
    pub(crate) fn object_namespace<'a>(&'a self, def: &ResourceDef) -> Option<&'a str> {
        if def.namespaced {
            self.namespace.as_deref()
        } else {
            None
        }
    }
}

/// Reads a body as JSON, as protobuf where it says so, and as YAML otherwise.
pub(crate) fn decode(body: &[u8]) -> Result<Value, ApiError> {
    if body.starts_with(crate::protobuf::MAGIC) {
        return crate::protobuf::decode(body);
    }
    let first = body.iter().find(|b| !b.is_ascii_whitespace());
    if matches!(first, Some(b'{' | b'[')) {
        return serde_json::from_slice(body)
            .map_err(|why| ApiError::bad_request(format!("couldn't get version/kind; json parse error: {why}")));
    }
    let text = std::str::from_utf8(body).map_err(|_| ApiError::bad_request("the body is not UTF-8"))?;
    serde_saphyr::from_str(text).map_err(|why| ApiError::bad_request(format!("error decoding YAML: {why}")))
}
