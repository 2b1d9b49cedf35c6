//! The wiring: the files of TLS, the listener, what is known of the fleet.

use controller_kit::tls::{Material, Reloading, ServerTls};
use controller_kit::{Clock, Context};
use tokio::net::TcpListener;

use crate::desk::Desk;
use crate::door::Door;
use crate::flags::Flags;
use crate::fleet::Fleet;

/// Answers reviews until the process was asked to stop a while ago.
///
/// # Errors
/// When the address cannot be bound, the files of TLS are no use, or our kinds are not installed.
pub(crate) async fn run(ctx: Context, flags: Flags) -> anyhow::Result<()> {
    let tls = flags.tls(&ctx.clock)?;
    let bind = flags.webhook_bind_address;
    let listener = TcpListener::bind(bind)
        .await
        .map_err(|error| anyhow::anyhow!("cannot answer reviews at --webhook-bind-address={bind}: {error}"))?;
    let bound = listener.local_addr()?;
    let _shown = tls.show(&ctx.metrics);
    watch_certificate(&ctx, &tls);
    let fleet = Fleet::new(&ctx.clock);
    let desk = Desk::new(fleet.clone(), &ctx.metrics);
    let door = Door::new(tls.clone(), desk, &ctx.tasks, &ctx.metrics);
    tracing::info!(%bound, "answering reviews");
    flags.bound.tell(bound);
    let followed = async {
        let ended = fleet.follow(&ctx).await;
        if ctx.shutdown.is_cancelled() {
            // What was known last is good for those who come yet.
            std::future::pending().await
        } else {
            ended
        }
    };
    tokio::select! {
        biased;
        followed = followed => followed,
        () = tls.watch() => Ok(()),
        () = door.keep(listener) => Ok(()),
    }
}

/// A certificate that is over is refused by every API server: then this replica is not ready, and says what to do. Changed
/// files that are no use are told, while those of before are.
fn watch_certificate(ctx: &Context, tls: &Reloading<ServerTls>) {
    let (files, clock) = (tls.clone(), ctx.clock.clone());
    ctx.readiness
        .check("webhook certificate", move || still_counts(&files, &clock));
    let files = tls.clone();
    ctx.readiness.note(move || {
        let refused = files.problem().map(|problem| {
            format!("changed files of the webhook's TLS are refused, those of before stay in force: {problem}")
        });
        refused.into_iter().collect()
    });
}

fn still_counts(files: &Reloading<ServerTls>, clock: &Clock) -> Result<(), String> {
    match files.in_force().not_after() {
        Some(not_after) if not_after < clock.now() => Err(format!(
            "it was valid until {not_after}, and API servers refuse it since: write a new one into --tls-cert-file and \
             --tls-key-file; it is read within seconds"
        )),
        _ => Ok(()),
    }
}
