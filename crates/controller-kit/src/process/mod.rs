//! A process: controllers, their leases, and everything they share.
//!
//! Guarantees: it starts completely or not at all, and names every mistake in its configuration at once; it ends
//! gracefully within [`STOP_LIMIT`]; the first failure of any task ends it, and a lost lease ends it before another
//! process can hold that lease. Nothing is global: several processes may live in one runtime.

mod clock_steps;
mod controller;
mod flags;
mod main;
mod open_files;
mod oversight;
mod running;
mod seat;
mod whose;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use self::controller::{Controller, Election};
pub use self::flags::{AdminAddress, DEFAULT_SYSTEM_NAMESPACE, KitFlags, LogFormat};
pub use self::main::{
    EXIT_FAILURE, EXIT_LEASE_LOST, EXIT_USAGE, MemberAccess, main, main_in_member, shutdown_signal, unique_identity,
};
pub use self::running::{Ended, Running};

use self::controller::Place;
use self::oversight::Oversight;
use self::seat::Seat;
use self::whose::Whose;
use crate::answers::Answers;
use crate::api_client;
use crate::clock::Clock;
use crate::context::Context;
use crate::disturbances::Disturbances;
use crate::echoes::Echoes;
use crate::events::EventRecorder;
use crate::gates::{FeatureGates, Gate};
use crate::informer::{InformerOptions, Informers, Observers};
use crate::leader::{
    CONTROLLERS_ANNOTATION, Elector, GATES_ANNOTATION, Leadership, LeaseTiming, MODE_ANNOTATION, VERSION_ANNOTATION,
};
use crate::members::{ConnectMember, HttpMembers};
use crate::metrics::{Family, Metrics};
use crate::readiness::Readiness;
use crate::selection::{Known, select};
use crate::tasks::Tasks;
use crate::telemetry::Traces;
use crate::troubles::Troubles;

/// A graceful stop takes no longer than this.
pub const STOP_LIMIT: Duration = Duration::from_secs(10);

/// How long controllers may take to finish what they have begun.
const DRAIN_LIMIT: Duration = Duration::from_secs(6);
/// Why a process did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong; one sentence for each mistake.
    #[error("{}", _0.join("\n"))]
    Config(Vec<String>),
    /// The admin address cannot be served.
    #[error("cannot serve /healthz, /readyz and /metrics at {address}: {why}; change --admin-bind-address")]
    Admin {
        /// The address.
        address: SocketAddr,
        /// The operating system's complaint.
        why: String,
    },
}

/// A process that has not started.
pub struct Process {
    component: &'static str,
    flags: KitFlags,
    controllers: Vec<Controller>,
    client: Client,
    clock: Clock,
    identity: String,
    members: Arc<dyn ConnectMember>,
    informer_options: Option<InformerOptions>,
    traces: Traces,
}

/// What a configuration comes to, once it is found to be right.
struct Settings {
    selected: BTreeSet<&'static str>,
    gates: FeatureGates,
    timing: LeaseTiming,
    warnings: Vec<String>,
}

impl Process {
    /// A process of `component` that talks to the control plane through `client`. Everything else has a default.
    #[must_use]
    pub fn builder(component: &'static str, client: Client) -> Self {
        Self {
            component,
            flags: KitFlags::default(),
            controllers: Vec::new(),
            client,
            clock: Clock::system(),
            identity: component.to_owned(),
            members: HttpMembers::new(),
            informer_options: None,
            traces: Traces::off(),
        }
    }

    /// The common flags.
    #[must_use]
    pub fn flags(mut self, flags: KitFlags) -> Self {
        self.flags = flags;
        self
    }

    /// The controllers to choose from. Called again it adds to them.
    #[must_use]
    pub fn controllers(mut self, controllers: impl IntoIterator<Item = Controller>) -> Self {
        self.controllers.extend(controllers);
        self
    }

