//! The plan as a value. Pure: what happens comes from [`scheduler_filters::plan`]; here it gets its words.

use std::collections::BTreeMap;

use api_types::policy::PurgeMode;
use api_types::work::TargetCluster;
use eviction_queue_api::v1;
use failover_core::eviction::queue::TemplateRef;
use failover_core::taint_policy::TaintState;
use jiff::Timestamp;
use scheduler_filters::plan::{
    BadProposal, HeldTaint, Move, NewPlace, NotGoing, Plan, Proposal, Remaining, Staying, TaintedBy, plan,
};
use serde::Serialize;

use super::gather::Gathered;
use super::settings::{Assumed, Gate, settings};
use super::text;
use super::views::{
    ClusterInPlan, HeldTaintView, MoveInPlan, OthersView, RegimeFrom, RemainingView, StayingView, TaintInPlan,
};
use crate::cli::PlanSettings;
use crate::control_plane::others;
use crate::controllers::{self, NotDone};
use crate::entry::{CauseView, ResourceView};
use crate::failure::{ExitStatus, Failure};
use crate::history::PlaceView;
use crate::output::{At, Report, View};

/// What would happen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailoverPlan {
    /// Clusters that fail.
    pub failing: Vec<String>,
    /// Clusters that are drained.
    pub draining: Vec<String>,
    /// Policies that are in force.
    pub policies: Vec<String>,
    /// The clusters that it is about, with those that a proposed policy taints.
    pub clusters: Vec<ClusterInPlan>,
    /// How fast evictions go, from when on.
    pub regimes: Vec<RegimeFrom>,
    /// What moves, in this order.
    pub moves: Vec<MoveInPlan>,
    /// What has to leave and does not, by when it is due.
    pub remaining: Vec<RemainingView>,
    /// What stays.
    pub staying: Vec<StayingView>,
    /// What leaves other clusters meanwhile.
    pub others: OthersView,
    /// When the last of it moves; absent: nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_move_at: Option<At>,
    /// Seconds from now until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_in_all: Option<f64>,
    /// What is taken for granted, because nothing tells.
    pub assuming: Vec<String>,
    /// What is not done now, and why: the plan takes it as done.
    pub not_done: Vec<NotDone>,
    /// Rows of a table for people; 0: all.
    #[serde(skip)]
    pub(super) limit: usize,
}

/// Makes the report.
///
/// # Errors
/// The proposal names a cluster that does not exist, or is none.
pub fn report(
    gathered: &Gathered,
    proposal: &Proposal,
    given: &PlanSettings,
    gate: Gate,
    now: Timestamp,
) -> Result<FailoverPlan, Failure> {
    let controllers = controllers::controllers(&gathered.leases, gathered.mode, now);
    let queue = gathered.queue.as_ref().ok();
    let Assumed { settings, mut assuming } = settings(given, gate, (gathered.mode, &controllers), queue, now);
    if !proposal.failing.is_empty() {
        assuming.push(
            "Ready becomes False now: how long a member is away before that (--cluster-failure-threshold) comes on top"
                .to_owned(),
        );
    }
    if let Some(why) = &gathered.pauses_error {
        assuming.push(format!("no FailoverPause is in effect: {why}"));
    }
    let known = gathered
        .world
        .clusters
        .iter()
        .map(|cluster| cluster.cluster_name().to_string());
    let known: Vec<String> = known.collect();
    let planned = plan(gathered.world.clone(), proposal, &settings).map_err(|bad| not_planned(&bad, known))?;
    let mut not_done = controllers::not_done(&controllers, &gathered.system_namespace, now);
    let concerns = |item: &NotDone| {
        let controller = item.subject.strip_prefix("controller/");
        controller.is_some_and(|name| CONCERNED.contains(&name))
            || item.subject == "gate/Failover" && gate == Gate::AsItIs
    };
    not_done.retain(concerns);
    if let Some(status) = queue {
        controllers::add(&mut not_done, no_evictor(status));
    }
    Ok(FailoverPlan::of(&planned, proposal, assuming, not_done, now))
}

/// Controllers without which it would not happen so.
const CONCERNED: [&str; 5] = [
    "clusterTaintPolicy",
    "taintManager",
    "evictionQueue",
    "evictor",
    "scheduler",
];

