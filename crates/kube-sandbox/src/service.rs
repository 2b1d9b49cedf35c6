//! From an HTTP request to an HTTP answer: link, faults, authentication, dispatch, log.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};

use crate::conditional::written_on;
use crate::faults::{Effect, WriteRecord};
use crate::link::Reachability;
use crate::matching::Seen;
use crate::patch::Patch;
use crate::read::{Shape, list_body, object_body};
use crate::registry::ResourceDef;
use crate::request::{Incoming, ResourceRequest, Verb, decode};
use crate::sandbox::Inner;
use crate::state::{Outcome, bytes_of};
use crate::status::{ApiError, FieldError};
use crate::watch::{self, WatchPlan};
use crate::write::{DeleteOptions, Deleted, Half, WriteOptions};
use crate::{auth, discovery, media, openapi, scale};

/// The body of an answer.
pub type SandboxBody = UnsyncBoxBody<Bytes, BodyError>;

/// The connection broke while the body was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("connection reset by the sandbox")]
pub struct BodyError;

/// There was no connection to send a request over, or it broke before the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// Nobody listens.
    #[error("connection refused")]
    Refused,
    /// The connection was closed before an answer came.
    #[error("connection reset by peer")]
    Reset,
}

/// An answer before it is HTTP.
pub(crate) enum Reply {
    Body {
        code: u16,
        content_type: &'static str,
        body: Bytes,
    },
    Watch(Box<WatchPlan>),
}

impl Reply {
    pub(crate) fn json(code: u16, body: Bytes) -> Self {
        Self::Body {
            code,
            content_type: "application/json",
            body,
        }
    }