    /// The wall clock; the machine's if not given.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The process's identity: unique among all replicas and restarts. It is also the seed of all jitter.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = identity.into();
        self
    }

    /// How member clusters are reached; over HTTP if not given.
    #[must_use]
    pub fn members(mut self, members: Arc<dyn ConnectMember>) -> Self {
        self.members = members;
        self
    }

    /// Timing of informers; by the flags if not given.
    #[must_use]
    pub fn informer_options(mut self, options: InformerOptions) -> Self {
        self.informer_options = Some(options);
        self
    }

    /// Where spans of moves are told; nowhere if not given.
    #[must_use]
    pub fn traces(mut self, traces: Traces) -> Self {
        self.traces = traces;
        self
    }

    /// Every mistake in the configuration, one sentence each; empty = none.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        self.settings().err().unwrap_or_default()
    }

    fn settings(&self) -> Result<Settings, Vec<String>> {
        let mut problems = Vec::new();
        let known: Vec<Known> = self
            .controllers
            .iter()
            .map(|controller| Known {
                name: controller.name,
                default: controller.default,
            })
            .collect();
        let selected = select(&self.flags.controllers, &known).unwrap_or_else(|error| {
            problems.push(format!("--controllers: {error}"));
            BTreeSet::new()
        });
        if selected.is_empty() && problems.is_empty() {
            problems.push("--controllers selects no controller: there is nothing to run".to_owned());
        }
        let (gates, gate_warnings) = FeatureGates::parse(&self.flags.feature_gates).unwrap_or_else(|error| {
            problems.push(error.to_string());
            (FeatureGates::defaults(), Vec::new())
        });
        let timing = self.flags.lease_timing();
        problems.extend(timing.problem());
        if self.flags.relist_interval.is_zero() {
            problems.push("--relist-interval must be above 0".to_owned());
        }
        let mut warnings = gate_warnings;
        for controller in &self.controllers {
            // Controllers of one component share their component's flags: each complaint once.
            for warning in &controller.warnings {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
            if selected.contains(controller.name) {
                for problem in &controller.problems {
                    if !problems.contains(problem) {
                        problems.push(problem.clone());
                    }
                }
            }
        }
        if problems.is_empty() {
            Ok(Settings {
                selected,
                gates,
                timing,
                warnings,
            })
        } else {
            Err(problems)
        }
    }

    /// Starts everything. Must be called inside the runtime, under the tracing subscriber that the process is to use.
    ///
    /// # Errors
    /// [`StartError`], with nothing left running.
    pub async fn start(mut self) -> Result<Running, StartError> {
        let settings = self.settings().map_err(StartError::Config)?;
        let root = Tasks::new();
        let metrics = Metrics::new();
        let readiness = Readiness::default();
        let admin_address = match self.flags.admin_bind_address {
            AdminAddress::Off => None,
            AdminAddress::At(address) => Some(
                crate::admin::serve(address, &root, metrics.clone(), readiness.clone())
                    .await
                    .map_err(|why| StartError::Admin {
                        address,
                        why: why.to_string(),
                    })?,
            ),
        };
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        self.show_switches(&settings, &metrics);
        let controllers = root.subgroup();
        let events = EventRecorder::new(self.clock.clone(), self.component, &self.identity, metrics.clone());
        let disturbances = Disturbances::new(self.clock.clone(), &metrics);
        let noted = disturbances.clone();
        readiness.note(move || {
            noted
                .going_on()
                .iter()
                .map(|text| format!("disturbed: {text}"))
                .collect()
        });
        let echoes = Echoes::default();
        let shared = Shared {
            informers: Informers::new(
                self.client.clone(),
                &root,
                &metrics,
                &readiness,
                self.informer_options.unwrap_or_else(|| self.flags.informer_options()),
                &self.identity,
            )
            .observed_by(Observers {
                disturbances: Some(disturbances.clone()),
                echoes: echoes.clone(),
            }),
            client: self.client.clone(),
            clock: self.clock.clone(),
            metrics: metrics.clone(),
            traces: self.traces.clone(),
            events: events.clone(),
            gates: settings.gates.clone(),
            identity: self.identity.clone().into(),
            system_namespace: self.flags.system_namespace.clone().into(),
            members: self.members.clone(),
            readiness: readiness.clone(),
            answers: Answers::new(disturbances.clone(), echoes.clone(), &metrics),
        };
        root.spawn("disturbances", disturbances.clone().watch());
        root.spawn("late watches", echoes.watch(disturbances.clone()));
        root.spawn(
            "clock steps",
            clock_steps::watch(self.clock.clone(), metrics.clone(), disturbances.clone()),
        );
        let upkeep = metrics.clone();
        root.spawn("metrics upkeep", async move {
            loop {
                tokio::time::sleep(crate::metrics::UPKEEP_EVERY).await;
                upkeep.upkeep();
            }
        });
        let (writer, client) = (events.clone(), self.client.clone());
        root.spawn("events", async move { writer.run(client).await });

        let troubles = Troubles::default();
        let whose = Whose::new(self.client.clone(), readiness.clone(), &self.identity);
        let mut seats = Vec::new();
        for controller in std::mem::take(&mut self.controllers) {
            if settings.selected.contains(controller.name) {
                let elector = self.elector(&controller, &settings, &troubles, &disturbances);
                let seat = Seat {
                    controller,
                    elector,
                    whose: whose.clone(),
                    process: root.clone(),
                    controllers: controllers.clone(),
                };
                seats.push(shared.clone().seat(&root, seat));
            }
        }
        let (ended, ending) = watch::channel(None);
        let stop = CancellationToken::new();
        let overseer = Tasks::new();
        let oversight = Oversight {
            root: root.clone(),
            controllers,
            seats,
            events,
            client: self.client.clone(),
            stop: stop.clone(),
        };
        overseer.spawn("overseer", async move {
            let outcome = oversight.run().await;
            ended.send_replace(Some(outcome));
        });
        Ok(Running {
            root,
            overseer,
            stop,
            ending,
            metrics,
            readiness,
            admin_address,
        })
    }

    /// What is switched off is seen in the metrics too, from the first scrape on.
    fn show_switches(&self, settings: &Settings, metrics: &Metrics) {
        metrics.describe(
            "failover_controller_enabled",
            "1 for each controller of this binary that --controllers selects in this process, 0 for the others.",
        );
        for controller in &self.controllers {
            let enabled = settings.selected.contains(controller.name);
            let labels = [("controller", controller.name)];
            metrics
                .gauge("failover_controller_enabled", &labels)
                .set(if enabled { 1.0 } else { 0.0 });
        }
        metrics.describe(
            "failover_feature_gate_enabled",
            "1 for each feature gate that is on in this process, 0 for the others.",
        );
        for gate in Gate::ALL {
            let value = if settings.gates.enabled(gate) { 1.0 } else { 0.0 };
            metrics
                .gauge("failover_feature_gate_enabled", &[("gate", gate.name())])
                .set(value);
        }
    }

    fn elector(
        &self,
        controller: &Controller,
        settings: &Settings,
        troubles: &Troubles,
        disturbances: &Disturbances,
    ) -> Option<Elector> {
        if controller.election == Election::EveryReplica || !self.flags.leader_elect {
            return None;
        }
        let namespace = &self.flags.system_namespace;
        let api: Api<Lease> = Api::namespaced(self.client.clone(), namespace);
        let selected: Vec<&str> = settings.selected.iter().copied().collect();
        let about = [
            (VERSION_ANNOTATION, crate::VERSION.to_owned()),
            (GATES_ANNOTATION, settings.gates.to_string()),
            (CONTROLLERS_ANNOTATION, selected.join(",")),
        ];
        let mode = match controller.place {
            Place::Told(mode) => Some((MODE_ANNOTATION, mode.name().to_owned())),
            Place::Anywhere | Place::NeverBesideStock => None,
        };
        Some(Elector {
            api,
            name: controller.lease.clone(),
            namespace: namespace.clone(),
            identity: self.identity.clone(),
            timing: settings.timing,
            clock: self.clock.clone(),
            about: about
                .into_iter()
                .chain(mode)
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            troubles: troubles.clone(),
            disturbances: disturbances.clone(),
        })
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("component", &self.component)
            .field("controllers", &self.controllers)
            .finish_non_exhaustive()
    }
}

