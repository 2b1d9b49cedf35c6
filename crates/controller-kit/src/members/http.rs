//! Connections to members over HTTP(S), and to the one member that a process lives in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::client::AuthError;
use parking_lot::Mutex;

use super::{ConnectMember, MemberError, MemberTarget, TlsVerification, proxy, without_credentials};
use crate::api_client::with_time_limit;
use crate::connect::{client_by, parse_ca_bundle};

/// What a proxy may speak.
const PROXY_SCHEMES: [&str; 3] = ["http", "https", "socks5"];

/// Members over HTTP(S). Keeps one client a member name, replaced when its target changes, until it is forgotten.
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
        if let Some(url) = &target.proxy_url {
            let refused = |why: &str| MemberError::Proxy {
                cluster: cluster(),
                proxy: without_credentials(url),
                why: why.to_owned(),
            };
            let parsed: http::Uri = url
                .parse()
                .map_err(|why: http::uri::InvalidUri| refused(&why.to_string()))?;
            if !PROXY_SCHEMES.contains(&parsed.scheme_str().unwrap_or_default()) || parsed.host().is_none() {
                return Err(refused(
                    "it needs a scheme out of http, https and socks5, and a host, as in http://10.0.0.1:3128",
                ));
            }
            config.proxy_url = Some(parsed);
        }
        config.accept_invalid_certs = target.verification == TlsVerification::Skip;
        config.auth_info.token = target.token.clone().map(Into::into);
        if let Some(impersonation) = &target.impersonation {
            config.auth_info.impersonate = Some(impersonation.user.clone());
            config.auth_info.impersonate_groups = Some(impersonation.groups.clone());
        }
        config.connect_timeout = Some(target.request_timeout);
        let made = client_by(config, target.request_timeout, |config| match &config.proxy_url {
            Some(url) if !target.proxy_headers.is_empty() => proxy::client(&config, url, target.proxy_headers.clone()),
            _ => Client::try_from(config),
        });
        made.map_err(|error| match error {
            kube::Error::Auth(AuthError::InvalidBearerToken(_)) => MemberError::Token { cluster: cluster() },
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

    fn forget(&self, member: &str) {
        self.known.lock().remove(member);
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
    #[case(
        "https://10.0.0.1:6443",
        Some("ftp://me:hidden@proxy:21"),
        "cluster member1: spec.proxyURL \"ftp://***@proxy:21\" cannot be used: it needs a scheme out of http"
    )]
    #[case(
        "https://10.0.0.1:6443",
        Some("me:hidden@proxy:3128"),
        "cluster member1: spec.proxyURL \"***@proxy:3128\" cannot be used"
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
        assert!(!error.contains("hidden"), "{error}");
    }

    #[rstest]
    #[case("http://proxy:3128")]
    #[case("https://me:pa%40ss@proxy:3128")]
    #[case("socks5://proxy:1080")]
    #[tokio::test]
    async fn proxies_of_every_kind_are_used(#[case] proxy: &str) {
        let mut target = MemberTarget::new("member1", "https://10.0.0.1:6443");
        target.proxy_url = Some(proxy.to_owned());
        assert!(HttpMembers::new().connect(&target).is_ok());
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

    // A panic would end the process, and with it the work for all members.
    #[rstest]
    #[case("t\n")]
    #[case("a\nb")]
    #[case("a\u{7f}b")]
    #[tokio::test]
    async fn a_token_that_no_header_can_carry_is_named(#[case] token: &str) {
        let mut target = MemberTarget::new("member1", "https://10.0.0.1:6443");
        target.token = Some(token.to_owned());
        let error = HttpMembers::new().connect(&target).err().unwrap().to_string();
        assert!(
            error.starts_with("cluster member1: the token in its secret holds a line break"),
            "{error}"
        );
    }

    // Also the token stays in memory for as long as its client is kept.
    #[tokio::test]
    async fn what_is_forgotten_is_not_kept() {
        let members = HttpMembers::new();
        for name in ["member1", "member2"] {
            members
                .connect(&MemberTarget::new(name, "https://10.0.0.1:6443"))
                .unwrap();
        }
        members.forget("member1");
        assert_eq!(members.known.lock().keys().collect::<Vec<_>>(), ["member2"]);
    }
}
