//! Says on the queue's own Lease why it releases nothing at all: for those who wait for it and do not speak gRPC, such as
//! the deletion of a Cluster.
//!
//! Guarantees: the annotation is set when the reason changes and at no other time, and is empty while something may be
//! released. The first seconds of a leader are no reason: they end by themselves.

use api_types::names::annotation::STANDSTILL;
use controller_kit::Context;
use failover_core::eviction::regime::{Regime, RegimeVerdict};

/// What was said last.
#[derive(Debug, Default)]
pub struct Standstill {
    said: String,
}

impl Standstill {
    /// Says it, if it is something new.
    pub fn say(&mut self, ctx: &Context, verdict: &RegimeVerdict) {
        let why = match verdict.regime {
            Regime::Starting => String::new(),
            _ => verdict.standstill().unwrap_or_default(),
        };
        if why != self.said {
            ctx.leadership.set_annotation(STANDSTILL, why.clone());
            self.said = why;
        }
    }
}
