//! One binding: its clock is brought up to what is known of its copies.

use std::sync::Arc;
use std::time::Duration;

use api_types::work::Binding;
use api_types::{BindingKey, ClusterName};
use binding_writer::{BindingWriter, Cache, OwnWrites, WriteError, WriteOutcome};
use controller_kit::{Context, Next};
use failover_core::application::{HealthClock, no_health_rule, wanted};

use crate::index::Stores;
use crate::said::Said;
use crate::writer::{self, Turn};

/// Tries against a binding that others write at the same time, before it waits its turn again.
const TRIES: usize = 4;
/// How long a binding waits that others write all the time.
const CROWDED: Duration = Duration::from_secs(1);

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
        if let Settled::Yes = self.settle(known).await? {
            return Ok(Next::Done);
        }
        for _ in 1..TRIES {
            let Some(fresh) = self.read(key).await? else {
                return Ok(Next::Done);
            };
            if let Settled::Yes = self.settle(&fresh).await? {
                return Ok(Next::Done);
            }
        }
        Ok(Next::After(CROWDED))
    }

    async fn settle(&self, binding: &Binding) -> Result<Settled, Failed> {
        if binding.is_being_deleted() {
            return Ok(Settled::Yes);
        }
        match no_health_rule(binding) {
            Some(why) if self.said.is_news(binding) => writer::say_in_vain(&self.ctx, binding, &why),
            Some(_) => {}
            None => self.said.forget(&binding.key()),
        }
        let (clock, unreadable) = match HealthClock::of(binding) {
            Ok(clock) => (clock, None),
            Err(problem) => (HealthClock::default(), Some(problem)),
        };
        let cluster = |name: &ClusterName| self.stores.cluster(name);
        let next = clock.next(binding, &cluster, self.ctx.clock.now());
        let outcome = writer::store(&self.writer, binding, &next).await?;
        self.count(&outcome);
        let written = match outcome {
            WriteOutcome::NotNeeded | WriteOutcome::Gone => return Ok(Settled::Yes),
            WriteOutcome::Conflict => return Ok(Settled::No),
            WriteOutcome::Written(written) => written,
        };
        self.own.wrote(binding);
        if let Some(problem) = unreadable {
            writer::say_unreadable(&self.ctx, binding, &problem);
        }
        for turn in writer::turns(binding, &clock, &next) {
            let (Turn::Fails { cluster, .. } | Turn::Over { cluster, .. }) = &turn;
            let cluster = self.stores.cluster(cluster);
            writer::say(&self.ctx, &written, &turn, &wanted(Some(&written), cluster.as_deref()));
        }
        Ok(Settled::Yes)
    }

    fn count(&self, outcome: &WriteOutcome) {
        let outcome = match outcome {
            WriteOutcome::NotNeeded => return,
            WriteOutcome::Written(_) => "written",
            WriteOutcome::Conflict => "conflict",
            WriteOutcome::Gone => "gone",
        };
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
}
