//! The queue's metrics. Gauges are computed from the queue's state when they are scraped, so that they cannot drift,
//! and the series of a lane go with it.

use std::sync::Arc;

use controller_kit::Context;
use controller_kit::metrics::Family;
use failover_core::eviction::queue::Queue;
use failover_core::eviction::regime::Regime;

use crate::shell::Shell;
use crate::streams::StreamKind;

const COLLECTOR: &str = "evictionQueue";

/// Registers the families of this term.
pub fn register(ctx: &Context, shell: &Arc<Shell>) {
    ctx.metrics.describe(
        "failover_queue_outcomes_total",
        "Leases that ended, by what became of them.",
    );
    ctx.metrics.describe(
        crate::service::REFUSED,
        "Calls and streams that were refused, by method and gRPC code.",
    );
    ctx.metrics.describe(
        "failover_queue_outdated_upserts_total",
        "Entries that a producer published from an older state than the queue had; it was asked for them again.",
    );
    ctx.metrics.describe(
        "failover_queue_producer_takeovers_total",
        "How often another process took the place of one that was publishing, by producer.",
    );
    ctx.metrics.describe(
        "failover_queue_forgotten_entries_total",
        "Entries that were dropped because their producer had not come back for --producer-retention, by producer.",
    );
    let shell = Arc::downgrade(shell);
    ctx.metrics.collector(COLLECTOR, move || {
        shell.upgrade().map(|shell| families(&shell)).unwrap_or_default()
    });
}

/// Ends the families of this term: a follower has no queue.
pub fn unregister(ctx: &Context) {
    ctx.metrics.remove_collector(COLLECTOR);
}

fn families(shell: &Shell) -> Vec<Family> {
    let latencies = shell.latencies();
    let streams = StreamKind::ALL.into_iter().fold(
        Family::gauge("failover_queue_streams", "Streams that are open, by kind."),
        |family, kind| family.with(&[("kind", kind.as_str())], number(shell.streams().open(kind))),
    );
    shell.look(|queue, now| {
        let mut total = Family::gauge("evict_total", "Entries in the queue, by the cluster that they leave.");
        let mut kinds = Family::gauge(
            "evict_kind_total",
            "Entries in the queue, by cluster and kind of the workload.",
        );
        for (cluster, totals, of_kinds) in queue.lane_counts() {
            let cluster = cluster.as_str();
            total = total.with(&[("cluster_name", cluster)], number(totals.sum()));
            for (kind, count) in &of_kinds {
                kinds = kinds.with(&[("cluster_name", cluster), ("resource_kind", kind)], number(*count));
            }
        }
        let mut rate = Family::gauge("evict_rate", "Evictions per second over the last minute, by cluster.");
        let mut success = Family::gauge(
            "evict_success_rate",
            "Evicted of all that were evicted, failed or had no target in the last ten minutes, by cluster.",
        );
        for (cluster, stats) in queue.stats() {
            let labels = [("cluster_name", cluster.as_str())];
            rate = rate.with(&labels, stats.evictions_per_second(now.elapsed));
            if let Some(share) = stats.success_rate(now.elapsed) {
                success = success.with(&labels, share);
            }
        }
        let latency = latencies.iter().fold(
            Family::histogram(
                "evict_processing_latency_seconds",
                "Time from becoming ready to the completed eviction, by the cluster that is left.",
            ),
            |family, (cluster, buckets)| family.with_buckets(&[("cluster_name", cluster.as_str())], buckets),
        );
        let verdict = queue.verdict();
        let totals = queue.totals();
        let entries = Family::gauge("failover_queue_entries", "Entries in the queue, by state.")
            .with(&[("state", "Waiting")], number(totals.waiting))
            .with(&[("state", "Ready")], number(totals.ready))
            .with(&[("state", "Leased")], number(totals.leased))
            .with(&[("state", "Held")], number(totals.held));
        let regime = Regime::ALL.into_iter().fold(
            Family::gauge("failover_queue_regime", "1 for the regime in force."),
            |family, regime| {
                family.with(
                    &[("regime", regime.as_str())],
                    if regime == verdict.regime { 1.0 } else { 0.0 },
                )
            },
        );
        // Nothing here walks all entries: the queue stands still while it is scraped.
        let oldest = queue
            .oldest_ready_since()
            .map_or(0.0, |since| now.wall.duration_since(since).as_secs_f64().max(0.0));
        vec![
            total,
            kinds,
            rate,
            success,
            latency,
            Family::gauge("cluster_fault_num", "Clusters that are faulty.").with(&[], number(verdict.faulty)),
            Family::gauge("cluster_fault_rate", "Share of the clusters that are faulty.")
                .with(&[], verdict.faulty_share),
            entries,
            held(queue),
            regime,
            Family::gauge(
                "failover_queue_evictions_per_second",
                "The rate that the regime allows.",
            )
            .with(&[], verdict.evictions_per_second),
            Family::gauge("failover_queue_oldest_ready_seconds", "Age of the longest ready entry.").with(&[], oldest),
            Family::gauge("failover_queue_pauses", "Pauses in effect.").with(
                &[],
                number(queue.pauses().filter(|pause| pause.is_active(now.wall)).count()),
            ),
            streams,
        ]
    })
}

/// What is held, by the reason that comes first. A reason that holds nothing has no series.
fn held(queue: &Queue) -> Family {
    queue.held().into_iter().fold(
        Family::gauge("failover_queue_held_entries", "Entries that are held, by reason."),
        |family, (reason, count)| family.with(&[("reason", reason.as_str())], number(count)),
    )
}

#[allow(clippy::cast_precision_loss, reason = "counts")]
fn number(count: usize) -> f64 {
    count as f64
}
