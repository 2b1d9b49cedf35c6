//! What becomes of the entries of a drain when it ends: they stay, or leave for another cause. Pure.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::Binding;
use failover_core::eviction::{Switches, Verdict, verdict};
use serde::Serialize;

use crate::entry::{CauseView, EntryView};
use crate::output::At;

/// A workload that leaves although the drain ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StillLeaving {
    /// The binding.
    pub binding: String,
    /// Why it leaves then.
    pub cause: CauseView,
    /// When that is due.
    pub due_at: At,
}

/// Splits the entries that rest on the drain by the taint manager's verdict on the Cluster without it: those whose workloads
/// stay, and what goes on.
pub(super) fn split(
    entries: &[EntryView],
    about: &[Binding],
    without_drain: &Cluster,
) -> (Vec<EntryView>, Vec<StillLeaving>) {
    let switches = Switches::all_on(PurgeMode::Gracefully);
    let by_key: BTreeMap<String, &Binding> = about
        .iter()
        .map(|binding| (binding.key().to_string(), binding))
        .collect();
    let (mut stay, mut go_on) = (Vec::new(), Vec::new());
    for entry in entries {
        let judged = by_key
            .get(&entry.binding)
            .map(|binding| verdict(binding, without_drain, &switches));
        match judged {
            Some(Verdict::Affected(affected)) => go_on.push(StillLeaving {
                binding: entry.binding.clone(),
                cause: CauseView::of(&affected.cause),
                due_at: At(affected.due_at),
            }),
            _ => stay.push(entry.clone()),
        }
    }
    (stay, go_on)
}
