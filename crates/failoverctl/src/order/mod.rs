//! `queue drop` and `queue undrop`: orders to the eviction queue.
//!
//! Rooms: `plan` (which entries it is about, and which not), `report` (what is said). Here the queue is asked.

mod plan;
mod report;

use eviction_queue_api::v1;
use futures::StreamExt;

pub use plan::{Plan, Verb, plan};
pub use report::{OrderResult, Skipped};

use crate::change::{Go, agreed, require_consent};
use crate::cli::{ChangeArgs, DropArgs, Target, UndropArgs, WhichEntries};
use crate::console::Console;
use crate::entries::binding_filter;
use crate::entry::EntryView;
use crate::failure::{ExitStatus, Failure};
use crate::queue::{Order, Queue, Really};
use crate::run::{Came, Surroundings};

/// Orders that are under way at once.
const AT_ONCE: usize = 8;
/// After so many it is said how far it is.
const SAID_EVERY: usize = 500;

/// What is ordered, of which entries, and how.
pub struct Wanted<'a> {
    /// What.
    pub verb: Verb,
    /// Of which entries.
    pub which: &'a WhichEntries,
    /// Why.
    pub reason: &'a str,
    /// How careful to be.
    pub change: &'a ChangeArgs,
}

impl<'a> From<&'a DropArgs> for Wanted<'a> {
    fn from(args: &'a DropArgs) -> Self {
        Self {
            verb: Verb::Drop,
            which: &args.which,
            reason: &args.reason,
            change: &args.change,
        }
    }
}

impl<'a> From<&'a UndropArgs> for Wanted<'a> {
    fn from(args: &'a UndropArgs) -> Self {
        Self {
            verb: Verb::Undrop,
            which: &args.which,
            reason: &args.reason,
            change: &args.change,
        }
    }
}

/// Carries it out.
///
/// # Errors
/// There is no such entry, none to which it can be done, nobody can be asked, or the queue refuses or does not answer.
pub async fn order(
    queue: &mut Queue,
    wanted: &Wanted<'_>,
    target: &Target,
    around: &Surroundings,
) -> Result<Came<OrderResult>, Failure> {
    let about = plan::about(wanted.which);
    let what = format!("{} {about}", wanted.verb.word());
    require_consent(around.console.as_ref(), wanted.change, &what)?;
    plan::check_reason(wanted)?;
    let found = queue.list(&filter(wanted.which), 0).await?.entries;
    if found.is_empty() && wanted.which.binding.is_some() {
        return Err(Failure::new(
            ExitStatus::Problem,
            format!("cannot {what}"),
            format!("the eviction queue at {} has no entry for it", queue.address()),
            format!("nothing makes it leave; see why: failoverctl explain binding {about}"),
        ));
    }
    let plan = plan(
        wanted.verb,
        found.iter().map(|entry| (key(entry), EntryView::of(entry))),
    );
    let plan = if wanted.which.all { plan.of_many() } else { plan };
    if plan.ordered.is_empty() && wanted.which.binding.is_some() && wanted.verb == Verb::Undrop {
        return Err(plan::nothing_to_take_back(&what, &plan));
    }
    let orders = Orders {
        verb: wanted.verb,
        reason: wanted.reason,
        console: around.console.as_ref(),
    };
    let mut result = report::begin(wanted, &plan, target);
    let rehearsed = if wanted.change.dry_run {
        &plan.ordered[..]
    } else {
        // What would be refused is known before anybody is asked.
        &plan.ordered[..plan.ordered.len().min(1)]
    };
    let rehearsal = orders.all(queue, rehearsed, Really::OnlySay).await?;
    if wanted.change.dry_run || plan.ordered.is_empty() {
        result.take(rehearsal);
        return Ok(Came::To(result));
    }
    let announcement = plan.announcement(wanted.verb, wanted.reason, around.clock.now());
    if agreed(&around.console, wanted.change, &announcement).await == Go::Not {
        return Ok(Came::Nothing);
    }
    result.dry_run = false;
    result.take(orders.all(queue, &plan.ordered, Really::Do).await?);
    Ok(Came::To(result))
}

fn filter(which: &WhichEntries) -> v1::EntryFilter {
    match &which.binding {
        Some(binding) => binding_filter(binding, which.cluster.as_deref()),
        None => v1::EntryFilter {
            cluster: which.cluster.clone().unwrap_or_default(),
            ..v1::EntryFilter::default()
        },
    }
}

fn key(entry: &v1::Entry) -> v1::EntryKey {
    let published = entry.published.as_ref();
    published
        .and_then(|published| published.key.clone())
        .unwrap_or_default()
}

/// What is sent.
struct Orders<'a> {
    verb: Verb,
    reason: &'a str,
    console: &'a dyn Console,
}

/// What became of the orders.
#[derive(Default)]
pub(super) struct Sent {
    /// The entries as they are now.
    pub done: Vec<EntryView>,
    /// Those to which it could not be done.
    pub failed: Vec<Skipped>,
}

impl Orders<'_> {
    /// Orders it for each, until the queue does not answer any more or Ctrl-C; what is left then is told.
    ///
    /// # Errors
    /// Nothing was done.
    async fn all(&self, queue: &Queue, entries: &[(v1::EntryKey, EntryView)], really: Really) -> Result<Sent, Failure> {
        let mut answers = futures::stream::iter(entries)
            .map(|(key, _)| self.one(queue.clone(), key, really))
            .buffered(AT_ONCE);
        let mut interrupted = self.console.interrupted();
        let mut sent = Sent::default();
        for (number, (_, entry)) in entries.iter().enumerate() {
            let answer = tokio::select! {
                biased;
                () = &mut interrupted => {
                    self.console.note("stopped; what was done stays done\n");
                    sent.rest(&entries[number..], "stopped before its turn was over");
                    break;
                }
                answer = answers.next() => answer,
            };
            match answer {
                Some(Ok(Some(now))) => sent.done.push(EntryView::of(&now)),
                Some(Ok(None)) | None => sent.failed.push(Skipped::of(entry, "it left the queue meanwhile")),
                Some(Err(failure)) if sent.done.is_empty() => return Err(failure),
                Some(Err(failure)) => {
                    let why = failure.one_line();
                    if matches!(failure.status(), ExitStatus::Unreachable | ExitStatus::TimedOut) {
                        sent.rest(&entries[number..], &why);
                        break;
                    }
                    sent.failed.push(Skipped::of(entry, &why));
                }
            }
            if (number + 1) % SAID_EVERY == 0 {
                self.console
                    .note(&format!("{} of {} are through\n", number + 1, entries.len()));
            }
        }
        Ok(sent)
    }

    async fn one(&self, mut queue: Queue, key: &v1::EntryKey, really: Really) -> Result<Option<v1::Entry>, Failure> {
        let order = Order {
            key: key.clone(),
            reason: self.reason.to_owned(),
            really,
        };
        match self.verb {
            Verb::Drop => queue.drop_entry(order).await,
            Verb::Undrop => queue.undrop_entry(order).await,
        }
    }
}

impl Sent {
    fn rest(&mut self, entries: &[(v1::EntryKey, EntryView)], why: &str) {
        self.failed
            .extend(entries.iter().map(|(_, entry)| Skipped::of(entry, why)));
    }
}
