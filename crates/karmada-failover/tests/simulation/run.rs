//! One simulation from its seed to its verdict.

use std::time::Duration;

use controller_kit::Ended;
use controller_kit::tasks::Failure;
use jiff::SignedDuration;
use kube_sandbox::rules::Settings;
use kube_sandbox::{Behaviour, Verb, Who};
use serde_json::json;
use tokio::time::Instant;

use crate::common::World;
use crate::draw::WEATHER;
use crate::objects::{self, NAMESPACE};
use crate::perform::Stage;
use crate::plan::{Action, Plan};
use crate::processes::Seat;
use crate::settled::unsettled;
use crate::trace::Trace;

/// How long the system may take to settle once all is well: the longest windows, back-offs and looks again (five
/// minutes) after one another.
const SETTLE: Duration = Duration::from_secs(1_500);
/// How long the last Events may take: the most that the recorder keeps back for one object comes once a minute.
const TOLD: Duration = Duration::from_secs(1_800);
/// How long rest is watched.
const REST: Duration = Duration::from_secs(60);

/// How much is kept of what happened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Verdict,
    Everything,
}

/// What came of a run.
pub struct Outcome {
    /// What was wrong.
    pub wrong: Vec<String>,
    /// What happened.
    pub history: Vec<String>,
    /// Every write to the control plane and the members, in order.
    pub writes: Vec<String>,
    /// How many evictions there were.
    pub evictions: usize,
}

/// Carries out a plan.
pub async fn run(plan: Plan, detail: Detail) -> Outcome {
    let mut run = Run::begin(plan, detail).await;
    run.weather().await;
    run.calm().await;
    run.end().await
}

struct Run {
    stage: Stage,
    trace: Trace,
    started: Instant,
    wrong: Vec<String>,
    _followers: tokio::task::JoinSet<()>,
}

impl Run {
    async fn begin(plan: Plan, detail: Detail) -> Self {
        let names: Vec<&str> = plan.members.iter().map(|member| member.name.as_str()).collect();
        let settings = Settings {
            lag: lag(&plan),
            write_delay: write_delay(&plan),
            ..Settings::exact(plan.evictions_per_second)
        };
        let world = World::watched(&names, settings);
        world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
        let trace = Trace::default();
        let followers = match detail {
            Detail::Everything => trace.follow(&world),
            Detail::Verdict => tokio::task::JoinSet::new(),
        };
        let seats: Vec<Seat> = plan
            .packaging
            .processes()
            .iter()
            .enumerate()
            .map(|(number, controllers)| Seat::new(number, controllers))
            .collect();
        let workloads = plan.workloads.clone();
        let wanted = vec![true; seats.len()];
        let mut stage = Stage {
            world,
            plan,
            seats,
            wanted,
            workloads,
        };
        for member in stage.plan.members.clone() {
            stage
                .world
                .fleet
                .member(&member.name)
                .unwrap()
                .behave(Who::Everything, Behaviour::ReadyAfter(member.ready_after));
            stage.play(&objects::group(&member.name, member.group)).await;
        }
        for policy in &stage.plan.policies {
            stage.world.create(policy.clone());
        }
        for index in 0..stage.workloads.len() {
            if stage.plan.workloads[index].is_present {
                stage.create(index).await;
            }
        }
        let mut run = Self {
            stage,
            trace,
            started: Instant::now(),
            wrong: Vec::new(),
            _followers: followers,
        };
        run.look_after_processes(Strictness::Weather).await;
        run
    }

    /// Everything that the plan has in store.
    async fn weather(&mut self) {
        for (at, action) in std::mem::take(&mut self.stage.plan.actions) {
            self.wait_until(self.started + at).await;
            self.trace.say(&self.stage.world, format!("--- {action:?}"));
            self.stage.perform(&action).await;
        }
        self.wait_until(self.started + WEATHER).await;
    }

    async fn wait_until(&mut self, until: Instant) {
        while Instant::now() < until {
            tokio::time::sleep_until(until.min(Instant::now() + Duration::from_secs(1))).await;
            self.look_after_processes(Strictness::Weather).await;
        }
    }

    async fn look_after_processes(&mut self, strictness: Strictness) {
        for (end, ended) in self.stage.look_after_processes().await {
            self.trace.say(&self.stage.world, &end);
            let is_excused =
                strictness == Strictness::Weather && matches!(ended, Ended::Failed(Failure::LeaseLost { .. }));
            if !is_excused {
                self.wrong.push(end);
            }
        }
    }

