//! How many more replicas a cluster has room for, as stock's general estimator computes it from
//! `status.resourceSummary`. One estimate for everybody who asks: the check before an eviction, and what divides replicas
//! by free resources.
//!
//! Rules: free is allocatable − allocated − allocating, of pods and of each resource that a replica asks for; the
//! scarcest counts. Where the cluster counts its nodes by grade (`allocatableModelings` of `spec.resourceModels`), a node
//! holds what the lower bound of its grade holds, and nodes whose grade is too small for one replica hold none; grades that
//! do not know a resource that is asked for say nothing, and the sums count. A resource that the summary does not name is
//! not there. A cluster without a summary has no known room: it counts as none, as in stock.
//!
//! The summary is as old as the last report, so that several moves at once may count on the same room.

use std::collections::BTreeMap;

use api_types::cluster::{Cluster, ResourceModel, ResourceSummary};
use api_types::work::ReplicaRequirements;
use failover_core::quantity::{Amount, Grain};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

const CPU: &str = "cpu";
const PODS: &str = "pods";

/// The room of a cluster for replicas of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// So many more fit.
    Replicas(i64),
    /// The cluster has reported no resources.
    NotReported,
}

impl Room {
    /// So many more fit for sure.
    #[must_use]
    pub fn replicas(self) -> i64 {
        match self {
            Self::Replicas(count) => count,
            Self::NotReported => 0,
        }
    }
}

/// How many more replicas with these requirements `cluster` has room for; without requirements only pods count.
#[must_use]
pub fn room(cluster: &Cluster, requirements: Option<&ReplicaRequirements>) -> Room {
    let Some(summary) = cluster
        .status
        .as_ref()
        .and_then(|status| status.resource_summary.as_ref())
    else {
        return Room::NotReported;
    };
    let pods = free(summary, PODS).map_or(0, |free| free.grains(Grain::Whole));
    let requests = Requests::of(requirements);
    let by_resources = if pods <= 0 || requests.0.is_empty() {
        i128::MAX
    } else {
        let models = &cluster.spec.resource_models;
        by_grades(summary, models, &requests).unwrap_or_else(|| by_sums(summary, &requests))
    };
    Room::Replicas(i64::try_from(pods.min(by_resources).max(0)).unwrap_or(i64::MAX))
}

/// What one replica asks for: only what is more than nothing.
struct Requests<'a>(Vec<(&'a str, Amount)>);

impl<'a> Requests<'a> {
    fn of(requirements: Option<&'a ReplicaRequirements>) -> Self {
        let requests = requirements.map(|requirements| &requirements.resource_request);
        let readable = requests.into_iter().flatten().filter_map(|(name, quantity)| {
            let amount = Amount::read(quantity)?;
            amount.is_positive().then_some((name.as_str(), amount))
        });
        Self(readable.collect())
    }
}

/// A CPU is counted in thousandths, everything else in whole units.
fn grain(resource: &str) -> Grain {
    if resource == CPU {
        Grain::Thousandth
    } else {
        Grain::Whole
    }
}

/// How often `request` goes into `amount`.
fn times(resource: &str, amount: Amount, request: Amount) -> i128 {
    let grain = grain(resource);
    amount.grains(grain).max(0) / request.grains(grain).max(1)
}

/// What is free of a resource; nothing where the cluster does not have it.
fn free(summary: &ResourceSummary, resource: &str) -> Option<Amount> {
    let read = |amounts: &BTreeMap<String, Quantity>| amounts.get(resource).and_then(Amount::read);
    let allocatable = read(&summary.allocatable)?;
    let taken = [&summary.allocated, &summary.allocating].map(|amounts| read(amounts).unwrap_or(Amount::ZERO));
    Some(taken.into_iter().fold(allocatable, Amount::minus))
}

fn by_sums(summary: &ResourceSummary, requests: &Requests<'_>) -> i128 {
    let each = requests
        .0
        .iter()
        .map(|(name, request)| free(summary, name).map_or(0, |free| times(name, free, *request)));
    each.min().unwrap_or(i128::MAX)
}

/// Nothing where the grades say nothing about what is asked for.
fn by_grades(summary: &ResourceSummary, models: &[ResourceModel], requests: &Requests<'_>) -> Option<i128> {
    if summary.allocatable_modelings.is_empty() {
        return None;
    }
    let floors: Vec<BTreeMap<&str, Amount>> = models.iter().map(floors).collect();
    let known = |name: &str| floors.iter().all(|floors| floors.contains_key(name));
    if floors.is_empty() || !requests.0.iter().all(|(name, _)| known(name)) {
        return None;
    }
    let holds_one = |floors: &BTreeMap<&str, Amount>, (name, request): &(&str, Amount)| {
        floors
            .get(name)
            .is_some_and(|floor| !request.minus(*floor).is_positive())
    };
    // Of each resource the first grade that holds one replica; the last of these is where counting begins.
    let mut first = 0;
    for request in &requests.0 {
        match floors.iter().position(|floors| holds_one(floors, request)) {
            Some(grade) => first = first.max(grade),
            None => return Some(0),
        }
    }
    let nodes = summary.allocatable_modelings.iter();
    let counted = floors.iter().zip(nodes).skip(first).map(|(floors, nodes)| {
        let on_one = requests
            .0
            .iter()
            .map(|(name, request)| floors.get(name).map_or(0, |floor| times(name, *floor, *request)));
        // A node of a grade that counts holds one.
        i128::from(nodes.count.max(0)).saturating_mul(on_one.min().unwrap_or(0).max(1))
    });
    Some(counted.fold(0, i128::saturating_add))
}

/// The lower bounds of a grade, by resource.
fn floors(model: &ResourceModel) -> BTreeMap<&str, Amount> {
    let ranges = model.ranges.iter();
    ranges
        .filter_map(|range| Some((range.name.as_str(), Amount::read(&range.min)?)))
        .collect()
}

#[cfg(test)]
mod tests;
