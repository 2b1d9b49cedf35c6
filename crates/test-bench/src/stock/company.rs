//! What stands beside our components: nothing, or a stock Karmada.
//!
//! A story that holds in both modes is written once, with the mode as a parameter of its stage: what the stage stores and
//! what its people patch goes through [`Company::object`] and [`Company::patch`], and stock's controllers write meanwhile,
//! at moments that are the same in every run. What such a story expects where everything is ours and a rule of the mode
//! excepts is asked of [`Company::expects`]; [`Excepted`] is all that there is of that.

use std::time::Duration;

use controller_kit::Mode;
use kube_sandbox::Sandbox;
use serde_json::Value;

use super::{StockActors, in_stocks_form, patch_in_stocks_form, serve_like_stock};

/// By which the moments of stock's writes are drawn, where nobody says another one.
const SEED: u64 = 1;
/// Stock's controllers write at most so long after one another.
const BETWEEN_WRITES: Duration = Duration::from_secs(4);

/// What stories expect where everything is ours, and what the rules say of it beside a stock Karmada.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excepted {
    /// A condition of ours stands on a binding at every moment, and is written as often as it says something new.
    ///
    /// Stock's scheduler "can drop our conditions", which "are re-asserted at most once a minute": for so long one may be
    /// missing, and so often one more is written.
    ConditionAtEveryMoment,
    /// `spec.clusters` is as ours wrote it, and who is not a scheduler writes it once.
    ///
    /// Stock's scheduler "can put a cluster back"; "a cluster found in both lists while its cause stands loses its
    /// spec.clusters entry again, the task stays, no token is spent". That is graceful eviction's work, and takes its time.
    ResultAtEveryMoment,
    /// A field of ours that the table of second homes does not name is stored: the mark of a task (`blockInHistory`),
    /// `suspended` of a ClusterTaintPolicy.
    ///
    /// Stock's controllers "read into typed structs and write whole objects back, so that every field that they do not know
    /// disappears".
    FieldWithoutSecondHome,
}

/// What stands beside our components. Stock's controllers end when it is dropped.
pub struct Company {
    mode: Mode,
    stock: Option<StockActors>,
}

impl Company {
    /// On a control plane on which nothing of Karmada's is stored yet.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    pub fn on(plane: &Sandbox, mode: Mode) -> Self {
        match mode {
            Mode::Standalone => Self { mode, stock: None },
            Mode::Beside => Self::of_stock(plane, SEED),
        }
    }

    /// A stock Karmada, whose controllers write at the moments that this seed draws.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    pub fn of_stock(plane: &Sandbox, seed: u64) -> Self {
        serve_like_stock(plane);
        let actors = StockActors::start(&plane.observer(), seed, BETWEEN_WRITES);
        Self {
            mode: Mode::Beside,
            stock: Some(actors),
        }
    }

    /// Fails where stock's controllers are to write and have not: what came out then says nothing about them. For stories
    /// that are long enough.
    ///
    /// # Panics
    /// Then.
    pub fn assert_wrote(&self) {
        if let Some(actors) = &self.stock {
            let [whole, parts] = actors.stored();
            assert!(
                whole > 0 && parts > 0,
                "the others wrote: {whole} whole objects, {parts} parts"
            );
        }
    }

    /// The mode that our components are to be started in.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether stories may expect this here.
    #[must_use]
    pub fn expects(&self, _: Excepted) -> bool {
        !self.mode.is_beside()
    }

    /// An object as its owner writes it here.
    #[must_use]
    pub fn object(&self, object: Value) -> Value {
        if self.mode.is_beside() {
            in_stocks_form(object)
        } else {
            object
        }
    }

    /// A merge patch of an object of this kind as its owner writes it here.
    #[must_use]
    pub fn patch(&self, kind: &str, patch: Value) -> Value {
        if self.mode.is_beside() {
            patch_in_stocks_form(kind, patch)
        } else {
            patch
        }
    }
}