fn no_evictor(status: &v1::GetStatusResponse) -> Vec<NotDone> {
    let message = "nothing released is carried out: no evictor is connected to the queue";
    let none = (status.consumers == 0).then(|| NotDone::problem("controller/evictor", message));
    none.into_iter().collect()
}

fn not_planned(bad: &BadProposal, known: Vec<String>) -> Failure {
    let (status, next) = match bad {
        BadProposal::Nothing => (ExitStatus::Usage, "give --fail, --drain or --policy".to_owned()),
        BadProposal::NoSuchCluster(name) => (ExitStatus::Problem, others(name.as_str(), "clusters", known)),
        BadProposal::Policies(_) => (ExitStatus::Usage, "give each policy a name of its own".to_owned()),
    };
    Failure::new(status, "cannot make the plan", bad.to_string(), next)
}

impl FailoverPlan {
    fn of(plan: &Plan, proposal: &Proposal, assuming: Vec<String>, not_done: Vec<NotDone>, now: Timestamp) -> Self {
        let last_move_at = plan.last_move_at.map(At);
        Self {
            failing: proposal.failing.iter().map(ToString::to_string).collect(),
            draining: proposal.draining.keys().map(ToString::to_string).collect(),
            policies: proposal
                .policies
                .iter()
                .filter_map(|policy| policy.metadata.name.clone())
                .collect(),
            clusters: clusters(plan),
            regimes: plan
                .regimes
                .iter()
                .map(|phase| RegimeFrom {
                    from: At(phase.from),
                    name: phase.verdict.regime.as_str(),
                    reason: phase.verdict.reason.clone(),
                    evictions_per_second: phase.verdict.evictions_per_second,
                    clusters: phase.verdict.clusters,
                    faulty_clusters: phase.verdict.faulty,
                    faulty_share: phase.verdict.faulty_share,
                })
                .collect(),
            moves: plan.moves.iter().map(moved).collect(),
            remaining: plan.remaining.iter().map(remaining).collect(),
            staying: plan.staying.iter().map(staying).collect(),
            others: OthersView {
                clusters: plan.others.clusters.iter().map(ToString::to_string).collect(),
                moving: plan.others.moves,
                remaining: plan.others.remaining,
            },
            seconds_in_all: last_move_at.map(|at| at.0.duration_since(now).as_secs_f64().ceil()),
            last_move_at,
            assuming,
            not_done,
            limit: 0,
        }
    }

