//! Watches: every change after a version, in order, exactly once, as far as the history reaches.
//!
//! A watch holds no queue of its own: it remembers a version and reads on in the table's history, so a slow reader
//! costs nothing and is told "410 Gone" when the history has moved past it, like the real server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http_body::Frame;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::faults::EventEffect;
use crate::link::Reachability;
use crate::matching::Seen;
use crate::read::{RowObject, Shape, metadata_only};
use crate::registry::ResourceDef;
use crate::request::{Query, Target, Verb};
use crate::sandbox::Inner;
use crate::selectors::Selector;
use crate::service::BodyError;
use crate::state::{State, bytes_of, render_value};
use crate::status::{ApiError, FieldError, FieldErrorKind};
use crate::store::{Change, Stored, Table};
use crate::table;

/// Without `timeoutSeconds` the real server ends a watch after a random time between 30 and 60 minutes.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45 * 60);
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// What a watch request asked for.
pub(crate) struct WatchPlan {
    pub def: Arc<ResourceDef>,
    pub namespace: Option<String>,
    pub selector: Selector,
    pub shape: Shape,
    pub bookmarks: bool,
    pub timeout: Duration,
    pub client: Arc<str>,
    /// Whether links and faults apply.
    pub observer: bool,
    start: Start,
    /// Tables name their columns in the first event only.
    columns_sent: AtomicBool,
}

enum Start {
    /// First all present objects as ADDED; then, if asked, a bookmark that says so.
    Present {
        end_mark: bool,
    },
    After(u64),
}

/// One line of the answer, with what a test wants done to it.
struct Line {
    bytes: Bytes,
    delay: Option<Duration>,
}

