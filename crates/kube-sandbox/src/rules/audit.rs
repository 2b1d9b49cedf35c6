//! A checker that reads a sandbox's journal.
//!
//! Guarantee: what is judged is everything that was stored until the moment of judging, each version as of the time at
//! which it was stored. Nothing has to be waited for, and no fault of watches or lists can hide anything.

use api_types::BindingKey;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::checker::{Checker, Violation};
use super::follow::Seen;
use super::settings::Settings;
use super::versions::unconditional_writes;
use crate::faults::Faults;
use crate::journal::{Entry, Journal};
use crate::sandbox::{Now, Sandbox};

const CLUSTERS: &str = "cluster.karmada.io/clusters";
const POLICIES: &str = "policy.karmada.io/clustertaintpolicies";
const BINDINGS: [&str; 2] = [
    "work.karmada.io/resourcebindings",
    "work.karmada.io/clusterresourcebindings",
];

/// The rules over one sandbox, from the moment at which it is made. What no client wrote (but an observer, or the test
/// through the sandbox itself) is a person's work and not judged.
pub struct Audit {
    journal: Journal,
    faults: Faults,
    now: Now,
    checker: Mutex<Checker>,
    /// How many of the blind writes were told.
    blind_told: Mutex<usize>,
}

impl Audit {
    /// Begins to look.
    #[must_use]
    pub fn of(sandbox: &Sandbox, settings: Settings) -> Self {
        let mut checker = Checker::new(settings);
        let faults = sandbox.faults();
        checker.by_hand(move |version| !faults.wrote(version));
        Self {
            journal: sandbox.journal(&[CLUSTERS, POLICIES, BINDINGS[0], BINDINGS[1]]),
            faults: sandbox.faults(),
            now: sandbox.inner.now.clone(),
            checker: Mutex::new(checker),
            blind_told: Mutex::new(0),
        }
    }

    /// Changes what the checked system is said to be configured to do, from now on.
    pub fn set(&self, change: impl FnOnce(&mut Settings)) {
        change(self.read().settings_mut());
    }

    /// Evictions so far: when, which binding, from where.
    #[must_use]
    pub fn evictions(&self) -> Vec<(Timestamp, BindingKey, String)> {
        self.read().evictions().to_vec()
    }

    /// The wall clock was stepped by so much, just now.
    pub fn clock_stepped(&self, by: SignedDuration) {
        self.read().clock_stepped(by);
    }

    /// What was broken and not told before; empty means that every rule held.
    #[must_use]
    pub fn finish(&self) -> Vec<Violation> {
        let mut violations = self.read().finish((self.now)());
        let mut told = self.blind_told.lock();
        let blind = self.faults.blind_writes();
        violations.extend(unconditional_writes(&blind[*told..]));
        *told = blind.len();
        violations
    }

    /// The checker, once it has seen everything.
    fn read(&self) -> parking_lot::MutexGuard<'_, Checker> {
        let mut checker = self.checker.lock();
        for entry in self.journal.take() {
            let at = entry.at;
            let seen = match entry.resource {
                CLUSTERS => seen(&entry).map(|cluster| checker.see_cluster(cluster, at)),
                POLICIES => seen(&entry).map(|policy| checker.see_policy(policy, at)),
                _ => seen(&entry).map(|binding| checker.see_binding(binding, at)),
            };
            if let Err(error) = seen {
                checker.could_not_look(&format!("{} {}: {error}", entry.resource, entry.key()), at);
            }
        }
        checker
    }
}

fn seen<K: DeserializeOwned>(entry: &Entry) -> Result<Seen<K>, serde_json::Error> {
    let object = entry.object()?;
    Ok(if entry.is_gone {
        Seen::Gone(object)
    } else {
        Seen::Stored(object)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use api_types::cluster::Cluster;
    use kube::Api;
    use kube::api::{Patch, PatchParams};
    use serde_json::json;

    use super::*;
    use crate::SandboxOptions;

    fn sandbox() -> Sandbox {
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(|| Timestamp::UNIX_EPOCH)));
        for crd in api_types::crds() {
            sandbox.apply_crd(json!(crd)).unwrap();
        }
        sandbox
    }

    fn told(audit: &Audit) -> Vec<String> {
        audit.finish().iter().map(ToString::to_string).collect()
    }

    /// Also when the server's log was begun afresh meanwhile.
    #[tokio::test]
    async fn a_blind_write_is_told_once() {
        let sandbox = sandbox();
        let audit = Audit::of(&sandbox, Settings::exact(0.0));
        sandbox
            .put(
                json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
                "spec": {"syncMode": "Push"}}),
            )
            .unwrap();
        let patch = Patch::Merge(json!({"metadata": {"labels": {"k": "v"}}}));
        Api::<Cluster>::all(sandbox.client_named("rogue"))
            .patch("m1", &PatchParams::default(), &patch)
            .await
            .unwrap();
        sandbox.faults().reset_counts();
        let said = told(&audit);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("rogue wrote clusters -/m1"), "{said:?}");
        assert_eq!(told(&audit), [""; 0]);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_not_in_order() {
        let sandbox = sandbox();
        let audit = Audit::of(&sandbox, Settings::exact(0.0));
        // Anything goes, as on a server with another schema.
        let crds = api_types::crds();
        let clusters = crds.iter().find(|crd| crd.spec.names.plural == "clusters").unwrap();
        let mut crd = json!(clusters);
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        sandbox.apply_crd(crd).unwrap();
        sandbox
            .put(
                json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
                "spec": {"syncMode": "Push", "taints": "none"}}),
            )
            .unwrap();
        let said = told(&audit);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains("the rules were not checked: cluster.karmada.io/clusters m1"),
            "{said:?}"
        );
    }
}
