//! Connections to member clusters.
//!
//! Guarantees: the kit knows nothing of Cluster objects; a caller says what one holds ([`MemberAddress`]), which with its
//! Secret makes a [`MemberTarget`], and whoever starts the process decides what answers for it: real HTTP, or a
//! simulated member in tests and in the demo. Nothing that a Cluster or a Secret holds ends a process.

mod address;
mod http;
mod impersonation;
mod proxy;

use std::time::Duration;

use ::http::HeaderMap;
use kube::Client;

pub use self::address::{AddressError, MemberAddress, SecretPlace};
pub use self::http::{HttpMembers, OwnMember};
pub use self::impersonation::Impersonation;

/// What is needed to talk to a member cluster's API server.
#[derive(Clone, PartialEq, Eq)]
pub struct MemberTarget {
    /// Name of the Cluster object.
    pub name: String,
    /// URL of the API server, `Cluster.spec.apiEndpoint`.
    pub api_endpoint: String,
    /// Bearer token out of the secret that the Cluster names.
    pub token: Option<String>,
    /// As whom the member is asked, out of the same secret; as the token's own user without it.
    pub impersonation: Option<Impersonation>,
    /// PEM certificates that sign the server's, out of the same secret.
    pub ca_bundle: Option<Vec<u8>>,
    /// Whether the server's certificate is checked.
    pub verification: TlsVerification,
    /// `Cluster.spec.proxyURL`.
    pub proxy_url: Option<String>,
    /// For that proxy alone, with each request for a tunnel; nothing for one of another scheme than `http`.
    pub proxy_headers: HeaderMap,
    /// Time limit of a request that is not a watch.
    pub request_timeout: Duration,
}

/// Whether a member's server certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVerification {
    /// Against the CA bundle, or the system's certificates without one.
    Verify,
    /// Not at all: `Cluster.spec.insecureSkipTLSVerification`.
    Skip,
}

impl MemberTarget {
    /// A target with defaults: certificate checked, no credentials, 30 s for a request.
    #[must_use]
    pub fn new(name: impl Into<String>, api_endpoint: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            api_endpoint: api_endpoint.into(),
            token: None,
            impersonation: None,
            ca_bundle: None,
            verification: TlsVerification::Verify,
            proxy_url: None,
            proxy_headers: HeaderMap::new(),
            request_timeout: Duration::from_secs(30),
        }
    }
}

impl std::fmt::Debug for MemberTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Token and passwords stay out of logs.
        f.debug_struct("MemberTarget")
            .field("name", &self.name)
            .field("api_endpoint", &self.api_endpoint)
            .field("proxy_url", &self.proxy_url.as_deref().map(without_credentials))
            .finish_non_exhaustive()
    }
}

/// A URL as it may be shown: user and password, if it has any, are not.
fn without_credentials(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Some(end) = authority.rfind('@') else {
        return url.to_owned();
    };
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}***{}", &rest[end..])
}

/// Why no client could be made for a member. Whether the member answers is not known at that point.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// `apiEndpoint` is no URL.
    #[error("cluster {cluster}: spec.apiEndpoint {endpoint:?} is not a URL: {why}")]
    Endpoint {
        /// Cluster name.
        cluster: String,
        /// The field's value.
        endpoint: String,
        /// The parser's complaint.
        why: String,
    },
    /// `proxyURL` is no URL, or of a kind that cannot be used.
    #[error("cluster {cluster}: spec.proxyURL {proxy:?} cannot be used: {why}")]
    Proxy {
        /// Cluster name.
        cluster: String,
        /// The field's value, without user and password.
        proxy: String,
        /// What is wrong with it.
        why: String,
    },
    /// The CA bundle in the secret is not PEM.
    #[error("cluster {cluster}: the CA bundle in its secret is not PEM: {why}")]
    CaBundle {
        /// Cluster name.
        cluster: String,
        /// The parser's complaint.
        why: String,
    },
    /// The token in the secret is none that could be sent.
    #[error(
        "cluster {cluster}: the token in its secret holds a line break or another character that no HTTP header can \
         carry: put the member's bearer token there, and nothing else"
    )]
    Token {
        /// Cluster name.
        cluster: String,
    },
    /// A simulated fleet does not have this member.
    #[error("cluster {cluster}: nothing answers at {endpoint}")]
    Unknown {
        /// Cluster name.
        cluster: String,
        /// The target's endpoint.
        endpoint: String,
    },
    /// Anything else while the client was built.
    #[error("cluster {cluster}: cannot build a client: {why}")]
    Client {
        /// Cluster name.
        cluster: String,
        /// The cause.
        why: String,
    },
}

/// Makes clients for member clusters.
pub trait ConnectMember: Send + Sync + 'static {
    /// A client for the member. Cheap when called again with an equal target.
    ///
    /// # Errors
    /// [`MemberError`] when the target itself is unusable; an unreachable member shows in the client's requests.
    fn connect(&self, target: &MemberTarget) -> Result<Client, MemberError>;

    /// Lets go what is kept for this member, which does not exist any more or is no longer worked on; clients that are
    /// in use go on. Nothing is kept unless an implementation says so.
    fn forget(&self, _member: &str) {}
}

impl<F> ConnectMember for F
where
    F: Fn(&MemberTarget) -> Result<Client, MemberError> + Send + Sync + 'static,
{
    fn connect(&self, target: &MemberTarget) -> Result<Client, MemberError> {
        self(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_of_logs() {
        let mut target = MemberTarget::new("member1", "https://10.0.0.1:6443");
        target.token = Some("secret-token".to_owned());
        target.proxy_url = Some("http://me:secret-word@proxy:3128/".to_owned());
        let shown = format!("{target:?}");
        assert!(
            !shown.contains("secret") && shown.contains("http://***@proxy:3128/"),
            "{shown}"
        );
    }
}
