//! A controller as a process sees it: a name and something to run.

use std::future::Future;

use futures::future::BoxFuture;

use crate::context::Context;
use crate::leader::lease_name;
use crate::mode::Mode;
use crate::selection::DefaultState;

type Run = Box<dyn FnOnce(Context) -> BoxFuture<'static, Result<(), anyhow::Error>> + Send>;

/// Whether a controller runs on one replica or on all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Election {
    /// Only where its lease is held.
    Leader,
    /// On every replica.
    EveryReplica,
}

/// Where a controller works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Anywhere,
    NeverBesideStock,
    Told(Mode),
}

/// One controller of a binary.
pub struct Controller {
    pub(crate) name: &'static str,
    pub(crate) default: DefaultState,
    pub(crate) election: Election,
    pub(crate) run: Run,
    pub(crate) beside: Option<Run>,
    pub(crate) lease: String,
    pub(crate) event_source: String,
    pub(crate) place: Place,
    pub(crate) warnings: Vec<String>,
    pub(crate) problems: Vec<String>,
}

impl Controller {
    /// A controller that is on by default and runs where its lease is held.
    ///
    /// `run` works until `ctx.shutdown` is cancelled, finishes what it has begun, and returns `Ok`. An error, or an
    /// end before that, ends the process.
    #[must_use]
    pub fn new<R, F>(name: &'static str, run: R) -> Self
    where
        R: FnOnce(Context) -> F + Send + 'static,
        F: Future<Output = Result<(), anyhow::Error>> + Send + 'static,
    {
        Self {
            name,
            default: DefaultState::On,
            election: Election::Leader,
            lease: lease_name(name),
            event_source: lease_name(name),
            place: Place::Anywhere,
            run: Box::new(move |ctx| Box::pin(run(ctx))),
            beside: None,
            warnings: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Runs on every replica, without a lease.
    #[must_use]
    pub fn without_leader_election(mut self) -> Self {
        self.election = Election::EveryReplica;
        self
    }

    /// Adds something that runs on every replica, from the start of the process to its end, whether the lease is held
    /// or not: a server that answers for the leader and says where it is. The same rules as for `run` hold for it; its
    /// `leadership` is that of a controller that needs no lease.
    #[must_use]
    pub fn on_every_replica<R, F>(mut self, run: R) -> Self
    where
        R: FnOnce(Context) -> F + Send + 'static,
        F: Future<Output = Result<(), anyhow::Error>> + Send + 'static,
    {
        self.beside = Some(Box::new(move |ctx| Box::pin(run(ctx))));
        self
    }

    /// Takes a Lease of another name than its own in kebab case: for an agent, of which there is one a cluster.
    #[must_use]
    pub fn with_lease(mut self, lease: impl Into<String>) -> Self {
        self.lease = lease.into();
        self
    }

    /// Signs its Events with another name than its own in kebab case: with stock Karmada's where that has the same
    /// controller, so that what people filter by still works.
    #[must_use]
    pub fn with_event_source(mut self, source: impl Into<String>) -> Self {
        self.event_source = source.into();
        self
    }

    /// Works on a control plane of this kind, as it was told, and its Lease says which. Told that all is ours
    /// ([`Mode::Standalone`]), it does not start where the API server turns out to be a stock Karmada's, or drops fields of ours:
    /// two would do one job, or what people say would be taken for not said. The process ends with the reason.
    #[must_use]
    pub fn for_mode(mut self, mode: Mode) -> Self {
        self.place = Place::Told(mode);
        self
    }

    /// Does what a stock Karmada does itself: beside one it does not start, and the process ends with the reason.
    #[must_use]
    pub fn never_beside_stock(mut self) -> Self {
        self.place = Place::NeverBesideStock;
        self
    }

    /// Runs only when `--controllers` names it.
    #[must_use]
    pub fn off_by_default(mut self) -> Self {
        self.default = DefaultState::Off;
        self
    }

    /// Things to warn about at start, such as flags without effect. Said whether the controller is selected or not.
    #[must_use]
    pub fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Mistakes in the controller's flags. They keep the process from starting when the controller is selected, and
    /// are reported together with all others.
    #[must_use]
    pub fn problems(mut self, problems: impl IntoIterator<Item = String>) -> Self {
        self.problems.extend(problems);
        self
    }

    /// The name, as in `--controllers`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("default", &self.default)
            .field("election", &self.election)
            .finish_non_exhaustive()
    }
}
