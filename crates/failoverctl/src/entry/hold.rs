//! Why an entry is held, and what an operator ordered.

use eviction_queue_api::v1;
use serde::Serialize;

use super::at;
use crate::output::At;

/// Why an entry is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum HoldReason {
    /// The binding's annotation says so.
    Stay,
    /// The conditions behind the taint no longer match.
    Recovering,
    /// An operator dropped it.
    Dropped,
    /// An operator took a drop back and the annotation is not removed yet.
    Undropped,
    /// Its producer is gone.
    ProducerGone,
    /// The queue does not see the cause on the cluster.
    CauseNotSeen,
    /// The evictor found it not needed.
    NotNeeded,
    /// No cluster could take the workload.
    NoTarget,
    /// The evictor asked to wait.
    Wait,
    /// A FailoverPause covers it.
    Paused,
    /// A reason that this version does not know.
    Unknown,
}

impl HoldReason {
    pub(super) fn of(reason: v1::HoldReason) -> Self {
        match reason {
            v1::HoldReason::Stay => Self::Stay,
            v1::HoldReason::Recovering => Self::Recovering,
            v1::HoldReason::Dropped => Self::Dropped,
            v1::HoldReason::Undropped => Self::Undropped,
            v1::HoldReason::ProducerGone => Self::ProducerGone,
            v1::HoldReason::CauseNotSeen => Self::CauseNotSeen,
            v1::HoldReason::NotNeeded => Self::NotNeeded,
            v1::HoldReason::NoTarget => Self::NoTarget,
            v1::HoldReason::Wait => Self::Wait,
            v1::HoldReason::Paused => Self::Paused,
            v1::HoldReason::Unspecified => Self::Unknown,
        }
    }

    /// What would change it.
    #[must_use]
    fn remedy(self) -> &'static str {
        match self {
            Self::Stay => "it moves when the annotation failover.karmada.io/stay is taken off the binding",
            Self::Recovering => "it is given up if the taint is removed, and released if the conditions match again",
            Self::Undropped => "it goes on when the taint manager has removed the annotation that the drop left",
            Self::Dropped => "it stays; to let it go: failoverctl queue undrop",
            Self::ProducerGone => "it goes on when the controller that published it runs again",
            Self::CauseNotSeen => "it goes on when the queue sees the taint, and is given up if the taint is gone",
            Self::NotNeeded => "its controller confirms it or takes it back within moments",
            Self::NoTarget => "it moves when a cluster can take it; failoverctl explain binding says why each cannot",
            Self::Wait => "it is looked at again at the time given",
            Self::Paused => "it goes on when the FailoverPause ends: failoverctl pause list, failoverctl resume",
            Self::Unknown => "see the message",
        }
    }
}

/// Why an entry is not released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HoldView {
    /// One word.
    pub reason: HoldReason,
    /// A sentence.
    pub message: String,
    /// When it is looked at again at the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<At>,
    /// With Stay: that `queue drop` wrote it, so that `queue undrop` takes it back; else a person wrote it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
}

impl HoldView {
    /// What would change it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        if self.reason == HoldReason::Stay && self.dropped {
            return "it was dropped, and moves when that is taken back: failoverctl queue undrop";
        }
        self.reason.remedy()
    }
}

/// What an operator ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum OrderKind {
    /// The workload stays.
    Drop,
    /// A drop is taken back.
    Undrop,
    /// An order that this version does not know.
    Unknown,
}

/// An order that the binding does not say yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OrderView {
    /// Drop or Undrop.
    pub kind: OrderKind,
    /// Who called.
    pub caller: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
}

impl OrderView {
    pub(super) fn of(order: &v1::OperatorOrder) -> Self {
        Self {
            kind: match order.kind() {
                v1::OrderKind::Drop => OrderKind::Drop,
                v1::OrderKind::Undrop => OrderKind::Undrop,
                v1::OrderKind::Unspecified => OrderKind::Unknown,
            },
            caller: order.caller.clone(),
            reason: order.reason.clone(),
            at: at(order.at.as_ref()),
        }
    }
}
