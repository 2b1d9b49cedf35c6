//! Get and list: consistent pages, selectors, versions, and the shapes of an answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::registry::ResourceDef;
use crate::request::Query;
use crate::selectors::Selector;
use crate::state::{State, bytes_of, render, render_value};
use crate::status::{ApiError, FieldError, FieldErrorKind};
use crate::store::{Key, Stored, Table};
use crate::table;

/// The form that a client asked for in its Accept header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    /// `Table`, as kubectl prints; with the whole object in each row, its metadata, or nothing.
    Table(RowObject),
    /// `PartialObjectMetadata`.
    Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowObject {
    Nothing,
    Metadata,
    Whole,
}

impl Shape {
    pub(crate) fn of(accept: &str, query: &Query) -> Self {
        for offer in accept.split(',') {
            let parts: Vec<&str> = offer.split(';').map(str::trim).collect();
            let as_kind = parts.iter().find_map(|p| p.strip_prefix("as="));
            match as_kind {
                Some("Table") if parts.contains(&"v=v1") => {
                    return Self::Table(match query.get("includeObject") {
                        Some("None") => RowObject::Nothing,
                        Some("Object") => RowObject::Whole,
                        _ => RowObject::Metadata,
                    });
                }
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => return Self::Metadata,
                _ => {}
            }
            if as_kind.is_none() && matches!(parts.first(), Some(&("application/json" | "*/*" | "application/*"))) {
                return Self::Full;
            }
        }
        Self::Full
    }
}

/// One page of a list.
pub(crate) struct Page {
    pub items: Vec<Arc<Stored>>,
    pub rv: u64,
    pub next: Option<String>,
    pub remaining: Option<u64>,
}

