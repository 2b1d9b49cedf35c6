//! Pages of one consistent snapshot: the first page keeps the entries that match, later ones read from it. Lanes
//! that were read are let go, except for the page before, for who did not receive it; what nobody pages through any more is
//! forgotten, asked or not.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eviction_queue_api::v1;
use failover_core::eviction::CauseKind;
use failover_core::eviction::queue::{Entry, LaneEntries, State};
use jiff::Timestamp;
use parking_lot::Mutex;
use prost::Message;
use tokio::sync::Notify;
use tokio::time::Instant;
use tonic::Status;

const KEPT_FOR: Duration = Duration::from_secs(60);
/// After its last page a list is kept for who has not received that; a list of a large queue is too much to keep for longer.
const KEPT_AT_ITS_END_FOR: Duration = Duration::from_secs(5);
const KEPT_AT_ONCE: usize = 32;
const DEFAULT_PAGE: usize = 100;
const LARGEST_PAGE: usize = 1_000;

/// A list that somebody pages through. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    lanes: Arc<Vec<Lane>>,
    /// Where the page begins that was asked for last.
    last_asked: Arc<AtomicUsize>,
    /// How many entries are in it.
    pub total: usize,
    pub as_of: Timestamp,
    pub revision: u64,
}

/// A lane of a list. It is sorted when a page comes to it: most who look at a long list see its beginning only.
#[derive(Debug)]
struct Lane {
    len: usize,
    entries: Mutex<Sorting>,
}

#[derive(Debug)]
enum Sorting {
    Due(LaneEntries),
    Done(Vec<Arc<Entry>>),
    /// Read, and let go.
    Over,
}

impl Snapshot {
    /// The entries that match.
    pub(super) fn of(lanes: Vec<LaneEntries>, filter: &v1::EntryFilter, as_of: Timestamp, revision: u64) -> Self {
        let lanes: Vec<Lane> = lanes
            .into_iter()
            .map(|mut entries| {
                if *filter != v1::EntryFilter::default() {
                    entries.retain(|entry| matches(entry, filter));
                }
                Lane {
                    len: entries.len(),
                    entries: Mutex::new(Sorting::Due(entries)),
                }
            })
            .collect();
        Self {
            total: lanes.iter().map(|lane| lane.len).sum(),
            lanes: Arc::new(lanes),
            last_asked: Arc::default(),
            as_of,
            revision,
        }
    }

    /// So many entries from a place on, by lane and there in its order; `None` when they were let go. Lets go of the lanes
    /// that end before the page that was asked for last.
    fn entries(&self, offset: usize, size: usize) -> Option<Vec<Arc<Entry>>> {
        let last = self.last_asked.swap(offset, Ordering::Relaxed);
        self.let_go(last.min(offset));
        let (mut skip, mut page) = (offset, Vec::with_capacity(size.min(self.total)));
        for lane in self.lanes.iter() {
            if page.len() == size {
                break;
            }
            if skip >= lane.len {
                skip -= lane.len;
                continue;
            }
            page.extend(lane.in_order(skip, size - page.len())?);
            skip = 0;
        }
        Some(page)
    }

    fn let_go(&self, before: usize) {
        let mut end = 0;
        for lane in self.lanes.iter() {
            end += lane.len;
            if end > before {
                break;
            }
            *lane.entries.lock() = Sorting::Over;
        }
    }
}

impl Lane {
    fn in_order(&self, offset: usize, size: usize) -> Option<Vec<Arc<Entry>>> {
        let mut sorting = self.entries.lock();
        let sorted = match std::mem::replace(&mut *sorting, Sorting::Over) {
            Sorting::Due(entries) => entries.into_order(),
            Sorting::Done(entries) => entries,
            Sorting::Over => return None,
        };
        let page = sorted.iter().skip(offset).take(size).cloned().collect();
        *sorting = Sorting::Done(sorted);
        Some(page)
    }
}

/// The lists of one term that are being paged through.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    snapshots: Mutex<Snapshots>,
    kept_one: Notify,
}

