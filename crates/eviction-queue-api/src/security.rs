//! How a client knows the queue, and how the queue knows the client.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use controller_kit::metrics::CollectorGuard;
use controller_kit::tls::{ClientFiles, ClientTls, Material, NamedFile, Reloading, SecretText, TlsError, secret_text};
use controller_kit::{Clock, Metrics, Tasks};
use rustls::pki_types::ServerName;

const AUTHORITIES: &str = "--queue-ca-file";
const CERTIFICATE: &str = "--queue-client-cert-file";
const KEY: &str = "--queue-client-key-file";
const SERVER_NAME: &str = "--queue-server-name";
const TOKEN: &str = "--queue-token-file";

/// Flags of whoever calls the eviction queue, but for its address, which components spell as they always did.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[group(skip)]
#[command(next_help_heading = "Connection to the eviction queue")]
pub struct ConnectionFlags {
    /// Authorities of the eviction queue's certificate, PEM; read again when it changes. With it the queue is called by
    /// TLS, without it in the clear.
    #[arg(long, global = true, env = "KARMADA_FAILOVER_QUEUE_CA_FILE", value_name = "FILE")]
    pub queue_ca_file: Option<PathBuf>,
    /// Certificate to show to the eviction queue, PEM; read again when it changes.
    #[arg(
        long,
        global = true,
        env = "KARMADA_FAILOVER_QUEUE_CLIENT_CERT_FILE",
        value_name = "FILE"
    )]
    pub queue_client_cert_file: Option<PathBuf>,
    /// Key of that certificate, PEM.
    #[arg(
        long,
        global = true,
        env = "KARMADA_FAILOVER_QUEUE_CLIENT_KEY_FILE",
        value_name = "FILE"
    )]
    pub queue_client_key_file: Option<PathBuf>,
    /// Name that the eviction queue's certificate has to have; by default the host that is called.
    #[arg(long, global = true, env = "KARMADA_FAILOVER_QUEUE_SERVER_NAME", value_name = "NAME")]
    pub queue_server_name: Option<String>,
    /// Bearer token to send to the eviction queue, such as a service account's; read again when it changes.
    #[arg(long, global = true, env = "KARMADA_FAILOVER_QUEUE_TOKEN_FILE", value_name = "FILE")]
    pub queue_token_file: Option<PathBuf>,
}

impl ConnectionFlags {
    /// What makes no sense, or cannot be read now.
    #[must_use]
    pub fn problems(&self, clock: &Clock) -> Vec<String> {
        let mut problems = Vec::new();
        let own = (&self.queue_client_cert_file, &self.queue_client_key_file);
        match own {
            (Some(_), None) => problems.push(format!("{CERTIFICATE} is given without {KEY}: give both")),
            (None, Some(_)) => problems.push(format!("{KEY} is given without {CERTIFICATE}: give both")),
            _ => {}
        }
        if self.queue_ca_file.is_none() {
            let tls_only = [
                (CERTIFICATE, own.0.is_some() || own.1.is_some()),
                (SERVER_NAME, self.queue_server_name.is_some()),
            ];
            for (flag, _) in tls_only.into_iter().filter(|(_, is_given)| *is_given) {
                problems.push(format!(
                    "{flag} is given without {AUTHORITIES}, and then the queue is called without TLS: give {AUTHORITIES}"
                ));
            }
        }
        if let Some(name) = &self.queue_server_name
            && ServerName::try_from(name.clone()).is_err()
        {
            problems.push(format!("{SERVER_NAME}={name}: want a DNS name or an IP address"));
        }
        problems.extend(self.tls(clock).err().map(|error| error.to_string()));
        problems.extend(self.token(clock).err().map(|error| error.to_string()));
        problems
    }

    fn tls(&self, clock: &Clock) -> Result<Option<Reloading<ClientTls>>, TlsError> {
        let Some(authorities) = &self.queue_ca_file else {
            return Ok(None);
        };
        let own = match (&self.queue_client_cert_file, &self.queue_client_key_file) {
            (Some(certificate), Some(key)) => {
                Some((NamedFile::new(CERTIFICATE, certificate), NamedFile::new(KEY, key)))
            }
            _ => None,
        };
        let files = ClientFiles {
            authorities: NamedFile::new(AUTHORITIES, authorities),
            own,
            protocols: &["h2"],
        };
        files.load("eviction queue client", clock).map(Some)
    }

