//! The two ends of a connection, ready to shake hands.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::UnixTime;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ConfigBuilder, ConfigSide, ServerConfig, WantsVerifier, WantsVersions};

use super::files::NamedFile;
use super::material::{TlsError, authorities, pair};
use super::reloading::{Material, Reloading};
use crate::Clock;

/// Whether a server wants to see a certificate of whoever calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerCertificate {
    /// Without one there is no connection.
    Required,
    /// One that is shown has to be right.
    Optional,
}

/// Files of a server.
#[derive(Clone, Debug)]
pub struct ServerFiles {
    /// Its certificate, then the chain.
    pub certificate: NamedFile,
    /// The key.
    pub key: NamedFile,
    /// Authorities of its callers, if it asks them for certificates.
    pub callers: Option<(NamedFile, CallerCertificate)>,
    /// Protocols above TLS, the preferred one first.
    pub protocols: &'static [&'static str],
}

/// Files of a client.
#[derive(Clone, Debug)]
pub struct ClientFiles {
    /// Authorities that servers' certificates come from.
    pub authorities: NamedFile,
    /// Its own certificate and key, if it has one.
    pub own: Option<(NamedFile, NamedFile)>,
    /// Protocols above TLS, the preferred one first.
    pub protocols: &'static [&'static str],
}

/// A server's end.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// For the next handshake.
    pub config: Arc<ServerConfig>,
    not_after: Timestamp,
    more_from: Option<Timestamp>,
}

/// A client's end.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// For the next handshake.
    pub config: Arc<ClientConfig>,
    not_after: Timestamp,
    more_from: Option<Timestamp>,
}

impl Material for ServerTls {
    fn not_after(&self) -> Option<Timestamp> {
        Some(self.not_after)
    }

    /// When the next authority of the bundle begins to count.
    fn more_from(&self) -> Option<Timestamp> {
        self.more_from
    }
}

impl Material for ClientTls {
    /// Of its own certificate if it has one, else of the authorities.
    fn not_after(&self) -> Option<Timestamp> {
        Some(self.not_after)
    }

    /// When the next authority of the bundle begins to count.
    fn more_from(&self) -> Option<Timestamp> {
        self.more_from
    }
}

#[derive(Debug)]
struct Time(Clock);

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.now().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

fn unsupported(file: &NamedFile) -> impl Fn(&dyn std::fmt::Display) -> TlsError {
    let file = file.clone();
    move |error| TlsError::Unsupported {
        file: file.clone(),
        why: error.to_string(),
    }
}

fn versions<S: ConfigSide>(
    builder: ConfigBuilder<S, WantsVersions>,
    wrong: impl Fn(&dyn std::fmt::Display) -> TlsError,
) -> Result<ConfigBuilder<S, WantsVerifier>, TlsError> {
    builder
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))
}

fn protocols(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

impl ServerFiles {
    fn files(&self) -> Vec<NamedFile> {
        let callers = self.callers.as_ref().map(|(file, _)| file.clone());
        [self.certificate.clone(), self.key.clone()]
            .into_iter()
            .chain(callers)
            .collect()
    }

    /// Reads them, and again when they change.
    ///
    /// # Errors
    /// [`TlsError`] for the first thing that is wrong with them now.
    pub fn load(self, what: &'static str, clock: &Clock) -> Result<Reloading<ServerTls>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let time = clock.clone();
        Reloading::start(what, self.files(), clock.clone(), move |contents, now| {
            self.build(contents, &provider, &time, now)
        })
    }

    fn build(
        &self,
        contents: &[(&NamedFile, &[u8])],
        provider: &Arc<CryptoProvider>,
        clock: &Clock,
        now: Timestamp,
    ) -> Result<ServerTls, TlsError> {
        let [certificate, key, callers @ ..] = contents else {
            let file = self.certificate.clone();
            return Err(TlsError::NoCertificate { file });
        };
        let (certified, facts) = pair(*certificate, *key, provider, now)?;
        let builder = ServerConfig::builder_with_details(provider.clone(), Arc::new(Time(clock.clone())));
        let builder = versions(builder, unsupported(&self.certificate))?;
        let mut more_from = None;
        let builder = match (&self.callers, callers) {
            (Some((file, wanted)), [content]) => {
                let known = authorities(*content, now)?;
                more_from = known.next_from;
                let verifier = WebPkiClientVerifier::builder_with_provider(known.roots, provider.clone());
                let verifier = match wanted {
                    CallerCertificate::Required => verifier,
                    CallerCertificate::Optional => verifier.allow_unauthenticated(),
                };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| unsupported(file)(&error))?)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = protocols(self.protocols);
        // A session that is resumed would skip the look at the caller's certificate.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(ServerTls {
            config: Arc::new(config),
            not_after: facts.not_after,
            more_from,
        })
    }
}

impl ClientFiles {
    fn files(&self) -> Vec<NamedFile> {
        let own = self
            .own
            .iter()
            .flat_map(|(certificate, key)| [certificate.clone(), key.clone()]);
        std::iter::once(self.authorities.clone()).chain(own).collect()
    }

    /// Reads them, and again when they change.
    ///
    /// # Errors
    /// [`TlsError`] for the first thing that is wrong with them now.
    pub fn load(self, what: &'static str, clock: &Clock) -> Result<Reloading<ClientTls>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let time = clock.clone();
        Reloading::start(what, self.files(), clock.clone(), move |contents, now| {
            self.build(contents, &provider, &time, now)
        })
    }

    fn build(
        &self,
        contents: &[(&NamedFile, &[u8])],
        provider: &Arc<CryptoProvider>,
        clock: &Clock,
        now: Timestamp,
    ) -> Result<ClientTls, TlsError> {
        let [bundle, own @ ..] = contents else {
            let file = self.authorities.clone();
            return Err(TlsError::NoCertificate { file });
        };
        let wrong = unsupported(&self.authorities);
        let known = authorities(*bundle, now)?;
        let mut not_after = known.not_after;
        let builder = ClientConfig::builder_with_details(provider.clone(), Arc::new(Time(clock.clone())));
        let verifier = WebPkiServerVerifier::builder_with_provider(known.roots, provider.clone())
            .build()
            .map_err(|error| wrong(&error))?;
        let builder = versions(builder, &wrong)?.with_webpki_verifier(verifier);
        let mut config = match own {
            [certificate, key] => {
                let (certified, facts) = pair(*certificate, *key, provider, now)?;
                not_after = facts.not_after;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
            }
            _ => builder.with_no_client_auth(),
        };
        config.alpn_protocols = protocols(self.protocols);
        config.resumption = Resumption::disabled();
        Ok(ClientTls {
            config: Arc::new(config),
            not_after,
            more_from: known.next_from,
        })
    }
}
