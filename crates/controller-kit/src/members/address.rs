//! From what a Cluster says and its Secret holds to something that can be connected to; or a sentence about what is
//! wrong, where, and what to do.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use api_types::cluster::Cluster;
use http::HeaderMap;
use k8s_openapi::api::core::v1::Secret;

use super::{Impersonation, MemberTarget, TlsVerification, proxy};

/// Key of the bearer token in a member's Secret.
const TOKEN: &str = "token";
/// Key of the certificates that sign the member's.
const CA_BUNDLE: &str = "caBundle";

/// What a Cluster object says about how its member is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberAddress<'a> {
    /// Name of the Cluster.
    pub cluster: &'a str,
    /// `spec.apiEndpoint`.
    pub api_endpoint: Option<&'a str>,
    /// `spec.secretRef`.
    pub secret: Option<SecretPlace<'a>>,
    /// `spec.proxyURL`.
    pub proxy_url: Option<&'a str>,
    /// `spec.proxyHeader`; without a proxy it has no meaning.
    pub proxy_header: &'a BTreeMap<String, String>,
    /// `spec.insecureSkipTLSVerification`.
    pub verification: TlsVerification,
}

impl<'a> MemberAddress<'a> {
    /// What this one says.
    #[must_use]
    pub fn of(cluster: &'a Cluster) -> Self {
        let spec = &cluster.spec;
        Self {
            cluster: cluster.metadata.name.as_deref().unwrap_or_default(),
            api_endpoint: spec.api_endpoint.as_deref(),
            secret: spec.secret_ref.as_ref().map(|reference| SecretPlace {
                namespace: &reference.namespace,
                name: &reference.name,
            }),
            proxy_url: spec.proxy_url.as_deref(),
            proxy_header: &spec.proxy_header,
            verification: match spec.insecure_skip_tls_verification {
                Some(true) => TlsVerification::Skip,
                _ => TlsVerification::Verify,
            },
        }
    }
}

/// Where a Secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretPlace<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl fmt::Display for SecretPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What of a Cluster or its Secret a person has to mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The Cluster names no Secret.
    #[error("cluster {cluster} has no spec.secretRef: name the Secret that holds the member's {TOKEN} and {CA_BUNDLE}")]
    NoReference {
        /// Cluster name.
        cluster: String,
    },
    /// The Cluster has no address.
    #[error("cluster {cluster} has no spec.apiEndpoint: set it to the URL of the member's API server")]
    NoEndpoint {
        /// Cluster name.
        cluster: String,
    },
    /// There is no such Secret.
    #[error(
        "secret {place} (spec.secretRef of cluster {cluster}) does not exist: create it with the keys {TOKEN} and \
         {CA_BUNDLE}, or correct spec.secretRef"
    )]
    NoSecret {
        /// Cluster name.
        cluster: String,
        /// Namespace and name.
        place: String,
    },
    /// The Secret has no token.
    #[error("secret {place} (spec.secretRef of cluster {cluster}) has no {TOKEN}: put the member's bearer token there")]
    NoToken {
        /// Cluster name.
        cluster: String,
        /// Namespace and name.
        place: String,
    },
    /// The Cluster's proxy wants headers that cannot be sent.
    #[error("cluster {cluster}: spec.proxyHeader {what}: correct it, or let the proxy of spec.proxyURL do without it")]
    ProxyHeader {
        /// Cluster name.
        cluster: String,
        /// What is wrong with it.
        what: String,
    },
    /// For whom the token acts cannot be read.
    #[error("{key} in secret {place} (spec.secretRef of cluster {cluster}) {what}: {help}")]
    Impersonation {
        /// Cluster name.
        cluster: String,
        /// Namespace and name.
        place: String,
        /// Its key in the Secret.
        key: &'static str,
        /// What is wrong with it.
        what: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// The token is none that could be sent.
    #[error(
        "{TOKEN} in secret {place} (spec.secretRef of cluster {cluster}) {what}: put the member's bearer token there, \
         and nothing else"
    )]
    Token {
        /// Cluster name.
        cluster: String,
        /// Namespace and name.
        place: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl MemberAddress<'_> {
    /// Where the credentials are.
    ///
    /// # Errors
    /// [`AddressError::NoReference`].
    pub fn secret_place(&self) -> Result<SecretPlace<'_>, AddressError> {
        self.secret.ok_or_else(|| AddressError::NoReference {
            cluster: self.cluster.to_owned(),
        })
    }

    /// What is needed to talk to the member: the address with what `secret` holds, which is the Secret at
    /// [`Self::secret_place`]. Blanks and line ends around the token are a slip; an empty CA bundle is none.
    ///
    /// # Errors
    /// [`AddressError`], the first that there is.
    pub fn target(&self, secret: Option<&Secret>, request_timeout: Duration) -> Result<MemberTarget, AddressError> {
        let (cluster, place) = (self.cluster.to_owned(), self.secret_place()?.to_string());
        let Some(endpoint) = not_empty(self.api_endpoint) else {
            return Err(AddressError::NoEndpoint { cluster });
        };
        let Some(secret) = secret else {
            return Err(AddressError::NoSecret { cluster, place });
        };
        let value = |key: &str| {
            let data = secret.data.as_ref()?;
            data.get(key).map(|bytes| bytes.0.clone())
        };
        let token = match String::from_utf8(value(TOKEN).unwrap_or_default()) {
            Ok(token) => token.trim().to_owned(),
            Err(_) => {
                let what = "is not text";
                return Err(AddressError::Token { cluster, place, what });
            }
        };
        if token.is_empty() {
            return Err(AddressError::NoToken { cluster, place });
        }
        if token.chars().any(|c| c.is_whitespace() || c.is_control()) {
            let what = "has blanks, line breaks or control characters inside";
            return Err(AddressError::Token { cluster, place, what });
        }
        let proxy_url = not_empty(self.proxy_url);
        let proxy_headers = match proxy_url {
            Some(url) => proxy::headers(&cluster, url, self.proxy_header)?,
            None => HeaderMap::new(),
        };
        let impersonation = Impersonation::of_secret(value, &cluster, &place)?;
        let mut target = MemberTarget::new(cluster, endpoint);
        target.token = Some(token);
        target.impersonation = impersonation;
        target.ca_bundle = value(CA_BUNDLE).filter(|bundle| !bundle.is_empty());
        target.proxy_url = proxy_url.map(str::to_owned);
        target.proxy_headers = proxy_headers;
        target.verification = self.verification;
        target.request_timeout = request_timeout;
        Ok(target)
    }
}