impl WatchPlan {
    pub(crate) fn new(
        def: Arc<ResourceDef>,
        target: &Target,
        query: &Query,
        shape: Shape,
        client: Arc<str>,
        observer: bool,
    ) -> Result<Self, ApiError> {
        let mut fields = query.get("fieldSelector").unwrap_or_default().to_owned();
        if let Some(name) = &target.name {
            if !fields.is_empty() {
                fields.push(',');
            }
            fields.push_str(&format!("metadata.name={name}"));
        }
        let selector = Selector::parse(&def, query.get("labelSelector"), Some(&fields))?;
        let version = query.get("resourceVersion");
        let initial = query.get("sendInitialEvents").map(|v| v != "false" && v != "0");
        let forbidden = |why: &str| {
            let error = FieldError::new(FieldErrorKind::Forbidden, "resourceVersionMatch", None, why);
            ApiError::invalid_options("ListOptions", &error)
        };
        match (initial, query.get("resourceVersionMatch")) {
            (None, Some(_)) => {
                return Err(forbidden(
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            (Some(_), Some("NotOlderThan")) | (None, None) => {}
            (Some(_), _) => {
                return Err(forbidden(
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ));
            }
        }
        let bookmarks = query.flag("allowWatchBookmarks");
        let start = match (initial, version) {
            (Some(true), _) => Start::Present { end_mark: bookmarks },
            (None | Some(false), None | Some("0")) if initial.is_none() => Start::Present { end_mark: bookmarks },
            (_, text) => {
                let text = text.unwrap_or("0");
                Start::After(text.parse().map_err(|_| {
                    let mut error = ApiError::no_version(text);
                    error.message = format!("resourceVersion: Invalid value: {text:?}: {}", error.message);
                    error
                })?)
            }
        };
        Ok(Self {
            namespace: target.object_namespace(&def).map(str::to_owned),
            def,
            selector,
            shape,
            bookmarks,
            timeout: query
                .number("timeoutSeconds")
                .map_or(DEFAULT_TIMEOUT, Duration::from_secs),
            client,
            observer,
            start,
            columns_sent: AtomicBool::new(false),
        })
    }

    fn table(&self, objects: &[Value], meta: &Value, rows: RowObject, now: jiff::Timestamp) -> Value {
        let mut table = table::table(&self.def, objects, meta, rows, now);
        if self.columns_sent.swap(true, Ordering::Relaxed) {
            table["columnDefinitions"] = Value::Null;
        }
        table
    }

    fn line(&self, event: &str, object: &Value) -> Bytes {
        let mut line = bytes_of(&json!({"type": event, "object": object})).to_vec();
        line.push(b'\n');
        line.into()
    }

    fn event(&self, event: &str, object: &Stored, now: jiff::Timestamp) -> Bytes {
        match self.shape {
            Shape::Full => {
                let body = crate::state::render(&self.def, object);
                let mut line = Vec::with_capacity(body.len() + 40);
                line.extend_from_slice(b"{\"type\":\"");
                line.extend_from_slice(event.as_bytes());
                line.extend_from_slice(b"\",\"object\":");
                line.extend_from_slice(&body);
                line.extend_from_slice(b"}\n");
                line.into()
            }
            Shape::Table(rows) => {
                let meta = json!({"resourceVersion": object.rv.to_string()});
                let one = [render_value(&self.def, object)];
                self.line(event, &self.table(&one, &meta, rows, now))
            }
            Shape::Metadata => self.line(event, &metadata_only(&object.value())),
        }
    }

    /// The event a change is for this watch: selectors make an object appear or vanish by a mere modification.
    fn event_of(&self, change: &Change, now: jiff::Timestamp) -> Option<Bytes> {
        if let Some(namespace) = &self.namespace
            && change.object.key.namespace() != Some(namespace)
        {
            return None;
        }
        let was = change.before.as_ref().is_some_and(|b| self.selector.matches(b));
        let is = !change.deleted && self.selector.matches(&change.object);
        match (was, is) {
            (false, true) => Some(self.event("ADDED", &change.object, now)),
            (true, true) => Some(self.event("MODIFIED", &change.object, now)),
            (true, false) if change.deleted => Some(self.event("DELETED", &change.object, now)),
            (true, false) => {
                // The former state, under the version of the change that hid it.
                let mut last = render_value(&self.def, change.before.as_ref()?);
                last["metadata"]["resourceVersion"] = change.rv.to_string().into();
                let object = match self.shape {
                    Shape::Full => last,
                    Shape::Metadata => metadata_only(&last),
                    Shape::Table(rows) => {
                        let meta = json!({"resourceVersion": change.rv.to_string()});
                        self.table(&[last], &meta, rows, now)
                    }
                };
                Some(self.line("DELETED", &object))
            }
            (false, false) => None,
        }
    }

    fn bookmark(&self, rv: u64, ends_initial: bool) -> Bytes {
        let mut meta = json!({"resourceVersion": rv.to_string()});
        if ends_initial {
            meta["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = match self.shape {
            Shape::Full => {
                json!({"kind": self.def.kind, "apiVersion": self.def.api_version(), "metadata": meta})
            }
            Shape::Table(rows) => self.table(&[], &meta, rows, jiff::Timestamp::UNIX_EPOCH),
            Shape::Metadata => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta})
            }
        };
        self.line("BOOKMARK", &object)
    }

    fn seen<'a>(&'a self, object: Option<&'a Stored>) -> Seen<'a> {
        Seen {
            client: &self.client,
            verb: Verb::Watch,
            resource: &self.def.plural,
            subresource: None,
            namespace: object.map_or(self.namespace.as_deref(), |o| o.key.namespace()),
            name: object.map(|o| o.key.name()),
        }
    }

    /// What is to be sent first, and the version to go on from.
    fn begin(&self, state: &State, now: jiff::Timestamp) -> (Vec<Line>, u64) {
        match self.start {
            Start::After(rv) => (Vec::new(), rv),
            Start::Present { end_mark } => {
                let rv = state.store.rv;
                let mut lines: Vec<Line> = state
                    .store
                    .existing(&self.def.storage)
                    .into_iter()
                    .flat_map(|t| t.range(self.namespace.as_deref(), None))
                    .filter(|o| self.selector.matches(o))
                    .map(|o| Line {
                        bytes: self.event("ADDED", o, now),
                        delay: None,
                    })
                    .collect();
                if end_mark {
                    lines.push(Line {
                        bytes: self.bookmark(rv, true),
                        delay: None,
                    });
                }
                (lines, rv)
            }
        }
    }

    /// The lines after a version; `None` when the history no longer has them.
    fn next(&self, inner: &Inner, state: &State, cursor: u64, now: jiff::Timestamp) -> Option<Vec<Line>> {
        let Some(table) = state.store.existing(&self.def.storage) else {
            return Some(Vec::new());
        };
        let mut lines = Vec::new();
        for change in table.changes_after(cursor)? {
            let Some(bytes) = self.event_of(change, now) else {
                continue;
            };
            let mut line = Line { bytes, delay: None };
            let mut dropped = false;
            if !self.observer {
                for effect in inner.faults.event_effects(&self.seen(Some(&change.object))) {
                    match effect {
                        EventEffect::Drop => dropped = true,
                        EventEffect::Delay(by) => line.delay = Some(line.delay.unwrap_or_default() + by),
                    }
                }
            }
            if !dropped {
                lines.push(line);
            }
        }
        Some(lines)
    }
}

/// The body of a watch answer.
pub(crate) fn stream(inner: Arc<Inner>, plan: WatchPlan) -> impl Stream<Item = Result<Frame<Bytes>, BodyError>> {
    async_stream::stream! {
        let ends_at = Instant::now() + plan.timeout;
        // One comes shortly before the end, so that the next watch can go on from there.
        let last_mark = ends_at.checked_sub(BOOKMARK_BEFORE_END).filter(|at| *at > Instant::now());
        let mut bookmark_at = Instant::now() + BOOKMARK_PERIOD;
        if let Some(last) = last_mark {
            bookmark_at = bookmark_at.min(last);
        }
        let (changed, cuts) = {
            let mut state = inner.state.lock();
            (state.store.table(&plan.def.storage).changed.clone(), inner.faults.cuts())
        };
        let (mut lines, mut cursor) = plan.begin(&inner.state.lock(), (inner.now)());
        let mut marked = cursor;
        loop {
            for line in lines.drain(..) {
                if let Some(delay) = line.delay {
                    tokio::time::sleep(delay).await;
                }
                if !plan.observer {
                    match inner.passage(&plan.client).await {
                        Reachability::Slow(by) => tokio::time::sleep(by).await,
                        Reachability::Up | Reachability::Unready | Reachability::Hanging => {}
                        Reachability::Stopped | Reachability::Failing(_) | Reachability::Garbage => {
                            yield Err(BodyError);
                            return;
                        }
                    }
                    if inner.faults.is_cut(cuts, &plan.seen(None)) {
                        return;
                    }
                }
                yield Ok(Frame::data(line.bytes));
            }
            // Listen before looking, so that no change falls between the two.
            let changed = changed.notified();
            let moved = inner.moved.notified();
            tokio::pin!(changed, moved);
            changed.as_mut().enable();
            moved.as_mut().enable();
            if !plan.observer {
                match inner.passage(&plan.client).await {
                    Reachability::Up | Reachability::Unready | Reachability::Slow(_) | Reachability::Hanging => {}
                    Reachability::Stopped | Reachability::Failing(_) | Reachability::Garbage => {
                        yield Err(BodyError);
                        return;
                    }
                }
                if inner.faults.is_cut(cuts, &plan.seen(None)) {
                    return;
                }
            }
            let next = {
                let state = inner.state.lock();
                let rv = state.store.rv;
                match plan.next(&inner, &state, cursor, (inner.now)()) {
                    Some(found) => {
                        cursor = cursor.max(rv);
                        Ok(found)
                    }
                    None => {
                        let oldest = state.store.existing(&plan.def.storage).map_or(0, Table::compacted);
                        Err(ApiError::expired(format!("too old resource version: {cursor} ({oldest})")))
                    }
                }
            };
            match next {
                Err(gone) => {
                    yield Ok(Frame::data(plan.line("ERROR", &gone.to_status())));
                    return;
                }
                Ok(found) if !found.is_empty() => {
                    lines = found;
                    continue;
                }
                Ok(_) => {}
            }
            tokio::select! {
                biased;
                () = &mut changed => {}
                () = &mut moved => {}
                () = tokio::time::sleep_until(bookmark_at), if plan.bookmarks && bookmark_at < ends_at => {
                    let next = bookmark_at + BOOKMARK_PERIOD;
                    bookmark_at = last_mark.filter(|last| bookmark_at < *last).map_or(next, |last| next.min(last));
                    if cursor > marked {
                        marked = cursor;
                        lines.push(Line { bytes: plan.bookmark(cursor, false), delay: None });
                    }
                }
                () = tokio::time::sleep_until(ends_at) => return,
            }
        }
    }
}
