//! What a seed draws: the fleet, what runs on it, how the system is packed, and what happens when.

use std::fmt;
use std::time::Duration;

use karmada_failover::story::scenario;
use kube_sandbox::Reachability;
use serde_json::Value;

use crate::draw;

/// A simulation.
pub struct Plan {
    pub seed: u64,
    pub members: Vec<MemberPlan>,
    pub policies: Vec<Value>,
    pub workloads: Vec<Workload>,
    pub evictions_per_second: f64,
    pub packaging: Packaging,
    pub flags: Vec<String>,
    /// In the order of time.
    pub actions: Vec<(Duration, Action)>,
}

/// A member of the fleet.
#[derive(Clone, Debug)]
pub struct MemberPlan {
    pub name: String,
    pub group: &'static str,
    pub ready_after: Duration,
}

/// An application: its template and the policy that places it.
#[derive(Clone, Debug)]
pub struct Workload {
    pub name: String,
    pub kind: Kind,
    pub replicas: u64,
    pub placement: Value,
    pub failover: Option<Value>,
    /// Whether it is there from the beginning.
    pub is_present: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Deployment,
    StatefulSet,
    ConfigMap,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Deployment, Self::StatefulSet, Self::ConfigMap];

    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::ConfigMap => "ConfigMap",
        }
    }

    pub fn api_version(self) -> &'static str {
        match self {
            Self::Deployment | Self::StatefulSet => "apps/v1",
            Self::ConfigMap => "v1",
        }
    }
}

/// How the controllers are spread over processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packaging {
    AllInOne,
    OneEach,
    /// All-in-one, with a second replica that waits.
    TwoReplicas,
}

impl Packaging {
    /// The `--controllers` of each process.
    pub fn processes(self) -> &'static [&'static str] {
        match self {
            Self::AllInOne => &["*"],
            Self::TwoReplicas => &["*", "*"],
            Self::OneEach => &[
                "clusterStatus,cluster",
                "clusterTaintPolicy",
                "taintManager,evictor",
                "applicationFailover",
                "evictionQueue",
                "gracefulEviction",
                "scheduler",
                "detector,dependencies,binding,execution,workStatus,bindingStatus,namespace",
            ],
        }
    }
}

/// What happens, by the hand of a person or by fate.
#[derive(Clone, Debug)]
pub enum Action {
    /// What a scenario tells too, done in the same way.
    Story(scenario::Action),
    /// The member can be reached like this from now on, in ways that only a simulated one knows.
    Reach {
        member: String,
        how: Reachability,
    },
    /// A taint that carries the time at which it is added.
    AddStampedTaint {
        member: String,
        key: &'static str,
        effect: &'static str,
    },
    Create {
        workload: usize,
    },
    Delete {
        workload: usize,
    },
    Scale {
        workload: usize,
        replicas: u64,
    },
    /// Changes spec.failover of the workload's policy.
    ChangeFailover {
        workload: usize,
        failover: Option<Value>,
    },
    /// Changes its tolerations.
    ChangeTolerations {
        workload: usize,
        tolerations: Value,
    },
    /// Ends the process in order; it is not started before `Start`.
    Stop {
        process: usize,
    },
    /// Ends it without any order.
    Crash {
        process: usize,
    },
    Start {
        process: usize,
    },
    Freeze {
        process: usize,
    },
    Thaw {
        process: usize,
    },
    /// The next so many writes meet this.
    FailWrites {
        how: WriteFault,
        skip: u64,
        times: u64,
    },
    /// Every request to the control plane takes up to this long.
    Latency {
        at_most: Duration,
    },
    DelayEvents {
        of: &'static str,
        by: Duration,
    },
    /// The next so many events of the resource are lost, and the watches end some time later.
    DropEvents {
        of: &'static str,
        times: u64,
    },
    CutWatches,
    /// All history is dropped, and watches end: 410.
    Compact,
    /// Lists show what was so many changes ago.
    StaleLists {
        versions: u64,
    },
    FreshLists,
    /// The control plane can be reached like this.
    ControlPlane {
        how: Reachability,
    },
    Jump {
        seconds: i64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    Conflict,
    Unavailable,
    Disconnect,
    AnswerLost,
}

impl Plan {
    /// What the seed says.
    pub fn of(seed: u64) -> Self {
        draw::plan(seed)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}: {:?}, {}/s, {}",
            self.seed,
            self.packaging,
            self.evictions_per_second,
            self.flags.join(" ")
        )?;
        for member in &self.members {
            writeln!(
                f,
                "  {} in {}, ready after {:?}",
                member.name, member.group, member.ready_after
            )?;
        }
        for policy in &self.policies {
            writeln!(
                f,
                "  policy {} {}",
                policy["metadata"]["name"].as_str().unwrap_or_default(),
                policy["spec"]
            )?;
        }
        for (index, w) in self.workloads.iter().enumerate() {
            let failover = w.failover.as_ref().map(Value::to_string).unwrap_or_default();
            let later = if w.is_present { "" } else { " (later)" };
            writeln!(
                f,
                "  workload {index}: {:?} {} x{}{later} {} {failover}",
                w.kind, w.name, w.replicas, w.placement
            )?;
        }
        for (at, action) in &self.actions {
            writeln!(f, "  {:>8.1} s  {action:?}", at.as_secs_f64())?;
        }
        Ok(())
    }
}