fn not_empty(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    const LIMIT: Duration = Duration::from_secs(10);
    static NO_HEADERS: BTreeMap<String, String> = BTreeMap::new();

    fn address(api_endpoint: Option<&'static str>) -> MemberAddress<'static> {
        MemberAddress {
            cluster: "m1",
            api_endpoint,
            secret: Some(SecretPlace {
                namespace: "karmada-cluster",
                name: "m1",
            }),
            proxy_url: Some(""),
            proxy_header: &NO_HEADERS,
            verification: TlsVerification::Verify,
        }
    }

    fn secret(data: &Value) -> Secret {
        serde_json::from_value(json!({"data": data})).unwrap()
    }

    #[rstest]
    #[case::no_endpoint(None, Some(json!({"token": "dA=="})), "cluster m1 has no spec.apiEndpoint")]
    #[case::empty_endpoint(Some(""), Some(json!({"token": "dA=="})), "cluster m1 has no spec.apiEndpoint")]
    #[case::no_secret(
        Some("https://m1"),
        None,
        "secret karmada-cluster/m1 (spec.secretRef of cluster m1) does not exist: create it"
    )]
    #[case::no_token(Some("https://m1"), Some(json!({"caBundle": "dA=="})), "has no token: put")]
    #[case::empty_token(Some("https://m1"), Some(json!({"token": ""})), "has no token: put")]
    #[case::blank_token(Some("https://m1"), Some(json!({"token": "Cg=="})), "has no token: put")]
    #[case::binary_token(Some("https://m1"), Some(json!({"token": "//8="})), "is not text")]
    #[case::two_lines(Some("https://m1"), Some(json!({"token": "YQpi"})), "line breaks")]
    #[case::control(Some("https://m1"), Some(json!({"token": "YQBi"})), "control characters")]
    fn what_is_wrong_where_and_what_to_do(
        #[case] endpoint: Option<&'static str>,
        #[case] data: Option<Value>,
        #[case] expected: &str,
    ) {
        let secret = data.as_ref().map(secret);
        let error = address(endpoint)
            .target(secret.as_ref(), LIMIT)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_cluster_without_a_reference_is_told_to_have_one() {
        let nowhere = MemberAddress {
            secret: None,
            ..address(Some("https://m1"))
        };
        let error = nowhere.secret_place().unwrap_err();
        assert!(error.to_string().contains("has no spec.secretRef: name"), "{error}");
        assert_eq!(nowhere.target(None, LIMIT), Err(error));
    }

    #[test]
    fn headers_are_for_a_proxy_where_there_is_one() {
        let headers = BTreeMap::from([("X-For".to_owned(), "m1".to_owned())]);
        let secret = secret(&json!({"token": "dA=="}));
        let sent = |proxy_url| {
            let address = MemberAddress {
                proxy_url,
                proxy_header: &headers,
                ..address(Some("https://m1"))
            };
            address.target(Some(&secret), LIMIT).map(|target| target.proxy_headers)
        };
        assert_eq!(sent(None), Ok(HeaderMap::new()));
        assert_eq!(sent(Some("http://proxy:3128")).unwrap().get("x-for").unwrap(), "m1");
        assert!(sent(Some("socks5://proxy:1080")).is_err());
    }

    #[rstest]
    #[case::bare("dA==")]
    #[case::line_end("dAo=")]
    #[case::windows("dA0K")]
    fn a_good_secret_makes_a_target(#[case] token: &str) {
        let secret = secret(&json!({"token": token, "caBundle": "Y2E="}));
        let target = address(Some("https://m1")).target(Some(&secret), LIMIT).unwrap();
        assert_eq!(target.token.as_deref(), Some("t"), "a line end at the end is a slip");
        assert_eq!(target.ca_bundle.as_deref(), Some(&b"ca"[..]));
        assert_eq!(target.proxy_url, None);
        assert_eq!((target.name.as_str(), target.request_timeout), ("m1", LIMIT));
    }

    #[test]
    fn without_certificates_the_systems_own_count() {
        for data in [json!({"token": "dA=="}), json!({"token": "dA==", "caBundle": ""})] {
            let target = address(Some("https://m1")).target(Some(&secret(&data)), LIMIT).unwrap();
            assert_eq!(target.ca_bundle, None);
        }
    }
}
