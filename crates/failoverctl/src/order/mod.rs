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
    if found.is_empty() {
        let others = others(queue, wanted.which).await?;
        return Err(plan::no_entry(&what, queue.address(), wanted.which, others));
    }
    let plan = plan(
        wanted.verb,
        found.iter().map(|entry| (key(entry), EntryView::of(entry))),
    );
    let plan = if wanted.which.all { plan.of_many() } else { plan };
    if let (true, Verb::Undrop, Some(binding)) = (plan.ordered.is_empty(), wanted.verb, &wanted.which.binding) {
        return Err(plan::nothing_to_take_back(&what, binding, &plan));
    }
    let orders = Orders {
        verb: wanted.verb,
        reason: wanted.reason,
        console: around.console.as_ref(),
        among: plan.ordered.len(),
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
    result.take(orders.all(queue, &plan.ordered, Really::Do).await?);
    Ok(Came::To(result))
}

/// Clusters that have entries which may be meant, when those that were asked for do not exist.
async fn others(queue: &mut Queue, which: &WhichEntries) -> Result<Vec<String>, Failure> {
    if let Some(binding) = &which.binding {
        let entries = queue.list(&binding_filter(binding, None), 0).await?.entries;
        return Ok(entries.iter().map(|entry| key(entry).cluster).collect());
    }
    let is_used = |lane: &v1::Lane| {
        let totals = lane.totals.unwrap_or_default();
        totals.waiting + totals.ready + totals.leased + totals.held > 0
    };
    let lanes = queue.lanes().await?.into_iter().filter(is_used);
    Ok(lanes.map(|lane| lane.cluster).collect())
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
    /// How many entries are ordered in all.
    among: usize,
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
    /// Orders it for each, until the queue does not answer any more or Ctrl-C; what is left then is told. The first goes
    /// alone: what the queue has against the caller or the order it says there, while nothing else is under way.
    ///
    /// # Errors
    /// Nothing was done.
    async fn all(&self, queue: &Queue, entries: &[(v1::EntryKey, EntryView)], really: Really) -> Result<Sent, Failure> {
        let (first, others) = entries.split_at(entries.len().min(1));
        let send = |(key, _): &'_ (v1::EntryKey, EntryView)| self.one(queue.clone(), key.clone(), really);
        let first = futures::stream::iter(first).map(send).buffered(1);
        let others = futures::stream::iter(others).map(send).buffered(AT_ONCE);
        let mut answers = first.chain(others);
        let mut interrupted = self.console.interrupted();
        let mut sent = Sent::default();
        for (number, (_, entry)) in entries.iter().enumerate() {
            let answer = tokio::select! {
                biased;
                () = &mut interrupted => {
                    self.console.note("stopped; what was done stays done\n");
                    let under_way = if number == 0 { 1 } else { AT_ONCE };
                    sent.rest(&entries[number..], under_way, "stopped before its turn was over");
                    break;
                }
                answer = answers.next() => answer,
            };
            match answer {
                Some(Ok(Some(now))) => sent.done.push(EntryView::of(&now)),
                Some(Ok(None)) | None => sent.failed.push(Skipped::of(entry, "it left the queue meanwhile")),
                Some(Err(failure)) => {
                    let is_about_it_alone = failure.status() == ExitStatus::Problem && self.among > 1;
                    if number == 0 && !is_about_it_alone {
                        return Err(failure);
                    }
                    let why = failure.one_line();
                    sent.failed.push(Skipped::of(entry, &why));
                    if matches!(failure.status(), ExitStatus::Unreachable | ExitStatus::TimedOut) {
                        sent.rest(&entries[number + 1..], AT_ONCE - 1, &why);
                        break;
                    }
                }
            }
            if (number + 1) % SAID_EVERY == 0 {
                self.console
                    .note(&format!("{} of {} are through\n", number + 1, entries.len()));
            }
        }
        Ok(sent)
    }

    async fn one(&self, mut queue: Queue, key: v1::EntryKey, really: Really) -> Result<Option<v1::Entry>, Failure> {
        let order = Order {
            key,
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
    /// Those whose answer nobody waited for; the first `under_way` of them were sent.
    fn rest(&mut self, entries: &[(v1::EntryKey, EntryView)], under_way: usize, why: &str) {
        let may_be_done = format!("{why}; it was under way and may be done");
        let (sent, not_sent) = entries.split_at(under_way.min(entries.len()));
        let sent = sent.iter().map(|(_, entry)| Skipped::of(entry, &may_be_done));
        let not_sent = not_sent.iter().map(|(_, entry)| Skipped::of(entry, why));
        self.failed.extend(sent.chain(not_sent));
    }
}
