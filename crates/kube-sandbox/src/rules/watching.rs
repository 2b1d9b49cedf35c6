//! A checker that follows the objects by itself.

use std::sync::Arc;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, BindingKind};
use jiff::{SignedDuration, Timestamp};
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::checker::{Checker, Violation};
use super::follow::follow;
use super::settings::Settings;

/// Where the time comes from: simulated in tests.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Follows clusters, policies and bindings until it is dropped or finished.
pub struct Watching {
    checker: Arc<Mutex<Checker>>,
    now: Now,
    _followers: JoinSet<()>,
}

impl Watching {
    /// Starts to watch what `client` sees.
    #[must_use]
    pub fn start(client: &Client, settings: Settings, now: Now) -> Self {
        let checker = Arc::new(Mutex::new(Checker::new(settings)));
        let mut followers = JoinSet::new();
        {
            let (checker, now) = (checker.clone(), now.clone());
            let clusters: Api<Cluster> = Api::all(client.clone());
            followers.spawn(follow(clusters, move |seen| checker.lock().see_cluster(seen, now())));
        }
        {
            let (checker, now) = (checker.clone(), now.clone());
            let policies: Api<ClusterTaintPolicy> = Api::all(client.clone());
            followers.spawn(follow(policies, move |seen| checker.lock().see_policy(seen, now())));
        }
        for kind in BindingKind::ALL {
            let (checker, now) = (checker.clone(), now.clone());
            let bindings: Api<Binding> = Api::all_with(client.clone(), &kind);
            followers.spawn(follow(bindings, move |seen| checker.lock().see_binding(seen, now())));
        }
        Self {
            checker,
            now,
            _followers: followers,
        }
    }

    /// Evictions seen so far: when, which binding, from where.
    #[must_use]
    pub fn evictions(&self) -> Vec<(Timestamp, BindingKey, String)> {
        self.checker.lock().evictions().to_vec()
    }

    /// The version with this resourceVersion is a person's work: what it changes is not judged. To be called before
    /// anything else may run.
    pub fn by_hand(&self, resource_version: &str) {
        self.checker.lock().by_hand(resource_version);
    }

    /// The wall clock was stepped by so much, just now.
    pub fn clock_stepped(&self, by: SignedDuration) {
        self.checker.lock().clock_stepped(by);
    }

    /// Stops and says what was broken; empty means that every rule held.
    #[must_use]
    pub fn finish(self) -> Vec<Violation> {
        let now = (self.now)();
        self.checker.lock().finish(now)
    }
}