    fn token(&self, clock: &Clock) -> Result<Option<Reloading<SecretText>>, TlsError> {
        let Some(path) = &self.queue_token_file else {
            return Ok(None);
        };
        secret_text("eviction queue token", NamedFile::new(TOKEN, path), clock).map(Some)
    }

    /// What these flags come to. With something wrong in them no call is made, and every try says what it is: nothing is
    /// ever sent in the clear that was to be protected.
    #[must_use]
    pub fn security(&self, clock: &Clock) -> Security {
        let problems = self.problems(clock);
        match (self.tls(clock), self.token(clock)) {
            (Ok(tls), Ok(token)) if problems.is_empty() => Security {
                server_name: self
                    .queue_server_name
                    .clone()
                    .and_then(|name| ServerName::try_from(name).ok()),
                shows_certificate: self.queue_client_cert_file.is_some(),
                tls,
                token,
                ..Security::default()
            },
            _ => Security {
                broken: Some(problems.join("; ").into()),
                ..Security::default()
            },
        }
    }
}

/// How a client knows the queue, and how the queue knows the client. The default is neither: for a queue on loopback.
#[derive(Clone, Debug, Default)]
pub struct Security {
    pub(crate) tls: Option<Reloading<ClientTls>>,
    pub(crate) server_name: Option<ServerName<'static>>,
    pub(crate) shows_certificate: bool,
    pub(crate) token: Option<Reloading<SecretText>>,
    pub(crate) broken: Option<Arc<str>>,
    shown: Arc<Vec<CollectorGuard>>,
}

impl Security {
    /// Shows the state of the files in these metrics, for as long as a client lives that uses them.
    #[must_use]
    pub fn shown_in(mut self, metrics: &Metrics) -> Self {
        let tls = self.tls.as_ref().map(|tls| tls.show(metrics));
        let token = self.token.as_ref().map(|token| token.show(metrics));
        self.shown = Arc::new(tls.into_iter().chain(token).collect());
        self
    }

    /// Looks at the files on a slow beat, so that what is broken in them is told before the next connection needs them.
    #[must_use]
    pub fn watched_by(self, tasks: &Tasks) -> Self {
        let (tls, token) = (self.tls.clone(), self.token.clone());
        if tls.is_some() || token.is_some() {
            let shutdown = tasks.shutdown().clone();
            tasks.spawn("files of the queue's client", async move {
                tokio::select! {
                    biased;
                    () = shutdown.cancelled() => {}
                    () = watch(tls) => {}
                    () = watch(token) => {}
                }
            });
        }
        self
    }

    /// Looks at the files, if nobody has for a second.
    pub(crate) async fn look(&self) {
        if let Some(token) = &self.token {
            token.current().await;
        }
    }
}

async fn watch<T: Material>(files: Option<Reloading<T>>) {
    match files {
        Some(files) => files.watch().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(flags: &ConnectionFlags) -> Vec<String> {
        flags.problems(&Clock::system())
    }

    #[test]
    fn nothing_is_asked_for_by_default() {
        assert_eq!(problems(&ConnectionFlags::default()), Vec::<String>::new());
        let security = ConnectionFlags::default().security(&Clock::system());
        assert!(security.tls.is_none() && security.token.is_none() && security.broken.is_none());
    }

    #[test]
    fn what_makes_no_sense_is_told_and_stops_every_call() {
        let path = |name: &str| Some(PathBuf::from(name));
        let without_authorities = ConnectionFlags {
            queue_client_cert_file: path("/nowhere/tls.crt"),
            queue_server_name: Some("not a name".to_owned()),
            ..ConnectionFlags::default()
        };
        let told = problems(&without_authorities);
        assert_eq!(told.len(), 4, "{told:#?}");
        assert!(told[0].contains("without --queue-client-key-file"), "{told:#?}");
        assert!(told[1].starts_with("--queue-client-cert-file is given without --queue-ca-file"));
        assert!(told[2].starts_with("--queue-server-name is given without --queue-ca-file"));
        assert!(told[3].contains("want a DNS name or an IP address"));
        assert!(without_authorities.security(&Clock::system()).broken.is_some());

        let missing = ConnectionFlags {
            queue_ca_file: path("/nowhere/ca.crt"),
            queue_token_file: path("/nowhere/token"),
            ..ConnectionFlags::default()
        };
        let told = problems(&missing);
        assert_eq!(told.len(), 2, "{told:#?}");
        assert!(told[0].starts_with("--queue-ca-file=/nowhere/ca.crt: cannot be read: No such file"));
        assert!(told[1].starts_with("--queue-token-file=/nowhere/token: cannot be read: No such file"));
    }
}
