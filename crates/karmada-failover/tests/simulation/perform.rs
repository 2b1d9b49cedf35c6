//! Carries out the actions of a plan.

use controller_kit::{Ended, api_errors};
use jiff::SignedDuration;
use karmada_failover::story::scenario::{self, MemberState};
use karmada_failover::story::theatre::{Theatre, perform};
use kube::Client;
use kube_sandbox::{Effect, EventEffect, Match, Reachability};
use serde_json::Value;

use crate::common::World;
use crate::objects;
use crate::plan::{Action, Plan, Workload, WriteFault};
use crate::processes::Seat;

/// The system, and what became of the plan so far.
pub struct Stage {
    pub world: World,
    pub plan: Plan,
    pub seats: Vec<Seat>,
    /// Whether the process of each seat should run.
    pub wanted: Vec<bool>,
    /// Workloads as last changed.
    pub workloads: Vec<Workload>,
}

impl Stage {
    /// One action.
    pub async fn perform(&mut self, action: &Action) {
        let faults = self.world.fleet.control_plane().faults();
        match action {
            Action::Reach { member, how } => self
                .world
                .fleet
                .member(member)
                .unwrap()
                .sandbox()
                .set_reachability(*how),
            Action::Story(action) => self.play(action).await,
            Action::AddStampedTaint { member, key, effect } => {
                let now = self.world.clock.now().round(jiff::Unit::Second).unwrap();
                self.play(&objects::taint(member, key, effect, Some(now.to_string())))
                    .await;
            }
            Action::Create { workload } => self.create(*workload).await,
            Action::Delete { workload } => self.delete_workload(*workload).await,
            Action::Scale { workload, replicas } => {
                self.workloads[*workload].replicas = *replicas;
                self.put_if_there(*workload, objects::template).await;
            }
            Action::ChangeFailover { workload, failover } => {
                self.workloads[*workload].failover.clone_from(failover);
                self.put_if_there(*workload, objects::policy).await;
            }
            Action::ChangeTolerations { workload, tolerations } => {
                self.workloads[*workload].placement["clusterTolerations"] = tolerations.clone();
                self.put_if_there(*workload, objects::policy).await;
            }
            Action::Stop { process } => {
                self.wanted[*process] = false;
                self.seats[*process].stop().await;
            }
            Action::Crash { process } => {
                self.wanted[*process] = false;
                self.seats[*process].crash();
            }
            Action::Start { process } => self.wanted[*process] = true,
            Action::Freeze { process } => self.seats[*process].freeze(),
            Action::Thaw { process } => self.seats[*process].thaw(),
            Action::FailWrites { how, skip, times } => {
                faults.inject_times(Match::writes(), *skip, *times, effect(*how));
            }
            Action::Latency { at_most } => faults.seeded_latency(self.plan.seed, *at_most),
            Action::DelayEvents { of, by } => {
                faults.disturb_events(Match::any().resource(of), 0, 3, EventEffect::Delay(*by));
            }
            Action::DropEvents { of, times } => {
                faults.disturb_events(Match::any().resource(of), 0, *times, EventEffect::Drop);
            }
            Action::CutWatches => faults.cut_watches(Match::any()),
            Action::Compact => {
                self.world.fleet.control_plane().compact();
                faults.cut_watches(Match::any());
            }
            Action::StaleLists { versions } => faults.stale_lists(Match::any(), *versions),
            Action::FreshLists => faults.fresh_lists(),
            Action::ControlPlane { how } => self.world.fleet.control_plane().set_reachability(*how),
            Action::Jump { seconds } => self.world.step_clock(SignedDuration::from_secs(*seconds)),
        }
    }

    /// Starts what should run and does not; tells what ended by itself.
    pub async fn look_after_processes(&mut self) -> Vec<(String, Ended)> {
        let mut ends = Vec::new();
        for (number, seat) in self.seats.iter_mut().enumerate() {
            if let Some(ended) = seat.ended_by_itself() {
                ends.push((format!("process {number} ended by itself: {ended:?}"), ended));
            }
            if self.wanted[number] {
                seat.start(&self.world, &self.plan.flags).await;
            }
        }
        ends
    }

