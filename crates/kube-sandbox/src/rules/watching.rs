//! A checker that follows the objects by itself.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, BindingKind};
use jiff::Timestamp;
use kube::{Api, Client, Resource};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::task::{AbortHandle, JoinSet};

use super::checker::{Checker, Violation};
use super::follow::{Seen, follow_telling};
use super::settings::Settings;

/// Where the time comes from: simulated in tests.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Follows clusters, policies and bindings until it is dropped or finished.
pub struct Watching {
    checker: Arc<Mutex<Checker>>,
    now: Now,
    followers: Vec<Follower>,
    tasks: JoinSet<()>,
}

/// Who follows one kind.
struct Follower {
    kind: &'static str,
    has_listed: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Watching {
    /// Starts to watch what `client` sees.
    #[must_use]
    pub fn start(client: &Client, settings: Settings, now: Now) -> Self {
        let mut watching = Self {
            checker: Arc::new(Mutex::new(Checker::new(settings))),
            now,
            followers: Vec::new(),
            tasks: JoinSet::new(),
        };
        let (checker, now) = (watching.checker.clone(), watching.now.clone());
        let shared = || (checker.clone(), now.clone());
        {
            let (checker, now) = shared();
            let clusters: Api<Cluster> = Api::all(client.clone());
            watching.follow("Cluster", clusters, move |seen| checker.lock().see_cluster(seen, now()));
        }
        {
            let (checker, now) = shared();
            let policies: Api<ClusterTaintPolicy> = Api::all(client.clone());
            watching.follow("ClusterTaintPolicy", policies, move |seen| {
                checker.lock().see_policy(seen, now());
            });
        }
        for (kind, name) in [
            (BindingKind::Namespaced, "ResourceBinding"),
            (BindingKind::Cluster, "ClusterResourceBinding"),
        ] {
            let (checker, now) = shared();
            let bindings: Api<Binding> = Api::all_with(client.clone(), &kind);
            watching.follow(name, bindings, move |seen| checker.lock().see_binding(seen, now()));
        }
        watching
    }

    fn follow<K>(&mut self, kind: &'static str, api: Api<K>, see: impl FnMut(Seen<K>) + Send + 'static)
    where
        K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let has_listed = Arc::new(AtomicBool::new(false));
        let listed = has_listed.clone();
        let task = self
            .tasks
            .spawn(follow_telling(api, see, move || listed.store(true, Ordering::Relaxed)));
        self.followers.push(Follower { kind, has_listed, task });
    }

    /// Evictions seen so far: when, which binding, from where.
    #[must_use]
    pub fn evictions(&self) -> Vec<(Timestamp, BindingKey, String)> {
        self.checker.lock().evictions().to_vec()
    }

    /// Stops and says what was broken; empty means that every rule held. Where a kind was not seen at all, or somebody
    /// stopped looking, nobody knows whether they did: that is said, too.
    #[must_use]
    pub fn finish(self) -> Vec<Violation> {
        let now = (self.now)();
        let mut violations = self.checker.lock().finish(now);
        for follower in &self.followers {
            let what = if follower.task.is_finished() {
                "stopped being followed"
            } else if !follower.has_listed.load(Ordering::Relaxed) {
                "could not be listed"
            } else {
                continue;
            };
            violations.push(Violation {
                rule: 0,
                at: now,
                what: format!("the rules were not checked: {} {what}", follower.kind),
            });
        }
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sandbox, SandboxOptions};

    #[tokio::test(start_paused = true)]
    async fn what_could_not_be_seen_is_not_in_order() {
        let now: Now = Arc::new(|| Timestamp::UNIX_EPOCH);
        // It serves none of our kinds.
        let sandbox = Sandbox::new(SandboxOptions::new(now.clone()));
        let watching = Watching::start(&sandbox.observer(), Settings::exact(1.0), now);
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        let said: Vec<String> = watching
            .finish()
            .iter()
            .map(|violation| violation.what.clone())
            .collect();
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said[0].ends_with("Cluster could not be listed"), "{said:?}");
    }
}
