//! The state of one stream to the eviction queue, told once per change: log line, metric, readiness.

use std::sync::Arc;

use controller_kit::Context;
use controller_kit::metrics::Family;
use parking_lot::Mutex;
use tracing::{info, warn};

const GAUGE: &str = "failover_eviction_queue_stream_up";
const HELP: &str = "Whether the stream to the eviction queue is open (1) or not (0).";

/// One stream of a process to the queue. The check and the series go with it.
pub struct Link {
    ctx: Context,
    stream: &'static str,
    problem: Arc<Mutex<Option<String>>>,
}

impl Link {
    /// A stream that is not open yet. Its name is the only one of the process.
    #[must_use]
    pub fn new(ctx: &Context, stream: &'static str) -> Self {
        let problem = Arc::new(Mutex::new(Some("not connected yet".to_owned())));
        let for_check = problem.clone();
        ctx.readiness
            .check(check_name(stream), move || match &*for_check.lock() {
                None => Ok(()),
                Some(problem) => Err(problem.clone()),
            });
        let for_metric = problem.clone();
        ctx.metrics.collector(check_name(stream), move || {
            let up = if for_metric.lock().is_none() { 1.0 } else { 0.0 };
            vec![Family::gauge(GAUGE, HELP).with(&[("stream", stream)], up)]
        });
        Self {
            ctx: ctx.clone(),
            stream,
            problem,
        }
    }

    /// The stream is open and the queue answers.
    pub fn up(&self) {
        if self.problem.lock().take().is_some() {
            info!(stream = self.stream, "connected to the eviction queue");
        }
    }

    /// The stream is not open.
    pub fn down(&self, why: &str) {
        let before = self.problem.lock().replace(why.to_owned());
        if before.as_deref().is_none_or(|before| before == "not connected yet") {
            warn!(
                stream = self.stream,
                "no stream to the eviction queue, trying again: {why}"
            );
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.ctx.readiness.remove(&check_name(self.stream));
        self.ctx.metrics.remove_collector(&check_name(self.stream));
    }
}

fn check_name(stream: &str) -> String {
    format!("eviction queue ({stream})")
}
