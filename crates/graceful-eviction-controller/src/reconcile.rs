//! One binding: its tasks are judged by the core, and what follows is written.

use std::sync::Arc;
use std::time::Duration;

use api_types::work::{Binding, condition};
use api_types::{BindingKey, ClusterName};
use binding_writer::{BindingWriter, Cache, OwnWrites, Reassert, WriteError, WriteOutcome};
use controller_kit::metrics::{Holds, Marked};
use controller_kit::second_owners::SecondOwners;
use controller_kit::{Context, Next};
use failover_core::graceful::{Assessed, End, Fate, Keeps, Settings, View, assess};
use failover_core::second_owner;
use jiff::Timestamp;
use scheduler_filters::{ComesBack, Schedulers, stays_when_back};

use crate::index::Index;
use crate::records::Records;
use crate::writer;

/// Tries against a binding that others write at the same time, before it waits its turn again.
const TRIES: usize = 4;
/// How long a binding waits whose cluster is not in the cache although the API server has it.
const CACHE_LAG: Duration = Duration::from_secs(1);

/// How long a task waits before the condition tells of it: most end sooner, or begin to wait for something else.
const TOLD_AFTER: Duration = Duration::from_secs(1);

/// A binding that could not be judged or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot read: {0}")]
    Read(#[from] kube::Error),
}

/// What it takes to judge bindings.
pub(crate) struct GracefulEviction {
    pub ctx: Context,
    pub index: Index,
    pub settings: Settings,
    /// Where schedulers take away what they have no place for: the plugins of each.
    pub emptied_by: Option<Schedulers>,
    /// What is seen of stock's controllers beside this one, which should be off.
    pub others: SecondOwners,
    pub writer: BindingWriter,
    pub reassert: Reassert,
    pub own: OwnWrites,
    /// Bindings with a task that goes on only because it holds the last copy.
    pub last_copies: Marked<BindingKey>,
    /// Absent where none are kept.
    pub records: Option<Records>,
}

impl GracefulEviction {
    /// Judges the tasks of a binding, and writes what follows.
    pub(crate) async fn reconcile(&self, key: &BindingKey) -> Result<Next, Failed> {
        let Some(known) = self.index.binding(key) else {
            self.own.forget(key);
            self.reassert.forget(key);
            self.last_copies.mark(key, Holds::No);
            return Ok(Next::Done);
        };
        if self.own.take_in(&known) == Cache::Behind {
            return Ok(Next::Done);
        }
        let mut binding = known;
        for _ in 0..TRIES {
            let settled = self.settle(&binding).await;
            if let Err(Failed::Write(error @ WriteError::Refused { .. })) = &settled {
                writer::tell_refused(&self.ctx, &binding, error);
            }
            if let Some(next) = settled? {
                return Ok(next);
            }
            match read(&self.ctx, key).await? {
                Some(fresh) => binding = Arc::new(fresh),
                None => return Ok(Next::Done),
            }
        }
        // Whoever writes that often brings the binding here again by its own changes.
        Ok(Next::After(CACHE_LAG))
    }

    /// Judges the tasks and writes what follows; nothing when the binding changed meanwhile.
    async fn settle(&self, binding: &Binding) -> Result<Option<Next>, Failed> {
        if binding.is_being_deleted() {
            return Ok(Some(Next::Done));
        }
        let now = self.ctx.clock.now();
        let assessed = self.assess(binding, now);
        let second = self.second_owners(binding);
        let keeps = assessed.iter().any(|assessed| assessed.fate.keeps_last_copy());
        self.last_copies.mark(&binding.key(), keeps.into());
        for assessed in &assessed {
            if assessed.fate == Fate::Ends(End::NoCluster) && !writer::is_gone(&self.ctx, &assessed.cluster).await? {
                return Ok(Some(Next::After(CACHE_LAG)));
            }
        }
        let record_due = match &self.records {
            Some(records) => {
                let due = records.make_up(binding, &assessed, &self.index).await;
                records.ending(binding, &assessed);
                due
            }
            None => None,
        };
        let written = match writer::edit(binding, &assessed, now) {
            Some(edit) => self.writer.write(&edit).await?,
            None => WriteOutcome::NotNeeded,
        };
        match written {
            // The change comes back through the informer, and the condition with it.
            WriteOutcome::Written(_) => {
                self.own.wrote(binding);
                self.reassert.forget(&binding.key());
                writer::publish(&self.ctx, binding, &assessed);
                writer::tell_second_owners(&self.ctx, binding, &second);
                return Ok(Some(Next::Done));
            }
            WriteOutcome::Conflict => return Ok(None),
            WriteOutcome::Gone => return Ok(Some(Next::Done)),
            WriteOutcome::NotNeeded => {}
        }
        let next = look_again(&assessed, record_due);
        if let Some(wait) = self.held_back(binding) {
            let again = now.saturating_add(wait).unwrap_or(Timestamp::MAX);
            return Ok(Some(look_again(&assessed, record_due.into_iter().chain([again]).min())));
        }
        match writer::say(&self.writer, binding, &assessed, &second, now).await? {
            WriteOutcome::Conflict => Ok(None),
            WriteOutcome::Written(_) => {
                self.own.wrote(binding);
                let again = lacks_condition(binding) && self.reassert.was_said(&binding.key());
                if self.emptied_by.is_some() {
                    self.remember_said(binding);
                }
                if !again {
                    writer::tell_oddities(&self.ctx, binding);
                    writer::tell_second_owners(&self.ctx, binding, &second);
                }
                Ok(Some(next))
            }
            WriteOutcome::NotNeeded | WriteOutcome::Gone => Ok(Some(next)),
        }
    }