impl State {
    /// Lists as the query asks; `stale` shows the state of that many versions ago.
    pub(crate) fn list(
        &self,
        def: &ResourceDef,
        namespace: Option<&str>,
        query: &Query,
        stale: u64,
    ) -> Result<Page, ApiError> {
        let selector = Selector::parse(def, query.get("labelSelector"), query.get("fieldSelector"))?;
        let version = query.get("resourceVersion");
        let number = match version {
            None => None,
            Some(text) => Some(text.parse::<u64>().map_err(|_| {
                ApiError::bad_request(format!(
                    "invalid resource version: resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
                ))
            })?),
        };
        if query.has("sendInitialEvents") {
            return Err(ApiError::invalid_options(
                "ListOptions",
                &FieldError::new(
                    FieldErrorKind::Forbidden,
                    "sendInitialEvents",
                    None,
                    "sendInitialEvents is forbidden for list",
                ),
            ));
        }
        if let Some(text) = query.get("limit").filter(|text| text.parse::<i64>().is_err()) {
            return Err(ApiError::bad_request(format!(
                "strconv.ParseInt: parsing {text:?}: invalid syntax"
            )));
        }
        let mut limit = query
            .number("limit")
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| *n > 0);
        if let Some(token) = query.get("continue") {
            if version.is_some_and(|v| v != "0") {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let token = Token::decode(token)
                .ok_or_else(|| ApiError::bad_request("invalid continue token: continue key is not valid"))?;
            return self.page(def, namespace, &selector, token.rv, limit, Some(&token));
        }
        if query.get("resourceVersionMatch").is_some() && version.is_none() {
            return Err(ApiError::invalid_options(
                "ListOptions",
                &FieldError::new(
                    FieldErrorKind::Forbidden,
                    "resourceVersionMatch",
                    None,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ),
            ));
        }
        let exact = match query.get("resourceVersionMatch") {
            Some("Exact") if number == Some(0) => {
                return Err(ApiError::invalid_options(
                    "ListOptions",
                    &FieldError::new(
                        FieldErrorKind::Forbidden,
                        "resourceVersionMatch",
                        None,
                        "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                    ),
                ));
            }
            Some("Exact") => true,
            Some("NotOlderThan") => false,
            Some(other) => {
                let allowed = [Value::from("Exact"), "NotOlderThan".into(), "".into()];
                let error = FieldError::not_supported("resourceVersionMatch", other.into(), &allowed);
                return Err(ApiError::invalid_options("ListOptions", &error));
            }
            // A limit with a version and no match rule means exactly that version.
            None => limit.is_some() && number.is_some_and(|n| n > 0),
        };
        if number == Some(0) {
            limit = None;
        }
        if let Some(wanted) = number
            && wanted > self.store.rv
        {
            return Err(too_large(wanted, self.store.rv));
        }
        let rv = if exact {
            number.unwrap_or(self.store.rv)
        } else {
            self.store.rv.saturating_sub(stale)
        };
        self.page(def, namespace, &selector, rv, limit, None)
    }

    /// A read of one object waits for its version; one that never comes is a timeout.
    pub(crate) fn knows_version(&self, query: &Query) -> Result<(), ApiError> {
        match query.number("resourceVersion") {
            Some(wanted) if wanted > self.store.rv => Err(too_large(wanted, self.store.rv)),
            _ => Ok(()),
        }
    }

    fn page(
        &self,
        def: &ResourceDef,
        namespace: Option<&str>,
        selector: &Selector,
        rv: u64,
        limit: Option<usize>,
        token: Option<&Token>,
    ) -> Result<Page, ApiError> {
        let Some(table) = self.store.existing(&def.storage) else {
            return Ok(Page {
                items: Vec::new(),
                rv,
                next: None,
                remaining: None,
            });
        };
        let undo = table.undo_to(rv).ok_or_else(|| {
            ApiError::expired(if token.is_some() {
                "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
            } else {
                "The resourceVersion for the provided list is too old."
            })
        })?;
        if let (Some(name), None, None) = (selector.single_name(), token, limit)
            && undo.is_empty()
            && (!def.namespaced || namespace.is_some())
        {
            // One name asked for: no need to walk the table.
            let key = Key::new(if def.namespaced { namespace } else { None }, name);
            let items = table
                .get(&key)
                .filter(|o| selector.matches(o))
                .cloned()
                .into_iter()
                .collect();
            return Ok(Page {
                items,
                rv,
                next: None,
                remaining: None,
            });
        }
        let after = token.map(|t| Key::position(&t.after));
        let mut all = Snapshot::new(table, namespace, after.as_ref(), &undo).filter(|o| selector.matches(o));
        let Some(limit) = limit else {
            return Ok(Page {
                items: all.collect(),
                rv,
                next: None,
                remaining: None,
            });
        };
        let items: Vec<Arc<Stored>> = all.by_ref().take(limit).collect();
        let (Some(last), true) = (items.last(), all.next().is_some()) else {
            return Ok(Page {
                items,
                rv,
                next: None,
                remaining: None,
            });
        };
        let remaining = if selector.selects_everything() {
            Some(match token.and_then(|t| t.remaining) {
                Some(before) => before.saturating_sub(items.len() as u64),
                None => all.count() as u64 + 1,
            })
        } else {
            None
        };
        let next = Token {
            rv,
            after: last.key.as_str().to_owned(),
            remaining,
        }
        .encode();
        Ok(Page {
            items,
            rv,
            next: Some(next),
            remaining,
        })
    }
}

/// The objects of a table as they were: the present ones with the undone changes laid over.
struct Snapshot<'a, I: Iterator<Item = &'a Arc<Stored>>> {
    present: std::iter::Peekable<I>,
    undone: std::iter::Peekable<std::vec::IntoIter<(Key, Option<Arc<Stored>>)>>,
}

impl<'a> Snapshot<'a, Box<dyn Iterator<Item = &'a Arc<Stored>> + 'a>> {
    fn new(
        table: &'a Table,
        namespace: Option<&'a str>,
        after: Option<&Key>,
        undo: &BTreeMap<Key, Option<Arc<Stored>>>,
    ) -> Self {
        let inside = |key: &Key| {
            after.is_none_or(|a| key > a) && namespace.is_none_or(|ns| key.as_str().starts_with(&format!("{ns}/")))
        };
        let undone: Vec<_> = undo
            .iter()
            .filter(|(k, _)| inside(k))
            .map(|(k, o)| (k.clone(), o.clone()))
            .collect();
        let present: Box<dyn Iterator<Item = &'a Arc<Stored>> + 'a> = Box::new(table.range(namespace, after));
        Self {
            present: present.peekable(),
            undone: undone.into_iter().peekable(),
        }
    }
}

impl<'a, I: Iterator<Item = &'a Arc<Stored>>> Iterator for Snapshot<'a, I> {
    type Item = Arc<Stored>;

