//! Whether a call is let in: one pure function of what is configured, what is seen and what is needed.

use std::fmt;
use std::sync::Arc;

use tonic::{Code, Status};

use super::caller::{Caller, KnownBy};
use super::method::{Callable, Need, Role, short};
use super::names::RoleNames;

/// The pseudo-resource of the control plane's RBAC that stands for the queue.
pub const RESOURCE: &str = "evictionqueues.failover.karmada.io";

/// Whether bearer tokens count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokens {
    /// The control plane's API server is asked about them.
    Checked,
    /// They are not looked at.
    #[default]
    Ignored,
}

/// How the server knows its callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It listens on loopback only: whoever gets there may do everything.
    Loopback,
    /// By certificates, by tokens, or by either.
    Credentials {
        /// What names of client certificates may; nothing when no certificate is asked for.
        certificates: Option<RoleNames>,
        /// Whether tokens count.
        tokens: Tokens,
    },
}

/// What is seen of a caller before anybody is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Names of the connection's client certificate, if it has one.
    pub certificate: Option<Arc<[String]>>,
    /// Whether the call carries a bearer token.
    pub token: Token,
}

/// Whether a call carries a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Token {
    /// It does.
    Sent,
    /// It does not.
    #[default]
    None,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes on.
    Admit(Caller),
    /// It goes on if the API server lets the token's user.
    AskAboutToken(Need),
    /// It ends here.
    Refuse(Refusal),
}

/// Why a call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such method.
    NoSuchMethod,
    /// Nobody is named.
    Nobody {
        /// What is needed.
        need: Need,
        /// Whether a certificate would do.
        by_certificate: bool,
        /// Whether a token would do.
        by_token: bool,
        /// Whether a token was sent that does not count.
        ignored_token: bool,
    },
    /// A certificate without the role.
    Certificate {
        /// Its names.
        names: Arc<[String]>,
        /// The roles it has.
        roles: Vec<Role>,
        /// What is needed.
        need: Need,
    },
    /// The API server does not know the token.
    InvalidToken {
        /// What it says.
        why: String,
    },
    /// The user of a token may not.
    User {
        /// Who it is.
        user: String,
        /// What is needed.
        need: Need,
        /// What the API server gives as reason; often nothing.
        why: String,
    },
    /// The API server could not be asked.
    CannotAsk {
        /// What happened.
        why: String,
    },
}

/// What becomes of a call of the method at `path`.
#[must_use]
pub fn decide(policy: &Policy, callable: Option<Callable>, seen: &Seen) -> Decision {
    let Some(callable) = callable else {
        return Decision::Refuse(Refusal::NoSuchMethod);
    };
    let (certificates, tokens) = match policy {
        Policy::Loopback => return Decision::Admit(Caller::local()),
        Policy::Credentials { certificates, tokens } => (certificates, *tokens),
    };
    let shown = seen.certificate.as_ref().filter(|_| certificates.is_some());
    let Callable::ByThoseWith(need) = callable else {
        return Decision::Admit(match shown {
            Some(names) => by_certificate(names, None),
            None => Caller::new("anybody", KnownBy::Nothing),
        });
    };
    // Who sends a token wants to be its user, whatever the connection shows.
    if tokens == Tokens::Checked && seen.token == Token::Sent {
        return Decision::AskAboutToken(need);
    }
    let (Some(names), Some(role_names)) = (shown, certificates) else {
        return Decision::Refuse(Refusal::Nobody {
            need,
            by_certificate: certificates.is_some(),
            by_token: tokens == Tokens::Checked,
            ignored_token: seen.token == Token::Sent,
        });
    };
    let roles = role_names.roles_of(names);
    if roles.iter().any(|role| role.covers(need.role)) {
        return Decision::Admit(by_certificate(names, role_names.giver(need.role, names)));
    }
    Decision::Refuse(Refusal::Certificate {
        names: names.clone(),
        roles,
        need,
    })
}

