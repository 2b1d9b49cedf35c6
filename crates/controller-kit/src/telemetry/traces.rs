//! One trace a move, across processes.
//!
//! A move takes minutes and passes through several processes that know nothing of each other but what is stored and what
//! travels in messages. So a span is told once, when it has ended, with times that are stored or shown by the injected
//! clock: a restart takes nothing from it. What joins the spans is a [`TraceContext`], which travels in the entry of the
//! queue and in the FailoverRecord.
//!
//! Guarantees: without an endpoint nothing is made, carried or sent; what cannot be sent is dropped and never waited for;
//! the same move has the same trace, whoever begins it again.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;

/// Where a process tells its spans. Clones are the same.
#[derive(Clone, Default)]
pub struct Traces {
    to: Option<Arc<dyn Fn(Span) + Send + Sync>>,
}

impl Traces {
    /// Nowhere.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// To somebody who must not block.
    #[must_use]
    pub fn to(somebody: impl Fn(Span) + Send + Sync + 'static) -> Self {
        Self {
            to: Some(Arc::new(somebody)),
        }
    }

    /// Whether anybody hears.
    #[must_use]
    pub fn are_on(&self) -> bool {
        self.to.is_some()
    }

    /// Tells a span that has ended.
    pub fn tell(&self, span: Span) {
        if let Some(to) = &self.to {
            to(span);
        }
    }

    /// The text that joins the spans of a move, to be carried along; nothing where nobody hears. The same `identity` has
    /// always the same.
    #[must_use]
    pub fn begin(&self, identity: &str) -> Option<TraceContext> {
        self.are_on().then(|| TraceContext::of(identity))
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").field("on", &self.are_on()).finish()
    }
}

/// A trace and its first span, as W3C's `traceparent` says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// The trace.
    pub trace_id: u128,
    /// The span that others belong under.
    pub span_id: u64,
}

impl TraceContext {
    /// The trace of what has this identity.
    #[must_use]
    pub fn of(identity: &str) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, identity.as_bytes());
        let number = |bytes: &[u8]| bytes.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
        let (trace, rest) = digest.as_ref().split_at(16);
        // Zero means none in both.
        let span = u64::try_from(number(rest) >> 64).unwrap_or(1).max(1);
        Self {
            trace_id: number(trace).max(1),
            span_id: span,
        }
    }

    /// Reads a text that may not be there, or may be none.
    #[must_use]
    pub fn read(text: Option<&str>) -> Option<Self> {
        text?.parse().ok()
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-01", self.trace_id, self.span_id)
    }
}

/// A text that is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent of the form 00-TRACE-SPAN-FLAGS")]
pub struct NoTraceContext;

impl FromStr for TraceContext {
    type Err = NoTraceContext;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('-');
        let (Some(version), Some(trace), Some(span), Some(flags)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(NoTraceContext);
        };
        let hex = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        // A later version may have more parts; this one has not.
        let whole = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(span, 16) && hex(flags, 2);
        if !whole || (version == "00" && parts.next().is_some()) {
            return Err(NoTraceContext);
        }
        let trace_id = u128::from_str_radix(trace, 16).map_err(|_| NoTraceContext)?;
        let span_id = u64::from_str_radix(span, 16).map_err(|_| NoTraceContext)?;
        if trace_id == 0 || span_id == 0 {
            return Err(NoTraceContext);
        }
        Ok(Self { trace_id, span_id })
    }
}

/// Something that took time, and has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The trace.
    pub trace_id: u128,
    /// Names it within the trace.
    pub span_id: u64,
    /// What it belongs under; absent for the first.
    pub parent_id: Option<u64>,
    /// What was done; few different ones.
    pub name: &'static str,
    /// When it began.
    pub from: Timestamp,
    /// When it had ended; never before it began.
    pub until: Timestamp,
    /// More about it.
    pub attributes: Vec<(&'static str, String)>,
    /// Why it did not come to a good end.
    pub error: Option<String>,
}

impl Span {
    /// The first span of a trace, under which the others belong.
    #[must_use]
    pub fn first(of: TraceContext, name: &'static str, from: Timestamp, until: Timestamp) -> Self {
        Self {
            trace_id: of.trace_id,
            span_id: of.span_id,
            parent_id: None,
            name,
            from,
            until: until.max(from),
            attributes: Vec::new(),
            error: None,
        }
    }

    /// A span under the first. Told again it is the same.
    #[must_use]
    pub fn in_trace(of: TraceContext, name: &'static str, from: Timestamp, until: Timestamp) -> Self {
        let itself = TraceContext::of(&format!("{of} {name} {from}"));
        Self {
            span_id: itself.span_id,
            parent_id: Some(of.span_id),
            ..Self::first(of, name, from, until)
        }
    }

    /// Says more about it.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// Says that it did not come to a good end.
    #[must_use]
    pub fn failed(mut self, why: impl Into<String>) -> Self {
        self.error = Some(why.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use proptest::prelude::*;

    use super::*;

    const NOON: Timestamp = Timestamp::constant(1_767_268_800, 0);

    #[test]
    fn the_same_move_has_the_same_trace() {
        let (one, again, other) = (TraceContext::of("a"), TraceContext::of("a"), TraceContext::of("b"));
        assert_eq!(one, again);
        assert_ne!(one.trace_id, other.trace_id);
        let text = one.to_string();
        assert_eq!(text.len(), 55);
        assert_eq!(TraceContext::read(Some(&text)), Some(one));
    }

    #[test]
    fn spans_belong_under_the_first() {
        let of = TraceContext::of("a");
        let first = Span::first(of, "move", NOON, NOON);
        let wait = Span::in_trace(of, "wait", NOON, NOON - jiff::SignedDuration::from_secs(1)).with("n", 1);
        assert_eq!((first.parent_id, wait.parent_id), (None, Some(first.span_id)));
        assert_eq!(wait.until, NOON, "no span ends before it begins");
        let later = Span::in_trace(of, "wait", NOON + jiff::SignedDuration::from_secs(1), NOON);
        assert_ne!(wait.span_id, later.span_id);
    }

    #[test]
    fn nobody_hears_what_is_told_to_nobody() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let to = heard.clone();
        let traces = Traces::to(move |span| to.lock().push(span));
        for traces in [traces, Traces::off()] {
            if let Some(of) = traces.begin("a") {
                traces.tell(Span::first(of, "move", NOON, NOON));
            }
        }
        assert_eq!(heard.lock().len(), 1);
    }

    proptest! {
        #[test]
        fn what_is_no_traceparent_is_none(text in "[0-9a-f-]{0,60}|.{0,60}") {
            if let Ok(read) = text.parse::<TraceContext>() {
                let ids = format!("{:032x}-{:016x}", read.trace_id, read.span_id);
                prop_assert!(text.len() >= 55 && text.contains(&ids));
            }
        }
    }

    #[test]
    fn what_others_write_wrongly_is_refused() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(good.parse::<TraceContext>().is_ok());
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            assert_eq!(bad.parse::<TraceContext>(), Err(NoTraceContext), "{bad}");
        }
    }
}