    /// The same, of which tables for people show so many rows.
    #[must_use]
    pub fn limited(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// How many that have to leave find no place: those that stay for it, and those that leave without one.
    #[must_use]
    pub fn without_place(&self) -> usize {
        let stay = self.remaining.iter().filter(|one| one.word == NO_TARGET);
        stay.count() + self.moves.iter().filter(|one| one.without_place).count()
    }

    /// How many would not be released at all.
    #[must_use]
    pub fn at_a_standstill(&self) -> usize {
        self.remaining.iter().filter(|one| one.word == STANDSTILL).count()
    }
}

/// No cluster can take it.
pub(super) const NO_TARGET: &str = "NoTarget";
/// Nothing is released.
pub(super) const STANDSTILL: &str = "Standstill";

fn clusters(plan: &Plan) -> Vec<ClusterInPlan> {
    let mut all: BTreeMap<&str, ClusterInPlan> = plan
        .clusters
        .iter()
        .map(|name| {
            let view = ClusterInPlan {
                name: name.to_string(),
                taints: Vec::new(),
                held_taints: Vec::new(),
                moving: plan.moves.iter().filter(|one| one.from == *name).count(),
                remaining: plan.remaining.iter().filter(|one| one.from == *name).count(),
                staying: plan.staying.iter().filter(|one| one.cluster == *name).count(),
            };
            (name.as_str(), view)
        })
        .collect();
    for taint in &plan.taints {
        let Some(view) = all.get_mut(taint.cluster.as_str()) else {
            continue;
        };
        let (policies, why) = match &taint.by {
            TaintedBy::Drain => (Vec::new(), "the drain".to_owned()),
            TaintedBy::Policies { names, why } => (names.clone(), why.clone()),
        };
        view.taints.push(TaintInPlan {
            taint: taint.id.to_string(),
            value: taint.value.clone(),
            at: At(taint.at),
            policies,
            why,
        });
    }
    for held in &plan.held_taints {
        if let Some(view) = all.get_mut(held.cluster.as_str()) {
            view.held_taints.push(held_taint(held));
        }
    }
    all.into_values().collect()
}

fn held_taint(held: &HeldTaint) -> HeldTaintView {
    let why = match held.state {
        TaintState::HeldByGate => "feature gate Failover is off for controller clusterTaintPolicy".to_owned(),
        TaintState::Dismissed => "a person took it back, until the policy has stopped matching or is edited".to_owned(),
        TaintState::Foreign => "a taint of this key and effect that is not ours stands there already".to_owned(),
        _ => "the policy is suspended or invalid".to_owned(),
    };
    HeldTaintView {
        taint: held.id.to_string(),
        policy: held.policy.clone(),
        why,
    }
}

fn moved(one: &Move) -> MoveInPlan {
    let (to, result, note, without_place) = match &one.to {
        NewPlace::Found { result, gains, kept } if gains.is_empty() => {
            let fewer = "fewer copies are accepted: those that run elsewhere are enough".to_owned();
            (
                places(gains),
                places(result),
                Some(kept.clone().unwrap_or(fewer)),
                false,
            )
        }
        NewPlace::Found { result, gains, kept } => (places(gains), places(result), kept.clone(), false),
        NewPlace::NotFound { why } | NewPlace::Nobody { why } => (Vec::new(), Vec::new(), Some(why.clone()), true),
    };
    MoveInPlan {
        binding: one.binding.to_string(),
        resource: resource(&one.template),
        from: one.from.to_string(),
        replicas: one.replicas,
        cause: CauseView::of(&one.cause),
        reason: one.reason.clone(),
        due_at: At(one.due_at),
        leaves_at: At(one.leaves_at),
        purge_mode: purge_mode(&one.purge_mode),
        to,
        result,
        note,
        without_place,
    }
}

fn remaining(one: &Remaining) -> RemainingView {
    let (word, why) = match &one.why {
        NotGoing::NoTarget { why } => (NO_TARGET, why.clone()),
        NotGoing::Held { reason, why } => (reason.as_str(), why.clone()),
        NotGoing::Standstill { why } => (STANDSTILL, why.clone()),
        NotGoing::Later => ("Later", "it is due later than this plan looks: a year".to_owned()),
    };
    RemainingView {
        binding: one.binding.to_string(),
        resource: resource(&one.template),
        from: one.from.to_string(),
        replicas: one.replicas,
        cause: CauseView::of(&one.cause),
        reason: one.reason.clone(),
        due_at: At(one.due_at),
        word,
        why,
    }
}

fn staying(one: &Staying) -> StayingView {
    StayingView {
        binding: one.binding.to_string(),
        resource: resource(&one.template),
        cluster: one.cluster.to_string(),
        replicas: one.replicas,
        word: one.why.word(),
        why: one.why.to_string(),
    }
}

fn places(targets: &[TargetCluster]) -> Vec<PlaceView> {
    let place = |target: &TargetCluster| PlaceView {
        name: target.name.clone(),
        replicas: Some(target.replicas).filter(|replicas| *replicas > 0),
    };
    targets.iter().map(place).collect()
}

fn resource(template: &TemplateRef) -> ResourceView {
    ResourceView {
        api_version: template.api_version.to_string(),
        kind: template.kind.to_string(),
        namespace: template
            .namespace
            .as_deref()
            .filter(|namespace| !namespace.is_empty())
            .map(str::to_owned),
        name: template.name.to_string(),
    }
}

fn purge_mode(mode: &PurgeMode) -> &'static str {
    match mode.effective() {
        PurgeMode::Directly => "Directly",
        PurgeMode::Never => "Never",
        _ => "Gracefully",
    }
}

impl Report for FailoverPlan {
    const KIND: &'static str = "FailoverPlan";

    fn text(&self, view: &View) -> String {
        text::whole(self, view)
    }

    fn names(&self) -> Vec<String> {
        self.moves.iter().map(|one| one.binding.clone()).collect()
    }

    fn status(&self) -> ExitStatus {
        if self.without_place() + self.at_a_standstill() > 0 {
            ExitStatus::Problem
        } else {
            ExitStatus::Fine
        }
    }
}
