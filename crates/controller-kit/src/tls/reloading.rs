//! Something made from files, made again when they change.
//!
//! Files are compared by content, not by time: a Secret that is mounted changes by the swap of a symlink, and keeps the
//! times of whoever made it. They are looked at on a slow beat, and when somebody asks, though not more than once a
//! second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use ring::digest;
use tokio::time::Instant;

use super::files::NamedFile;
use super::material::TlsError;
use crate::Clock;
use crate::metrics::{CollectorGuard, Family, Metrics};

/// How often files are looked at when nobody asks.
pub const LOOK_EVERY: Duration = Duration::from_secs(10);

/// How much older than this the last look may be when somebody asks.
const FRESH: Duration = Duration::from_secs(1);

/// What files can be made into.
pub trait Material: Send + Sync + 'static {
    /// When it stops being valid, if ever.
    fn not_after(&self) -> Option<Timestamp>;

    /// When more of what the same files hold begins to count, if anything is still to come: it is made again then. By
    /// default nothing is.
    fn more_from(&self) -> Option<Timestamp> {
        None
    }
}

type Contents<'a> = [(&'a NamedFile, &'a [u8])];
type Build<T> = Box<dyn Fn(&Contents<'_>, Timestamp) -> Result<T, TlsError> + Send + Sync>;

/// What some files hold, as of the last time that it made sense. Clones are the same one.
pub struct Reloading<T> {
    inner: Arc<Inner<T>>,
}

impl<T> Clone for Reloading<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

struct Inner<T> {
    what: &'static str,
    files: Vec<NamedFile>,
    build: Build<T>,
    clock: Clock,
    state: Mutex<State<T>>,
    failures: AtomicU64,
}

struct State<T> {
    in_force: Arc<T>,
    seen: Fingerprint,
    problem: Option<TlsError>,
    looked_at: Instant,
}

/// What came of a look at files that have changed.
enum News {
    InForce {
        until: Option<Timestamp>,
        more_from: Option<Timestamp>,
    },
    Refused(TlsError),
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Fingerprint([u8; digest::SHA256_OUTPUT_LEN]);

/// What stood in each file, or why it could not be read.
struct Read(Vec<Result<Vec<u8>, String>>);

impl Read {
    fn now(files: &[NamedFile]) -> Self {
        Self(files.iter().map(NamedFile::read).collect())
    }

    fn fingerprint(&self) -> Fingerprint {
        let mut hash = digest::Context::new(&digest::SHA256);
        for content in &self.0 {
            let (kind, bytes) = match content {
                Ok(bytes) => (0_u8, bytes.as_slice()),
                Err(why) => (1, why.as_bytes()),
            };
            hash.update(&[kind]);
            hash.update(&(bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
        let mut fingerprint = [0; digest::SHA256_OUTPUT_LEN];
        fingerprint.copy_from_slice(hash.finish().as_ref());
        Fingerprint(fingerprint)
    }
}

impl<T: Material> Reloading<T> {
    /// Reads the files for the first time. `what` is a few words for logs and metrics: `eviction queue server`.
    ///
    /// # Errors
    /// [`TlsError`] when they are no use: nothing is there to go on with.
    pub fn start(
        what: &'static str,
        files: Vec<NamedFile>,
        clock: Clock,
        build: impl Fn(&Contents<'_>, Timestamp) -> Result<T, TlsError> + Send + Sync + 'static,
    ) -> Result<Self, TlsError> {
        let read = Read::now(&files);
        let in_force = made(&build, &files, &read, clock.now())?;
        tell_of_more(what, in_force.more_from());
        let state = State {
            in_force: Arc::new(in_force),
            seen: read.fingerprint(),
            problem: None,
            looked_at: Instant::now(),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                what,
                files,
                build: Box::new(build),
                clock,
                state: Mutex::new(state),
                failures: AtomicU64::new(0),
            }),
        })
    }

    /// What is in force, without a look at the files.
    #[must_use]
    pub fn in_force(&self) -> Arc<T> {
        self.inner.state.lock().in_force.clone()
    }

    /// What is in force, after a look at the files if the last one is older than a second.
    pub async fn current(&self) -> Arc<T> {
        let is_stale = {
            let mut state = self.inner.state.lock();
            let is_stale = state.looked_at.elapsed() >= FRESH;
            if is_stale {
                // One looks, the others go on with what there is.
                state.looked_at = Instant::now();
            }
            is_stale
        };
        if is_stale {
            self.look().await;
        }
        self.in_force()
    }

    /// Looks at the files now.
    pub async fn look(&self) {
        self.inner.state.lock().looked_at = Instant::now();
        let inner = self.inner.clone();
        // A failed join is a reader that panicked: what is in force stays.
        let news = tokio::task::spawn_blocking(move || inner.look()).await.ok().flatten();
        // Told here, where the subscriber of the process is.
        let what = self.inner.what;
        match news {
            Some(News::InForce { until, more_from }) => {
                let until = until.map(tracing::field::display);
                tracing::info!(what, until, "changed files are read and in force");
                tell_of_more(what, more_from);
            }
            Some(News::Refused(error)) => {
                tracing::warn!(
                    what,
                    "changed files are refused, what was read before stays in force: {error}"
                );
            }
            None => {}
        }
    }

    /// Looks at the files every [`LOOK_EVERY`], for ever.
    pub async fn watch(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.look().await;
        }
    }

    /// Why what stands in the files now is not in force; nothing when it is.
    #[must_use]
    pub fn problem(&self) -> Option<TlsError> {
        self.inner.state.lock().problem.clone()
    }

    /// Shows what is in force in the metrics, for as long as the guard lives.
    #[must_use]
    pub fn show(&self, metrics: &Metrics) -> CollectorGuard {
        let inner = self.inner.clone();
        metrics.guarded_collector("tls files", move || {
            #[allow(clippy::cast_precision_loss, reason = "a count")]
            let failures = inner.failures.load(Ordering::Relaxed) as f64;
            let labels = [("use", inner.what)];
            let mut families = vec![
                Family::counter(
                    "failover_tls_reload_failures_total",
                    "Changes of certificate, key or token files that were refused; what was read before stays in force.",
                )
                .with(&labels, failures),
            ];
            if let Some(not_after) = inner.state.lock().in_force.not_after() {
                #[allow(clippy::cast_precision_loss, reason = "seconds fit for millions of years")]
                let seconds = not_after.as_second() as f64;
                families.push(
                    Family::gauge(
                        "failover_tls_certificate_not_after_timestamp_seconds",
                        "Until when the certificate in use is valid, as Unix time.",
                    )
                    .with(&labels, seconds),
                );
            }
            families
        })
    }
}

impl<T: Material> Inner<T> {
    fn look(&self) -> Option<News> {
        let mut read = Read::now(&self.files);
        let now = self.clock.now();
        {
            let state = self.state.lock();
            let waits = state
                .problem
                .as_ref()
                .is_some_and(|problem| problem.counts_from().is_some());
            let more = state.in_force.more_from().is_some_and(|from| from <= now);
            if read.fingerprint() == state.seen && !waits && !more {
                return None;
            }
        }
        let mut result = made(&self.build, &self.files, &read, now);
        if result.is_err() {
            // A look in the middle of a change sees some files old and some new: what lasts is seen by the second one.
            let again = Read::now(&self.files);
            if again.fingerprint() != read.fingerprint() {
                result = made(&self.build, &self.files, &again, now);
                read = again;
            }
        }
        let fingerprint = read.fingerprint();
        let mut state = self.state.lock();
        let is_new = std::mem::replace(&mut state.seen, fingerprint) != fingerprint;
        match result {
            Ok(material) => {
                let (until, more_from) = (material.not_after(), material.more_from());
                state.in_force = Arc::new(material);
                state.problem = None;
                Some(News::InForce { until, more_from })
            }
            Err(error) => {
                state.problem = Some(error.clone());
                is_new.then(|| {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    News::Refused(error)
                })
            }
        }
    }
}

/// A clock that is behind looks like an authority that comes early, and nothing else would say why its callers are refused.
fn tell_of_more(what: &str, more_from: Option<Timestamp>) {
    if let Some(from) = more_from {
        tracing::warn!(
            what,
            %from,
            "an authority of the bundle is not valid yet: it does not count now, and will from its time on"
        );
    }
}

fn made<T>(
    build: &dyn Fn(&Contents<'_>, Timestamp) -> Result<T, TlsError>,
    files: &[NamedFile],
    read: &Read,
    now: Timestamp,
) -> Result<T, TlsError> {
    let mut contents = Vec::with_capacity(files.len());
    for (file, content) in files.iter().zip(&read.0) {
        match content {
            Ok(bytes) => contents.push((file, bytes.as_slice())),
            Err(why) => {
                return Err(TlsError::Read {
                    file: file.clone(),
                    why: why.clone(),
                });
            }
        }
    }
    build(&contents, now)
}

impl<T> std::fmt::Debug for Reloading<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloading")
            .field("what", &self.inner.what)
            .field("files", &self.inner.files)
            .finish_non_exhaustive()
    }
}
