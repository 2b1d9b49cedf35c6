//! What can be done to a fleet. Plain values: a script lists them, a simulation draws them.

use std::time::Duration;

use api_types::cluster::effect;
use api_types::names::taint;
use serde_json::{Value, json};

/// Key of the taint that people put on a cluster which takes nothing new for a while.
const MAINTENANCE: &str = "maintenance";
/// Keys of the taints that people put on clusters and take away in stories.
pub const TAINTS_OF_PEOPLE: &[&str] = &[taint::DRAIN, MAINTENANCE];

/// One thing that somebody, or fate, does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A member's API server changes; its workloads run on.
    Member {
        /// Name of the Cluster.
        name: String,
        /// How it can be reached from now on.
        to: MemberState,
    },
    /// The control plane's own network changes: the way to all members at once.
    Network(Network),
    /// The pods of a Deployment in `default` fare so on one member from now on; its API server and its node are well.
    Workload {
        /// Name of the Cluster.
        member: String,
        /// Name of the Deployment.
        name: String,
        /// How they fare.
        to: Fare,
    },
    /// All nodes of a member together have so many CPUs to give from now on, whatever runs there.
    Cpus {
        /// Name of the Cluster.
        member: String,
        /// How many.
        cpus: u32,
    },
    /// A member that exists is made known to the control plane: its Secret and its Cluster are created.
    Join {
        /// Name of the Cluster.
        name: String,
    },
    /// An object is created.
    Create(Value),
    /// An object is created, or what is wanted of it (`spec`, `data`) replaced; its metadata stays.
    Put(Value),
    /// An object is changed by a merge patch.
    Patch {
        /// Which.
        object: ObjectName,
        /// The merge patch.
        patch: Value,
    },
    /// An object is deleted.
    Delete(ObjectName),
    /// A person puts a taint on a Cluster that has none of this key and effect.
    Taint {
        /// Name of the Cluster.
        cluster: String,
        /// Key of the taint.
        key: String,
        /// Its value.
        value: String,
        /// Its effect.
        effect: String,
        /// Its `timeAdded`; absent as with kubectl, the time of the act as a stock Karmada's API server adds it.
        time_added: Option<String>,
    },
    /// A person takes a taint off a Cluster.
    Untaint {
        /// Name of the Cluster.
        cluster: String,
        /// Key of the taint.
        key: String,
        /// Its effect.
        effect: String,
    },
    /// A person drains a member: everything is to leave it that finds a place.
    Drain {
        /// Name of the Cluster.
        cluster: String,
    },
    /// A person takes a drain back.
    Undrain {
        /// Name of the Cluster.
        cluster: String,
    },
    /// A person asks for a fresh placement of a binding: `spec.rescheduleTriggeredAt`.
    Reschedule {
        /// Which.
        binding: ObjectName,
    },
    /// A component is stopped and started again.
    Restart {
        /// Name of its binary, such as `taint-manager`.
        component: String,
        /// How it ends.
        how: Ending,
    },
    /// Time passes.
    Wait(Duration),
}

/// How a member's API server can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberState {
    /// It answers.
    #[default]
    Up,
    /// It refuses connections.
    Stopped,
    /// It takes requests and never answers.
    Hanging,
}

/// How the pods of a workload fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fare {
    /// They are ready, soon after they were started.
    Well,
    /// None is ready, and none becomes so.
    Ill,
}

/// The way from the control plane to all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// As it should be.
    #[default]
    Whole,
    /// No member answers; each is as it was when the network is back.
    Cut,
}

/// How a component ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is asked to, and hands back its leases.
    InOrder,
    /// It is killed.
    Killed,
}