#[derive(Debug, Default)]
struct Snapshots {
    /// Each with its filter, and until when it is kept.
    kept: BTreeMap<u64, (Snapshot, u64, Instant)>,
    next: u64,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    term: u64,
    filter: u64,
    snapshot: u64,
    offset: usize,
}

/// Where a page is in which list.
struct Place {
    snapshot: Snapshot,
    offset: usize,
    size: usize,
    next_page_token: String,
}

/// One page.
pub(crate) struct Page {
    pub snapshot: Snapshot,
    pub entries: Vec<Arc<Entry>>,
    pub next_page_token: String,
}

impl Lists {
    /// The page that is asked for; `take` makes the snapshot of a first page. It looks through the whole queue, so nobody
    /// waits for it who reads on in another list.
    pub(super) fn page(
        &self,
        request: &v1::ListEntriesRequest,
        epoch: &str,
        take: impl FnOnce(&v1::EntryFilter) -> Snapshot,
    ) -> Result<Page, Status> {
        let filter = request.filter.clone().unwrap_or_default();
        let first = request.page_token.is_empty().then(|| take(&filter));
        let Place {
            snapshot,
            offset,
            size,
            next_page_token,
        } = self.snapshots.lock().place(request, epoch, &filter, first)?;
        self.kept_one.notify_one();
        let entries = snapshot.entries(offset, size);
        Ok(Page {
            entries: entries.ok_or_else(not_kept)?,
            snapshot,
            next_page_token,
        })
    }

    /// Forgets what nobody pages through, for ever.
    pub(crate) async fn tidy(&self) {
        loop {
            let ends = self.snapshots.lock().first_end();
            match ends {
                None => self.kept_one.notified().await,
                Some(at) => {
                    // Who reads the last page shortens the time.
                    let _ = tokio::time::timeout_at(at, self.kept_one.notified()).await;
                    self.snapshots.lock().forget_old();
                }
            }
        }
    }

    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        self.snapshots.lock().kept.clear();
    }
}

impl Snapshots {
    fn place(
        &mut self,
        request: &v1::ListEntriesRequest,
        epoch: &str,
        filter: &v1::EntryFilter,
        first: Option<Snapshot>,
    ) -> Result<Place, Status> {
        let (term, filter_hash) = (hash(epoch), hash(filter.encode_to_vec()));
        let size = match usize::try_from(request.page_size).unwrap_or(usize::MAX) {
            0 => DEFAULT_PAGE,
            size => size.min(LARGEST_PAGE),
        };
        self.forget_old();
        let (id, snapshot, offset) = if let Some(first) = first {
            self.next += 1;
            (self.next, first, 0)
        } else {
            let token: Token = read_token(&request.page_token)
                .ok_or_else(|| Status::invalid_argument("page_token is none of this service's"))?;
            if token.filter != filter_hash {
                return Err(Status::invalid_argument("page_token was given for another filter"));
            }
            let kept = self.kept.get(&token.snapshot).filter(|_| token.term == term);
            let (snapshot, ..) = kept.ok_or_else(not_kept)?;
            (token.snapshot, snapshot.clone(), token.offset)
        };
        let end = offset.saturating_add(size).min(snapshot.total);
        let next_page_token = if end < snapshot.total {
            if self.kept.len() >= KEPT_AT_ONCE && !self.kept.contains_key(&id) {
                self.drop_oldest();
            }
            self.kept
                .insert(id, (snapshot.clone(), filter_hash, Instant::now() + KEPT_FOR));
            write_token(Token {
                term,
                filter: filter_hash,
                snapshot: id,
                offset: end,
            })
        } else {
            if let Some((_, _, until)) = self.kept.get_mut(&id) {
                *until = Instant::now() + KEPT_AT_ITS_END_FOR;
            }
            String::new()
        };
        Ok(Place {
            snapshot,
            offset,
            size,
            next_page_token,
        })
    }

    fn first_end(&self) -> Option<Instant> {
        self.kept.values().map(|(_, _, until)| *until).min()
    }

