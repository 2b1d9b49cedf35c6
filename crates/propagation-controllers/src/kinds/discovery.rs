//! Which kinds an API server serves, learnt from it as they are needed.
//!
//! Guarantees: only an answer says that a kind is not served, never an error; each group version is asked once, and
//! again only for a kind that its last answer did not have, at most every [`AGAIN_FOR_THE_UNKNOWN`]; those who ask at the
//! same time share a request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::{api_errors, durations::format_duration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::Client;
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use super::{Kind, KindScope, group_of};

/// How soon a group version is asked again for a kind that it did not have.
pub const AGAIN_FOR_THE_UNKNOWN: Duration = Duration::from_secs(10);
/// Time limit of one question.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Objects of a kind can only be kept where these are allowed.
const NEEDED: [&str; 3] = ["list", "watch", "create"];

/// Why it is not known whether a kind is served.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The server refused to answer, or was not reached.
    #[error(
        "cannot ask the API server which kinds {api_version} has: {}",
        api_errors::one_line(source)
    )]
    Unanswered {
        /// The group version asked for.
        api_version: String,
        /// What came instead.
        source: kube::Error,
    },
    /// No answer came in time.
    #[error(
        "cannot ask the API server which kinds {api_version} has: no answer within {}",
        format_duration(ANSWER_WITHIN)
    )]
    TimedOut {
        /// The group version asked for.
        api_version: String,
    },
}

/// What an API server serves. Clones are the same.
#[derive(Clone)]
pub struct Kinds {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    answers: RwLock<BTreeMap<String, Answer>>,
    /// Held while a question about that group version is under way: one that hangs delays no other.
    asking: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

struct Answer {
    kinds: BTreeMap<String, Kind>,
    at: Instant,
}

impl Kinds {
    /// What the server of `client` serves. Nothing is asked yet.
    #[must_use]
    pub fn of(client: Client) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                answers: RwLock::default(),
                asking: Mutex::default(),
            }),
        }
    }

    /// The kind, as far as it is known; no request is made.
    #[must_use]
    pub fn find(&self, api_version: &str, kind: &str) -> Option<Kind> {
        self.inner.answers.read().get(api_version)?.kinds.get(kind).cloned()
    }

    /// The kind, asked of the server when it is not known; `None`: the server does not serve it, or not so that its
    /// objects can be kept.
    ///
    /// # Errors
    /// [`DiscoveryError`] when the server could not be asked.
    pub async fn look_up(&self, api_version: &str, kind: &str) -> Result<Option<Kind>, DiscoveryError> {
        if let Some(settled) = self.settled(api_version, kind) {
            return Ok(settled);
        }
        let turn = self
            .inner
            .asking
            .lock()
            .entry(api_version.to_owned())
            .or_default()
            .clone();
        let _asking = turn.lock().await;
        // Somebody may have asked meanwhile.
        if let Some(settled) = self.settled(api_version, kind) {
            return Ok(settled);
        }
        let kinds = self.ask(api_version).await?;
        let found = kinds.get(kind).cloned();
        let at = Instant::now();
        let answer = Answer { kinds, at };
        self.inner.answers.write().insert(api_version.to_owned(), answer);
        Ok(found)
    }

    /// Forgets what was answered about a group, all its versions: it may be different now.
    pub fn forget_group(&self, group: &str) {
        let mut answers = self.inner.answers.write();
        answers.retain(|api_version, _| group_of(api_version) != group);
    }

    /// What is known without a question: the kind, or that it was not there a moment ago.
    fn settled(&self, api_version: &str, kind: &str) -> Option<Option<Kind>> {
        let answers = self.inner.answers.read();
        let answer = answers.get(api_version)?;
        match answer.kinds.get(kind) {
            Some(kind) => Some(Some(kind.clone())),
            None => (answer.at.elapsed() < AGAIN_FOR_THE_UNKNOWN).then_some(None),
        }
    }

    async fn ask(&self, api_version: &str) -> Result<BTreeMap<String, Kind>, DiscoveryError> {
        let client = &self.inner.client;
        let question = async {
            if api_version.contains('/') {
                client.list_api_group_resources(api_version).await
            } else {
                client.list_core_api_resources(api_version).await
            }
        };
        let answered = tokio::time::timeout(ANSWER_WITHIN, question).await;
        let api_version = api_version.to_owned();
        match answered {
            Err(_) => Err(DiscoveryError::TimedOut { api_version }),
            Ok(Err(error)) if api_errors::is_not_found(&error) => Ok(BTreeMap::new()),
            Ok(Err(source)) => Err(DiscoveryError::Unanswered { api_version, source }),
            Ok(Ok(list)) => Ok(list
                .resources
                .iter()
                .filter(|resource| can_be_kept(resource))
                .map(|resource| (resource.kind.clone(), kind_of(&api_version, resource)))
                .collect()),
        }
    }
}

