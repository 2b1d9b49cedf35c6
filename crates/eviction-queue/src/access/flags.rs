//! Flags that say who may call the queue, and how they are known.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use controller_kit::Clock;
use controller_kit::tls::{CallerCertificate, NamedFile, Reloading, ServerFiles, ServerTls, TlsError};

use super::decision::{Policy, Tokens};
use super::method::Role;
use super::names::RoleNames;
use crate::incoming::Limits;

const CERTIFICATE: &str = "--queue-tls-cert-file";
const KEY: &str = "--queue-tls-key-file";
const CLIENT_CA: &str = "--queue-client-ca-file";
const TOKENS: &str = "--queue-token-auth";

/// Time for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Flags of the queue's door.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[group(skip)]
#[command(next_help_heading = "Eviction queue")]
pub struct AccessFlags {
    /// Certificate of the gRPC API with its chain, PEM; read again when it changes. With it the API speaks TLS only.
    #[arg(long, env = "KARMADA_FAILOVER_QUEUE_TLS_CERT_FILE", value_name = "FILE")]
    pub queue_tls_cert_file: Option<PathBuf>,
    /// Key of that certificate, PEM.
    #[arg(long, env = "KARMADA_FAILOVER_QUEUE_TLS_KEY_FILE", value_name = "FILE")]
    pub queue_tls_key_file: Option<PathBuf>,
    /// Authorities of the certificates of whoever calls, PEM; read again when it changes. With it callers are known by
    /// the common name, URIs and DNS names of their certificates.
    #[arg(long, env = "KARMADA_FAILOVER_QUEUE_CLIENT_CA_FILE", value_name = "FILE")]
    pub queue_client_ca_file: Option<PathBuf>,
    /// Names of client certificates that may publish entries; * stands for all that the authorities issued.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_QUEUE_PRODUCERS",
        value_delimiter = ',',
        value_name = "NAMES"
    )]
    pub queue_producers: Vec<String>,
    /// Names of client certificates that may take leases and evict.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_QUEUE_CONSUMERS",
        value_delimiter = ',',
        value_name = "NAMES"
    )]
    pub queue_consumers: Vec<String>,
    /// Names of client certificates that may look; those of the other roles may as well.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_QUEUE_READERS",
        value_delimiter = ',',
        value_name = "NAMES"
    )]
    pub queue_readers: Vec<String>,
    /// Names of client certificates that may drop and undrop entries.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_QUEUE_ADMINS",
        value_delimiter = ',',
        value_name = "NAMES"
    )]
    pub queue_admins: Vec<String>,
    /// Whether bearer tokens count: of users who may publish, lease, get, list, watch or update
    /// evictionqueues.failover.karmada.io on the control plane.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_QUEUE_TOKEN_AUTH",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub queue_token_auth: bool,
    /// Connections to the gRPC API at once.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_QUEUE_MAX_CONNECTIONS",
        default_value_t = 1_024,
        value_name = "CONNECTIONS"
    )]
    pub queue_max_connections: usize,
}

impl Default for AccessFlags {
    fn default() -> Self {
        Self {
            queue_tls_cert_file: None,
            queue_tls_key_file: None,
            queue_client_ca_file: None,
            queue_producers: Vec::new(),
            queue_consumers: Vec::new(),
            queue_readers: Vec::new(),
            queue_admins: Vec::new(),
            queue_token_auth: false,
            queue_max_connections: 1_024,
        }
    }
}

impl AccessFlags {
    fn of_role(&self, role: Role) -> &[String] {
        match role {
            Role::Producer => &self.queue_producers,
            Role::Consumer => &self.queue_consumers,
            Role::Reader => &self.queue_readers,
            Role::Admin => &self.queue_admins,
        }
    }

    fn role_names(&self) -> RoleNames {
        Role::ALL
            .into_iter()
            .fold(RoleNames::default(), |names, role| names.with(role, self.of_role(role)))
    }

    fn tokens(&self) -> Tokens {
        if self.queue_token_auth {
            Tokens::Checked
        } else {
            Tokens::Ignored
        }
    }