    pub(crate) fn text(body: impl Into<Bytes>) -> Self {
        Self::Body {
            code: 200,
            content_type: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }

    pub(crate) fn value(code: u16, value: &Value) -> Self {
        Self::json(code, bytes_of(value))
    }
}

/// What a served write did, for the log.
#[derive(Default)]
struct Trail {
    name: Option<String>,
    changed: bool,
    rv: Option<u64>,
}

pub(crate) fn full(body: impl Into<Bytes>) -> SandboxBody {
    Full::new(body.into())
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}

fn answer(code: u16, content_type: &str, body: impl Into<Bytes>) -> Response<SandboxBody> {
    let mut response = Response::new(full(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = content_type.parse() {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}

fn refusal(error: &ApiError) -> Response<SandboxBody> {
    let mut response = answer(error.code, "application/json", bytes_of(&error.to_status()));
    let seconds = error.details.as_ref().and_then(|d| d["retryAfterSeconds"].as_u64());
    if let Some(seconds) = seconds {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn garbage() -> Response<SandboxBody> {
    answer(200, "application/json", "<html>it works!</html>")
}

impl Inner {
    /// Waits while the link hangs or the client is frozen; then tells the state of the link.
    pub(crate) async fn passage(&self, client: &str) -> Reachability {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            let link = self.link.settled().await;
            if !self.faults.is_frozen(client) {
                return link;
            }
            moved.await;
        }
    }

    /// Serves a request that comes over the link and may meet faults.
    pub(crate) async fn serve(self: &Arc<Self>, request: Incoming) -> Result<Response<SandboxBody>, ConnectionError> {
        if let Some(early) = self.cross_link(&request).await? {
            return Ok(early);
        }
        let resource = request.resource_request();
        let verb = resource.as_ref().map_or(Verb::Other, |r| r.verb);
        let target = resource.as_ref().map(|r| &r.target);
        let seen = Seen::request(&request.client, verb, target);
        self.faults.record_request(&seen);
        let mut answer_lost = false;
        for effect in self.faults.request_effects(&seen) {
            match effect {
                Effect::Latency(by) => {
                    if !by.is_zero() {
                        tokio::time::sleep(by).await;
                    }
                }
                Effect::Conflict => {
                    let name = seen.name.unwrap_or_default();
                    let error = match target.map(|t| t.resolve(&self.state.lock().registry)) {
                        Some(Ok(def)) => ApiError::modified(&def, name),
                        _ => ApiError::new(409, "Conflict", "the object has been modified"),
                    };
                    return Ok(refusal(&error));
                }
                Effect::Error { code, reason, message } => return Ok(refusal(&ApiError::new(code, reason, message))),
                Effect::Garbage => return Ok(garbage()),
                Effect::Disconnect => return Err(ConnectionError::Reset),
                Effect::Hang => std::future::pending().await,
                Effect::AnswerLost => answer_lost = true,
            }
        }
        let process = || self.process(&request, resource.as_ref(), false);
        let reply = match self.meter.get() {
            Some(meter) => meter.around(process),
            None => process(),
        };
        // A freeze that this very write set off holds its answer back as well; so does a link that broke meanwhile.
        match self.passage(&request.client).await {
            Reachability::Stopped => return Err(ConnectionError::Reset),
            _ if answer_lost => return Err(ConnectionError::Reset),
            _ => {}
        }
        Ok(self.respond(reply))
    }

    /// Serves a request directly: no link, no faults, no counting.
    pub(crate) fn serve_directly(self: &Arc<Self>, request: &Incoming) -> Response<SandboxBody> {
        let resource = request.resource_request();
        let reply = self.process(request, resource.as_ref(), true);
        self.respond(reply)
    }

    async fn cross_link(&self, request: &Incoming) -> Result<Option<Response<SandboxBody>>, ConnectionError> {
        match self.passage(&request.client).await {
            Reachability::Stopped => Err(ConnectionError::Refused),
            Reachability::Slow(by) => {
                tokio::time::sleep(by).await;
                Ok(None)
            }
            Reachability::Failing(code) => {
                let reason = if code == 503 {
                    "ServiceUnavailable"
                } else {
                    "InternalError"
                };
                Ok(Some(refusal(&ApiError::new(
                    code,
                    reason,
                    "the server is currently unable to handle the request",
                ))))
            }
            Reachability::Garbage => Ok(Some(garbage())),
            Reachability::Unready if matches!(request.path.as_str(), "/readyz" | "/healthz" | "/livez") => {
                let body = format!(
                    "[-]etcd failed: reason withheld\n{} check failed\n",
                    request.path.trim_start_matches('/')
                );
                Ok(Some(answer(500, "text/plain; charset=utf-8", body)))
            }
            Reachability::Up | Reachability::Unready | Reachability::Hanging => Ok(None),
        }
    }

    fn respond(self: &Arc<Self>, reply: Result<Reply, ApiError>) -> Response<SandboxBody> {
        match reply {
            Err(error) => refusal(&error),
            Ok(Reply::Body {
                code,
                content_type,
                body,
            }) => answer(code, content_type, body),
            Ok(Reply::Watch(plan)) => {
                let body = BodyExt::boxed_unsync(StreamBody::new(watch::stream(self.clone(), *plan)));
                let mut response = Response::new(body);
                response.headers_mut().insert(
                    header::CONTENT_TYPE,
                    header::HeaderValue::from_static("application/json"),
                );
                response
            }
        }
    }

    fn process(
        &self,
        request: &Incoming,
        resource: Option<&ResourceRequest>,
        observer: bool,
    ) -> Result<Reply, ApiError> {
        let path = request.path.trim_end_matches('/');
        match path {
            "/readyz" | "/healthz" | "/livez" => return Ok(discovery::health(path, &request.query)),
            "/version" => return Ok(Reply::value(200, &discovery::version())),
            _ => {}
        }
        let user = if observer {
            auth::User::admin()
        } else {
            self.access.lock().authenticate(request)?
        };
        let Some(resource) = resource else {
            if request.method != http::Method::GET {
                let known = crate::request::parse_target(&request.path).is_some();
                return if known {
                    Err(ApiError::method_not_allowed())
                } else {
                    Ok(page_not_found())
                };
            }
            let state = self.state.lock();
            return Ok(openapi::serve(&state.registry, &request.path)
                .or_else(|| discovery::serve(&state.registry, &request.path, &request.accept))
                .unwrap_or_else(page_not_found));
        };
        let target = &resource.target;
        {
            let state = self.state.lock();
            if !state.registry.serves(&target.group, &target.version) {
                // Of a group of its own the server knows that this is no version of it.
                return if state.registry.is_built_in_group(&target.group) {
                    Err(ApiError::no_such_path())
                } else {
                    Ok(page_not_found())
                };
            }
        }
        media::check(request)?;
        let mut trail = Trail::default();
        let result = self.dispatch(request, resource, &user, observer, &mut trail);
        if resource.verb.is_write() && !observer {
            let code = match &result {
                Ok(Reply::Body { code, .. }) => *code,
                Ok(Reply::Watch(_)) => 200,
                Err(error) => error.code,
            };
            self.faults.record_write(WriteRecord {
                at: (self.now)(),
                client: request.client.to_string(),
                verb: resource.verb,
                resource: resource.target.resource.clone(),
                subresource: resource.target.subresource.clone(),
                namespace: resource.target.namespace.clone(),
                name: trail.name.or_else(|| resource.target.name.clone()),
                code,
                on: written_on(resource.verb, &request.body),
                changed: trail.changed,
                resource_version: trail.rv,
            });
        }
        result
    }

    fn dispatch(
        &self,
        request: &Incoming,
        resource: &ResourceRequest,
        user: &auth::User,
        observer: bool,
        trail: &mut Trail,
    ) -> Result<Reply, ApiError> {
        let (verb, target, query) = (resource.verb, &resource.target, &request.query);
        let now = (self.now)();
        let mut state = self.state.lock();
        let def = target.resolve(&state.registry)?;
        let namespace = target.object_namespace(&def);
        let name = target.name.as_deref().unwrap_or_default();
        let shape = Shape::of(&request.accept, query);
        let review = auth::review(&def, verb, request, user, (&self.access.lock(), &state))?;
        if let Some(answer) = review {
            return Ok(Reply::value(201, &answer));
        }
        if !def.verbs.contains(&verb.as_str()) {
            return Err(ApiError::method_not_allowed());
        }
        let half = match target.subresource.as_deref() {
            None => Half::Main,
            Some("status") if def.status_subresource => Half::Status,
            Some("finalize") if def.is("Namespace") => Half::Finalizers,
            Some("scale") if def.scale.is_some() => {
                let before = state.store.rv;
                let reply = scale::serve(&mut state, &def, resource, request, now);
                trail.changed = state.store.rv > before;
                trail.rv = trail.changed.then_some(state.store.rv);
                return reply;
            }
            Some(_) if def.is_custom() => return Err(ApiError::not_found(&def, name)),
            Some(_) => return Err(ApiError::no_such_path()),
        };
        let options = WriteOptions {
            now,
            dry_run: request.dry_run()?,
            unknown_fields: request.unknown_fields()?,
            half,
        };
        let before = state.store.rv;
        let reply = match verb {
            Verb::Get => {
                state.knows_version(query)?;
                let object = state.current(&def, namespace, name)?;
                Ok(Reply::json(200, object_body(&def, &object, shape, now)))
            }
            Verb::List => {
                let seen = Seen::request(&request.client, verb, Some(target));
                let stale = if observer { 0 } else { self.faults.staleness(&seen) };
                let page = state.list(&def, namespace, query, stale)?;
                drop(state);
                return Ok(Reply::json(200, list_body(&def, &page, shape, now)));
            }
            Verb::Watch => {
                let plan = WatchPlan::new(def, target, query, shape, request.client.clone(), observer)?;
                return Ok(Reply::Watch(Box::new(plan)));
            }
            Verb::Create => {
                if target.name.is_some() {
                    return Err(ApiError::method_not_allowed());
                }
                if def.namespaced && namespace.is_none() {
                    return Err(ApiError::method_not_allowed());
                }
                let made = state.create(&def, namespace, read_object(request, &def)?, options)?;
                Ok(written(&def, &made, 201, shape, now, trail))
            }
            Verb::Update => {
                let (made, created) = state.update(&def, namespace, name, read_object(request, &def)?, options)?;
                Ok(written(&def, &made, if created { 201 } else { 200 }, shape, now, trail))
            }
            Verb::Patch => {
                let patch = read_patch(request, &def)?;
                let (made, created) = state.patch(&def, namespace, name, &patch, options)?;
                Ok(written(&def, &made, if created { 201 } else { 200 }, shape, now, trail))
            }
            Verb::Delete => {
                let (delete, dry_run) = delete_options(request)?;
                let options = WriteOptions {
                    dry_run: dry_run || options.dry_run,
                    ..options
                };
                let deleted = state.delete(&def, namespace, name, &delete, options)?;
                Ok(deletion(&def, name, &deleted, trail))
            }
            Verb::DeleteCollection => {
                let (delete, dry_run) = delete_options(request)?;
                let options = WriteOptions {
                    dry_run: dry_run || options.dry_run,
                    ..options
                };
                let page = state.list(&def, namespace, query, 0)?;
                for item in &page.items {
                    let (namespace, name) = (item.key.namespace(), item.key.name());
                    state.delete(&def, namespace, name, &delete, options)?;
                }
                Ok(Reply::json(200, list_body(&def, &page, Shape::Full, now)))
            }
            Verb::Other => Err(ApiError::method_not_allowed()),
        };
        trail.changed = state.store.rv > before;
        state.settle(now);
        reply
    }
}

/// What the real server says where no API is: plain text.
fn page_not_found() -> Reply {
    Reply::Body {
        code: 404,
        content_type: "text/plain; charset=utf-8",
        body: Bytes::from_static(b"404 page not found\n"),
    }
}

fn written(
    def: &ResourceDef,
    made: &Outcome,
    code: u16,
    shape: Shape,
    now: jiff::Timestamp,
    trail: &mut Trail,
) -> Reply {
    trail.rv = made.rv();
    if let Outcome::Stored(stored) = made {
        trail.name = Some(stored.key.name().to_owned());
        if shape != Shape::Full {
            return Reply::json(code, object_body(def, stored, shape, now));
        }
    }
    Reply::json(code, made.render(def))
}

fn deletion(def: &ResourceDef, name: &str, deleted: &Deleted, trail: &mut Trail) -> Reply {
    match deleted {
        Deleted::Marked(outcome) => {
            trail.rv = outcome.rv();
            Reply::json(200, outcome.render(def))
        }
        Deleted::Gone(last) => {
            trail.rv = Some(last.rv);
            if crate::strategy::delete_returns_object(def) {
                return Reply::json(200, crate::state::render(def, last));
            }
            let mut details = def.details(name, &def.plural);
            details["uid"] = last.uid.to_string().into();
            Reply::value(
                200,
                &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}),
            )
        }
    }
}

fn read_object(request: &Incoming, def: &ResourceDef) -> Result<Value, ApiError> {
    decode(&request.body).map_err(|mut error| {
        if error.code == 400 {
            error.message = format!(
                "the object provided is unrecognized (must be of type {}): {}",
                def.kind, error.message
            );
        }
        error
    })
}

fn read_patch(request: &Incoming, def: &ResourceDef) -> Result<Patch, ApiError> {
    let content_type = request.content_type.split(';').next().unwrap_or_default().trim();
    let patch = Patch::read(content_type, &request.body, def)?;
    if matches!(patch, Patch::Apply(_)) && !request.query.has("fieldManager") {
        let missing = FieldError::required("fieldManager", "is required for apply patch");
        return Err(ApiError::invalid_options("PatchOptions", &missing));
    }
    Ok(patch)
}

fn delete_options(request: &Incoming) -> Result<(DeleteOptions, bool), ApiError> {
    let body = if request.body.iter().all(u8::is_ascii_whitespace) {
        Value::Null
    } else {
        decode(&request.body)?
    };
    let text = |v: &Value| v.as_str().map(str::to_owned);
    let policy = text(&body["propagationPolicy"]).or_else(|| request.query.get("propagationPolicy").map(str::to_owned));
    let known = ["Foreground", "Background", "Orphan"];
    if let Some(other) = policy.as_deref().filter(|p| !known.contains(p)) {
        let allowed = known.into_iter().chain(["nil"]).map(Value::from).collect::<Vec<_>>();
        let error = FieldError::not_supported("propagationPolicy", other.into(), &allowed);
        return Err(ApiError::invalid_options("DeleteOptions", &error));
    }
    let orphan = body["orphanDependents"]
        .as_bool()
        .map(|o| if o { "Orphan" } else { "Background" });
    Ok((
        DeleteOptions {
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            propagation: policy.or_else(|| orphan.map(str::to_owned)),
        },
        body["dryRun"].as_array().is_some_and(|d| d.iter().any(|v| v == "All")),
    ))
}