    /// All is well; the system must settle, and be quiet.
    async fn calm(&mut self) {
        self.trace.say(&self.stage.world, "--- all is well again");
        self.stage.heal().await;
        let healed = Instant::now();
        // A process that was frozen, or could not renew, finds out now that it lost its lease.
        self.wait_until(healed + Duration::from_secs(60)).await;
        let mut rest = unsettled(&self.stage).await;
        while !rest.is_empty() && healed.elapsed() < SETTLE {
            tokio::time::sleep(Duration::from_secs(10)).await;
            self.look_after_processes(Strictness::Rest).await;
            rest = unsettled(&self.stage).await;
        }
        self.wrong
            .extend(rest.into_iter().map(|what| format!("not settled: {what}")));
        self.trace.say(&self.stage.world, "--- settled");
        self.rest().await;
    }

    async fn rest(&mut self) {
        let control_plane = self.stage.world.fleet.control_plane().faults();
        if !self.all_is_told().await {
            self.wrong
                .push(format!("Events are still written {TOLD:?} after all settled"));
        }
        let before = (control_plane.counts(), control_plane.writes().len());
        tokio::time::sleep(REST).await;
        self.look_after_processes(Strictness::Rest).await;
        let writes = control_plane.writes();
        for write in writes.iter().skip(before.1).filter(|write| write.resource != "leases") {
            self.wrong.push(format!("a write at rest: {write:?}"));
        }
        for ((verb, resource), count) in control_plane.counts() {
            let more = count - before.0.get(&(verb, resource.clone())).copied().unwrap_or(0);
            // Watches are renewed every few minutes, lists every two hours.
            let is_due_now_and_then =
                verb == Verb::Watch || verb == Verb::List && more <= self.stage.seats.len() as u64;
            if !is_due_now_and_then && resource != "leases" && more > 0 {
                self.wrong.push(format!("{more} requests at rest: {verb:?} {resource}"));
            }
        }
        let rest = unsettled(&self.stage).await;
        self.wrong
            .extend(rest.into_iter().map(|what| format!("unsettled at rest: {what}")));
    }

    /// Waits until what happened is told. An object that much was said about gets one Event a minute, so the last
    /// ones come late, but never further apart.
    async fn all_is_told(&mut self) -> bool {
        let control_plane = self.stage.world.fleet.control_plane().faults();
        let told = || {
            let writes = control_plane.writes();
            writes.iter().filter(|write| write.resource == "events").count()
        };
        let began = Instant::now();
        let mut before = told();
        while began.elapsed() < TOLD {
            tokio::time::sleep(Duration::from_secs(75)).await;
            self.look_after_processes(Strictness::Rest).await;
            let now = told();
            if now == before {
                return true;
            }
            before = now;
        }
        false
    }

    async fn end(mut self) -> Outcome {
        for (number, seat) in self.stage.seats.iter_mut().enumerate() {
            if let Some(ended) = seat.stop().await.filter(|ended| *ended != Ended::Stopped) {
                self.wrong
                    .push(format!("process {number} did not stop in order: {ended:?}"));
            }
        }
        let mut writes = writes("control-plane", &self.stage.world.fleet.control_plane().faults());
        for member in self.stage.world.fleet.members() {
            writes.extend(self::writes(member.name(), &member.faults()));
        }
        let evictions = self.stage.world.rules.evictions().len();
        self.wrong.extend(self.stage.world.broken_rules());
        Outcome {
            wrong: self.wrong,
            history: self.trace.lines(),
            writes,
            evictions,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// A lease may be lost.
    Weather,
    /// Nothing may end by itself.
    Rest,
}

/// How old what components act on may become in this plan.
fn lag(plan: &Plan) -> SignedDuration {
    let late = plan.actions.iter().map(|(_, action)| match action {
        // An eviction takes a handful of requests from the first read to the write.
        Action::Latency { at_most } => SignedDuration::try_from(*at_most * 8).unwrap_or_default(),
        // Three events one after the other.
        Action::DelayEvents { by, .. } => SignedDuration::try_from(*by * 4).unwrap_or_default(),
        Action::DropEvents { .. } | Action::StaleLists { .. } | Action::ControlPlane { .. } | Action::Freeze { .. } => {
            SignedDuration::from_secs(1_800)
        }
        _ => SignedDuration::ZERO,
    });
    late.fold(SignedDuration::from_secs(1), |sum, one| sum + one)
}

/// How much later than its turn an eviction may be written in this plan: a handful of requests lie between the two.
fn write_delay(plan: &Plan) -> SignedDuration {
    let slowest = plan.actions.iter().filter_map(|(_, action)| match action {
        Action::Latency { at_most } => SignedDuration::try_from(*at_most * 8).ok(),
        _ => None,
    });
    slowest.max().unwrap_or(SignedDuration::ZERO)
}

fn writes(server: &str, faults: &kube_sandbox::Faults) -> Vec<String> {
    faults
        .writes()
        .iter()
        .map(|write| format!("{server} {write:?}"))
        .collect()
}
