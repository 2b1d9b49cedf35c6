//! How fast workloads move, read off the versions of their bindings as they are seen.

use std::collections::BTreeMap;

use api_types::work::Binding;
use kube::ResourceExt;

use crate::statistics::p99;

/// What was seen of the moves away from one cluster.
#[derive(Clone, Debug)]
pub struct Moves {
    from: String,
    bindings: BTreeMap<String, Move>,
}

/// Of one binding. Times are in seconds, since whenever.
#[derive(Clone, Copy, Debug, Default)]
struct Move {
    stood_there: bool,
    evicted: Option<f64>,
    placed_anew: Option<f64>,
}

impl Moves {
    /// Nothing has been seen yet.
    #[must_use]
    pub fn from(cluster: &str) -> Self {
        Self {
            from: cluster.to_owned(),
            bindings: BTreeMap::new(),
        }
    }

    /// This version of a binding is seen at `at`; versions of one binding come in order.
    pub fn see(&mut self, at: f64, binding: &Binding) {
        let told = self.bindings.entry(binding.name_any()).or_default();
        if binding.spec.clusters.iter().any(|target| target.name == self.from) {
            told.stood_there = true;
            return;
        }
        if !told.stood_there {
            return;
        }
        let evicted = *told.evicted.get_or_insert(at);
        if !binding.spec.clusters.is_empty() {
            // One that is placed anew before anybody has seen it without a place was so at once.
            told.placed_anew.get_or_insert(at.max(evicted));
        }
    }

    /// How many were seen on the cluster.
    #[must_use]
    pub fn stood(&self) -> usize {
        self.bindings.values().filter(|told| told.stood_there).count()
    }

    /// How many have left.
    #[must_use]
    pub fn evicted(&self) -> usize {
        self.bindings.values().filter(|told| told.evicted.is_some()).count()
    }

    /// How many have another place.
    #[must_use]
    pub fn placed_anew(&self) -> usize {
        self.bindings.values().filter(|told| told.placed_anew.is_some()).count()
    }

    /// Evictions a second, from the first one to the last; `None` of fewer than two.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "hundreds")]
    pub fn rate(&self) -> Option<f64> {
        let mut times: Vec<f64> = self.bindings.values().filter_map(|told| told.evicted).collect();
        times.sort_by(f64::total_cmp);
        let (first, last) = (times.first()?, times.last()?);
        (last > first).then(|| (times.len() - 1) as f64 / (last - first))
    }

    /// Seconds from an eviction until another place is chosen, the 99th percentile of those that have one; `None` without.
    #[must_use]
    pub fn until_placed(&self) -> Option<f64> {
        let of_one = |told: &Move| Some(told.placed_anew? - told.evicted?);
        let times: Vec<f64> = self.bindings.values().filter_map(of_one).collect();
        (!times.is_empty()).then(|| p99(times))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn binding(name: &str, clusters: &[&str]) -> Binding {
        let clusters: Vec<_> = clusters.iter().map(|name| json!({"name": name})).collect();
        serde_json::from_value(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "shop", "name": name},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": name}, "clusters": clusters},
        }))
        .unwrap()
    }

    fn is_about(found: Option<f64>, wanted: f64) {
        let found = found.unwrap();
        assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
    }

    #[test]
    fn an_eviction_and_the_next_place_are_told_apart() {
        let mut moves = Moves::from("m1");
        for name in ["a", "b"] {
            moves.see(0.0, &binding(name, &[]));
            moves.see(1.0, &binding(name, &["m1"]));
        }
        assert_eq!(
            (moves.stood(), moves.evicted(), moves.placed_anew()),
            (2, 0, 0),
            "no place yet is no eviction"
        );
        assert!(moves.rate().is_none() && moves.until_placed().is_none());
        moves.see(10.0, &binding("a", &[]));
        moves.see(10.2, &binding("a", &["m2"]));
        moves.see(10.3, &binding("a", &["m2"]));
        moves.see(10.5, &binding("b", &[]));
        assert_eq!((moves.evicted(), moves.placed_anew()), (2, 1));
        is_about(moves.rate(), 2.0);
        is_about(moves.until_placed(), 0.2);
        moves.see(11.5, &binding("b", &["m3"]));
        is_about(moves.until_placed(), 1.0);
    }

    #[test]
    fn who_stood_elsewhere_does_not_count() {
        let mut moves = Moves::from("m1");
        moves.see(0.0, &binding("a", &["m2"]));
        moves.see(1.0, &binding("a", &[]));
        assert_eq!((moves.stood(), moves.evicted()), (0, 0));
    }
}
