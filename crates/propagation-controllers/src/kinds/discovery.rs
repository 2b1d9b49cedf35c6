//! Which kinds an API server serves, learnt from it as they are needed.
//!
//! Guarantees: only an answer says that a kind is not served, never an error; each group version is asked once, and
//! again only for a kind that its last answer did not have, at most every [`AGAIN_FOR_THE_UNKNOWN`]; those who ask at the
//! same time share a request, and while one hangs that has hung before nobody else waits for it.

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
/// A question that fails after less than this is asked again at once.
const SLOW_FAILURE: Duration = Duration::from_secs(1);
/// For how long a slow failure is the answer to all who ask.
const SLOW_FAILURE_COUNTS: Duration = Duration::from_secs(5);
/// Objects of a kind can only be kept where these are allowed.
const NEEDED: [&str; 3] = ["list", "watch", "create"];

/// Why it is not known whether a kind is served.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The server refused to answer, or was not reached.
    #[error(
        "cannot ask the API server which kinds {api_version} has: {}",
        api_errors::one_line(source)
    )]
    Unanswered {
        /// The group version, or group, asked for.
        api_version: String,
        /// What came instead.
        source: Arc<kube::Error>,
    },
    /// No answer came in time.
    #[error(
        "cannot ask the API server which kinds {api_version} has: no answer within {}",
        format_duration(ANSWER_WITHIN)
    )]
    TimedOut {
        /// The group version, or group, asked for.
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
    /// Group versions whose last question failed only after a while.
    slow: Mutex<BTreeMap<String, SlowFailure>>,
}

struct Answer {
    kinds: BTreeMap<String, Listed>,
    at: Instant,
}

struct Listed {
    kind: Kind,
    can_be_kept: bool,
}

#[derive(Clone)]
struct SlowFailure {
    error: DiscoveryError,
    at: Instant,
}

impl SlowFailure {
    fn counts(&self) -> bool {
        self.at.elapsed() < SLOW_FAILURE_COUNTS
    }
}

/// What is to be done with objects of a kind.
#[derive(Clone, Copy)]
enum Wish {
    /// Make, read and follow them.
    Keep,
    /// Remove what is there, which needs less.
    Remove,
}