    /// What tells of a second owner in the binding's tasks, in words.
    fn second_owners(&self, binding: &Binding) -> Vec<String> {
        let others = &self.others;
        let key = binding.key();
        let tasks = binding.spec.graceful_eviction_tasks.iter();
        let signs = tasks.filter_map(|task| {
            let arrival = self.index.seen.arrival(&key, &task.from_cluster);
            let job = second_owner::of_task(task, arrival, others.since())?;
            others.saw(job.name());
            let sign = format!("it wrote the task for cluster {}", task.from_cluster);
            Some(second_owner::in_words(job, &sign))
        });
        signs.collect()
    }

    /// For how long the condition is not to be said yet: what ends a moment later needs none, and where a stock Karmada
    /// drops it it is not said again at once.
    fn held_back(&self, binding: &Binding) -> Option<Duration> {
        let may_be_dropped = self.emptied_by.is_some() && lacks_condition(binding);
        let dropped = may_be_dropped
            .then(|| self.reassert.held_back(&binding.key()))
            .flatten();
        self.all_are_young(binding).max(dropped)
    }

    /// The condition was said now; without a task it will not be again.
    fn remember_said(&self, binding: &Binding) {
        let key = binding.key();
        if binding.spec.graceful_eviction_tasks.is_empty() {
            self.reassert.forget(&key);
        } else {
            self.reassert.said(&key);
        }
    }

    /// How long until the first of the tasks has waited for long enough to be told of; absent where one has, or where
    /// the condition tells of one already.
    fn all_are_young(&self, binding: &Binding) -> Option<Duration> {
        let said = binding.condition(condition::GRACEFUL_EVICTION);
        if said.is_some_and(|said| said.status == "True") {
            return None;
        }
        let key = binding.key();
        let tasks = binding.spec.graceful_eviction_tasks.iter();
        let seen = tasks.filter_map(|task| self.index.seen.get(&key, &task.from_cluster));
        let oldest = seen.map(|(_, seen_for)| seen_for).max()?;
        TOLD_AFTER.checked_sub(oldest).filter(|left| !left.is_zero())
    }

    fn assess(&self, binding: &Binding, now: Timestamp) -> Vec<Assessed> {
        let key = binding.key();
        let cluster = |name: &str| self.index.cluster(name);
        let seen = |name: &str| self.index.seen.get(&key, name);
        let owners = |attached: &Binding| self.index.owners(attached);
        let keeps = |cluster: &ClusterName| self.keeps(binding, cluster, now);
        assess(
            &View {
                binding,
                cluster: &cluster,
                seen: &seen,
                owners: Some(&owners),
                keeps: self.emptied_by.as_ref().map(|_| &keeps as &Keeps<'_>),
                now,
            },
            &self.settings,
        )
    }

    /// Whether the binding's scheduler would leave a copy where it comes back to.
    fn keeps(&self, binding: &Binding, cluster: &ClusterName, now: Timestamp) -> Result<(), String> {
        let Some(schedulers) = &self.emptied_by else {
            return Ok(());
        };
        let scheduler = schedulers.of(binding);
        let question = ComesBack {
            binding,
            cluster,
            fleet: &self.index.fleet(),
            plugins: scheduler.plugins,
            now,
        };
        stays_when_back(&question).map_err(|why| match scheduler.unknown {
            None => why,
            Some(name) => format!(
                "{why}; asked with the default plugins: those of scheduler {name} are not known, --scheduler-plugins names them"
            ),
        })
    }
}

fn lacks_condition(binding: &Binding) -> bool {
    binding.condition(condition::GRACEFUL_EVICTION).is_none()
}

/// The binding as it is stored now.
pub(crate) async fn read(ctx: &Context, key: &BindingKey) -> Result<Option<Binding>, kube::Error> {
    binding_writer::api(&ctx.client, key).get_opt(&key.name).await
}

fn look_again(assessed: &[Assessed], record_due: Option<Timestamp>) -> Next {
    let times = assessed.iter().filter_map(|assessed| match &assessed.fate {
        Fate::Stays { look_again_at, .. } => *look_again_at,
        Fate::Ends(_) | Fate::Restored { .. } | Fate::LeavesResult { .. } | Fate::TurnsGraceful { .. } => None,
    });
    times.chain(record_due).min().map_or(Next::Done, Next::At)
}
