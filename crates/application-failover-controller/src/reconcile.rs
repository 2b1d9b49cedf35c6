//! One binding: its clock is brought up to what is known of its copies.

use std::sync::Arc;
use std::time::Duration;

use api_types::work::Binding;
use api_types::{BindingKey, ClusterName};
use binding_writer::{BindingWriter, Cache, OwnWrites, WriteError, WriteOutcome};
use controller_kit::{Context, Next};
use failover_core::application::{HealthClock, verdict_by, wanted_by};

use crate::index::Stores;
use crate::said::Said;
use crate::scripts::HealthScripts;
use crate::writer::{self, Then, Turn};

/// Tries against a binding that others write at the same time, before it waits its turn again.
const TRIES: usize = 4;
/// How long a binding waits that others write all the time.
const CROWDED: Duration = Duration::from_secs(1);
/// How long a binding waits whose clock the API server, or a webhook, refuses.
const REFUSED: Duration = Duration::from_secs(60);

/// A binding that could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot read: {0}")]
    Read(#[from] kube::Error),
}

/// What it takes to keep clocks. Clones are the same.
#[derive(Clone)]
pub(crate) struct Clocks {
    pub ctx: Context,
    pub stores: Stores,
    pub writer: BindingWriter,
    pub own: OwnWrites,
    pub said: Arc<Said>,
    pub scripts: HealthScripts,
}

impl Clocks {
    /// Brings the clock of a binding up to what is known, and says what there is to say.
    pub(crate) async fn reconcile(&self, key: &BindingKey) -> Result<Next, Failed> {
        let kept = self.stores.binding(key);
        let Some(known) = kept.as_ref().and_then(|kept| kept.watched()) else {
            self.own.forget(key);
            self.said.forget(key);
            return Ok(Next::Done);
        };
        if self.own.take_in(known) == Cache::Behind {
            return Ok(Next::Done);
        }
        let mut settled = self.settle(known).await?;
        for _ in 1..TRIES {
            if let Some(next) = settled.next() {
                return Ok(next);
            }
            let Some(fresh) = self.read(key).await? else {
                return Ok(Next::Done);
            };
            settled = self.settle(&fresh).await?;
        }
        Ok(settled.next().unwrap_or(Next::After(CROWDED)))
    }

    async fn settle(&self, binding: &Binding) -> Result<Settled, Failed> {
        if binding.is_being_deleted() {
            return Ok(Settled::Yes);
        }
        if let Some(why) = self.said.news_of_kind(binding, &self.scripts) {
            writer::say_in_vain(&self.ctx, binding, &why);
        }
        let (clock, unreadable) = match HealthClock::of(binding) {
            Ok(clock) => (clock, None),
            Err(problem) => (HealthClock::default(), Some(problem)),
        };
        let cluster = |name: &ClusterName| self.stores.cluster(name);
        let next = clock.next(binding, &cluster, self.ctx.clock.now());
        let outcome = match writer::store(&self.writer, binding, &next).await {
            Err(WriteError::Refused { source, .. }) => {
                self.count("refused");
                let words = source.to_string();
                if self.said.is_new_refusal(&binding.key(), &words) {
                    writer::say_refused(&self.ctx, binding, &words);
                }
                return Ok(Settled::Refused);
            }
            outcome => outcome?,
        };
        self.said.not_refused(&binding.key());
        let (counted, ends) = match outcome {
            WriteOutcome::NotNeeded => return Ok(Settled::Yes),
            WriteOutcome::Written(written) => ("written", Ok(written)),
            WriteOutcome::Conflict => ("conflict", Err(Settled::No)),
            WriteOutcome::Gone => ("gone", Err(Settled::Yes)),
        };
        self.count(counted);
        let written = match ends {
            Ok(written) => written,
            Err(settled) => return Ok(settled),
        };
        self.own.wrote(binding);
        if let Some(problem) = unreadable {
            writer::say_unreadable(&self.ctx, binding, &problem);
        }
        let turns = writer::turns(binding, &clock, &next);
        let next = Ok(next);
        for turn in turns {
            let (Turn::Fails { cluster, .. } | Turn::Over { cluster, .. }) = &turn;
            let cluster = self.stores.cluster(cluster);
            let cluster = cluster.as_deref();
            let then = Then {
                wanted: wanted_by(&next, Some(&written), cluster),
                verdict: cluster.map(|cluster| verdict_by(&next, &written, cluster)),
            };
            writer::say(&self.ctx, &written, &turn, &then);
        }
        Ok(Settled::Yes)
    }

    fn count(&self, outcome: &'static str) {
        let counter = self.ctx.metrics.counter(writer::WRITES, &[("outcome", outcome)]);
        counter.increment(1);
    }

    async fn read(&self, key: &BindingKey) -> Result<Option<Binding>, kube::Error> {
        binding_writer::api(&self.ctx.client, key).get_opt(&key.name).await
    }
}

/// Whether a binding is done with.
enum Settled {
    Yes,
    /// It changed meanwhile.
    No,
    /// The write was refused, and would be again.
    Refused,
}

impl Settled {
    /// When its turn is next; nothing where it has to be looked at again at once.
    fn next(&self) -> Option<Next> {
        match self {
            Self::Yes => Some(Next::Done),
            Self::Refused => Some(Next::After(REFUSED)),
            Self::No => None,
        }
    }
}
