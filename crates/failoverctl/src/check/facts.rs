//! What the checks look at: plain values, gathered before, so that each check is a function of them.

use std::collections::BTreeMap;

use api_types::taint_policy::ClusterTaintPolicy;
use eviction_queue_api::v1;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::Value;

use super::stock::Stock;
use crate::controllers::Mode;

/// What was seen, or in words why it was not.
pub type Seen<T> = Result<T, String>;

/// What can be expected to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing of ours.
    BeforeInstall,
    /// All of it.
    Installed,
}

/// What came of a trial that the API server was asked to make and to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It would take the object.
    Taken,
    /// It would not, and says why.
    Refused(String),
}

/// Something that a stock controller told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockEvent {
    /// Who told it: the Event's source.
    pub source: String,
    /// About what, as `Kind NAMESPACE/NAME`.
    pub about: String,
    /// When it was last told.
    pub at: Timestamp,
}

/// A right that this user has or lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// The verb.
    pub verb: String,
    /// `resource.group`, and ` in namespace N` where it is asked for one.
    pub what: String,
    /// Whether only commands that change something need it.
    pub to_change: bool,
    /// Whether the user has it.
    pub allowed: bool,
}

/// Everything that the checks look at.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What can be expected.
    pub stage: Stage,
    /// The time here.
    pub now: Timestamp,
    /// What the person says that it is.
    pub meant: Option<Mode>,
    /// What it is.
    pub mode: Mode,
    /// The namespace of the Leases.
    pub system_namespace: String,
    /// The time there.
    pub server_time: Seen<Timestamp>,
    /// `kind` by `group/version`, as the server serves them.
    pub served: Seen<BTreeMap<String, Vec<String>>>,
    /// OpenAPI documents by `group/version`.
    pub schemas: BTreeMap<String, Seen<Value>>,
    /// Annotations of ours that cannot be read, in words.
    pub unreadable: Seen<Vec<String>>,
    /// Whether a ClusterTaintPolicy in stock's form with effect NoExecute is admitted.
    pub no_execute_policy: Seen<Trial>,
    /// The Leases of the system namespace.
    pub leases: Seen<Vec<Lease>>,
    /// What stock's failover controllers told.
    pub stock_events: Seen<Vec<StockEvent>>,
    /// The ClusterTaintPolicies.
    pub policies: Seen<Vec<ClusterTaintPolicy>>,
    /// The Deployments of the stock Karmada on its host cluster.
    pub stock: Seen<Stock>,
    /// Whether somebody said how the queue is reached: by its address, or through a host cluster.
    pub way_to_queue_named: bool,
    /// The eviction queue.
    pub queue: Seen<v1::GetStatusResponse>,
    /// The rights of this user.
    pub rights: Seen<Vec<Right>>,
}

impl Facts {
    /// Whose control plane it is taken for: what the person says, else what it looks like.
    #[must_use]
    pub fn taken_for(&self) -> Mode {
        self.meant.unwrap_or(self.mode)
    }

    /// Whether a stock Karmada is, or may be, there.
    #[must_use]
    pub fn may_be_beside_stock(&self) -> bool {
        self.taken_for() != Mode::Standalone
    }
}
