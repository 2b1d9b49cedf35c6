//! The loop that keeps a cache equal to the server: list, watch, and list again when the watch cannot go on.
//!
//! Guarantees:
//! - It never ends by an error. A failed list or watch is counted, logged, and tried again with back-off.
//! - 410 leads to a new list, both as the answer to a request and as an ERROR event inside a stream.
//! - A watch that says nothing for longer than the server lets it live is dropped and opened anew.
//! - A periodic list finds what a watch has missed.
//! - An object that is too deep to be read is there without what is too deep (`deep.rs`). One that is none of its kind stays as
//!   it was known, and ends neither a list nor a watch; only a first list does not count, for to leave it out would be to say
//!   that it is not there.
//! - A list older than what was seen before is not believed (unless it stays old: then the server was restored).
//! - Watches that end early over and over, lose events or are late, and reads that fail for so long that what is known is old,
//!   are counted and told as disturbances.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::serde::de::DeserializeOwned;
use kube::Resource;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Request;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::cache::{Applied, Cache, Identity, Versions, is_older};
use super::counts::Counts;
use super::key::{ObjectKey, Scope};
use super::page::{Page, Unreadable, metadata, object};
use super::status::{ReadFailure, Stage, Status};
use super::{InformerOptions, Observers, Reflected};
use crate::api_errors;
use crate::backoff::Backoff;
use crate::echoes::Echo;
use crate::random::Random;
use crate::troubles::Troubles;

/// How many stale lists in a row mean that the server was set back on purpose.
const STALE_LISTS_BELIEVED: u32 = 10;

/// After how many failed watches in a row the version itself is in doubt and a new list is made.
const FAILED_WATCHES_BEFORE_LIST: u32 = 5;

/// A watch shorter than this is counted as failed, so that a server that hangs up at once is not asked in a loop.
pub(super) const SHORTEST_GOOD_WATCH: Duration = Duration::from_secs(1);

/// How much longer than the server's time limit a silent watch is believed.
const SILENCE_MARGIN: Duration = Duration::from_secs(15);

/// Label of the failure of a watch that did not end when it should have.
pub(super) const SILENT: &str = "silent";

/// Makes of an object what is kept of it.
pub(crate) type Keep<K, S> = Box<dyn Fn(K, &Identity) -> S + Send + Sync>;

/// Follows objects of type `K` and keeps an `S` of each.
pub(crate) struct Reflector<K, S> {
    pub(crate) client: kube::Client,
    pub(crate) reflected: Reflected,
    pub(crate) scope: Scope,
    pub(crate) request: Request,
    pub(crate) cache: Arc<Cache<S>>,
    pub(crate) keep: Keep<K, S>,
    pub(crate) status: Arc<Status>,
    pub(crate) options: InformerOptions,
    pub(crate) counts: Arc<Counts>,
    /// Of all informers of this server: that it is away is said once.
    pub(crate) troubles: Troubles,
    pub(crate) random: Random,
    pub(crate) newest_version: Option<String>,
    /// Watches in a row that ended before half their time.
    pub(crate) short_watches: u32,
    pub(crate) observers: Observers,
    /// Of the writes that this informer has to show; `None` if it need not show any.
    pub(crate) echo: Option<Arc<Echo>>,
}

/// Why a new list is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relist {
    Periodic,
    Gone,
    WatchFails,
}

