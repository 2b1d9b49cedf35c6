//! The flags of the webhook.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use controller_kit::Clock;
use controller_kit::tls::{CallerCertificate, NamedFile, Reloading, ServerFiles, ServerTls, TlsError};
use tokio::sync::watch;

const CERTIFICATE: &str = "--tls-cert-file";
const KEY: &str = "--tls-key-file";
const CLIENT_CA: &str = "--tls-client-ca-file";

/// Flags of the controller `webhook`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Webhook")]
#[group(skip)]
pub struct Flags {
    /// Where the API server's reviews are answered, over TLS.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_WEBHOOK_BIND_ADDRESS",
        value_name = "HOST:PORT",
        default_value = "0.0.0.0:9443"
    )]
    pub webhook_bind_address: SocketAddr,
    /// Certificate of the webhook, PEM, then its chain. Read again when it changes.
    #[arg(long, env = "KARMADA_FAILOVER_TLS_CERT_FILE", value_name = "FILE")]
    pub tls_cert_file: Option<PathBuf>,
    /// Its key, PEM. Read again when it changes.
    #[arg(long, env = "KARMADA_FAILOVER_TLS_KEY_FILE", value_name = "FILE")]
    pub tls_key_file: Option<PathBuf>,
    /// Authorities of callers' certificates, PEM: who has none is refused. Without it everybody is answered who reaches the
    /// address, since an API server shows a certificate only when its --admission-control-config-file says so.
    #[arg(long, env = "KARMADA_FAILOVER_TLS_CLIENT_CA_FILE", value_name = "FILE")]
    pub tls_client_ca_file: Option<PathBuf>,
    /// Where it listens, as soon as it does.
    #[arg(skip)]
    pub bound: Bound,
}

/// The address that was found for port 0. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Bound(Arc<watch::Sender<Option<SocketAddr>>>);

impl Default for Bound {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Bound {
    pub(crate) fn tell(&self, address: SocketAddr) {
        self.0.send_replace(Some(address));
    }

    /// The address, as soon as somebody listens there.
    pub async fn address(&self) -> SocketAddr {
        let mut bound = self.0.subscribe();
        loop {
            if let Some(address) = *bound.borrow_and_update() {
                return address;
            }
            if bound.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Flags {
    /// What makes no sense, or cannot be read now.
    #[must_use]
    pub fn problems(&self, clock: &Clock) -> Vec<String> {
        let missing: Vec<&str> = [(CERTIFICATE, &self.tls_cert_file), (KEY, &self.tls_key_file)]
            .into_iter()
            .filter(|(_, file)| file.is_none())
            .map(|(flag, _)| flag)
            .collect();
        if !missing.is_empty() {
            return vec![format!(
                "{} not given: an API server calls webhooks over TLS only; name PEM files, such as those of a Secret that \
                 is mounted",
                match missing[..] {
                    [one] => format!("{one} is"),
                    _ => format!("{} are", missing.join(" and ")),
                }
            )];
        }
        self.tls(clock)
            .err()
            .map(|error| error.to_string())
            .into_iter()
            .collect()
    }

    /// The server's end of TLS.
    ///
    /// # Errors
    /// [`TlsError`] for the first thing that is wrong with the files.
    pub fn tls(&self, clock: &Clock) -> Result<Reloading<ServerTls>, TlsError> {
        let file = |flag, path: &Option<PathBuf>| NamedFile::new(flag, path.clone().unwrap_or_default());
        let callers = self.tls_client_ca_file.as_ref();
        let files = ServerFiles {
            certificate: file(CERTIFICATE, &self.tls_cert_file),
            key: file(KEY, &self.tls_key_file),
            callers: callers.map(|path| (NamedFile::new(CLIENT_CA, path), CallerCertificate::Required)),
            protocols: &["http/1.1"],
        };
        files.load("webhook", clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use rstest::rstest;
    use test_bench::{Authority, Counts, Of};

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        flags: Flags,
    }

    fn parse(args: &[&str]) -> Flags {
        Cli::try_parse_from([&["x"], args].concat()).unwrap().flags
    }

    #[rstest]
    #[case::none(&[], "--tls-cert-file and --tls-key-file are not given")]
    #[case::no_key(&["--tls-cert-file=x"], "--tls-key-file is not given")]
    #[case::no_certificate(&["--tls-key-file=x"], "--tls-cert-file is not given")]
    #[case::no_file(&["--tls-cert-file=no-such-file", "--tls-key-file=x"], "--tls-cert-file=no-such-file: cannot be read")]
    fn what_is_missing_is_named(#[case] args: &[&str], #[case] expected: &str) {
        let problems = parse(args).problems(&Clock::system());
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(expected), "{problems:?}");
    }

    #[test]
    fn a_certificate_that_is_over_keeps_it_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        let issued = Authority::new("ca").issue_for("webhook", Of::Server, Counts::NoLonger, &[]);
        let (certificate, key) = issued.write(folder.path(), "webhook");
        let flags = Flags {
            tls_cert_file: Some(certificate),
            tls_key_file: Some(key),
            ..parse(&[])
        };
        let problems = flags.problems(&Clock::system());
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].contains("the certificate of \"webhook\" has expired: it was valid until 2002-01-01T00:00:00Z"),
            "{problems:?}"
        );
        assert!(problems[0].ends_with("issue a new one"), "{problems:?}");
    }
}
