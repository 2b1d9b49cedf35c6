//! Controller `evictor`: carries out what the eviction queue releases.
//!
//! Rooms: `judge` and `plan` (what becomes of a lease, and what is written; pure), `lease`, `fence` and `reads` (what
//! must hold before a write), `attached` (what follows the binding), `carry` (what the policy's annotation says, beside a
//! stock Karmada), `others` (who else does it, and holds it), `work` (one lease from grant to completion),
//! `writer` (the only place that writes), `stream` (leases in, outcomes out), `trace` (what is told of it to a collector).
//! Here is the wiring.

mod attached;
mod carry;
mod fence;
mod judge;
mod lease;
mod others;
mod plan;
mod reads;
mod stream;
mod trace;
mod work;
mod writer;

use anyhow::Result;
use api_types::cluster::Cluster;
use api_types::failover::FailoverRecord;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, BindingKind};
use controller_kit::{Context, RequiredKind};

use crate::{Flags, Wiring};
use attached::Attached;
use carry::Carrier;
use fence::Fence;
use others::Others;
use reads::SharedReads;
use stream::Evictor;
use work::Bench;
use writer::{Records, Writer};

pub(crate) async fn run(ctx: Context, flags: Flags, wiring: Wiring) -> Result<()> {
    let mut kinds = vec![
        RequiredKind::of::<Cluster>(),
        RequiredKind::of::<ClusterTaintPolicy>(),
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ];
    let records = if flags.failover_records {
        kinds.push(RequiredKind::of::<FailoverRecord>());
        Records::Kept
    } else {
        Records::NotKept
    };
    if wiring.mode.is_beside() {
        kinds.extend(Carrier::kinds());
    }
    ctx.require_kinds(&kinds).await?;
    let (clusters, policies) = (ctx.informers.of::<Cluster>(), ctx.informers.of::<ClusterTaintPolicy>());
    let (Ok(clusters), Ok(policies)) = (clusters.synced().await, policies.synced().await) else {
        return Ok(());
    };
    let Ok(attached) = Attached::synced(&ctx).await else {
        return Ok(());
    };
    let Ok(others) = Others::watched(&ctx, flags.evictor.second_owner_hold).await else {
        return Ok(());
    };
    if wiring.mode.is_beside() {
        let Ok(carrier) = Carrier::synced(&ctx).await else {
            return Ok(());
        };
        ctx.tasks.spawn("words of policies", carrier.run());
    }
    describe(&ctx);
    let bench = Bench {
        clusters,
        policies,
        attached,
        others,
        schedulers: wiring.schedulers,
        switches: flags.switches(&ctx.gates, wiring.mode),
        check: flags.check(),
        state_wait: flags.evictor.state_preservation_wait,
        fence: Fence::new(&ctx),
        writer: Writer::new(&ctx, records),
        reads: SharedReads::default(),
        ctx: ctx.clone(),
    };
    let client = (wiring.queue)(&ctx);
    Evictor::new(bench, client, flags.eviction_workers).run().await;
    Ok(())
}

fn describe(ctx: &Context) {
    let metrics = &ctx.metrics;
    metrics.describe("evictor_leases_total", "Leases that ended here, by outcome and reason.");
    metrics.describe(
        "evictor_conflicts_total",
        "Evictions tried again because somebody else wrote the binding.",
    );
    metrics.describe(
        "evictor_mirrors_total",
        "Mirror tasks written on bindings attached to one that leaves.",
    );
    metrics.describe(
        "evictor_records_missed_total",
        "FailoverRecords that could not be written.",
    );
}
