//! Failover of applications that is asked for in vain: a kind of which nobody says whether it works.

use api_types::work::{Binding, ResourceHealth};

use super::rules::behavior;
use crate::graceful::kinds::has_health_rule;

/// What to warn of, such as `no health rule for batch/v1 CronJob`: the binding asks for failover of the application, and its
/// kind has no rule by which it could fail. Copies of such a kind count as healthy as soon as they are applied.
///
/// A kind of which a copy was ever reported to be anything else has a rule that is not ours.
#[must_use]
pub fn no_health_rule(binding: &Binding) -> Option<String> {
    behavior(binding)?;
    let template = &binding.spec.resource;
    if has_health_rule(&template.api_version, &template.kind) {
        return None;
    }
    let items = binding.status.iter().flat_map(|status| &status.aggregated_status);
    let mut healths = items.filter_map(|item| item.health.as_ref());
    let has_another_s = healths.any(|health| *health == ResourceHealth::Unhealthy);
    (!has_another_s).then(|| format!("no health rule for {} {}", template.api_version, template.kind))
}

#[cfg(test)]
#[path = "health_rule_tests.rs"]
mod tests;
