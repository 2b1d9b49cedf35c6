//! Failover of applications that is asked for in vain: a kind of which nobody says whether it works.

use api_types::work::{Binding, ResourceHealth};

use super::rules::behavior;
use crate::graceful::kinds::has_health_rule;

/// What to warn of, such as `no health rule for v1 ConfigMap`: the binding asks for failover of the application, and its
/// kind has no rule by which it could fail. Copies of such a kind count as healthy as soon as they are applied.
///
/// A kind of which a copy was ever reported to be anything else has a rule that is not ours.
#[must_use]
pub fn no_health_rule(binding: &Binding) -> Option<String> {
    let template = &binding.spec.resource;
    let is_in_vain = !has_rule_of_ours(binding) && !is_reported_unhealthy(binding);
    (behavior(binding).is_some() && is_in_vain)
        .then(|| format!("no health rule for {} {}", template.api_version, template.kind))
}

/// Whether the kind has a rule that is not ours: a copy of it is reported to be unhealthy. Once that was so it stays so,
/// also when the copy is healthy again.
#[must_use]
pub fn has_rule_of_another(binding: &Binding) -> bool {
    !has_rule_of_ours(binding) && is_reported_unhealthy(binding)
}

fn has_rule_of_ours(binding: &Binding) -> bool {
    let template = &binding.spec.resource;
    has_health_rule(&template.api_version, &template.kind)
}

fn is_reported_unhealthy(binding: &Binding) -> bool {
    let mut items = binding.status.iter().flat_map(|status| &status.aggregated_status);
    items.any(|item| item.health == Some(ResourceHealth::Unhealthy))
}

#[cfg(test)]
#[path = "health_rule_tests.rs"]
mod tests;