    /// All is well again: whatever was broken is mended, and what people did to clusters is undone.
    pub async fn heal(&mut self) {
        let control_plane = self.world.fleet.control_plane().clone();
        control_plane.set_reachability(Reachability::Up);
        control_plane.faults().clear();
        // Events that were lost show themselves to nobody: a list does.
        control_plane.compact();
        control_plane.faults().cut_watches(Match::any());
        for member in self.world.fleet.members() {
            member.resume();
        }
        for member in self.plan.members.clone() {
            self.play(&objects::group(&member.name, member.group)).await;
            for taint in self.taints_of_people(&member.name) {
                self.play(&taint).await;
            }
        }
        for name in ["all", "some", "namespace"] {
            self.play(&scenario::Action::Delete(objects::pause_named(name))).await;
        }
        for (seat, wanted) in self.seats.iter().zip(&mut self.wanted) {
            seat.thaw();
            *wanted = true;
        }
    }

    /// One thing that a person or fate does, as in any scenario. What is not there cannot be changed, and is not; any
    /// other refusal is a fault of the plan.
    pub async fn play(&mut self, action: &scenario::Action) {
        if let Err(error) = perform(self, action).await {
            let refusal = error.downcast_ref::<kube::Error>();
            assert!(refusal.is_some_and(api_errors::is_not_found), "{action:?}: {error:#}");
        }
    }

    /// Acts that take away the taints of a Cluster which people put there.
    fn taints_of_people(&self, member: &str) -> Vec<scenario::Action> {
        let clusters = self.world.plane();
        let cluster = clusters.get("cluster.karmada.io/v1alpha1", "Cluster", None, member);
        let cluster = cluster.unwrap_or_default();
        let owned = cluster["metadata"]["annotations"]["failover.karmada.io/managed-taints"].to_string();
        let taints = cluster["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let foreign = taints.iter().filter(|taint| !owned.contains(&text(&taint["key"])));
        foreign
            .map(|taint| scenario::Action::Untaint {
                cluster: member.to_owned(),
                key: text(&taint["key"]),
                effect: text(&taint["effect"]),
            })
            .collect()
    }

    /// Creates the workload with its policy, unless it is there.
    pub async fn create(&mut self, workload: usize) {
        if !self.exists(workload) {
            for object in [objects::policy, objects::template] {
                let object = object(&self.workloads[workload]);
                self.play(&scenario::Action::Put(object)).await;
            }
        }
    }

    async fn delete_workload(&mut self, workload: usize) {
        let (name, kind) = (self.workloads[workload].name.clone(), self.workloads[workload].kind);
        for (api_version, kind) in [
            (kind.api_version(), kind.name()),
            ("policy.karmada.io/v1alpha1", "PropagationPolicy"),
        ] {
            let object = objects::named(api_version, kind, Some(objects::NAMESPACE), &name);
            self.play(&scenario::Action::Delete(object)).await;
        }
    }

    fn exists(&self, workload: usize) -> bool {
        let workload = &self.workloads[workload];
        let (api_version, kind) = (workload.kind.api_version(), workload.kind.name());
        self.world
            .plane()
            .get(api_version, kind, Some(objects::NAMESPACE), &workload.name)
            .is_some()
    }

    async fn put_if_there(&mut self, workload: usize, object: fn(&Workload) -> Value) {
        if self.exists(workload) {
            let object = object(&self.workloads[workload]);
            self.play(&scenario::Action::Put(object)).await;
        }
    }
}

impl Theatre for Stage {
    async fn control_plane(&mut self) -> anyhow::Result<Client> {
        Ok(self.world.client())
    }

    async fn set_member(&mut self, name: &str, to: MemberState) -> anyhow::Result<()> {
        let member = self.world.member(name);
        match to {
            MemberState::Up => member.resume(),
            MemberState::Stopped => member.stop(),
            MemberState::Hanging => member.hang(),
        }
        Ok(())
    }
}

fn effect(how: WriteFault) -> Effect {
    match how {
        WriteFault::Conflict => Effect::Conflict,
        WriteFault::Unavailable => Effect::Error {
            code: 503,
            reason: "ServiceUnavailable".to_owned(),
            message: "simulated".to_owned(),
        },
        WriteFault::Disconnect => Effect::Disconnect,
        WriteFault::AnswerLost => Effect::AnswerLost,
    }
}