/// Names an object of the control plane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Such as `apps/v1`.
    pub api_version: String,
    /// Such as `Deployment`.
    pub kind: String,
    /// Absent for cluster scope.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectName {
    /// Names a Cluster.
    #[must_use]
    pub fn cluster(name: &str) -> Self {
        Self {
            api_version: "cluster.karmada.io/v1alpha1".to_owned(),
            kind: "Cluster".to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }

    /// Names a Deployment.
    #[must_use]
    pub fn deployment(namespace: &str, name: &str) -> Self {
        Self {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// Names a ResourceBinding.
    #[must_use]
    pub fn binding(namespace: &str, name: &str) -> Self {
        Self {
            api_version: "work.karmada.io/v1alpha2".to_owned(),
            kind: "ResourceBinding".to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// Names a PropagationPolicy.
    #[must_use]
    pub fn propagation_policy(namespace: &str, name: &str) -> Self {
        Self {
            api_version: "policy.karmada.io/v1alpha1".to_owned(),
            kind: "PropagationPolicy".to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }
}

impl Action {
    /// A member's API server stops: connections are refused.
    #[must_use]
    pub fn stop(name: &str) -> Self {
        Self::Member {
            name: name.to_owned(),
            to: MemberState::Stopped,
        }
    }

    /// A member's API server hangs.
    #[must_use]
    pub fn hang(name: &str) -> Self {
        Self::Member {
            name: name.to_owned(),
            to: MemberState::Hanging,
        }
    }

    /// A member's API server is back.
    #[must_use]
    pub fn start(name: &str) -> Self {
        Self::Member {
            name: name.to_owned(),
            to: MemberState::Up,
        }
    }

    /// The pods of a Deployment in `default` fail on one member.
    #[must_use]
    pub fn fall_ill(member: &str, name: &str) -> Self {
        Self::Workload {
            member: member.to_owned(),
            name: name.to_owned(),
            to: Fare::Ill,
        }
    }

    /// They are mended there.
    #[must_use]
    pub fn mend(member: &str, name: &str) -> Self {
        Self::Workload {
            member: member.to_owned(),
            name: name.to_owned(),
            to: Fare::Well,
        }
    }

    /// The nodes of a member have so many CPUs.
    #[must_use]
    pub fn cpus(member: &str, cpus: u32) -> Self {
        Self::Cpus {
            member: member.to_owned(),
            cpus,
        }
    }

    /// A person drains a member.
    #[must_use]
    pub fn drain(cluster: &str) -> Self {
        Self::Drain {
            cluster: cluster.to_owned(),
        }
    }

    /// A person takes a drain back.
    #[must_use]
    pub fn undrain(cluster: &str) -> Self {
        Self::Undrain {
            cluster: cluster.to_owned(),
        }
    }

    /// A person keeps new workloads off a cluster: what runs there stays.
    #[must_use]
    pub fn cordon(cluster: &str) -> Self {
        Self::Taint {
            cluster: cluster.to_owned(),
            key: MAINTENANCE.to_owned(),
            value: String::new(),
            effect: effect::NO_SCHEDULE.to_owned(),
            time_added: None,
        }
    }

    /// A person lets new workloads onto it again.
    #[must_use]
    pub fn uncordon(cluster: &str) -> Self {
        Self::Untaint {
            cluster: cluster.to_owned(),
            key: MAINTENANCE.to_owned(),
            effect: effect::NO_SCHEDULE.to_owned(),
        }
    }

    /// A person asks for a fresh placement of the Deployment of this name in `default`.
    #[must_use]
    pub fn reschedule(deployment: &str) -> Self {
        Self::Reschedule {
            binding: ObjectName::binding("default", &format!("{deployment}-deployment")),
        }
    }

    /// A member is made known to the control plane.
    #[must_use]
    pub fn join(name: &str) -> Self {
        Self::Join { name: name.to_owned() }
    }

    /// So many seconds pass.
    #[must_use]
    pub const fn wait(seconds: u64) -> Self {
        Self::Wait(Duration::from_secs(seconds))
    }

    /// The number of replicas of a Deployment is changed.
    #[must_use]
    pub fn scale(namespace: &str, name: &str, replicas: u32) -> Self {
        Self::Patch {
            object: ObjectName::deployment(namespace, name),
            patch: json!({"spec": {"replicas": replicas}}),
        }
    }
}
