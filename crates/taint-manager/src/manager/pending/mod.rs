//! What the queue holds, told to people: the condition `EvictionPending` on bindings, and events.
//!
//! Follows the queue's watch over entries of every cause. Output only: nothing here is read for a decision.

mod book;
mod conditions;
mod say;
mod told;

use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use binding_writer::{BindingWriter, Reassert, WriteError, WriteOutcome};
use controller_kit::{Context, Next, WorkQueue};
use eviction_queue_api::v1::{WatchEntriesRequest, WatchEntriesResponse, watch_entries_response};
use eviction_queue_api::{Link, QueueClient};
use parking_lot::Mutex;
use tokio::time::Instant;
use tonic::{Code, Status};
use tracing::warn;

use super::Shared;
use super::drops::Drops;
use super::index::Stores;
use super::judged_part::{JudgedPart, PendingSaid};
use book::Book;
pub(crate) use conditions::Pace;
use say::{Saying, saying};
use told::Teller;

/// What is held and let go at once needs no condition: an entry that stays so for longer than this gets one.
const SETTLE: Duration = Duration::from_millis(500);
/// A queue that began anew has yet to hear from its producers: what it does not hold is not gone before that.
const CLEAR_AFTER: Duration = Duration::from_secs(10);
/// Conditions that are written at the same time; the pace is set elsewhere.
const WRITERS: usize = 4;

/// Follows the queue and keeps conditions. Clones are the same.
#[derive(Clone)]
pub(crate) struct Pending {
    ctx: Context,
    shared: Arc<Shared>,
    stores: Stores,
    client: QueueClient,
    book: Arc<Mutex<Book>>,
    work: WorkQueue<BindingKey>,
    writer: BindingWriter,
    pace: Arc<Pace>,
    drops: Drops,
    /// Beside a stock Karmada, which drops conditions that it does not know.
    reassert: Option<Arc<Reassert>>,
}

/// Where a watch goes on.
#[derive(Clone, Debug, Default)]
struct Position {
    revision: u64,
    queue_epoch: String,
    /// When what the queue has not told counts as gone.
    settles_at: Option<Instant>,
}

impl Pending {
    pub fn new(
        ctx: &Context,
        shared: &Arc<Shared>,
        stores: Stores,
        client: QueueClient,
        pace: Arc<Pace>,
        drops: Drops,
    ) -> Self {
        Self {
            work: WorkQueue::new("evictionPending", ctx),
            writer: BindingWriter::new(ctx.client.clone()),
            ctx: ctx.clone(),
            shared: shared.clone(),
            stores,
            client,
            book: Arc::default(),
            pace,
            drops,
            reassert: None,
        }
    }

    /// The same beside a stock Karmada, which drops conditions that it does not know: said again once a minute at most.
    pub fn saying_again(self) -> Self {
        Self {
            reassert: Some(Arc::default()),
            ..self
        }
    }

    /// A binding changed. A look that was taken before its condition came to be known here, or before somebody else
    /// changed it, is taken again.
    pub fn binding_changed(&self, key: &BindingKey, before: Option<&JudgedPart>, after: Option<&JudgedPart>) {
        let Some(after) = after else { return };
        if before.and_then(JudgedPart::pending) != after.pending() {
            self.look_at(key);
        }
    }

    /// A binding may need another condition.
    pub fn look_at(&self, key: &BindingKey) {
        self.work.add_after(key.clone(), SETTLE);
    }

    /// Runs until shutdown.
    pub async fn run(&self) {
        let pending = self.clone();
        let writers = self.work.run(&self.ctx, WRITERS, move |key| {
            let pending = pending.clone();
            async move { pending.bring_up_to_date(&key).await }
        });
        tokio::join!(writers, self.follow());
    }

    // ---- the condition

    async fn bring_up_to_date(&self, key: &BindingKey) -> Result<Next, WriteError> {
        let Some(known) = self.stores.binding(key) else {
            if let Some(reassert) = &self.reassert {
                reassert.forget(key);
            }
            return Ok(Next::Done);
        };
        let Some(wanted) = self.wanted(key) else {
            return Ok(Next::Done);
        };
        if let (Some(reassert), None) = (&self.reassert, &wanted) {
            reassert.forget(key);
        }
        if !conditions::differs(known.pending(), wanted.as_ref()) {
            return Ok(Next::Done);
        }
        let is_news = known.pending().is_none();
        if let Some(from) = wanted.as_ref().and_then(|saying| saying.not_before)
            && is_news
            && self.ctx.clock.now() < from
        {
            return Ok(Next::At(from));
        }
        let dropped = self.reassert.as_ref().filter(|_| is_news);
        if let Some(wait) = dropped.and_then(|reassert| reassert.held_back(key)) {
            return Ok(Next::After(wait));
        }
        self.write_on_live_state(key).await
    }

