//! ClusterTaintPolicies on a real control plane, with the two controllers that they need as processes of their own, as
//! a person sees them who has kubectl alone: what will happen and when, before it does.

mod bad_policies;

use anyhow::ensure;
use api_types::cluster::{Cluster, condition};
use api_types::names::{annotation, taint};
use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::Clock;
use e2e_harness::{ControlPlane, Process, available, eventually};
use karmada_failover::story::example::Pace;
use karmada_failover::story::scenario::MemberState;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::clusters::{self, SOON};
use crate::components::{SHORT_LEASES, components, furnish, start_components, stop_components};
use crate::kubectl::Kubectl;
use crate::simulated_members::SimulatedMembers;
use crate::telling::{came_out_right, say, watch_rules};

/// Long enough that a killed process is back before it ends: its Lease has to run out first.
const ADD_SECONDS: i64 = 20;
const REMOVE_SECONDS: i64 = 6;
/// A window ends on the second; times of the API are cut to whole ones.
const LATE_SECONDS: i64 = 2;
/// The two of the components that are needed.
const NEEDED: [&str; 2] = ["cluster-health-controller", "taint-policy-controller"];

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    if available("taint policies on real API servers").is_none() {
        return Ok(true);
    }
    let mut stage = Stage::set().await?;
    let rules = watch_rules(&stage.client, 1.0);
    bad_policies::are_refused(&stage.kubectl)?;
    stage.a_window_outlives_its_controller().await?;
    stage.a_person_takes_the_taint_back().await?;
    stage.a_taint_goes_after_its_removal_window().await?;
    stop_components(stage.processes).await?;
    came_out_right(rules)
}