impl Listed {
    fn fits(&self, wish: Wish) -> bool {
        match wish {
            Wish::Keep => self.can_be_kept,
            Wish::Remove => true,
        }
    }
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
                slow: Mutex::default(),
            }),
        }
    }

    /// The kind, as far as it is known; no request is made.
    #[must_use]
    pub fn find(&self, api_version: &str, kind: &str) -> Option<Kind> {
        let answers = self.inner.answers.read();
        let listed = answers.get(api_version)?.kinds.get(kind)?;
        listed.fits(Wish::Keep).then(|| listed.kind.clone())
    }

    /// The kind, asked of the server when it is not known; `None`: the server does not serve it, or not so that its
    /// objects can be kept.
    ///
    /// # Errors
    /// [`DiscoveryError`] when the server could not be asked.
    pub async fn look_up(&self, api_version: &str, kind: &str) -> Result<Option<Kind>, DiscoveryError> {
        self.answer(api_version, kind, Wish::Keep).await
    }

    /// The kind in whatever version of its group the server has it, `api_version` before others: an object is one in all
    /// versions. Also a kind of which no object could be made. `None`: no version of the group has it, by answers that are
    /// no older than this question.
    ///
    /// # Errors
    /// [`DiscoveryError`] when the server could not be asked.
    pub async fn look_up_in_any_version(&self, api_version: &str, kind: &str) -> Result<Option<Kind>, DiscoveryError> {
        let mut versions = self.versions_of(group_of(api_version)).await?;
        versions.sort_by_key(|version| version != api_version);
        for version in versions {
            self.inner
                .answers
                .write()
                .retain(|of, answer| *of != version || answer.kinds.contains_key(kind));
            if let Some(found) = self.answer(&version, kind, Wish::Remove).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn answer(&self, api_version: &str, kind: &str, wish: Wish) -> Result<Option<Kind>, DiscoveryError> {
        if let Some(settled) = self.settled(api_version, kind, wish) {
            return Ok(settled);
        }
        let turn = self
            .inner
            .asking
            .lock()
            .entry(api_version.to_owned())
            .or_default()
            .clone();
        let failed = |slow: SlowFailure| Err(slow.error);
        let _asking = match self.slow_failure(api_version) {
            None => turn.lock().await,
            Some(slow) if slow.counts() => return failed(slow),
            // One tries, and keeps nobody waiting.
            Some(slow) => match turn.try_lock() {
                Ok(asking) => asking,
                Err(_) => return failed(slow),
            },
        };
        // Somebody may have asked meanwhile.
        if let Some(settled) = self.settled(api_version, kind, wish) {
            return Ok(settled);
        }
        if let Some(slow) = self.slow_failure(api_version).filter(SlowFailure::counts) {
            return failed(slow);
        }
        let begun = Instant::now();
        let asked = self.ask(api_version).await;
        let at = Instant::now();
        let mut slow = self.inner.slow.lock();
        match asked {
            Ok(kinds) => {
                slow.remove(api_version);
                let found = kinds.get(kind).filter(|listed| listed.fits(wish));
                let found = found.map(|listed| listed.kind.clone());
                let answer = Answer { kinds, at };
                self.inner.answers.write().insert(api_version.to_owned(), answer);
                Ok(found)
            }
            Err(error) => {
                if begun.elapsed() < SLOW_FAILURE {
                    slow.remove(api_version);
                } else {
                    let error = error.clone();
                    slow.insert(api_version.to_owned(), SlowFailure { error, at });
                }
                Err(error)
            }
        }
    }

    fn slow_failure(&self, api_version: &str) -> Option<SlowFailure> {
        self.inner.slow.lock().get(api_version).cloned()
    }

    /// Forgets what was answered about a group, all its versions: it may be different now.
    pub fn forget_group(&self, group: &str) {
        let mut answers = self.inner.answers.write();
        answers.retain(|api_version, _| group_of(api_version) != group);
    }

    /// What is known without a question: the kind, or that it was not there a moment ago.
    fn settled(&self, api_version: &str, kind: &str, wish: Wish) -> Option<Option<Kind>> {
        let answers = self.inner.answers.read();
        let answer = answers.get(api_version)?;
        match answer.kinds.get(kind).filter(|listed| listed.fits(wish)) {
            Some(listed) => Some(Some(listed.kind.clone())),
            None => (answer.at.elapsed() < AGAIN_FOR_THE_UNKNOWN).then_some(None),
        }
    }

    async fn ask(&self, api_version: &str) -> Result<BTreeMap<String, Listed>, DiscoveryError> {
        let client = &self.inner.client;
        let question = async {
            let list = if api_version.contains('/') {
                client.list_api_group_resources(api_version).await
            } else {
                client.list_core_api_resources(api_version).await
            };
            match list {
                Err(error) if api_errors::is_not_found(&error) => Ok(Vec::new()),
                list => list.map(|list| list.resources),
            }
        };
        let mut kinds = BTreeMap::new();
        for resource in in_time(api_version, question).await? {
            // A part of another resource.
            if resource.name.contains('/') {
                continue;
            }
            let listed = Listed {
                kind: kind_of(api_version, &resource),
                can_be_kept: can_be_kept(&resource),
            };
            let before = kinds.get(&resource.kind);
            if before.is_none_or(|before: &Listed| !before.can_be_kept) {
                kinds.insert(resource.kind, listed);
            }
        }
        Ok(kinds)
    }

    /// The versions of a group that are served, as `apiVersion`s. That there is none is said by the list of all groups: a
    /// 404 could come from anything in between.
    async fn versions_of(&self, group: &str) -> Result<Vec<String>, DiscoveryError> {
        let client = &self.inner.client;
        let question = async {
            if group.is_empty() {
                return client.list_core_api_versions().await.map(|list| list.versions);
            }
            let groups = client.list_api_groups().await?.groups;
            let of_group = groups.into_iter().filter(|listed| listed.name == group);
            let versions = of_group.flat_map(|listed| listed.versions);
            Ok(versions.map(|version| version.group_version).collect())
        };
        in_time(if group.is_empty() { "v1" } else { group }, question).await
    }
}

async fn in_time<T>(about: &str, question: impl Future<Output = Result<T, kube::Error>>) -> Result<T, DiscoveryError> {
    let api_version = about.to_owned();
    match tokio::time::timeout(ANSWER_WITHIN, question).await {
        Err(_) => Err(DiscoveryError::TimedOut { api_version }),
        Ok(Err(source)) => Err(DiscoveryError::Unanswered {
            api_version,
            source: Arc::new(source),
        }),
        Ok(Ok(answer)) => Ok(answer),
    }
}

fn can_be_kept(resource: &APIResource) -> bool {
    let allowed = |verb: &&str| resource.verbs.iter().any(|allowed| allowed == verb);
    NEEDED.iter().all(allowed)
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

    // An object is one in all versions of its kind, and can be removed where it could not be made.
    #[tokio::test(start_paused = true)]
    async fn what_is_to_be_removed_is_looked_for_in_all_versions_and_with_fewer_verbs() {
        let sandbox = sandbox();
        let kinds = Kinds::of(sandbox.client());
        let version_of = async |api_version: &str, kind: &str| {
            let found = kinds.look_up_in_any_version(api_version, kind).await.unwrap();
            found.map(|kind| kind.api_version())
        };
        assert_eq!(version_of("example.io/v1beta1", "Widget").await, None);
        assert_eq!(kinds.look_up("example.io/v1", "Widget").await.unwrap(), None);
        sandbox.create(widgets()).unwrap();
        assert_eq!(
            version_of("example.io/v1beta1", "Widget").await.as_deref(),
            Some("example.io/v1"),
            "whatever was answered before it came"
        );
        assert_eq!(
            version_of("apps/v1beta2", "Deployment").await.as_deref(),
            Some("apps/v1")
        );
        assert_eq!(version_of("v1", "Widget").await, None);
        let review = ("authentication.k8s.io/v1", "TokenReview");
        assert_eq!(
            kinds.look_up(review.0, review.1).await.unwrap(),
            None,
            "there is nothing to keep"
        );
        assert_eq!(version_of(review.0, review.1).await.as_deref(), Some(review.0));
    }

    // A 404 for everything, as from a proxy, does not say that a kind is gone.
    #[tokio::test(start_paused = true)]
    async fn no_version_has_it_only_if_the_list_of_groups_says_so() {
        let sandbox = sandbox();
        let kinds = Kinds::of(sandbox.client());
        sandbox.faults().inject(
            Match::any(),
            Effect::Error {
                code: 404,
                reason: "NotFound".to_owned(),
                message: "no route".to_owned(),
            },
        );
        for api_version in ["example.io/v1", "v1"] {
            assert!(kinds.look_up_in_any_version(api_version, "Widget").await.is_err());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_hangs_is_waited_for_once() {
        let sandbox = sandbox();
        let kinds = Kinds::of(sandbox.client());
        let fault = sandbox.faults().inject(Match::any(), Effect::Hang);
        let begun = Instant::now();
        let ask = || kinds.look_up("apps/v1", "Deployment");
        let (first, second) = futures::join!(ask(), ask());
        assert!(first.is_err() && second.is_err());
        assert_eq!(
            begun.elapsed().as_secs(),
            ANSWER_WITHIN.as_secs(),
            "one question for both"
        );
        assert!(ask().await.is_err());
        tokio::time::advance(SLOW_FAILURE_COUNTS).await;
        let again = Instant::now();
        let waited = async |asked: &Kinds| {
            assert!(asked.look_up("apps/v1", "Deployment").await.is_err());
            again.elapsed().as_secs()
        };
        let both = futures::join!(waited(&kinds), waited(&kinds));
        assert_eq!(both, (ANSWER_WITHIN.as_secs(), 0), "one tries, the other does not wait");
        sandbox.faults().remove(fault);
        tokio::time::advance(SLOW_FAILURE_COUNTS).await;
        assert!(ask().await.unwrap().is_some());
    }
}
