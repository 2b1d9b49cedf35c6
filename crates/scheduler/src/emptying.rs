//! Who takes workloads off a cluster that is being deleted: the eviction queue, or, when nobody would feed it, this
//! scheduler.
//!
//! Guarantees: the rule is [`failover_core::cluster_health::deletion::emptied_by`]; the taint manager's Lease is judged by
//! our own time; bindings that become ours by a change of it are looked at then.

use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use controller_kit::leader::{GATES_ANNOTATION, lease_name};
use controller_kit::{Context, FeatureGates, Gate, Scope, WorkQueue};
use failover_core::cluster_health::deletion::{
    Emptied, TaintManager, controllers::TAINT_MANAGER, emptied_by, may_be_away,
};
use failover_core::cluster_health::silence::{LeaseMark, Sight};
use failover_core::eviction::FailoverGate;
use k8s_openapi::api::coordination::v1::Lease;
use parking_lot::Mutex;
use scheduler_filters::DeletionBy;
use tokio::time::{Instant, sleep_until};

use crate::store::Stores;

/// Clones are the same.
#[derive(Clone)]
pub(crate) struct Emptying {
    inner: Arc<Inner>,
}

struct Inner {
    started: Instant,
    gate: FailoverGate,
    /// What is known of the taint manager; none before its Lease was looked for, and where nobody holds Leases.
    seen: Mutex<Option<(Sight, Option<FailoverGate>)>>,
}

impl Emptying {
    pub(crate) fn new(ctx: &Context) -> Self {
        let inner = Inner {
            started: Instant::now(),
            gate: ctx.gates.enabled(Gate::Failover).into(),
            seen: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Who does it now.
    pub(crate) fn by(&self) -> DeletionBy {
        let now = self.inner.started.elapsed();
        let taint_manager = self.inner.seen.lock().as_ref().map(|(sight, gate)| TaintManager {
            gate: *gate,
            silent_for: sight.silent_for(now),
        });
        match emptied_by(self.inner.gate, taint_manager) {
            Emptied::ByTheQueue => DeletionBy::Queue,
            Emptied::ByTheScheduler => DeletionBy::Scheduler,
        }
    }

    /// Watches the taint manager's Lease until shutdown.
    pub(crate) async fn watch(self, ctx: Context, queue: WorkQueue<BindingKey>, stores: Stores) {
        if ctx.leadership.epoch().lease_uid.is_empty() {
            // Leader election is off: there is no Lease that could say anything.
            return;
        }
        let own = format!("metadata.name={}", lease_name(TAINT_MANAGER));
        let scope = Scope::namespace(ctx.system_namespace.as_ref()).fields(own);
        let leases = ctx.informers.get::<Lease>(scope, &());
        let Ok(store) = leases.synced().await else { return };
        let mut changes = leases.changes();
        let mut by = self.by();
        loop {
            self.look(store.list().first().map(AsRef::as_ref));
            let now = self.by();
            if now != by && now == DeletionBy::Scheduler {
                tracing::info!("no taint manager empties clusters that are deleted: this scheduler does");
                for key in stores.on_clusters_that_go() {
                    queue.add(key);
                }
            }
            by = now;
            tokio::select! {
                biased;
                () = ctx.shutdown.cancelled() => return,
                change = changes.recv() => if change.is_none() { return },
                () = sleep_until(self.silent_at()), if by == DeletionBy::Queue => {}
            }
        }
    }

    fn look(&self, lease: Option<&Lease>) {
        let now = self.inner.started.elapsed();
        let mark = lease.map(LeaseMark::from);
        let mut seen = self.inner.seen.lock();
        match &mut *seen {
            Some((sight, known)) => {
                sight.look(mark, None, now);
                if let Some(lease) = lease {
                    *known = gate_of(lease);
                }
            }
            None => *seen = Some((Sight::first(mark, None, now), lease.and_then(gate_of))),
        }
    }

    /// When a taint manager of which nothing more is heard counts as gone.
    fn silent_at(&self) -> Instant {
        let seen = self.inner.seen.lock();
        let since = seen.as_ref().map_or(Duration::ZERO, |(sight, _)| sight.quiet_since());
        self.inner.started + since + may_be_away()
    }
}

/// The gate as the holder of the Lease has it, or as the last one had it that released it: between two holders, as in a
/// restart, it does not change. None when it does not say, or says what cannot be read: it may be on then.
fn gate_of(lease: &Lease) -> Option<FailoverGate> {
    let annotations = lease.metadata.annotations.as_ref()?;
    let said = annotations.get(GATES_ANNOTATION).filter(|said| !said.is_empty())?;
    let gates = FeatureGates::parse_known(said).ok()?;
    Some(gates.enabled(Gate::Failover).into())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::off("Failover=false", "a", Some(FailoverGate::Off))]
    #[case::on("Failover=true", "a", Some(FailoverGate::On))]
    #[case::of_a_newer_process("Failover=false,Tomorrow=true", "a", Some(FailoverGate::Off))]
    #[case::released("Failover=false", "", Some(FailoverGate::Off))]
    #[case::unsaid("", "a", None)]
    #[case::unreadable("Failover=perhaps", "a", None)]
    fn a_gate_is_what_the_last_holder_says(
        #[case] gates: &str,
        #[case] holder: &str,
        #[case] expected: Option<FailoverGate>,
    ) {
        let annotations = json!({GATES_ANNOTATION: gates});
        let lease = json!({"metadata": {"annotations": annotations}, "spec": {"holderIdentity": holder}});
        assert_eq!(gate_of(&serde_json::from_value(lease).unwrap()), expected);
    }
}
