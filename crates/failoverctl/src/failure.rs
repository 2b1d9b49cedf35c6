//! What went wrong, for the person at the terminal, and what the shell gets to know.

use std::process::ExitCode;

use controller_kit::api_client::TimedOut;
use controller_kit::api_errors;
use controller_kit::connect::ConnectError;
use controller_kit::kinds::RequireError;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// Answered, and all is well. 0.
    Fine,
    /// Answered, and a problem was found; or what was asked about is not there. 1.
    Problem,
    /// The command line, or the kubeconfig it names, is wrong. 2.
    Usage,
    /// The API server or the queue cannot be reached or does not let us in. 3.
    Unreachable,
    /// No answer in time. 4.
    TimedOut,
}

impl ExitStatus {
    /// The number for the shell.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Problem => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::TimedOut => 4,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

/// A command that could not be carried out: what was wanted, of which object, why it failed, what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}\n  next: {next}")]
pub struct Failure {
    status: ExitStatus,
    what: String,
    why: String,
    next: String,
}

impl Failure {
    /// A failure that ends the program with `status`. `what` says what could not be done and names the object,
    /// `next` is an instruction.
    pub fn new(status: ExitStatus, what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            status,
            what: what.into(),
            why: why.into(),
            next: next.into(),
        }
    }

    /// How the program ends.
    #[must_use]
    pub fn status(&self) -> ExitStatus {
        self.status
    }

    /// What could not be done, and why, in one line.
    #[must_use]
    pub fn one_line(&self) -> String {
        format!("{}: {}", self.what, self.why)
    }

    /// The same about another connection: its words name these flags.
    #[must_use]
    pub fn about_flags(mut self, kubeconfig: &str, context: &str) -> Self {
        for text in [&mut self.why, &mut self.next] {
            *text = text
                .replace("--kubeconfig", kubeconfig)
                .replace("--context", context)
                .replace("Karmada control plane", "host cluster");
        }
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn next(&self) -> &str {
        &self.next
    }

    /// A request to the API server that failed. `what` says what could not be done.
    #[must_use]
    pub fn of_api(what: &str, error: &kube::Error) -> Self {
        let needed = "use a kubeconfig whose user may get and list clusters, bindings and leases";
        Self::of_api_needing(what, error, needed)
    }

    /// The same, of a request that needs other rights: `needed` says what to do when they are missing.
    #[must_use]
    pub fn of_api_needing(what: &str, error: &kube::Error, needed: &str) -> Self {
        let why = api_errors::one_line(error);
        if is_time_out(error) {
            return Self::new(
                ExitStatus::TimedOut,
                what,
                why,
                "try again, with a longer --timeout if the server is slow",
            );
        }
        if is_unknown_user(error) {
            return Self::new(
                ExitStatus::Unreachable,
                what,
                format!("the API server does not know who asks: {why}"),
                "the kubeconfig's token or certificate is not accepted, perhaps because it has expired: use a valid one \
                 (--kubeconfig, --context)",
            );
        }
        if is_forbidden(error) {
            return Self::new(
                ExitStatus::Unreachable,
                what,
                format!("the API server refuses: {why}"),
                needed,
            );
        }
        if api_errors::is_not_found(error) {
            return Self::new(ExitStatus::Problem, what, why, "check the name and the namespace");
        }
        Self::new(
            ExitStatus::Unreachable,
            what,
            why,
            "check that the API server runs and that --kubeconfig and --context lead to the Karmada control plane",
        )
    }
}

impl Failure {
    /// A kind of ours that the server does not know.
    #[must_use]
    pub fn kind_not_served(kind: &str) -> Self {
        Self::new(
            ExitStatus::Problem,
            format!("cannot ask for {kind}s"),
            format!("the API server does not serve {kind} (failover.karmada.io/v1alpha1)"),
            "check --kubeconfig and --context; to install the CRDs: kubectl apply -f charts/control-plane/kinds",
        )
    }

    /// What the server has against an object, in its rules' own words; nothing when that is not what went wrong.
    #[must_use]
    pub fn of_invalid(what: &str, error: &kube::Error, next: &str) -> Option<Self> {
        let kube::Error::Api(status) = error else { return None };
        if status.code != 422 {
            return None;
        }
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let words: Vec<String> = causes.map(|cause| in_words(&cause.message)).collect();
        let why = if words.is_empty() {
            api_errors::one_line(error)
        } else {
            words.join("; ")
        };
        Some(Self::new(ExitStatus::Usage, what, why, next))
    }
}

/// A cause of an invalid object without the value that it is about: `Invalid value: …: MESSAGE` is MESSAGE.
fn in_words(message: &str) -> String {
    let Some(rest) = message.strip_prefix("Invalid value: ") else {
        return message.to_owned();
    };
    let after_text = rest.split_once("\": ");
    let after_number = || rest.split_once(": ").filter(|(value, _)| !value.contains(' '));
    let words = after_text.or_else(after_number).map_or(rest, |(_, words)| words);
    words.to_owned()
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        // These say themselves what to do; the last part after `; ` is the instruction.
        let text = error.to_string();
        let (why, next) = match text.rsplit_once("; ") {
            Some((why, next)) => (why.to_owned(), next.to_owned()),
            None => (
                text,
                "correct the kubeconfig, or give another with --kubeconfig FILE".to_owned(),
            ),
        };
        Self::new(ExitStatus::Usage, "cannot find the API server", why, next)
    }
}

impl From<RequireError> for Failure {
    fn from(error: RequireError) -> Self {
        match error {
            RequireError::Missing { missing } => {
                let kinds: Vec<String> = missing
                    .iter()
                    .map(|kind| format!("{} ({})", kind.kind, kind.api_version))
                    .collect();
                Self::new(
                    ExitStatus::Problem,
                    "this is no control plane with cluster failover",
                    format!("the API server does not serve {}", kinds.join(", ")),
                    "check --kubeconfig and --context; to install the CRDs: kubectl apply -f charts/karmada-crds/kinds -f \
                     charts/control-plane/kinds (not the former where a Karmada is)",
                )
            }
            RequireError::Unanswered(error) => Self::of_api("cannot ask the API server what it serves", &error),
            RequireError::Stopped => Self::new(
                ExitStatus::TimedOut,
                "cannot ask the API server what it serves",
                "stopped",
                "try again",
            ),
        }
    }
}

/// The API server knows who asks, and does not allow it: other questions may be answered.
#[must_use]
pub(crate) fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// The API server does not know who asks: it answers no question at all.
fn is_unknown_user(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 401)
}

fn is_time_out(error: &kube::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = match error {
        kube::Error::Service(service) => Some(service.as_ref()),
        _ => None,
    };
    while let Some(current) = cause {
        if current.is::<TimedOut>() {
            return true;
        }
        cause = current.source();
    }
    matches!(error, kube::Error::Api(status) if status.code == 504)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        "Invalid value: \"object\": scope Clusters needs clusters",
        "scope Clusters needs clusters"
    )]
    #[case("Invalid value: scope Clusters needs: clusters", "scope Clusters needs: clusters")]
    #[case("Invalid value: 5: should be less than 3", "should be less than 3")]
    #[case("Invalid value: \"\": spec.reason is too short", "spec.reason is too short")]
    #[case("Required value", "Required value")]
    fn causes_in_words(#[case] message: &str, #[case] expected: &str) {
        assert_eq!(in_words(message), expected);
    }
}
