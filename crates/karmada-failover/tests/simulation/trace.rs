//! What happened, for those who look for the reason of a failure.

use std::fmt::Write as _;
use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use kube::{Api, ResourceExt};
use kube_sandbox::rules::{Seen, follow};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::common::World;

/// Lines with their times. Clones write the same ones.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    /// Adds a line.
    pub fn say(&self, world: &World, what: impl AsRef<str>) {
        self.line(world.clock.now(), what.as_ref());
    }

    fn line(&self, at: jiff::Timestamp, what: &str) {
        self.0.lock().push(format!("{at:.1} {what}"));
    }

    /// All lines.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    /// Follows Clusters and bindings: a line for each change of what matters here.
    pub fn follow(&self, world: &World) -> JoinSet<()> {
        let mut followers = JoinSet::new();
        let mut look = Looking {
            trace: self.clone(),
            clock: world.clock.clone(),
            last: Default::default(),
        };
        let clusters: Api<Cluster> = Api::all(world.client());
        followers.spawn(follow(clusters, move |seen| match seen {
            Seen::Stored(cluster) => look.changed(&cluster.name_any(), cluster_line(&cluster)),
            Seen::Gone(cluster) => look.changed(&cluster.name_any(), "gone".to_owned()),
        }));
        let mut look = Looking {
            trace: self.clone(),
            clock: world.clock.clone(),
            last: Default::default(),
        };
        let bindings: Api<Binding> = Api::all_with(world.client(), &BindingKind::Namespaced);
        followers.spawn(follow(bindings, move |seen| match seen {
            Seen::Stored(binding) => look.changed(&binding.name_any(), binding_line(&binding)),
            Seen::Gone(binding) => look.changed(&binding.name_any(), "gone".to_owned()),
        }));
        followers
    }
}

struct Looking {
    trace: Trace,
    clock: controller_kit::Clock,
    last: std::collections::BTreeMap<String, String>,
}

impl Looking {
    fn changed(&mut self, name: &str, line: String) {
        if self.last.get(name) != Some(&line) {
            self.trace.line(self.clock.now(), &format!("{name}: {line}"));
            self.last.insert(name.to_owned(), line);
        }
    }
}

fn cluster_line(cluster: &Cluster) -> String {
    let ready = cluster
        .condition("Ready")
        .map_or("-", |condition| condition.status.as_str());
    let mut line = format!("Ready {ready}, taints");
    for taint in &cluster.spec.taints {
        let at = taint
            .time_added
            .as_ref()
            .map(|time| time.0.to_string())
            .unwrap_or_default();
        let _ = write!(line, " {}:{}@{at}", taint.key, taint.effect);
    }
    line
}

fn binding_line(binding: &Binding) -> String {
    let mut line = format!("x{} on", binding.replicas());
    for target in &binding.spec.clusters {
        let _ = write!(line, " {}:{}", target.name, target.replicas);
    }
    line.push_str(", tasks");
    for task in &binding.spec.graceful_eviction_tasks {
        let _ = write!(line, " {}/{:?}", task.from_cluster, task.effective_purge_mode());
    }
    line.push_str(", status");
    for item in binding.status.iter().flat_map(|status| &status.aggregated_status) {
        let health = item.health.as_ref().map_or("-", |health| health.as_str());
        let _ = write!(
            line,
            " {}:{}/{health}",
            item.cluster_name,
            if item.applied { "applied" } else { "not-applied" }
        );
    }
    if binding.is_being_deleted() {
        line.push_str(", being deleted");
    }
    line
}