#[cfg(test)]
mod tests {
    use api_types::cluster::Cluster;
    use api_types::work::Binding;
    use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::{Bench, paused};

    fn binding(spec: &Value) -> Value {
        let mut binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "default", "name": "web"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
        });
        for (field, value) in spec.as_object().unwrap() {
            binding["spec"][field] = value.clone();
        }
        binding
    }

    /// What is stored of this object, after this merge patch of it.
    fn stored(mode: Mode, object: &Value, patch: &Value) -> Value {
        paused(async {
            let bench = Bench::new(&[]);
            let company = Company::on(bench.plane(), mode);
            bench.put(company.object(object.clone()));
            let (kind, plural) = match object["kind"].as_str().unwrap() {
                "Cluster" => ("Cluster", "clusters"),
                kind => (kind, "resourcebindings"),
            };
            let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
            let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
            let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
                Some(namespace) => Api::namespaced_with(bench.client(), namespace, &resource),
                None => Api::all_with(bench.client(), &resource),
            };
            let name = object["metadata"]["name"].as_str().unwrap();
            let patch = Patch::Merge(company.patch(kind, patch.clone()));
            let stored = api.patch(name, &PatchParams::default(), &patch).await.unwrap();
            serde_json::to_value(stored).unwrap()
        })
    }

    #[rstest]
    #[case::failover(
        json!({"failover": {
            "cluster": {"tolerationSeconds": 30, "purgeMode": "Never"},
            "application": {"decisionConditions": {"tolerationSeconds": 5}, "purgeMode": "Immediately", "blockPredecessorSeconds": null},
        }}),
        json!({})
    )]
    #[case::failover_that_is_changed(
        json!({"failover": {"cluster": {"tolerationSeconds": 30}}}),
        json!({"spec": {"failover": {"cluster": {"tolerationSeconds": 7}}}})
    )]
    #[case::failover_that_is_taken_away(
        json!({"failover": {"application": {"decisionConditions": {"tolerationSeconds": 5}, "blockPredecessorSeconds": 9}}}),
        json!({"spec": {"failover": {"application": null}}})
    )]
    #[case::history(
        json!({"activeEvictionHistory": [{"clusterName": "m1", "creationTimestamp": "2026-01-01T00:00:00Z"}]}),
        json!({})
    )]
    #[case::history_that_is_taken_away(
        json!({"activeEvictionHistory": [{"clusterName": "m1", "creationTimestamp": "2026-01-01T00:00:00Z"}]}),
        json!({"spec": {"activeEvictionHistory": null}})
    )]
    fn a_binding_reads_the_same_in_both_modes(#[case] spec: Value, #[case] patch: Value) {
        let [alone, beside] = [Mode::Standalone, Mode::Beside].map(|mode| {
            let binding: Binding = serde_json::from_value(stored(mode, &binding(&spec), &patch)).unwrap();
            let spec = binding.spec;
            // No behavior at all, or one without a word, is the same.
            let failover = spec
                .failover
                .filter(|all| all.application.is_some() || all.cluster.is_some());
            (failover, spec.active_eviction_history)
        });
        assert_eq!(alone, beside);
    }

    #[rstest]
    #[case::both(json!([{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "PreferNoExecute"}]))]
    #[case::none(json!([]))]
    fn a_cluster_reads_the_same_in_both_modes(#[case] taints: Value) {
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
            "spec": {"syncMode": "Push", "taints": [{"key": "old", "effect": "PreferNoExecute"}]},
        });
        let patch = json!({"spec": {"taints": taints}});
        let [alone, beside] = [Mode::Standalone, Mode::Beside].map(|mode| {
            let cluster: Cluster = serde_json::from_value(stored(mode, &cluster, &patch)).unwrap();
            cluster.spec.taints
        });
        assert_eq!(alone, beside);
    }
}
