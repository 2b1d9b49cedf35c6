//! One probe of a member: the requests, within a deadline. What the answers mean is decided in `failover-core`.

use std::time::Duration;

use controller_kit::{api_errors, durations::format_duration};
use failover_core::cluster_health::{Observation, ProbeAnswer, ReadyzStep, after_healthz, after_readyz};
use kube::Client;
use kube::client::Body;
use tokio::time::{Instant, timeout_at};

/// How rustls begins what it says about a server whose certificate it does not accept.
const CERTIFICATE_REFUSED: &str = "invalid peer certificate";

/// By whose credentials the member is asked, for words about what to mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    /// Those in a Secret of the control plane, `namespace/name`.
    Secret(String),
    /// The agent's own.
    Own,
}

impl Credentials {
    fn mend_certificate(&self, why: &str) -> String {
        match self {
            Self::Secret(secret) => format!(
                "its certificate is not accepted ({why}): put the certificate of the authority that signed it into key \
                 caBundle of secret {secret}"
            ),
            Self::Own => format!(
                "its certificate is not accepted ({why}): put the certificate of the authority that signed it into the \
                 agent's kubeconfig of the member"
            ),
        }
    }

    fn mend_token(&self, code: u16) -> String {
        match self {
            Self::Secret(secret) => format!(
                "the member refuses the token in secret {secret} (HTTP {code}): put a valid one into its key token"
            ),
            Self::Own => format!(
                "the member refuses the agent (HTTP {code}): give its service account the rights that README.md names"
            ),
        }
    }
}

/// Asks `/readyz`, and `/healthz` where that is not known. Returns within `limit`.
pub(super) async fn probe(client: &Client, limit: Duration, credentials: &Credentials) -> Observation {
    let deadline = Instant::now() + limit;
    let answer = ask(client, "/readyz", deadline, limit).await;
    if let ProbeAnswer::Nothing { why } = &answer
        && why.contains(CERTIFICATE_REFUSED)
        && let ReadyzStep::Observed(observation) = after_readyz(&answer)
    {
        return observation.with_hint(&credentials.mend_certificate(why));
    }
    let (observation, code) = match after_readyz(&answer) {
        ReadyzStep::Observed(observation) => (observation, code_of(&answer)),
        ReadyzStep::AskHealthz => {
            let answer = ask(client, "/healthz", deadline, limit).await;
            (after_healthz(&answer), code_of(&answer))
        }
    };
    match code {
        Some(code @ (401 | 403)) => observation.with_hint(&credentials.mend_token(code)),
        _ => observation,
    }
}

fn code_of(answer: &ProbeAnswer) -> Option<u16> {
    match answer {
        ProbeAnswer::Http { code, .. } => Some(*code),
        ProbeAnswer::Nothing { .. } => None,
    }
}

async fn ask(client: &Client, path: &str, deadline: Instant, limit: Duration) -> ProbeAnswer {
    let asked = async {
        let request = http::Request::get(path)
            .body(Body::empty())
            .map_err(kube::Error::HttpError)?;
        let response = client.send(request).await?;
        let code = response.status().as_u16();
        // The status is the answer; a body that breaks off only costs its words.
        let body = response.into_body().collect_bytes().await.unwrap_or_default();
        let body = if (200..300).contains(&code) {
            String::new()
        } else {
            String::from_utf8_lossy(&body).into_owned()
        };
        Ok::<_, kube::Error>(ProbeAnswer::Http { code, body })
    };
    match timeout_at(deadline, asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => ProbeAnswer::Nothing {
            why: api_errors::one_line(&error),
        },
        Err(_) => ProbeAnswer::Nothing {
            why: format!("nothing within {}", format_duration(limit)),
        },
    }
}
