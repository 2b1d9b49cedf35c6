//! Bearer tokens: who is it, and may it? The control plane's API server knows, by TokenReview and SubjectAccessReview.

use std::time::Duration;

use controller_kit::api_errors::{is_denied, one_line};
use controller_kit::tls::SecretText;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use parking_lot::Mutex;
use ring::hmac;
use ring::rand::SystemRandom;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::answers::{Answer, Answers, Question};
use super::caller::{Caller, KnownBy};
use super::decision::Refusal;
use super::method::Need;

/// Questions to the API server at once, for new calls and as many again for open streams: whatever is sent to the queue,
/// the API server is asked no faster than it answers.
const AT_ONCE: usize = 8;

/// How long a call waits for its turn and for both answers.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The ClusterRole that lets the queue ask.
const REVIEWER: &str = "karmada-failover:eviction-queue";

/// Asks about tokens, and remembers the answers for a moment.
pub(super) struct Reviews {
    client: Client,
    /// Of this process only: a dump of its memory shows no hash that can be looked up anywhere.
    key: hmac::Key,
    answers: Mutex<Answers>,
    turns: Turns,
}

/// Streams have turns of their own: a crowd of callers, which anybody can make, does not keep the end of a right unseen.
struct Turns {
    calls: Semaphore,
    streams: Semaphore,
}

/// Whether an answer of a moment ago will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// It will, for a new call.
    AMomentOld,
    /// It will not, for a stream that is open: the API server is asked.
    New,
}

impl Reviews {
    /// Asks through this client.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new(client: Client) -> anyhow::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| anyhow::anyhow!("the system gives no random numbers, which hashes of tokens need"))?;
        Ok(Self {
            client,
            key,
            answers: Mutex::default(),
            turns: Turns {
                calls: Semaphore::new(AT_ONCE),
                streams: Semaphore::new(AT_ONCE),
            },
        })
    }

    /// Who the token's user is, if it may do what is needed.
    pub async fn ask(&self, token: &SecretText, need: Need, age: Age) -> Answer {
        let question = self.question(token, need);
        if age == Age::AMomentOld
            && let Some(answer) = self.answers.lock().get(&question, Instant::now())
        {
            return answer;
        }
        let turns = match age {
            Age::AMomentOld => &self.turns.calls,
            Age::New => &self.turns.streams,
        };
        let asked = async {
            let _turn = turns.acquire().await;
            // Somebody may have asked the same while this one waited.
            if age == Age::AMomentOld
                && let Some(answer) = self.answers.lock().get(&question, Instant::now())
            {
                return answer;
            }
            let asked = Instant::now();
            let answer = self.review(token, need).await;
            self.answers.lock().put(question, answer.clone(), asked);
            answer
        };
        tokio::time::timeout(ANSWER_WITHIN, asked).await.unwrap_or_else(|_| {
            let why = format!("no answer within {} seconds", ANSWER_WITHIN.as_secs());
            Err(Refusal::CannotAsk { why })
        })
    }

    fn question(&self, token: &SecretText, need: Need) -> Question {
        let tag = hmac::sign(&self.key, token.reveal().as_bytes());
        let mut hash = [0; 32];
        hash.copy_from_slice(tag.as_ref());
        (hash, need.verb)
    }

    async fn review(&self, token: &SecretText, need: Need) -> Answer {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.reveal().to_owned(),
                audiences: None,
            },
            ..TokenReview::default()
        };
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await;
        let status = answer
            .map_err(|error| cannot("tokenreviews", &error))?
            .status
            .unwrap_or_default();
        let user = match status.user {
            Some(user) if status.authenticated == Some(true) => user,
            _ => {
                let why = status.error.unwrap_or_default();
                return Err(Refusal::InvalidToken { why });
            }
        };
        let name = user.username.clone().unwrap_or_default();
        let review = SubjectAccessReview {
            spec: about(user, need),
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await;
        let status = answer
            .map_err(|error| cannot("subjectaccessreviews", &error))?
            .status
            .unwrap_or_default();
        if status.allowed && status.denied != Some(true) {
            return Ok(Caller::new(name, KnownBy::Token));
        }
        let why = status.evaluation_error.or(status.reason).unwrap_or_default();
        Err(Refusal::User { user: name, need, why })
    }
}

fn about(user: UserInfo, need: Need) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        user: user.username,
        uid: user.uid,
        groups: user.groups,
        extra: user.extra,
        resource_attributes: Some(ResourceAttributes {
            group: Some("failover.karmada.io".to_owned()),
            resource: Some("evictionqueues".to_owned()),
            verb: Some(need.verb.to_owned()),
            ..ResourceAttributes::default()
        }),
        non_resource_attributes: None,
    }
}

fn cannot(what: &str, error: &kube::Error) -> Refusal {
    let mut why = one_line(error);
    if is_denied(error) {
        why = format!("{why} (the queue's user may not create {what}: bind ClusterRole {REVIEWER} to it)");
    }
    Refusal::CannotAsk { why }
}

impl std::fmt::Debug for Reviews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reviews")
    }
}