    fn forget_old(&mut self) {
        let now = Instant::now();
        self.kept.retain(|_, (_, _, until)| *until > now);
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self
            .kept
            .iter()
            .min_by_key(|(_, (_, _, until))| *until)
            .map(|(id, _)| *id)
        {
            self.kept.remove(&oldest);
        }
    }
}

fn not_kept() -> Status {
    Status::out_of_range("this part of the list is not kept any more: start with the first page")
}

fn matches(entry: &Entry, filter: &v1::EntryFilter) -> bool {
    let key = entry.key();
    let given = |wanted: &str, has: &str| wanted.is_empty() || wanted == has;
    given(&filter.cluster, key.cluster.as_str())
        && given(&filter.namespace, key.binding.namespace.as_deref().unwrap_or("-"))
        && given(&filter.kind, &entry.published.template.kind)
        && given(&filter.name, &key.binding.name)
        && (filter.cause.is_empty() || filter.cause == key.cause.identity())
        && match filter.state() {
            v1::EntryState::Unspecified => true,
            v1::EntryState::Waiting => entry.state == State::Waiting,
            v1::EntryState::Ready => entry.state == State::Ready,
            v1::EntryState::Leased => matches!(entry.state, State::Leased(_)),
            v1::EntryState::Held => matches!(entry.state, State::Held { .. }),
        }
        && match filter.cause_kind() {
            v1::CauseKind::Unspecified => true,
            v1::CauseKind::Taint => key.cause.kind() == CauseKind::Taint,
            v1::CauseKind::Deletion => key.cause.kind() == CauseKind::Deletion,
            v1::CauseKind::Application => key.cause.kind() == CauseKind::Application,
        }
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

fn write_token(token: Token) -> String {
    format!(
        "{:016x}{:016x}{:x}.{:x}",
        token.term, token.filter, token.snapshot, token.offset
    )
}

fn read_token(text: &str) -> Option<Token> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (snapshot, offset) = text.get(32..)?.split_once('.')?;
    Some(Token {
        term: number(text.get(..16)?)?,
        filter: number(text.get(16..32)?)?,
        snapshot: number(snapshot)?,
        offset: usize::try_from(number(offset)?).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Snapshot {
        Snapshot::of(Vec::new(), &v1::EntryFilter::default(), Timestamp::UNIX_EPOCH, 1)
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_list_is_forgotten_without_another() {
        let lists = Lists::default();
        let abandoned = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            let kept = (empty(), 0, Instant::now() + KEPT_FOR);
            lists.snapshots.lock().kept.insert(1, kept);
            lists.kept_one.notify_one();
            tokio::time::sleep(Duration::from_secs(59)).await;
            assert_eq!(lists.snapshots.lock().kept.len(), 1);
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert!(lists.snapshots.lock().kept.is_empty());
        };
        tokio::select! {
            biased;
            () = abandoned => {}
            () = lists.tidy() => {}
        }
    }

    #[test]
    fn a_snapshot_is_taken_while_other_lists_can_be_read_on() {
        let lists = Lists::default();
        let page = lists.page(&v1::ListEntriesRequest::default(), "q/1", |_| {
            assert!(lists.snapshots.try_lock().is_some(), "nobody waits");
            empty()
        });
        assert_eq!(page.unwrap().snapshot.revision, 1);
        let nonsense = v1::ListEntriesRequest {
            page_token: "x".into(),
            ..v1::ListEntriesRequest::default()
        };
        let refused = lists.page(&nonsense, "q/1", |_| unreachable!("no later page takes one"));
        assert_eq!(
            refused.err().map(|status| status.code()),
            Some(tonic::Code::InvalidArgument)
        );
    }

    #[test]
    fn tokens_read_as_they_are_written() {
        let token = Token {
            term: 1,
            filter: u64::MAX,
            snapshot: 17,
            offset: 100_000,
        };
        assert_eq!(read_token(&write_token(token)), Some(token));
        for nonsense in ["x", "", "0123", "é23456789012345678901234567890123456.1"] {
            assert_eq!(read_token(nonsense), None, "{nonsense}");
        }
    }
}
