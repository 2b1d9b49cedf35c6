//! Two plugins of one's own for the scheduler: clusters that belong to tenants, and cheap clusters first.
//!
//! A plugin implements [`Filter`] or [`Score`]: a name for `--plugins`, and a pure function of what is asked. It reads no
//! clock and calls nobody: all that it may know is in the [`Request`] and the Cluster. Two looks at the same objects must
//! come to the same answer. [`registry`] adds both to the plugins of every scheduler; `src/main.rs` makes a binary of it.

use api_types::cluster::Cluster;
use scheduler_filters::{DefaultState, Filter, Refusal, Registry, Request, Score};

/// The annotation of a Cluster that names, separated by commas, the namespaces whose workloads may run there. Without it
/// everybody's may.
pub const TENANTS: &str = "example.com/tenants";

/// The annotation of a Cluster that says what it costs an hour, as a whole number of whatever unit all clusters use.
pub const PRICE: &str = "example.com/price-per-hour";

/// The plugins of every scheduler, and these: `*` covers `Tenants`, and `Price` has to be named.
#[must_use]
pub fn registry() -> Registry {
    Registry::builtin()
        .with_filter(Tenants, DefaultState::On)
        .with_score(Price, DefaultState::Off)
}

/// Refuses clusters that belong to others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tenants;

impl Filter for Tenants {
    fn name(&self) -> &'static str {
        "Tenants"
    }

    fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
        let Some(tenants) = annotation(cluster, TENANTS) else {
            return Ok(());
        };
        // What is of cluster scope is nobody's.
        let namespace = request.binding.spec.resource.namespace.as_deref().unwrap_or_default();
        if tenants.split(',').any(|tenant| tenant.trim() == namespace) {
            return Ok(());
        }
        // Reasons are counted over the clusters (`2 cluster(s) ...`): one that names a cluster would be counted alone.
        Err(Refusal::new(
            self.name(),
            format!("cluster(s) is not for tenant {namespace}"),
        ))
    }

    // The scheduler cannot know that an annotation counts: whoever waits for a place is looked at when this one changes.
    fn may_pass_after(&self, before: &Cluster, after: &Cluster) -> bool {
        annotation(before, TENANTS) != annotation(after, TENANTS)
    }
}

/// The cheapest cluster of the fleet has the highest score, the dearest none; nor has one whose price is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Price;

impl Score for Price {
    fn name(&self) -> &'static str {
        "Price"
    }

    fn score(&self, request: &Request<'_>, cluster: &Cluster) -> i64 {
        let prices = || request.fleet.iter().filter_map(|(_, cluster)| price(cluster));
        let (Some(own), Some(dearest)) = (price(cluster), prices().max()) else {
            return 0;
        };
        // From 0 to scheduler_filters::plugin::MAX_SCORE; what is beyond is cut.
        let saved = u64::from(dearest - own) * 100 / u64::from(dearest.max(1));
        i64::try_from(saved).unwrap_or_default()
    }
}

fn price(cluster: &Cluster) -> Option<u32> {
    annotation(cluster, PRICE)?.parse().ok()
}

fn annotation<'a>(cluster: &'a Cluster, name: &str) -> Option<&'a str> {
    cluster.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}
