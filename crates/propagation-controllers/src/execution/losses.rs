//! Objects that were applied and are gone from the member: counted one by one, news once for all that is missed at a
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api_types::ClusterName;
use controller_kit::Context;
use controller_kit::metrics::{CollectorGuard, Family};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Losses that are closer together than this are one.
const APART: Duration = Duration::from_secs(300);

/// Of one member, while it is worked on.
pub struct Losses {
    objects: Arc<AtomicU64>,
    last: Mutex<Option<Instant>>,
    /// The series goes with the work on the member.
    _series: CollectorGuard,
}

/// Whether something is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// It is.
    Yes,
    /// It was, a moment ago.
    No,
}

impl Losses {
    /// None yet, of this member.
    #[must_use]
    pub fn of(ctx: &Context, cluster: &ClusterName) -> Self {
        let objects = Arc::new(AtomicU64::new(0));
        let (counted, cluster) = (objects.clone(), cluster.clone());
        let series = ctx.metrics.guarded_collector("lost objects", move || {
            #[allow(clippy::cast_precision_loss, reason = "nobody loses 2^52 objects")]
            let count = counted.load(Ordering::Relaxed) as f64;
            let family = Family::counter(
                "failover_execution_lost_objects_total",
                "Objects that were applied, were gone from the member, and were applied again, since it became Ready.",
            );
            vec![family.with(&[("member_cluster", cluster.as_str())], count)]
        });
        Self {
            objects,
            last: Mutex::default(),
            _series: series,
        }
    }

    /// One more is lost.
    pub fn count(&self) -> News {
        self.objects.fetch_add(1, Ordering::Relaxed);
        let before = self.last.lock().replace(Instant::now());
        match before {
            Some(before) if before.elapsed() < APART => News::No,
            _ => News::Yes,
        }
    }
}

#[cfg(test)]
mod tests {
    use controller_kit::{Clock, Tasks};
    use kube_sandbox::{Sandbox, SandboxOptions};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_are_counted_and_those_of_one_time_are_one_news() {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let ticking = clock.clone();
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || ticking.now())));
        let tasks = Tasks::new();
        let ctx = Context::detached("test", sandbox.client(), clock, "t-0", &tasks);
        let losses = Losses::of(&ctx, &ClusterName::from("m1"));
        let counted = || {
            let labels = [("member_cluster", "m1")];
            ctx.metrics.value("failover_execution_lost_objects_total", &labels)
        };
        assert_eq!(counted(), Some(0.0));
        assert_eq!([losses.count(), losses.count()], [News::Yes, News::No]);
        tokio::time::sleep(APART - Duration::from_secs(1)).await;
        assert_eq!(losses.count(), News::No, "it goes on");
        tokio::time::sleep(APART).await;
        assert_eq!(losses.count(), News::Yes);
        assert_eq!(counted(), Some(4.0));
        drop(losses);
        assert_eq!(counted(), None);
        tasks.abort();
    }
}
