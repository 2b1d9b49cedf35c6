//! What a policy says that is not done, told on the policy: who reads it expects it.

use api_types::policy::{ActivationPreference, Policy, Preemption};

/// Reason of the event.
pub const EVENT: &str = "PolicyFieldIgnored";

/// The fields of a policy that are ignored, and what is done instead.
#[must_use]
pub fn complaint(policy: &Policy) -> Option<String> {
    let lazy = policy.spec.activation_preference == Some(ActivationPreference::Lazy);
    let takes = policy.spec.preemption == Some(Preemption::Always);
    let parts = [
        lazy.then_some("activationPreference Lazy is ignored: a change of the policy is carried at once"),
        takes.then_some("preemption Always is ignored: what another policy has claimed stays with it"),
    ];
    let said: Vec<&str> = parts.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}