/// How one watch request ended.
enum WatchEnd {
    RelistDue,
    Gone,
    Closed,
    Failed(String, &'static str),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    #[error("{}", api_errors::one_line(_0))]
    Api(#[from] kube::Error),
    #[error("no answer within {}", crate::durations::format_duration(*_0))]
    TimedOut(Duration),
    #[error("the list's version {listed} is older than {seen}, which was seen before")]
    Stale { listed: String, seen: String },
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

impl ListError {
    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Api(error) => api_errors::label(error),
            Self::TimedOut(_) => "timeout",
            Self::Stale { .. } => "stale",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

impl<K, S> Reflector<K, S>
where
    K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    pub(crate) async fn run(mut self) {
        let backoff = Backoff {
            base: self.options.retry_base,
            max: self.options.retry_max,
        };
        let mut failed_lists = 0;
        let mut fruitless = 0;
        loop {
            match self.list(failed_lists).await {
                Ok(version) => {
                    failed_lists = 0;
                    self.status.listed();
                    self.relieved();
                    let (why, heard) = self.watch(version, backoff).await;
                    self.count_relist(why);
                    // A watch that ended without a single event: the next round waits a little longer each time.
                    fruitless = if heard || why == Relist::Periodic {
                        0
                    } else {
                        fruitless + 1
                    };
                    if fruitless > 1 {
                        sleep(backoff.delay(fruitless - 1, &mut self.random)).await;
                    }
                }
                Err(error) => {
                    failed_lists += 1;
                    self.count_error("list", error.label());
                    self.report_list_error(&error, failed_lists);
                    sleep(backoff.delay(failed_lists, &mut self.random)).await;
                }
            }
        }
    }

    /// Brings the cache in line with a complete list; returns the version to watch from.
    async fn list(&mut self, failed_before: u32) -> Result<String, ListError> {
        let mut listed: BTreeSet<Arc<ObjectKey>> = BTreeSet::new();
        let mut next_page: Option<String> = None;
        let mut restarts = 0;
        let mut versions = Versions::Ordered;
        let mut unseen = 0;
        loop {
            let text = match self.page(next_page.clone()).await {
                // The page's token expired: the list starts over. What was put into the cache stays right.
                Err(ListError::Api(error)) if next_page.is_some() && api_errors::is_gone(&error) && restarts < 3 => {
                    restarts += 1;
                    next_page = None;
                    listed.clear();
                    continue;
                }
                other => other?,
            };
            let page = Page::of(&text)?;
            let version = page.metadata.resource_version.clone().unwrap_or_default();
            if next_page.is_none() && is_older(Some(&version), self.newest_version.as_deref()) {
                if failed_before < STALE_LISTS_BELIEVED {
                    let seen = self.newest_version.clone().unwrap_or_default();
                    return Err(ListError::Stale { listed: version, seen });
                }
                tracing::warn!(
                    kind = %self.reflected.kind, member = self.member(), version, seen = ?self.newest_version,
                    "the server keeps answering with an older version: taken as restored from a backup"
                );
                versions = Versions::Restarted;
                if let Some(echo) = &self.echo {
                    echo.begin_anew();
                }
            }
            for item in page.items {
                let (object, read) = match object::<K>(item) {
                    Ok(read) => read,
                    Err(unreadable) => {
                        let known = self.cache.known(&unreadable.key);
                        // To leave out what was never there says nothing new; before the first list is whole it would say that
                        // it is not there.
                        if known.is_none() && self.status.stage() != Stage::Synced {
                            return Err(unreadable.into());
                        }
                        self.tell_unreadable("list", &unreadable);
                        listed.extend(known);
                        continue;
                    }
                };
                let told = versions == Versions::Ordered && self.is_told(object.meta().resource_version.as_deref());
                let (applied, key) = self.apply(object, versions);
                if applied == Applied::Changed {
                    self.tell_cut("list", read, &key);
                }
                unseen += usize::from(told && applied == Applied::Changed);
                listed.insert(key);
            }
            self.status.contact();
            next_page = page.metadata.continue_.filter(|token| !token.is_empty());
            if next_page.is_none() {
                let gone = self.cache.retain(&listed);
                tracing::debug!(kind = %self.reflected.kind, objects = listed.len(), gone, version, "listed");
                self.count_lost(unseen);
                self.heard(&version);
                self.newest_version = Some(version.clone());
                return Ok(version);
            }
        }
    }

    /// The text of a page.
    async fn page(&self, next: Option<String>) -> Result<String, ListError> {
        let params = ListParams {
            label_selector: self.scope.labels.clone(),
            field_selector: self.scope.fields.clone(),
            limit: Some(self.options.page_size),
            continue_token: next,
            ..ListParams::default()
        };
        let request = if K::metadata_api() {
            self.request.list_metadata(&params)
        } else {
            self.request.list(&params)
        };
        let request = request.map_err(kube::Error::BuildRequest)?;
        let limit = self.options.request_timeout;
        match timeout(limit, self.client.request_text(request)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(ListError::TimedOut(limit)),
        }
    }

    /// Follows changes from `version` on until a new list is needed. The second value says whether any event came.
    async fn watch(&mut self, mut version: String, backoff: Backoff) -> (Relist, bool) {
        let relist_at = Instant::now() + self.random.jitter(self.options.relist_every);
        let mut failures = 0;
        let mut heard = false;
        loop {
            let opened = Instant::now();
            let mut events = 0;
            let end = self.watch_once(&mut version, relist_at, &mut events).await;
            heard |= events > 0;
            let failed = match end {
                WatchEnd::RelistDue => {
                    self.short_watches = 0;
                    return (Relist::Periodic, heard);
                }
                WatchEnd::Gone => {
                    self.count_error("watch", "gone");
                    return (Relist::Gone, heard);
                }
                WatchEnd::Closed => {
                    self.closed_after(opened.elapsed());
                    opened.elapsed() < SHORTEST_GOOD_WATCH && events == 0
                }
                WatchEnd::Failed(error, label) => {
                    self.count_error("watch", label);
                    self.status.failed(ReadFailure::now(label, &error));
                    self.unread(label, &error);
                    self.trouble(&error, failures + 1, "watch failed, opening another");
                    true
                }
            };
            failures = match (failed, events) {
                (false, _) => 0,
                (true, 0) => failures + 1,
                (true, _) => 1,
            };
            if failures >= FAILED_WATCHES_BEFORE_LIST {
                return (Relist::WatchFails, heard);
            }
            if failures > 0 {
                sleep(backoff.delay(failures, &mut self.random)).await;
            }
        }
    }

    async fn watch_once(&mut self, version: &mut String, relist_at: Instant, events: &mut u64) -> WatchEnd {
        let lives = self.options.watch_timeout;
        // Not all informers of a process come back in the same second.
        let lives = lives - self.random.jitter(lives / 10).min(lives / 2);
        let params = WatchParams {
            label_selector: self.scope.labels.clone(),
            field_selector: self.scope.fields.clone(),
            timeout: u32::try_from(lives.as_secs().max(1)).ok(),
            ..WatchParams::default()
        };
        let request = if K::metadata_api() {
            self.request.watch_metadata(&params, version)
        } else {
            self.request.watch(&params, version)
        };
        let request = match request {
            Ok(request) => request,
            Err(error) => return WatchEnd::Failed(error.to_string(), "other"),
        };
        let stream = match timeout(
            self.options.request_timeout,
            self.client.request_events::<Box<RawValue>>(request),
        )
        .await
        {
            Ok(Ok(stream)) => {
                self.status.contact();
                self.relieved();
                stream
            }
            Ok(Err(error)) => return watch_error(&error),
            Err(_) => return WatchEnd::Failed("no answer to the watch request".to_owned(), "timeout"),
        };
        let mut stream = pin!(stream);
        let silence = lives + SILENCE_MARGIN;
        loop {
            let event = tokio::select! {
                biased;
                event = timeout(silence, stream.try_next()) => event,
                () = sleep_until(relist_at) => return WatchEnd::RelistDue,
            };
            let event = match event {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) => return WatchEnd::Closed,
                Ok(Err(error)) => return watch_error(&error),
                Err(_) => {
                    let why = format!("nothing heard for {}", crate::durations::format_duration(silence));
                    return WatchEnd::Failed(why, SILENT);
                }
            };
            match event {
                WatchEvent::Error(status) => return watch_error(&kube::Error::Api(status)),
                WatchEvent::Added(item) | WatchEvent::Modified(item) => match object::<K>(&item) {
                    Ok((object, read)) => {
                        self.advance(version, object.meta().resource_version.clone());
                        match self.apply(object, Versions::Ordered) {
                            (Applied::Older, _) => self.count_error("watch", "older_version"),
                            (Applied::Changed, key) => self.tell_cut("watch", read, &key),
                            (Applied::Same, _) => {}
                        }
                    }
                    Err(unreadable) => {
                        self.advance(version, unreadable.version.clone());
                        self.tell_unreadable("watch", &unreadable);
                    }
                },
                WatchEvent::Deleted(item) => {
                    let gone = metadata(&item);
                    self.cache.delete(&ObjectKey::named(&gone));
                    self.advance(version, gone.resource_version);
                }
                WatchEvent::Bookmark(bookmark) => {
                    self.advance(version, Some(bookmark.metadata.resource_version));
                }
            }
            *events += 1;
            self.status.contact();
        }
    }

    fn apply(&self, mut object: K, versions: Versions) -> (Applied, Arc<ObjectKey>) {
        let (key, identity) = (ObjectKey::of(&object), Identity::of(object.meta()));
        // Nobody here reads them, and they are half of many objects.
        object.meta_mut().managed_fields = None;
        self.cache
            .apply(key, identity, versions, |identity| (self.keep)(object, identity))
    }

    fn advance(&mut self, version: &mut String, to: Option<String>) {
        let Some(to) = to.filter(|to| !is_older(Some(to), Some(version))) else {
            return;
        };
        version.clone_from(&to);
        self.heard(&to);
        self.newest_version = Some(to);
    }

    /// Whether this version is older than the newest that was told, so that watches should have told it.
    fn is_told(&self, version: Option<&str>) -> bool {
        let newest = self.newest_version.as_deref();
        newest.is_some() && (version == newest || is_older(version, newest))
    }
}

fn watch_error(error: &kube::Error) -> WatchEnd {
    if api_errors::is_gone(error) {
        return WatchEnd::Gone;
    }
    WatchEnd::Failed(api_errors::one_line(error), api_errors::label(error))
}
