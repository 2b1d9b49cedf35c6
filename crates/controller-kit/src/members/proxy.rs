//! Headers for the proxy that stands before a member.
//!
//! Guarantees: they go to the proxy alone, with each request for a tunnel (`CONNECT`), and are never shown; what cannot be sent is
//! refused in words. User and password of the proxy's URL count before a `Proxy-Authorization` among them, as in Go.

use std::collections::BTreeMap;

use base64::Engine as _;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

use super::address::AddressError;

/// What `spec.proxyHeader` means for a proxy at this URL: values with a comma are several.
pub(super) fn headers(
    cluster: &str,
    proxy_url: &str,
    said: &BTreeMap<String, String>,
) -> Result<HeaderMap, AddressError> {
    let wrong = |what: String| AddressError::ProxyHeader {
        cluster: cluster.to_owned(),
        what,
    };
    // What is no URL at all is told by whoever connects.
    let other = |url: &Uri| url.scheme_str() != Some("http");
    if !said.is_empty() && proxy_url.parse().as_ref().is_ok_and(other) {
        return Err(wrong("can be sent to http proxies only".to_owned()));
    }
    let mut headers = HeaderMap::new();
    for (name, values) in said {
        let cannot = |what| wrong(format!("has {what} that no HTTP header can carry ({name:?})"));
        let header: HeaderName = name.parse().map_err(|_| cannot("a name"))?;
        for value in values.split(',') {
            let mut value = HeaderValue::from_str(value.trim()).map_err(|_| cannot("a value"))?;
            value.set_sensitive(true);
            headers.append(header.clone(), value);
        }
    }
    Ok(headers)
}

/// A client that goes by an `http` proxy, with these headers for it, as kube makes one without: but answers are not asked for
/// compressed, requests have no trace of their own, and how long a connection may take is left to the limit of the request.
pub(super) fn client(config: &Config, proxy: &Uri, headers: HeaderMap) -> Result<Client, kube::Error> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    let mut tunnel = Tunnel::new(proxy.clone(), connector).with_headers(headers);
    if let Some(who) = proxy
        .authority()
        .and_then(|authority| authority.as_str().rsplit_once('@'))
    {
        let plain: Vec<u8> = percent_encoding::percent_decode_str(who.0).collect();
        let basic = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(plain));
        tunnel = tunnel.with_auth(HeaderValue::try_from(basic).map_err(|error| kube::Error::HttpError(error.into()))?);
    }
    let connector = config.rustls_https_connector_with_connector(tunnel)?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector));
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn said(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn values_with_a_comma_are_several() {
        let headers = headers("m1", "http://proxy:3128", &said("X-For", "a, b")).unwrap();
        assert!(headers.get_all("x-for").iter().eq(["a", "b"]));
        assert!(headers.values().all(HeaderValue::is_sensitive));
    }

    #[rstest]
    #[case("https://proxy:3128", "a", "hidden", "can be sent to http proxies only")]
    #[case("socks5://proxy:1080", "a", "hidden", "can be sent to http proxies only")]
    #[case(
        "http://proxy:3128",
        "a b",
        "hidden",
        "has a name that no HTTP header can carry (\"a b\")"
    )]
    #[case(
        "http://proxy:3128",
        "a",
        "hid\nden",
        "has a value that no HTTP header can carry (\"a\")"
    )]
    fn what_cannot_be_sent_is_refused(
        #[case] proxy: &str,
        #[case] name: &str,
        #[case] value: &str,
        #[case] words: &str,
    ) {
        let error = headers("m1", proxy, &said(name, value)).unwrap_err().to_string();
        assert!(error.starts_with("cluster m1: spec.proxyHeader "), "{error}");
        assert!(error.contains(words) && !error.contains("hidden"), "{error}");
    }
}
