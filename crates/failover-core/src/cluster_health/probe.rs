//! What one probe of a member means.
//!
//! `/readyz` answers 2xx: healthy. Any other HTTP answer: reachable, not healthy. 404: an old server that does not
//! know the path, so ask `/healthz`. No answer: not reachable. (Stock takes every HTTP error for "not reachable".)

use super::words;

/// One answer of a health endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// The member's API server, or something before it, answered.
    Http {
        /// HTTP status code.
        code: u16,
        /// The beginning of what it said; may be empty.
        body: String,
    },
    /// Nothing answered within the probe's deadline.
    Nothing {
        /// The transport's words, such as `connection refused`.
        why: String,
    },
}

/// The three things a probe can find out, and the one that it can not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Answers and is healthy.
    Healthy,
    /// Answers and is not healthy.
    NotReady,
    /// Does not answer.
    NotReachable,
    /// Could not be asked: no client can be made for it.
    CannotConnect,
}

/// What was seen of a member at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The finding.
    pub health: Health,
    /// Message for the condition. The same for the same finding, so that a repeated probe writes nothing.
    pub message: String,
    /// The probe's own words, for the event: what was asked and what came back.
    pub words: String,
}

impl Observation {
    /// Whether the member is fit for workloads.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.health == Health::Healthy
    }

    /// Adds what a person should do, to the condition and to the event.
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        for text in [&mut self.message, &mut self.words] {
            text.push_str("; ");
            text.push_str(hint);
        }
        self
    }

    /// Status of the Ready condition.
    #[must_use]
    pub fn status(&self) -> &'static str {
        if self.is_healthy() { "True" } else { "False" }
    }

    /// Reason of the Ready condition.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self.health {
            Health::Healthy => words::READY,
            Health::NotReady => words::NOT_READY,
            Health::NotReachable => words::NOT_REACHABLE,
            Health::CannotConnect => words::COLLECTION_FAILED,
        }
    }
}

/// After `/readyz` answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadyzStep {
    /// That says it.
    Observed(Observation),
    /// The server does not know `/readyz`: ask `/healthz`, which decides.
    AskHealthz,
}

/// After `/healthz` answered: always an observation.
pub type HealthzStep = Observation;

/// What the answer of `/readyz` means.
#[must_use]
pub fn after_readyz(answer: &ProbeAnswer) -> ReadyzStep {
    match answer {
        ProbeAnswer::Http { code: 404, .. } => ReadyzStep::AskHealthz,
        other => ReadyzStep::Observed(observe("/readyz", other)),
    }
}

/// What the answer of `/healthz` means, asked because `/readyz` is unknown there.
#[must_use]
pub fn after_healthz(answer: &ProbeAnswer) -> HealthzStep {
    observe("/healthz", answer)
}

/// No client can be made: `what_to_do` says what is wrong, where, and what a person should do about it.
#[must_use]
pub fn cannot_connect(what_to_do: impl Into<String>) -> Observation {
    let message = format!("failed to create a ClusterClient: {}", what_to_do.into());
    Observation {
        health: Health::CannotConnect,
        words: message.clone(),
        message,
    }
}

fn observe(path: &str, answer: &ProbeAnswer) -> Observation {
    let (health, message) = match answer {
        ProbeAnswer::Http { code: 200..=299, .. } => (Health::Healthy, words::READY_MESSAGE),
        ProbeAnswer::Http { .. } => (Health::NotReady, words::NOT_READY_MESSAGE),
        ProbeAnswer::Nothing { .. } => (Health::NotReachable, words::NOT_REACHABLE_MESSAGE),
    };
    let words = match answer {
        ProbeAnswer::Http { code, body } if body.is_empty() => format!("GET {path} answered {code}"),
        ProbeAnswer::Http { code, body } => format!("GET {path} answered {code}: {}", shorten(body)),
        ProbeAnswer::Nothing { why } => format!("GET {path} got no answer: {}", shorten(why)),
    };
    Observation {
        health,
        message: message.to_owned(),
        words,
    }
}

/// One line of at most 200 characters: enough for a cause, not a page.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 200;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn http(code: u16) -> ProbeAnswer {
        ProbeAnswer::Http {
            code,
            body: String::new(),
        }
    }

    #[rstest]
    #[case(200, Health::Healthy)]
    #[case(204, Health::Healthy)]
    #[case(301, Health::NotReady)]
    #[case(401, Health::NotReady)]
    #[case(429, Health::NotReady)]
    #[case(500, Health::NotReady)]
    #[case(503, Health::NotReady)]
    fn readyz(#[case] code: u16, #[case] expected: Health) {
        let ReadyzStep::Observed(seen) = after_readyz(&http(code)) else {
            panic!("{code} must decide")
        };
        assert_eq!(seen.health, expected);
    }

    #[test]
    fn an_old_server_is_asked_at_healthz() {
        assert_eq!(after_readyz(&http(404)), ReadyzStep::AskHealthz);
        assert_eq!(after_healthz(&http(200)).health, Health::Healthy);
        assert_eq!(
            after_healthz(&http(404)).health,
            Health::NotReady,
            "it answers, so it is reachable"
        );
        assert_eq!(after_healthz(&http(500)).words, "GET /healthz answered 500");
    }

    #[test]
    fn stocks_words_in_the_condition_and_the_probes_own_in_the_event() {
        let ReadyzStep::Observed(seen) = after_readyz(&ProbeAnswer::Nothing {
            why: "connection\n refused".to_owned(),
        }) else {
            panic!("no answer decides")
        };
        assert_eq!((seen.status(), seen.reason()), ("False", "ClusterNotReachable"));
        assert_eq!(seen.message, "cluster is not reachable");
        assert_eq!(seen.words, "GET /readyz got no answer: connection refused");
    }

    proptest! {
        // No answer at all is the only way to be called unreachable, and only 2xx is healthy.
        #[test]
        fn every_answer_has_one_meaning(code in 100_u16..600, body in ".*") {
            let answer = ProbeAnswer::Http { code, body };
            let seen = match after_readyz(&answer) {
                ReadyzStep::Observed(seen) => seen,
                ReadyzStep::AskHealthz => { prop_assert_eq!(code, 404); after_healthz(&answer) }
            };
            prop_assert_eq!(seen.is_healthy(), (200..300).contains(&code));
            prop_assert!(seen.health != Health::NotReachable);
            prop_assert!(seen.words.chars().count() < 260);
        }
    }
}
