//! An evict plugin of one's own: an old copy may go when a person, or a pipeline, has signed it off.
//!
//! A plugin implements [`EvictPlugin`]: a name for `--evict-plugins`, and a pure function of what is stored. It reads no
//! clock and calls nobody: all that it may know is in the [`View`]. `src/main.rs` makes a binary of it.

use api_types::work::GracefulEvictionTask;
use failover_core::graceful::{Assessment, EvictPlugin, View};

/// The annotation of a binding that names, separated by commas, the old copies that were signed off, each as
/// `CLUSTER@TIME` with the `creationTimestamp` of its task: the word is about this move, not about the next one.
pub const SIGNED_OFF: &str = "example.com/signed-off";

/// Passes when the annotation [`SIGNED_OFF`] names the task. That the last copy stays is not its business: no plugin ends
/// a task while no other copy works.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignedOff;

impl EvictPlugin for SignedOff {
    fn name(&self) -> &'static str {
        "SignedOff"
    }

    fn assess(&self, view: &View<'_>, task: &GracefulEvictionTask) -> Assessment {
        let Some(written) = &task.creation_timestamp else {
            return waits("the task has no creationTimestamp yet".to_owned());
        };
        let copy = format!("{}@{}", task.from_cluster, written.0);
        let annotations = view.binding.metadata.annotations.as_ref();
        let signed_off = annotations
            .and_then(|all| all.get(SIGNED_OFF))
            .map_or("", String::as_str);
        if signed_off.split(',').any(|name| name.trim() == copy) {
            return Assessment::Passes {
                why: format!("{copy} was signed off"),
            };
        }
        waits(format!("annotation {SIGNED_OFF} does not name {copy}"))
    }
}

fn waits(why: String) -> Assessment {
    // The controller looks again whenever the binding or one of its clusters changes; a plugin that waits for a time
    // says for how long.
    Assessment::Waits {
        why,
        look_again_in: None,
    }
}