/// What all controllers of a process have in common.
#[derive(Clone)]
struct Shared {
    client: Client,
    clock: Clock,
    informers: Informers,
    metrics: Metrics,
    traces: Traces,
    events: EventRecorder,
    gates: FeatureGates,
    identity: Arc<str>,
    system_namespace: Arc<str>,
    members: Arc<dyn ConnectMember>,
    readiness: Readiness,
    answers: Answers,
}

impl Shared {
    fn seat(self, root: &Tasks, seat: Seat) -> crate::tasks::Task {
        let name = seat.controller.name;
        let shared = Self {
            events: self.events.speaking_as(&seat.controller.event_source),
            ..self
        };
        root.spawn(format!("seat of {name}"), async move {
            let beside = shared.clone();
            seat.run(
                move |leadership, tasks| shared.context(name, leadership, tasks),
                move |tasks| beside.bare_context(name, Leadership::not_needed(), tasks),
            )
            .await;
        })
    }

    fn context(self, controller: &'static str, leadership: Leadership, tasks: Tasks) -> Context {
        let watched = leadership.clone();
        self.metrics.collector(format!("leader/{controller}"), move || {
            let leads = if watched.is_fresh() { 1.0 } else { 0.0 };
            vec![
                Family::gauge(
                    "failover_leader",
                    "1 while this process runs the controller with a fresh lease.",
                )
                .with(&[("controller", controller)], leads),
            ]
        });
        self.metrics.describe(
            "failover_api_requests_total",
            "Requests to the control plane, by outcome.",
        );
        self.bare_context(controller, leadership, tasks)
    }

    fn bare_context(self, controller: &'static str, leadership: Leadership, tasks: Tasks) -> Context {
        Context {
            controller,
            client: api_client::for_controller(
                self.client,
                controller,
                leadership.clone(),
                self.metrics.clone(),
                self.answers,
            ),
            clock: self.clock,
            informers: self.informers.waiting_until(tasks.shutdown().clone()),
            metrics: self.metrics,
            traces: self.traces,
            events: self.events,
            shutdown: tasks.shutdown().clone(),
            tasks,
            gates: self.gates,
            identity: self.identity,
            system_namespace: self.system_namespace,
            members: self.members,
            leadership,
            readiness: self.readiness,
        }
    }
}
