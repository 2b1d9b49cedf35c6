//! Connections to member clusters.
//!
//! Guarantees: the kit knows nothing of Cluster objects; a caller turns one into a [`MemberTarget`], and whoever
//! starts the process decides what answers for it: real HTTP, or a simulated member in tests and in the demo.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;

use crate::api_client::with_time_limit;
use crate::connect::{client_for, parse_ca_bundle};

/// What is needed to talk to a member cluster's API server.
#[derive(Clone, PartialEq, Eq)]
pub struct MemberTarget {
    /// Name of the Cluster object.
    pub name: String,
    /// URL of the API server, `Cluster.spec.apiEndpoint`.
    pub api_endpoint: String,
    /// Bearer token out of the secret that the Cluster names.
    pub token: Option<String>,
    /// PEM certificates that sign the server's, out of the same secret.
    pub ca_bundle: Option<Vec<u8>>,
    /// Whether the server's certificate is checked.
    pub verification: TlsVerification,
    /// `Cluster.spec.proxyURL`.
    pub proxy_url: Option<String>,
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
            ca_bundle: None,
            verification: TlsVerification::Verify,
            proxy_url: None,
            request_timeout: Duration::from_secs(30),
        }
    }
}

impl std::fmt::Debug for MemberTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token stays out of logs.
        f.debug_struct("MemberTarget")
            .field("name", &self.name)
            .field("api_endpoint", &self.api_endpoint)
            .field("proxy_url", &self.proxy_url)
            .finish_non_exhaustive()
    }
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
        /// The field's value.
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
}

impl<F> ConnectMember for F
where
    F: Fn(&MemberTarget) -> Result<Client, MemberError> + Send + Sync + 'static,
{
    fn connect(&self, target: &MemberTarget) -> Result<Client, MemberError> {
        self(target)
    }
}

/// Members over HTTP(S). Keeps one client a member name, replaced when its target changes.
#[derive(Default)]
pub struct HttpMembers {
    known: Mutex<BTreeMap<String, (MemberTarget, Client)>>,
}

impl HttpMembers {
    /// Without any connection yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn build(target: &MemberTarget) -> Result<Client, MemberError> {
        let cluster = || target.name.clone();
        let url: http::Uri =
            target
                .api_endpoint
                .parse()
                .map_err(|why: http::uri::InvalidUri| MemberError::Endpoint {
                    cluster: cluster(),
                    endpoint: target.api_endpoint.clone(),
                    why: why.to_string(),
                })?;
        if url.scheme().is_none() || url.authority().is_none() {
            return Err(MemberError::Endpoint {
                cluster: cluster(),
                endpoint: target.api_endpoint.clone(),
                why: "it needs a scheme and a host, as in https://10.0.0.1:6443".to_owned(),
            });
        }
        let mut config = kube::Config::new(url);
        if let Some(pem) = &target.ca_bundle {
            let certificates = parse_ca_bundle(pem).map_err(|why| MemberError::CaBundle {
                cluster: cluster(),
                why,
            })?;
            config.root_cert = Some(certificates);
        }
        if let Some(proxy) = &target.proxy_url {
            let parsed = proxy.parse().map_err(|why: http::uri::InvalidUri| MemberError::Proxy {
                cluster: cluster(),
                proxy: proxy.clone(),
                why: why.to_string(),
            })?;
            config.proxy_url = Some(parsed);
        }
        config.accept_invalid_certs = target.verification == TlsVerification::Skip;
        config.auth_info.token = target.token.clone().map(Into::into);
        config.connect_timeout = Some(target.request_timeout);
        client_for(config, target.request_timeout).map_err(|error| match error {
            kube::Error::ProxyProtocolUnsupported { .. } | kube::Error::ProxyProtocolDisabled { .. } => {
                MemberError::Proxy {
                    cluster: cluster(),
                    proxy: target.proxy_url.clone().unwrap_or_default(),
                    why: error.to_string(),
                }
            }
            other => MemberError::Client {
                cluster: cluster(),
                why: other.to_string(),
            },
        })
    }
}

impl ConnectMember for HttpMembers {
    fn connect(&self, target: &MemberTarget) -> Result<Client, MemberError> {
        let mut known = self.known.lock();
        if let Some((same, client)) = known.get(&target.name)
            && same == target
        {
            return Ok(client.clone());
        }
        let client = Self::build(target)?;
        known.insert(target.name.clone(), (target.clone(), client.clone()));
        Ok(client)
    }
}

/// The one member that a process lives in: it has a connection of its own, whatever a target says.
pub struct OwnMember {
    client: Client,
    /// By time limit of a request.
    known: Mutex<BTreeMap<Duration, Client>>,
}

impl OwnMember {
    /// Over this connection.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
        }
    }
}

impl ConnectMember for OwnMember {
    fn connect(&self, target: &MemberTarget) -> Result<Client, MemberError> {
        let mut known = self.known.lock();
        let client = known
            .entry(target.request_timeout)
            .or_insert_with(|| with_time_limit(self.client.clone(), target.request_timeout));
        Ok(client.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("not a url", None, "cluster member1: spec.apiEndpoint \"not a url\" is not a URL")]
    #[case("10.0.0.1:6443", None, "it needs a scheme and a host")]
    #[case(
        "https://10.0.0.1:6443",
        Some("::"),
        "cluster member1: spec.proxyURL \"::\" cannot be used"
    )]
    #[tokio::test]
    async fn unusable_targets_say_which_field(
        #[case] endpoint: &str,
        #[case] proxy: Option<&str>,
        #[case] expected: &str,
    ) {
        let mut target = MemberTarget::new("member1", endpoint);
        target.proxy_url = proxy.map(str::to_owned);
        let error = HttpMembers::new().connect(&target).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[tokio::test]
    async fn a_bad_ca_bundle_is_named() {
        let mut target = MemberTarget::new("member1", "https://10.0.0.1:6443");
        target.ca_bundle = Some(b"nonsense".to_vec());
        let error = HttpMembers::new().connect(&target).err().unwrap().to_string();
        assert!(
            error.starts_with("cluster member1: the CA bundle in its secret is not PEM"),
            "{error}"
        );
    }

    #[test]
    fn the_token_stays_out_of_logs() {
        let mut target = MemberTarget::new("member1", "https://10.0.0.1:6443");
        target.token = Some("secret-token".to_owned());
        assert!(!format!("{target:?}").contains("secret-token"));
    }
}