/// What a caller does is put down to the name that gives it the right: the others say nothing of that, and may be
/// anybody's. Where no name of its own does, to all that it has.
fn by_certificate(names: &[String], giver: Option<&str>) -> Caller {
    let name = match (giver, names) {
        (Some(giver), _) => giver.to_owned(),
        (None, []) => "a certificate without a name".to_owned(),
        (None, names) => names.join(", "),
    };
    Caller::new(name, KnownBy::Certificate)
}

impl Refusal {
    /// The code of gRPC.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NoSuchMethod => Code::Unimplemented,
            Self::Nobody { .. } | Self::InvalidToken { .. } => Code::Unauthenticated,
            Self::Certificate { .. } | Self::User { .. } => Code::PermissionDenied,
            Self::CannotAsk { .. } => Code::Unavailable,
        }
    }

    /// The label of the counter.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoSuchMethod => "NoSuchMethod",
            Self::Nobody { .. } => "NoCredentials",
            Self::InvalidToken { .. } => "InvalidToken",
            Self::Certificate { .. } => "CertificateWithoutRole",
            Self::User { .. } => "UserWithoutRight",
            Self::CannotAsk { .. } => "CannotAskApiServer",
        }
    }

    /// The answer: who was seen, what is needed, and what gives it.
    #[must_use]
    pub fn status(&self, path: &str) -> Status {
        let refusal = self;
        let told = Told {
            refusal,
            method: short(path),
        };
        Status::new(self.code(), told.to_string())
    }
}

struct Told<'a> {
    refusal: &'a Refusal,
    method: &'a str,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.method;
        match self.refusal {
            Refusal::NoSuchMethod => write!(
                f,
                "the eviction queue has no method {method:?}; client and queue may be more than one minor version apart"
            ),
            Refusal::Nobody {
                need,
                by_certificate,
                by_token,
                ignored_token,
            } => {
                write!(f, "{method} needs the role {}, and the call names nobody: ", need.role)?;
                if *ignored_token {
                    write!(
                        f,
                        "its bearer token does not count without --queue-token-auth at the queue; "
                    )?;
                }
                let flag = need.role.flag();
                match (by_certificate, by_token) {
                    (true, false) => write!(f, "connect with a client certificate that {flag} of the queue names"),
                    (false, true) => write!(f, "send a bearer token whose user may {} {RESOURCE}", need.verb),
                    _ => write!(
                        f,
                        "connect with a client certificate that {flag} of the queue names, or send a bearer token whose \
                         user may {} {RESOURCE}",
                        need.verb
                    ),
                }
            }
            Refusal::Certificate { names, roles, need } => {
                let has = match roles.as_slice() {
                    [] => "no role".to_owned(),
                    roles => {
                        let names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
                        format!("the role {}", names.join(" and "))
                    }
                };
                write!(
                    f,
                    "the client certificate of {} has {has}, and {method} needs the role {}: add one of its names to {} of \
                     the queue",
                    listed(names),
                    need.role,
                    need.role.flag()
                )
            }
            Refusal::InvalidToken { why } => {
                write!(
                    f,
                    "the control plane's API server does not accept the bearer token of {method}"
                )?;
                if !why.is_empty() {
                    write!(f, " ({why})")?;
                }
                write!(f, ": send one that it issued and that has not expired")
            }
            Refusal::User { user, need, why } => {
                write!(f, "user {user:?} may not {} {RESOURCE}, as {method} needs", need.verb)?;
                if !why.is_empty() {
                    write!(f, " ({why})")?;
                }
                write!(
                    f,
                    ": bind a ClusterRole that allows it, such as {}, to the user on the control plane",
                    need.role.cluster_role()
                )
            }
            Refusal::CannotAsk { why } => write!(
                f,
                "the control plane's API server could not be asked about the bearer token of {method}: {why}; try again"
            ),
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "nobody (it has no common name, URI or DNS name)".to_owned();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