    fn has_tls(&self) -> bool {
        self.queue_tls_cert_file.is_some() || self.queue_tls_key_file.is_some()
    }

    /// How callers are known.
    #[must_use]
    pub fn policy(&self) -> Policy {
        if !self.has_tls() && !self.queue_token_auth {
            return Policy::Loopback;
        }
        Policy::Credentials {
            certificates: self.queue_client_ca_file.is_some().then(|| self.role_names()),
            tokens: self.tokens(),
        }
    }

    /// The bounds of the door.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            connections: self.queue_max_connections,
            handshake: HANDSHAKE,
        }
    }

    /// The files of TLS, read; nothing when there are none.
    ///
    /// # Errors
    /// [`TlsError`] for the first that is no use.
    pub fn tls(&self, clock: &Clock) -> Result<Option<Reloading<ServerTls>>, TlsError> {
        let (Some(certificate), Some(key)) = (&self.queue_tls_cert_file, &self.queue_tls_key_file) else {
            return Ok(None);
        };
        let wanted = if self.queue_token_auth {
            CallerCertificate::Optional
        } else {
            CallerCertificate::Required
        };
        let callers = self.queue_client_ca_file.as_ref();
        let files = ServerFiles {
            certificate: NamedFile::new(CERTIFICATE, certificate),
            key: NamedFile::new(KEY, key),
            callers: callers.map(|path| (NamedFile::new(CLIENT_CA, path), wanted)),
            protocols: &["h2"],
        };
        files.load("eviction queue server", clock).map(Some)
    }

    /// What makes no sense, for a server at this address.
    #[must_use]
    pub fn problems(&self, bind: SocketAddr, clock: &Clock) -> Vec<String> {
        let mut problems = Vec::new();
        match (&self.queue_tls_cert_file, &self.queue_tls_key_file) {
            (Some(_), None) => problems.push(format!("{CERTIFICATE} is given without {KEY}: give both")),
            (None, Some(_)) => problems.push(format!("{KEY} is given without {CERTIFICATE}: give both")),
            _ => {}
        }
        let (has_tls, asks_certificates) = (self.has_tls(), self.queue_client_ca_file.is_some());
        if asks_certificates && !has_tls {
            problems.push(format!(
                "{CLIENT_CA} is given without TLS, and then nobody shows a certificate: give {CERTIFICATE} and {KEY}"
            ));
        }
        for role in Role::ALL {
            if !asks_certificates && !self.of_role(role).is_empty() {
                let flag = role.flag();
                problems.push(format!(
                    "{flag} names client certificates, and none is asked for: give {CLIENT_CA}"
                ));
            }
        }
        if asks_certificates && self.role_names().is_empty() && !self.queue_token_auth {
            problems.push(format!(
                "{CLIENT_CA} is given, and no certificate has a role: name some by --queue-producers, --queue-consumers, \
                 --queue-readers and --queue-admins"
            ));
        }
        if has_tls && !asks_certificates && !self.queue_token_auth {
            problems.push(format!(
                "{CERTIFICATE} is given, and callers cannot be told apart: give {CLIENT_CA}, {TOKENS}, or both"
            ));
        }
        if !bind.ip().is_loopback() && !has_tls {
            problems.push(if self.queue_token_auth {
                format!(
                    "{TOKENS} with --queue-bind-address={bind}: tokens would cross the network in the clear; give \
                     {CERTIFICATE} and {KEY}, or bind to 127.0.0.1 or [::1]"
                )
            } else {
                format!(
                    "--queue-bind-address={bind}: the queue is served without TLS, and then only on loopback; give \
                     {CERTIFICATE}, {KEY} and {CLIENT_CA}, or bind to 127.0.0.1 or [::1]"
                )
            });
        }
        if self.queue_max_connections == 0 {
            problems.push("--queue-max-connections=0: want at least 1".to_owned());
        }
        if let Err(error) = self.tls(clock) {
            problems.push(error.to_string());
        }
        problems
    }
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
