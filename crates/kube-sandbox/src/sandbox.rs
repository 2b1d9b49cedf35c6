//! The server as others hold it.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use crate::auth::Access;
use crate::faults::Faults;
use crate::link::{Link, Reachability};
use crate::meter::Meter;
use crate::request::{Incoming, Origin, Query};
use crate::service::{ConnectionError, SandboxBody};
use crate::state::{Housekeeping, State};
use crate::status::ApiError;
use crate::store::Key;
use crate::write::{Half, UnknownFields, WriteOptions};

/// Where the server takes its time from: creation and deletion timestamps, ages in tables.
pub type Now = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// How a sandbox is to be.
#[derive(Clone)]
pub struct SandboxOptions {
    /// The clock.
    pub now: Now,
    /// How many changes of each resource can be watched or listed back; older ones are "410 Gone".
    pub history_limit: usize,
    /// Seed of uids and generated names. Servers of one fleet want different ones.
    pub seed: u64,
    /// Garbage collection and the removal of namespaces.
    pub housekeeping: Housekeeping,
    /// Who may talk to the server.
    pub access: Access,
}

impl SandboxOptions {
    /// All defaults: a long history, at-once housekeeping, open to everybody.
    #[must_use]
    pub fn new(now: Now) -> Self {
        Self {
            now,
            history_limit: 20_000,
            seed: 1,
            housekeeping: Housekeeping::default(),
            access: Access::default(),
        }
    }
}

impl fmt::Debug for SandboxOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxOptions")
            .field("history_limit", &self.history_limit)
            .field("seed", &self.seed)
            .field("housekeeping", &self.housekeeping)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Inner {
    pub state: Mutex<State>,
    pub now: Now,
    pub access: Mutex<Access>,
    pub faults: Faults,
    pub link: Link,
    /// Wakes everything that waits on faults or the link.
    pub moved: Arc<Notify>,
    pub meter: OnceLock<Meter>,
}

/// An in-memory Kubernetes API server. Clones are handles to the same server.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox")
            .field("resource_version", &self.resource_version())
            .finish_non_exhaustive()
    }
}