    /// Of what is known here too little is kept to write on it. A conflict waits for its turn.
    async fn write_on_live_state(&self, key: &BindingKey) -> Result<Next, WriteError> {
        // First the turn, then the look: what has left meanwhile costs no write.
        self.pace.wait().await;
        let live = binding_writer::api(&self.ctx.client, key).get_opt(&key.name).await;
        let live = live.map_err(|source| WriteError::Unknown {
            binding: key.to_string(),
            source: Box::new(source),
        })?;
        let (Some(live), Some(wanted)) = (live, self.wanted(key)) else {
            return Ok(Next::Done);
        };
        if !conditions::differs(PendingSaid::of(&live).as_ref(), wanted.as_ref()) {
            return Ok(Next::Done);
        }
        match conditions::write(&self.writer, &live, wanted.as_ref(), self.ctx.clock.now()).await? {
            WriteOutcome::Conflict => Ok(Next::After(Duration::from_secs(1))),
            WriteOutcome::Written(_) => {
                if let (Some(reassert), Some(_)) = (&self.reassert, wanted) {
                    reassert.said(key);
                }
                Ok(Next::Done)
            }
            WriteOutcome::NotNeeded | WriteOutcome::Gone => Ok(Next::Done),
        }
    }

    /// What the condition should say; nothing while that cannot be told.
    fn wanted(&self, key: &BindingKey) -> Option<Option<Saying>> {
        let book = self.book.lock();
        if let Some(entries) = book.of(key) {
            return Some(saying(entries));
        }
        // What is published and not in the queue yet, or not withdrawn yet, is on its way: another look follows.
        (book.is_live() && !self.shared.index.lock().ledger.mentions(key)).then_some(None)
    }

    // ---- the watch

    async fn follow(&self) {
        let link = Link::new(&self.ctx, "watch");
        let mut teller = Teller::default();
        let mut position = Position::default();
        let forever = async {
            loop {
                let why = self.session(&link, &mut teller, &mut position).await;
                link.down(&why);
                self.client.back_off().await;
            }
        };
        tokio::select! {
            biased;
            () = self.ctx.shutdown.cancelled() => {}
            () = forever => {}
        }
    }

    /// One watch, until it ends; says why it did.
    async fn session(&self, link: &Link, teller: &mut Teller, position: &mut Position) -> String {
        let mut service = match self.client.inspection().await {
            Ok(service) => service,
            Err(error) => return error.to_string(),
        };
        if position.revision == 0 {
            self.book.lock().begin();
            self.drops.begin();
        }
        let request = WatchEntriesRequest {
            after_revision: position.revision,
            queue_epoch: position.queue_epoch.clone(),
        };
        let mut steps = match service.watch_entries(request).await {
            Ok(steps) => steps.into_inner(),
            Err(status) => return self.ended(position, &status),
        };
        loop {
            let step = tokio::select! {
                biased;
                step = steps.message() => step,
                () = sleep_until(position.settles_at) => {
                    position.settles_at = None;
                    self.settled();
                    continue;
                }
                () = sleep_until(teller.due()) => {
                    teller.tell(&self.ctx);
                    continue;
                }
            };
            match step {
                Ok(Some(step)) => self.step(link, teller, position, step),
                Ok(None) => return self.ended(position, &Status::unavailable("the queue has closed the watch")),
                Err(status) => return self.ended(position, &status),
            }
        }
    }

    fn ended(&self, position: &mut Position, status: &Status) -> String {
        if status.code() == Code::OutOfRange {
            *position = Position::default();
        }
        self.client.learn(status);
        format!("{:?}: {}", status.code(), status.message())
    }

    fn step(&self, link: &Link, teller: &mut Teller, position: &mut Position, step: WatchEntriesResponse) {
        let revision = step.revision;
        let Some(message) = step.message else { return };
        self.drops.hear(&message);
        if let watch_entries_response::Message::Synced(synced) = message {
            self.client.succeeded();
            link.up();
            *position = Position {
                revision,
                queue_epoch: synced.queue_epoch,
                settles_at: Some(Instant::now() + CLEAR_AFTER),
            };
            self.book.lock().synced();
            return;
        }
        match self.book.lock().take(message) {
            Ok(Some(noted)) => {
                teller.note(&self.ctx, &noted);
                self.look_at(&noted.key.binding);
            }
            Ok(None) => {}
            Err(error) => warn!("the queue tells of an entry that cannot be understood: {error}"),
        }
        if !position.queue_epoch.is_empty() {
            position.revision = revision;
        }
    }

    /// The whole queue is known, and its producers had time: conditions of what it does not hold go.
    fn settled(&self) {
        let gone = self.book.lock().settled();
        let stale = self
            .stores
            .bindings()
            .filter(|(_, binding)| binding.pending().is_some());
        for key in stale.map(|(key, _)| key).chain(gone) {
            self.work.add(key);
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
