//! Carries out the actions of a plan.

use controller_kit::Ended;
use jiff::SignedDuration;
use kube::Api;
use kube::api::DeleteParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_sandbox::{Effect, EventEffect, Match, Reachability};
use serde_json::{Value, json};

use crate::common::World;
use crate::objects;
use crate::plan::{Action, Plan, Stamped, Workload, WriteFault};
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
            Action::Relabel { member, group } => {
                self.edit_cluster(member, |cluster| cluster["metadata"]["labels"]["group"] = json!(group));
            }
            Action::AddTaint {
                member,
                key,
                effect,
                stamped,
            } => self.add_taint(member, key, effect, *stamped),
            Action::RemoveTaint { member, key, effect } => self.remove_taint(member, key, effect),
            Action::Create { workload } => self.create(*workload),
            Action::Delete { workload } => self.delete_workload(*workload).await,
            Action::Scale { workload, replicas } => {
                self.workloads[*workload].replicas = *replicas;
                self.put_template(*workload);
            }
            Action::ChangeFailover { workload, failover } => {
                self.workloads[*workload].failover.clone_from(failover);
                self.put_policy_of(*workload);
            }
            Action::ChangeTolerations { workload, tolerations } => {
                self.workloads[*workload].placement["clusterTolerations"] = tolerations.clone();
                self.put_policy_of(*workload);
            }
            Action::PutPolicy { policy } => self.put(policy.clone()),
            Action::DeletePolicy { name } => {
                self.delete(
                    "policy.karmada.io",
                    "v1alpha1",
                    "ClusterTaintPolicy",
                    "clustertaintpolicies",
                    name,
                )
                .await;
            }
            Action::Pause { name, spec } => self.put(json!({
                "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause",
                "metadata": {"name": name}, "spec": spec,
            })),
            Action::Unpause { name } => {
                self.delete(
                    "failover.karmada.io",
                    "v1alpha1",
                    "FailoverPause",
                    "failoverpauses",
                    name,
                )
                .await;
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
            Action::Jump { seconds } => {
                let by = SignedDuration::from_secs(*seconds);
                self.world.clock.jump(by);
                self.world.rules.clock_stepped(by);
            }
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
        let members: Vec<(String, &str)> = self.plan.members.iter().map(|m| (m.name.clone(), m.group)).collect();
        for (name, group) in members {
            self.edit_cluster(&name, |cluster| {
                cluster["metadata"]["labels"]["group"] = json!(group);
                let owned = cluster["metadata"]["annotations"]["failover.karmada.io/managed-taints"].to_string();
                if let Some(taints) = cluster["spec"]["taints"].as_array_mut() {
                    taints.retain(|taint| owned.contains(taint["key"].as_str().unwrap_or_default()));
                }
            });
        }
        for name in ["all", "some", "namespace"] {
            self.delete(
                "failover.karmada.io",
                "v1alpha1",
                "FailoverPause",
                "failoverpauses",
                name,
            )
            .await;
        }
        for (seat, wanted) in self.seats.iter().zip(&mut self.wanted) {
            seat.thaw();
            *wanted = true;
        }
    }

    /// Creates the workload with its policy, unless it is there.
    pub fn create(&mut self, workload: usize) {
        if !self.exists(workload) {
            self.put(objects::policy(&self.workloads[workload]));
            self.put(objects::template(&self.workloads[workload]));
        }
    }

    async fn delete_workload(&mut self, workload: usize) {
        let (name, kind) = (self.workloads[workload].name.clone(), self.workloads[workload].kind);
        let (group, version) = kind.api_version().split_once('/').unwrap_or(("", kind.api_version()));
        let plural = format!("{}s", kind.name().to_lowercase());
        self.delete(group, version, kind.name(), &plural, &name).await;
        self.delete(
            "policy.karmada.io",
            "v1alpha1",
            "PropagationPolicy",
            "propagationpolicies",
            &name,
        )
        .await;
    }

    fn exists(&self, workload: usize) -> bool {
        let workload = &self.workloads[workload];
        let (api_version, kind) = (workload.kind.api_version(), workload.kind.name());
        self.world
            .fleet
            .control_plane()
            .get(api_version, kind, Some(objects::NAMESPACE), &workload.name)
            .is_some()
    }

    fn put_template(&self, workload: usize) {
        if self.exists(workload) {
            self.merge(&objects::template(&self.workloads[workload]));
        }
    }

    fn put_policy_of(&self, workload: usize) {
        if self.exists(workload) {
            self.merge(&objects::policy(&self.workloads[workload]));
        }
    }

    /// Replaces the spec or data of an object and leaves its metadata, which others write too.
    fn merge(&self, object: &Value) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let control_plane = self.world.fleet.control_plane();
        let Some(mut stored) = control_plane.get(api_version, kind, Some(objects::NAMESPACE), &name) else {
            return;
        };
        for part in ["spec", "data"] {
            if let Some(wanted) = object.get(part) {
                stored[part] = wanted.clone();
            }
        }
        self.put(stored);
    }

    fn put(&self, mut object: Value) {
        let shown = object.to_string();
        object.as_object_mut().unwrap().remove("status");
        self.world
            .fleet
            .control_plane()
            .put(object)
            .unwrap_or_else(|refusal| panic!("{refusal}: {shown}"));
    }

    fn add_taint(&self, member: &str, key: &str, effect: &str, stamped: Stamped) {
        let mut taint = json!({"key": key, "effect": effect, "value": "by-hand"});
        if stamped == Stamped::WithTime {
            taint["timeAdded"] = json!(self.world.clock.now().round(jiff::Unit::Second).unwrap().to_string());
        }
        self.edit_cluster(member, |cluster| {
            let mut taints = cluster["spec"]["taints"].as_array().cloned().unwrap_or_default();
            if !taints
                .iter()
                .any(|taint| taint["key"] == key && taint["effect"] == effect)
            {
                taints.push(taint);
            }
            cluster["spec"]["taints"] = json!(taints);
        });
    }

    fn remove_taint(&self, member: &str, key: &str, effect: &str) {
        self.edit_cluster(member, |cluster| {
            if let Some(taints) = cluster["spec"]["taints"].as_array_mut() {
                taints.retain(|taint| taint["key"] != key || taint["effect"] != effect);
            }
        });
    }

    /// A person's edit of a Cluster, which the rules do not judge.
    pub fn edit_cluster(&self, member: &str, edit: impl FnOnce(&mut Value)) {
        let control_plane = self.world.fleet.control_plane();
        let mut cluster = control_plane
            .get("cluster.karmada.io/v1alpha1", "Cluster", None, member)
            .unwrap();
        cluster.as_object_mut().unwrap().remove("status");
        let before = cluster.clone();
        edit(&mut cluster);
        if cluster != before {
            let stored = control_plane.put(cluster).unwrap();
            self.world
                .rules
                .by_hand(stored["metadata"]["resourceVersion"].as_str().unwrap());
        }
    }

    async fn delete(&self, group: &str, version: &str, kind: &str, plural: &str, name: &str) {
        let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let is_namespaced = !["ClusterTaintPolicy", "FailoverPause"].contains(&kind.kind.as_str());
        let client = self.world.client();
        let api: Api<DynamicObject> = if is_namespaced {
            Api::namespaced_with(client, objects::NAMESPACE, &kind)
        } else {
            Api::all_with(client, &kind)
        };
        // It may not be there.
        let _ = api.delete(name, &DeleteParams::default()).await;
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
