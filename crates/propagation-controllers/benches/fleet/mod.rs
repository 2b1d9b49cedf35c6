//! ConfigMaps on a simulated fleet: propagation as a process, and a hand that places bindings as a scheduler would.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use controller_kit::{KitFlags, Running};
use jiff::Timestamp;
use kube_sandbox::WriteRecord;
use propagation_controllers::{Flags, controllers};
use serde_json::{Value, json};
use test_bench::Bench;

/// As which the process asks, the control plane and the members.
pub const COMPONENT: &str = "propagation";
pub const NAMESPACE: &str = "shop";

/// The size of a benchmark; a twentieth of it in a build that is not optimized, to see that it works.
pub const fn size(full: usize) -> usize {
    if cfg!(debug_assertions) {
        full.div_ceil(20)
    } else {
        full
    }
}

pub fn member(number: usize) -> String {
    format!("member{number:03}")
}

/// Name of a ConfigMap.
pub fn config(number: usize) -> String {
    format!("settings-{number:05}")
}

/// A fleet of so many Ready members, and a policy for all ConfigMaps; propagation does not run yet.
pub fn fleet(members: usize) -> Bench {
    let names: Vec<String> = (0..members).map(member).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bench = Bench::new(&names);
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    bench.put(namespace(NAMESPACE));
    for name in names {
        bench.put(namespace(&format!("karmada-es-{name}")));
        bench.put(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "karmada-cluster", "name": name},
            "data": {"token": "dG9rZW4="}}),
        );
        let ready = json!({"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": bench.started});
        bench.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "apiEndpoint": format!("http://{name}.sandbox"),
                "secretRef": {"namespace": "karmada-cluster", "name": name}},
            "status": {"conditions": [ready]}}),
        );
    }
    bench.put(
        json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": NAMESPACE, "name": "all"},
        "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]}}),
    );
    bench
}

pub async fn start(bench: &Bench, flags: KitFlags) -> Running {
    bench
        .process(COMPONENT, "p", flags)
        .controllers(controllers(Flags::default()))
        .start()
        .await
        .unwrap()
}

pub fn put_config(bench: &Bench, number: usize, value: &str) {
    bench.put(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": NAMESPACE, "name": config(number)},
        "data": {"value": value}}),
    );
}

/// Places the ConfigMap's binding, which must be there.
pub fn place(bench: &Bench, number: usize, clusters: &[String]) {
    let mut binding = binding(bench, number);
    let clusters: Vec<Value> = clusters.iter().map(|name| json!({"name": name})).collect();
    binding["spec"]["clusters"] = json!(clusters);
    let mut binding = bench.put(binding);
    binding["status"]["schedulerObservedGeneration"] = binding["metadata"]["generation"].clone();
    binding["status"]["conditions"] = json!([{"type": "Scheduled", "status": "True", "reason": "Success", "message": "",
        "lastTransitionTime": bench.started}]);
    bench.put(binding);
}

pub fn binding(bench: &Bench, number: usize) -> Value {
    let name = format!("{}-configmap", config(number));
    let found = bench
        .plane()
        .get("work.karmada.io/v1alpha2", "ResourceBinding", Some(NAMESPACE), &name);
    found.unwrap_or_else(|| panic!("no binding {name}"))
}

/// When a member's copy was last written, by the member's own log.
pub fn written_at(bench: &Bench, member: &str, since: Timestamp) -> Option<Timestamp> {
    let writes = bench.member(member).faults().writes();
    let of_copy = |write: &&WriteRecord| write.resource == "configmaps" && write.changed && write.at >= since;
    writes.iter().filter(of_copy).map(|write| write.at).max()
}
