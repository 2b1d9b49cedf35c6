//! Warnings about objects that say something nobody can read, such as an annotation that a person mistyped.

use k8s_openapi::api::core::v1::ObjectReference;
use tracing::warn;

use crate::context::Context;
use crate::events::EventType;
use crate::informer::Changes;

/// Publishes a Warning event with `reason` about each object that `complaint` has something to say of, once for each thing
/// that it says, until the process stops. At the start everything is said again, and goes into the event that there is.
pub fn tell<K>(
    ctx: &Context,
    mut changes: Changes<K>,
    reason: &'static str,
    complaint: impl Fn(&K) -> Option<String> + Send + 'static,
    about: impl Fn(&K) -> ObjectReference + Send + 'static,
) where
    K: Send + Sync + 'static,
{
    let (events, shutdown) = (ctx.events.clone(), ctx.shutdown.clone());
    ctx.tasks.spawn(format!("complaints {reason}"), async move {
        loop {
            let change = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                change = changes.recv() => change,
            };
            let Some(change) = change else { return };
            let Some(object) = change.after.as_deref() else {
                continue;
            };
            if let Some(note) = complaint(object)
                && change.before.as_deref().and_then(&complaint).as_ref() != Some(&note)
            {
                warn!("{}: {note}", change.key);
                events.publish(&about(object), EventType::Warning, reason, note);
            }
        }
    });
}