/// Not a part of another resource, and with the verbs that are needed.
fn can_be_kept(resource: &APIResource) -> bool {
    let allowed = |verb: &&str| resource.verbs.iter().any(|allowed| allowed == verb);
    !resource.name.contains('/') && NEEDED.iter().all(allowed)
}

fn kind_of(api_version: &str, resource: &APIResource) -> Kind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let scope = if resource.namespaced {
        KindScope::Namespaced
    } else {
        KindScope::Cluster
    };
    Kind::new(group, version, &resource.kind, &resource.name, scope)
}

#[cfg(test)]
mod tests {
    use controller_kit::Clock;
    use kube_sandbox::{Effect, Match, Sandbox, SandboxOptions};
    use serde_json::{Value, json};

    use super::*;

    fn sandbox() -> Sandbox {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now())))
    }

    fn widgets() -> Value {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.io"},
            "spec": {"group": "example.io", "scope": "Cluster", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_version_is_asked_once_and_again_for_what_it_lacked() {
        let sandbox = sandbox();
        let kinds = Kinds::of(sandbox.client());
        assert_eq!(kinds.find("apps/v1", "Deployment"), None, "nothing is asked to find");
        let deployment = kinds.look_up("apps/v1", "Deployment").await.unwrap().unwrap();
        assert_eq!(
            (deployment.plural(), deployment.scope()),
            ("deployments", KindScope::Namespaced)
        );
        assert_eq!(kinds.find("apps/v1", "Deployment"), Some(deployment));
        assert_eq!(
            kinds.look_up("v1", "ConfigMap").await.unwrap().unwrap().plural(),
            "configmaps"
        );

        assert_eq!(kinds.look_up("example.io/v1", "Widget").await.unwrap(), None);
        sandbox.create(widgets()).unwrap();
        assert_eq!(
            kinds.look_up("example.io/v1", "Widget").await.unwrap(),
            None,
            "asked a moment ago"
        );
        tokio::time::advance(AGAIN_FOR_THE_UNKNOWN).await;
        let widget = kinds.look_up("example.io/v1", "Widget").await.unwrap().unwrap();
        assert_eq!((widget.plural(), widget.scope()), ("widgets", KindScope::Cluster));
        kinds.forget_group("example.io");
        assert_eq!(kinds.find("example.io/v1", "Widget"), None);
        assert!(
            kinds.look_up("example.io/v1", "Widget").await.unwrap().is_some(),
            "asked at once"
        );
    }

    // argo-cd#18480, C120: an error is not the answer that there is none.
    #[tokio::test(start_paused = true)]
    async fn an_error_is_no_answer() {
        let sandbox = sandbox();
        let kinds = Kinds::of(sandbox.client());
        let fault = sandbox.faults().inject(
            Match::any(),
            Effect::Error {
                code: 500,
                reason: "InternalError".to_owned(),
                message: "etcd".to_owned(),
            },
        );
        let error = kinds.look_up("apps/v1", "Deployment").await.unwrap_err().to_string();
        assert!(
            error.starts_with("cannot ask the API server which kinds apps/v1 has"),
            "{error}"
        );
        sandbox.faults().remove(fault);
        assert!(
            kinds.look_up("apps/v1", "Deployment").await.unwrap().is_some(),
            "asked again at once"
        );
    }
}