/// The namespaces that every cluster has.
const FIRST_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl Sandbox {
    /// A server with the built-in kinds and the usual namespaces.
    #[must_use]
    pub fn new(options: SandboxOptions) -> Self {
        let moved = Arc::new(Notify::new());
        let inner = Arc::new(Inner {
            state: Mutex::new(State::new(options.history_limit, options.seed, options.housekeeping)),
            now: options.now,
            access: Mutex::new(options.access),
            faults: Faults::new(moved.clone()),
            link: Link::new(moved.clone()),
            moved,
            meter: OnceLock::new(),
        });
        let sandbox = Self { inner };
        for name in FIRST_NAMESPACES {
            // Cannot fail: the names are valid and nothing is there yet.
            let _ = sandbox.create(serde_json::json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}
            }));
        }
        sandbox
    }

    /// A client in the same process, through the link and the faults; trusted without a token. Needs a tokio runtime, like every
    /// [`kube::Client`]; give each component its own.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client_named("")
    }

    /// The same under a name, by which faults, counts and the write log tell clients apart.
    #[must_use]
    pub fn client_named(&self, name: &str) -> kube::Client {
        let (inner, name) = (self.inner.clone(), Arc::<str>::from(name));
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (inner, name) = (inner.clone(), name.clone());
            async move {
                let incoming = read_request(request, name, Origin::InProcess).await?;
                inner.serve(incoming).await
            }
        });
        kube::Client::new(service, "default")
    }

    /// From now on the time that requests take inside the server adds up, by this clock: as a rule that of the thread's
    /// processor. The first clock stays.
    pub fn measure_by(&self, clock: impl Fn() -> Duration + Send + Sync + 'static) {
        let _ = self.inner.meter.set(Meter::new(clock));
    }

    /// How long requests of clients took inside the server since [`Sandbox::measure_by`]; encoding of watches is not in it.
    #[must_use]
    pub fn worked(&self) -> Duration {
        self.inner.meter.get().map_or(Duration::ZERO, Meter::worked)
    }

    /// A client for looking and arranging: no link, no faults, not counted, not logged.
    #[must_use]
    pub fn observer(&self) -> kube::Client {
        let inner = self.inner.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let inner = inner.clone();
            async move {
                let incoming = read_request(request, "".into(), Origin::InProcess).await?;
                Ok::<http::Response<SandboxBody>, ConnectionError>(inner.serve_directly(&incoming))
            }
        });
        kube::Client::new(service, "default")
    }

    /// Faults and observations.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.inner.faults.clone()
    }

    /// Installs a CRD, or replaces it by this version. It is served at once.
    ///
    /// # Errors
    /// What the server answers, for instance `Invalid` with the fields that are wrong.
    pub fn apply_crd(&self, crd: Value) -> Result<(), ApiError> {
        self.put(crd).map(|_| ())
    }

    /// Stores an object of any served kind as a create request would; answers with the stored object.
    ///
    /// # Errors
    /// What the server answers.
    pub fn create(&self, object: Value) -> Result<Value, ApiError> {
        let now = (self.inner.now)();
        let mut state = self.inner.state.lock();
        let (def, namespace) = place(&state, &object)?;
        let made = state.create(&def, namespace.as_deref(), object, options(now, Half::Main))?;
        state.settle(now);
        Ok(made.value(&def))
    }

    /// Creates the object, or replaces the one of the same name whatever its version; a status that the object
    /// brings along is written as well. For arranging a scene.
    ///
    /// # Errors
    /// What the server answers.
    pub fn put(&self, mut object: Value) -> Result<Value, ApiError> {
        let now = (self.inner.now)();
        let status = object.get("status").filter(|s| !s.is_null()).cloned();
        let mut state = self.inner.state.lock();
        let (def, namespace) = place(&state, &object)?;
        let name = crate::meta::name(&object).to_owned();
        let key = Key::new(namespace.as_deref(), &name);
        let mut made = match state.store.get(&def.storage, &key) {
            None => state.create(&def, namespace.as_deref(), object, options(now, Half::Main))?,
            Some(current) => {
                object["metadata"]["resourceVersion"] = current.rv.to_string().into();
                object["metadata"]["uid"] = current.uid.to_string().into();
                state
                    .update(&def, namespace.as_deref(), &name, object, options(now, Half::Main))?
                    .0
            }
        };
        if let Some(status) = status.filter(|_| def.status_subresource && !def.is("CustomResourceDefinition")) {
            let mut with_status = made.value(&def);
            with_status["status"] = status;
            made = state
                .update(
                    &def,
                    namespace.as_deref(),
                    &name,
                    with_status,
                    options(now, Half::Status),
                )?
                .0;
        }
        state.settle(now);
        Ok(made.value(&def))
    }

    /// The stored object, if there is one.
    #[must_use]
    pub fn get(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
        let state = self.inner.state.lock();
        let def = state.registry.by_kind(api_version, kind)?;
        let stored = state.store.get(&def.storage, &Key::new(namespace, name))?;
        Some(crate::state::render_value(&def, &stored))
    }

    /// All stored objects of a kind, ordered by namespace and name.
    #[must_use]
    pub fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        let state = self.inner.state.lock();
        let Some(def) = state.registry.by_kind(api_version, kind) else {
            return Vec::new();
        };
        let Some(table) = state.store.existing(&def.storage) else {
            return Vec::new();
        };
        table
            .range(None, None)
            .map(|o| crate::state::render_value(&def, o))
            .collect()
    }

    /// Version of the latest change.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        self.inner.state.lock().store.rv
    }

    /// Number of stored objects of all kinds.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.inner.state.lock().store.tables().map(|(_, t)| t.len()).sum()
    }

    /// Drops all history, as a compaction does: watches and lists from older versions get 410.
    pub fn compact(&self) {
        let mut state = self.inner.state.lock();
        let rv = state.store.rv;
        state.store.tables_mut().for_each(|t| t.compact(rv));
        drop(state);
        self.inner.moved.notify_waiters();
    }

    /// Changes who may talk to the server, from the next request on.
    pub fn set_access(&self, change: impl FnOnce(&mut Access)) {
        change(&mut self.inner.access.lock());
    }

    /// Breaks or mends the way to the server.
    pub fn set_reachability(&self, to: Reachability) {
        self.inner.link.set(to);
    }

    /// How the server can be reached now.
    #[must_use]
    pub fn reachability(&self) -> Reachability {
        self.inner.link.get()
    }
}

fn options(now: jiff::Timestamp, half: Half) -> WriteOptions {
    WriteOptions {
        now,
        dry_run: false,
        unknown_fields: UnknownFields::Dropped,
        half,
    }
}

/// The definition and namespace that an object names; namespaced objects without one go to `default`.
fn place(state: &State, object: &Value) -> Result<(Arc<crate::registry::ResourceDef>, Option<String>), ApiError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let def = state
        .registry
        .by_kind(text("apiVersion"), text("kind"))
        .ok_or_else(|| {
            ApiError::bad_request(format!(
                "no matches for kind \"{}\" in version \"{}\"",
                text("kind"),
                text("apiVersion")
            ))
        })?;
    let namespace = def
        .namespaced
        .then(|| object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned());
    Ok((def, namespace))
}

/// Reads a whole request; a body that breaks off is a broken connection.
pub(crate) async fn read_request<B>(
    request: http::Request<B>,
    client: Arc<str>,
    origin: Origin,
) -> Result<Incoming, ConnectionError>
where
    B: http_body::Body<Data = bytes::Bytes>,
{
    let (parts, body) = request.into_parts();
    let text = |name: header::HeaderName| parts.headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    Ok(Incoming {
        accept: text(header::ACCEPT).unwrap_or_default(),
        content_type: text(header::CONTENT_TYPE).unwrap_or_default(),
        authorization: text(header::AUTHORIZATION),
        path: parts.uri.path().to_owned(),
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        method: parts.method,
        body: body.collect().await.map_err(|_| ConnectionError::Reset)?.to_bytes(),
        client,
        origin,
    })
}
