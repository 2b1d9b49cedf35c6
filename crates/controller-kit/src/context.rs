//! What a controller gets when it starts.

use std::sync::Arc;

use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::events::EventRecorder;
use crate::gates::FeatureGates;
use crate::informer::{InformerOptions, Informers};
use crate::kinds::{RequireError, RequiredKind};
use crate::leader::Leadership;
use crate::members::{ConnectMember, HttpMembers};
use crate::metrics::Metrics;
use crate::process::DEFAULT_SYSTEM_NAMESPACE;
use crate::readiness::Readiness;
use crate::tasks::Tasks;
use crate::telemetry::Traces;

/// Everything a controller may touch of the world. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The controller's name, as in `--controllers`.
    pub controller: &'static str,
    /// The control plane's API server. Writes fail while the controller's lease is not fresh.
    pub client: Client,
    /// The wall clock.
    pub clock: Clock,
    /// What the control plane holds; shared by all controllers of the process.
    pub informers: Informers,
    /// The process's metrics.
    pub metrics: Metrics,
    /// Where the process tells its part of the trace of a move.
    pub traces: Traces,
    /// The process's events.
    pub events: EventRecorder,
    /// The controller's own tasks: drained at shutdown before its lease is released.
    pub tasks: Tasks,
    /// Cancelled when the controller is to finish what it has begun and return.
    pub shutdown: CancellationToken,
    /// The process's feature gates.
    pub gates: FeatureGates,
    /// Unique per process: the holder in its leases, the instance in its events.
    pub identity: Arc<str>,
    /// Namespace of leases, `karmada-system` unless set otherwise.
    pub system_namespace: Arc<str>,
    /// How to reach member clusters.
    pub members: Arc<dyn ConnectMember>,
    /// The controller's lease.
    pub leadership: Leadership,
    /// What `/readyz` waits for.
    pub readiness: Readiness,
}

impl Context {
    /// A context outside of any process: always leading, all gates at their defaults, real time limits. Events are
    /// written and informers run in tasks of `tasks`, until those are aborted. For tests of single parts.
    #[must_use]
    pub fn detached(controller: &'static str, client: Client, clock: Clock, identity: &str, tasks: &Tasks) -> Self {
        let (metrics, readiness) = (Metrics::new(), Readiness::default());
        let events = EventRecorder::new(clock.clone(), controller, identity, metrics.clone());
        let (writer, events_client) = (events.clone(), client.clone());
        tasks.spawn("events", async move { writer.run(events_client).await });
        let options = InformerOptions::default();
        Self {
            controller,
            informers: Informers::new(client.clone(), tasks, &metrics, &readiness, options, identity),
            client,
            clock,
            metrics,
            traces: Traces::off(),
            events,
            shutdown: tasks.shutdown().clone(),
            tasks: tasks.clone(),
            gates: FeatureGates::defaults(),
            identity: identity.into(),
            system_namespace: DEFAULT_SYSTEM_NAMESPACE.into(),
            members: HttpMembers::new(),
            leadership: Leadership::not_needed(),
            readiness,
        }
    }

    /// Lets go what is kept about a member that does not exist any more, or is no longer worked on: what was counted, its
    /// client, and with it its token.
    pub fn forget_member(&self, member: &str) {
        self.informers.forget_member(member);
        self.members.forget(member);
    }

    /// Waits until the API server has answered which kinds it serves, trying again while it does not answer.
    ///
    /// # Errors
    /// [`RequireError::Missing`] when it lacks some of `kinds`, [`RequireError::Stopped`] on shutdown meanwhile.
    pub async fn require_kinds(&self, kinds: &[RequiredKind]) -> Result<(), RequireError> {
        crate::kinds::wait_for_kinds(&self.client, kinds, &self.shutdown, &self.identity).await
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("controller", &self.controller)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}