struct Stage {
    client: Client,
    kubectl: Kubectl,
    members: SimulatedMembers,
    processes: Vec<Process>,
    /// Dropped last.
    _control_plane: ControlPlane,
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start().await?;
        let names = ["member1", "member2"];
        let members = SimulatedMembers::start(&names).await?;
        let client = control_plane.client().await?;
        furnish(&client, &members.entries(names)?, vec![policy()]).await?;
        let needed = components(Pace::FAST.health_flags(), Vec::new())
            .into_iter()
            .filter(|(name, _)| NEEDED.contains(name))
            .collect();
        Ok(Self {
            client,
            kubectl: Kubectl::of(&control_plane)?,
            processes: start_components(&control_plane, needed, &SHORT_LEASES)?,
            members,
            _control_plane: control_plane,
        })
    }

    async fn cluster(&self) -> Result<Cluster, String> {
        clusters::read(&self.client, "member1").await
    }

    /// Since when Ready of member1 says this, in seconds.
    async fn ready_is(&self, wanted: &[&str]) -> anyhow::Result<i64> {
        let ready = clusters::condition_is(&self.client, "member1", condition::READY, wanted).await?;
        Ok(ready.last_transition_time.0.as_second())
    }

    /// What the policy's status says of member1.
    async fn state_is(&self, wanted: &str) -> anyhow::Result<()> {
        let policies = Api::<ClusterTaintPolicy>::all(self.client.clone());
        eventually(&format!("member1 to be {wanted} under the policy"), SOON, async || {
            let policy = policies.get("not-ready").await.map_err(|error| error.to_string())?;
            let status = policy.status.ok_or("no status")?;
            match status.clusters.iter().find(|cluster| cluster.name == "member1") {
                Some(found) if found.state.as_str() == wanted => Ok(()),
                found => Err(format!("{found:?}")),
            }
        })
        .await?;
        Ok(())
    }

    /// When the taint was added, in seconds.
    async fn tainted(&self) -> anyhow::Result<i64> {
        let added = eventually("member1 to be tainted", SOON, async || {
            let cluster = self.cluster().await?;
            let found = cluster.spec.taints.first().and_then(|taint| taint.time_added.as_ref());
            found.map(|time| time.0.as_second()).ok_or("no taint".to_owned())
        });
        Ok(added.await?)
    }

    async fn untainted(&self) -> anyhow::Result<()> {
        eventually("member1 to be free of taints", SOON, async || {
            let cluster = self.cluster().await?;
            if cluster.spec.taints.is_empty() {
                Ok(())
            } else {
                Err(format!("{:?}", cluster.spec.taints))
            }
        })
        .await?;
        Ok(())
    }

    /// The window opens, the controller is killed and comes back, and the window ends when it had to.
    async fn a_window_outlives_its_controller(&mut self) -> anyhow::Result<()> {
        self.ready_is(&["True"]).await?;
        self.members.set_member("member1", MemberState::Stopped);
        let failed = self.ready_is(&["False", "Unknown"]).await?;
        self.state_is("PendingAdd").await?;
        let table = self.kubectl.run(&["get", "ctp"])?;
        say(&format!("\n$ kubectl get ctp\n{table}"));
        let row: Vec<&str> = table.lines().last().unwrap_or_default().split_whitespace().collect();
        ensure!(row.len() == 7, "not all columns are filled: {table}");
        ensure!(
            row[..5] == ["not-ready", "2", "1", "0", "1"],
            "counts are wrong: {table}"
        );
        let next: jiff::Timestamp = row[5].parse()?;
        let told = next.as_second() - failed;
        ensure!(
            (ADD_SECONDS..=ADD_SECONDS + LATE_SECONDS).contains(&told),
            "NEXT is wrong: {table}"
        );

        let text = self.describe()?;
        let line = format!("{next} adds {}:NoExecute (policy not-ready: Ready=", taint::NOT_READY);
        ensure!(text.contains(&line), "no line {line:?} in:\n{text}");

        let controller = &mut self.processes[1];
        controller.must_run()?;
        controller.kill()?;
        controller.start_again()?;
        say("the taint-policy-controller is killed, and started again");
        let added = self.tainted().await?;
        let waited = added - failed;
        say(&format!("tainted {waited} s after Ready was lost"));
        ensure!(
            (ADD_SECONDS..=ADD_SECONDS + LATE_SECONDS).contains(&waited),
            "added after {waited} s"
        );
        self.state_is("Tainted").await?;
        let text = self.describe()?;
        let line = format!(
            "{}:NoExecute stays: policy not-ready until it has not matched for 6 s",
            taint::NOT_READY
        );
        ensure!(text.contains(&line), "no line {line:?} in:\n{text}");
        self.event("TaintClusterSucceed", "policy not-ready: Ready=").await
    }

    /// kubectl takes the taint away while the policy matches: it stays away, and that is said.
    async fn a_person_takes_the_taint_back(&mut self) -> anyhow::Result<()> {
        let patch = r#"[{"op": "remove", "path": "/spec/taints"}]"#;
        self.kubectl
            .run(&["patch", "cluster", "member1", "--type=json", "-p", patch])?;
        self.state_is("Dismissed").await?;
        self.event("TaintDismissed", "taken back by hand").await?;
        let text = self.describe()?;
        let line = format!("{}:NoExecute taken back by hand ", taint::NOT_READY);
        ensure!(text.contains(&line), "no line {line:?} in:\n{text}");
        let ready = self.kubectl.run(&[
            "get",
            "ctp",
            "not-ready",
            "-o",
            r#"jsonpath={.status.conditions[?(@.type=="Ready")].reason}"#,
        ])?;
        ensure!(ready == "Dismissed", "the policy's Ready says {ready}");

        // Well again for longer than the removal window: forgotten. Meanwhile no taint came.
        self.members.set_member("member1", MemberState::Up);
        self.ready_is(&["True"]).await?;
        eventually("the dismissal to be forgotten", SOON, async || {
            let cluster = self.cluster().await?;
            if !cluster.spec.taints.is_empty() {
                return Err(format!("{:?}", cluster.spec.taints));
            }
            let windows = cluster.metadata.annotations.unwrap_or_default();
            windows.get(annotation::TAINT_WINDOWS).cloned().map_or(Ok(()), Err)
        })
        .await?;
        Ok(())
    }

    /// The next failure counts, and its taint goes when member1 has been well for the removal window.
    async fn a_taint_goes_after_its_removal_window(&mut self) -> anyhow::Result<()> {
        self.members.set_member("member1", MemberState::Stopped);
        let failed = self.ready_is(&["False", "Unknown"]).await?;
        let waited = self.tainted().await? - failed;
        ensure!(
            (ADD_SECONDS..=ADD_SECONDS + LATE_SECONDS).contains(&waited),
            "added after {waited} s"
        );
        self.members.set_member("member1", MemberState::Up);
        let well = self.ready_is(&["True"]).await?;
        self.state_is("PendingRemove").await?;
        let text = self.describe()?;
        let line = format!(
            "removes {}:NoExecute (policy not-ready: Ready=True since ",
            taint::NOT_READY
        );
        ensure!(text.contains(&line), "no line {line:?} in:\n{text}");
        self.untainted().await?;
        let waited = Clock::system().now().as_second() - well;
        say(&format!("free {waited} s after Ready was back"));
        ensure!(
            (REMOVE_SECONDS..=REMOVE_SECONDS + LATE_SECONDS).contains(&waited),
            "removed after {waited} s"
        );
        self.event("TaintClusterSucceed", "removed ").await
    }

    fn describe(&self) -> anyhow::Result<String> {
        let text = self.kubectl.run(&["describe", "cluster", "member1"])?;
        say(&format!("\n$ kubectl describe cluster member1\n{text}"));
        Ok(text)
    }

    /// An event on member1.
    async fn event(&self, reason: &str, words: &str) -> anyhow::Result<()> {
        clusters::event_on(&self.kubectl, "default", "cluster/member1", reason, words).await
    }
}

fn policy() -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy",
        "metadata": {"name": "not-ready"},
        "spec": {
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
            "taintsToAdd": [{
                "key": taint::NOT_READY, "effect": "NoExecute",
                "addOnMatchSeconds": ADD_SECONDS, "removeOnMismatchSeconds": REMOVE_SECONDS
            }],
        },
    })
}
