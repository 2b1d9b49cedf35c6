//! The stories, with each component as a process of its own, and what it asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use api_types::cluster::Cluster;
use controller_kit::Mode;
use karmada_failover::story::example::Pace;
use karmada_failover::story::scenario::{
    Scenario, application_failover, custom_kind, drain, no_target, worked_example,
};
use kube::Api;
use kube::api::DeleteParams;
use kube_sandbox::{Effect, Match};
use serde_json::json;

use crate::COMPONENTS;
use crate::common::{World, simulate};
use crate::log::{Asked, Log};
use crate::processes::start;
use crate::stage::{perform, world};

/// Who asked for what, in all stories. Beside a stock Karmada, that one is played by our own components that it has itself.
pub fn all(mode: Mode) -> BTreeMap<&'static str, BTreeSet<Asked>> {
    let all = Mutex::new(BTreeMap::<&'static str, BTreeSet<Asked>>::new());
    let mut stories = vec![
        worked_example::scenario(Pace::FAST),
        no_target::scenario(Pace::FAST),
        application_failover::scenario(Pace::FAST),
    ];
    if mode == Mode::Standalone {
        stories.extend([drain::scenario(Pace::FAST), custom_kind::scenario(Pace::FAST)]);
    }
    for story in stories {
        simulate(|| async {
            let asked = told(&story, mode).await;
            let mut all = all.lock().unwrap();
            for (component, log) in asked {
                all.entry(component).or_default().extend(log.all());
            }
        });
    }
    all.into_inner().unwrap()
}

/// One story, and what follows where nobody looks any more.
async fn told(scenario: &Scenario, mode: Mode) -> Vec<(&'static str, Log)> {
    let logs: Vec<(&'static str, Log)> = COMPONENTS.map(|(component, _)| (component, Log::default())).into();
    let world = world(scenario);
    let more: &[&str] = match mode {
        Mode::Standalone => &[],
        Mode::Beside => &["--beside-stock"],
    };
    let mut processes = Vec::new();
    for (component, log) in &logs {
        processes.push(start(&world, scenario, component, "0", log, more).await);
    }
    perform(&world, scenario, None).await;
    afterwards(&world).await;
    // Who starts again finds Leases and objects that are there.
    for process in processes.drain(..) {
        process.stop().await;
    }
    for (component, log) in &logs {
        processes.push(start(&world, scenario, component, "1", log, more).await);
    }
    tokio::time::sleep(Duration::from_secs(120)).await;
    world.finish(processes).await;
    logs
}

/// What happens in the life of a fleet and in none of the stories.
async fn afterwards(world: &World) {
    let plane = world.fleet.control_plane();
    // Somebody else is faster.
    for (component, _) in COMPONENTS {
        plane
            .faults()
            .inject_times(Match::writes().client(component), 0, 2, Effect::Conflict);
    }
    world.create(json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "look"},
        "spec": {"scope": "All", "reason": "looking into it"},
    }));
    // An agent that never comes, and is taken away again.
    world.create(json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "behind"},
        "spec": {"syncMode": "Pull"},
    }));
    world.create(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "behind", "namespace": "karmada-cluster"},
        "spec": {"holderIdentity": "behind", "leaseDurationSeconds": 40},
    }));
    tokio::time::sleep(Duration::from_secs(100)).await;
    Api::<Cluster>::all(world.client())
        .delete("behind", &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(100)).await;
}