    fn next(&mut self) -> Option<Arc<Stored>> {
        loop {
            let Some((key, _)) = self.undone.peek() else {
                return self.present.next().cloned();
            };
            match self.present.peek() {
                Some(object) if object.key < *key => return self.present.next().cloned(),
                Some(object) if object.key == *key => {
                    self.present.next();
                }
                _ => {
                    if let Some((_, Some(former))) = self.undone.next() {
                        return Some(former);
                    }
                }
            }
        }
    }
}

/// A continue token: the version of the list, the last key sent, and how many are left.
struct Token {
    rv: u64,
    after: String,
    remaining: Option<u64>,
}

impl Token {
    fn encode(&self) -> String {
        let remaining = self.remaining.map(|n| n.to_string()).unwrap_or_default();
        let text = format!("{}:{remaining}:{}", self.rv, self.after);
        text.bytes().map(|b| format!("{b:02x}")).collect()
    }

    fn decode(token: &str) -> Option<Self> {
        let digits: Vec<u32> = token.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
        let bytes: Vec<u8> = digits
            .chunks(2)
            .map(|p| u8::try_from(p.first()? * 16 + p.get(1)?).ok())
            .collect::<Option<_>>()?;
        let text = String::from_utf8(bytes).ok()?;
        let (rv, rest) = text.split_once(':')?;
        let (remaining, after) = rest.split_once(':')?;
        Some(Self {
            rv: rv.parse().ok()?,
            after: after.to_owned(),
            remaining: remaining.parse().ok(),
        })
    }
}

fn too_large(wanted: u64, current: u64) -> ApiError {
    let mut error = ApiError::new(
        504,
        "Timeout",
        format!("Timeout: Too large resource version: {wanted}, current: {current}"),
    );
    error.details = Some(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }));
    error
}

/// The body of a list answer.
pub(crate) fn list_body(def: &ResourceDef, page: &Page, shape: Shape, now: jiff::Timestamp) -> Bytes {
    let mut meta = json!({"resourceVersion": page.rv.to_string()});
    match &page.next {
        Some(next) => meta["continue"] = next.clone().into(),
        // Lists of custom resources always have the field.
        None if def.is_custom() && shape == Shape::Full => meta["continue"] = "".into(),
        None => {}
    }
    if let Some(remaining) = page.remaining {
        meta["remainingItemCount"] = remaining.into();
    }
    match shape {
        Shape::Full => {
            let size: usize = page.items.iter().map(|o| o.json.len() + 1).sum();
            let mut out = Vec::with_capacity(size + 256);
            let head = format!(
                "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{meta},\"items\":[",
                Value::from(def.list_kind.as_str()),
                Value::from(def.api_version())
            );
            out.extend_from_slice(head.as_bytes());
            let bare = !def.is_custom() && def.group != "events.k8s.io";
            let new_event = |object: &Stored| {
                let mut event = render_value(def, object);
                if let Some(event) = event.as_object_mut() {
                    event.remove("kind");
                    event.remove("apiVersion");
                }
                bytes_of(&event)
            };
            for (i, object) in page.items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                if bare {
                    object.write_bare(&mut out);
                } else if !def.is_custom() {
                    out.extend_from_slice(&new_event(object));
                } else {
                    out.extend_from_slice(&render(def, object));
                }
            }
            out.extend_from_slice(b"]}\n");
            out.into()
        }
        Shape::Table(rows) => {
            let objects: Vec<Value> = page.items.iter().map(|o| render_value(def, o)).collect();
            bytes_of(&table::table(def, &objects, &meta, rows, now))
        }
        Shape::Metadata => {
            let items: Vec<Value> = page.items.iter().map(|o| metadata_only(&o.value())).collect();
            bytes_of(&json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": meta,
                "items": items,
            }))
        }
    }
}

/// One object in the asked shape.
pub(crate) fn object_body(def: &ResourceDef, object: &Stored, shape: Shape, now: jiff::Timestamp) -> Bytes {
    match shape {
        Shape::Full => render(def, object),
        Shape::Table(rows) => {
            let meta = json!({"resourceVersion": object.rv.to_string()});
            bytes_of(&table::table(def, &[render_value(def, object)], &meta, rows, now))
        }
        Shape::Metadata => bytes_of(&metadata_only(&object.value())),
    }
}

pub(crate) fn metadata_only(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
