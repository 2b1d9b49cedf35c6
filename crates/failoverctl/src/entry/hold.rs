//! Why an entry is held, and what an operator ordered.

use eviction_queue_api::v1;
pub use failover_core::eviction::queue::HoldReason;
use serde::{Serialize, Serializer};

use super::at;
use crate::output::At;

/// Why an entry is not released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HoldView {
    /// Why; nothing: a reason that this version does not know.
    #[serde(serialize_with = "as_word")]
    pub reason: Option<HoldReason>,
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
    /// Why, in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.reason.map_or("Unknown", HoldReason::as_str)
    }

    /// What would change it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        let Some(reason) = self.reason else {
            return "see the message";
        };
        match reason {
            HoldReason::Stay if self.dropped => {
                "it was dropped, and moves when that is taken back: failoverctl queue undrop"
            }
            HoldReason::Stay => "it moves when the annotation failover.karmada.io/stay is taken off the binding",
            HoldReason::Recovering => {
                "it is given up if the taint is removed, and released if the conditions match again"
            }
            HoldReason::Undropped => "it goes on when the taint manager has removed the annotation that the drop left",
            HoldReason::Dropped => "it stays; to let it go: failoverctl queue undrop",
            HoldReason::ProducerGone => "it goes on when the controller that published it runs again",
            HoldReason::CauseNotSeen => {
                "it goes on when the queue sees the taint, and is given up if the taint is gone"
            }
            HoldReason::NotNeeded => "its controller confirms it or takes it back within moments",
            HoldReason::NoTarget => {
                "it moves when a cluster can take it; failoverctl explain binding says why each cannot"
            }
            HoldReason::Wait => "it is looked at again at the time given",
            HoldReason::SecondOwner => {
                "it goes on by itself once the other controller is switched off and no sign of it was seen for a while"
            }
            HoldReason::Paused => "it goes on when the FailoverPause ends: failoverctl pause list, failoverctl resume",
        }
    }
}

fn as_word<S: Serializer>(reason: &Option<HoldReason>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(reason.map_or("Unknown", HoldReason::as_str))
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
