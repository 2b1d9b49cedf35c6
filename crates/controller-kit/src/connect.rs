//! Where the API server is: kubeconfig or in-cluster.
//!
//! Guarantees: an error names the file or environment it looked at, what is wrong there, and what to do; a client
//! made here never waits for ever on a request that is not a watch, and retries nothing by itself (callers own their
//! back-off).

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::client::AuthError;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::api_client::with_time_limit;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The file cannot be read.
    #[error("cannot read kubeconfig {}: {why}; check {}", path.display(), flags.kubeconfig)]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Where to correct it.
        flags: FlagNames,
        /// The operating system's or the parser's complaint.
        why: String,
    },
    /// The file has no such context.
    #[error(
        "kubeconfig {} has no context {context:?}; it has {}; choose one with {}",
        path.display(),
        if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        flags.context
    )]
    NoSuchContext {
        /// The file.
        path: PathBuf,
        /// The context asked for.
        context: String,
        /// The contexts it has.
        known: Vec<String>,
        /// Where to correct it.
        flags: FlagNames,
    },
    /// The file names no current context and none was asked for.
    #[error(
        "kubeconfig {} has no current-context; choose one with {}: {}",
        path.display(),
        flags.context,
        if known.is_empty() { "it has none".to_owned() } else { known.join(", ") }
    )]
    NoCurrentContext {
        /// The file.
        path: PathBuf,
        /// The contexts it has.
        known: Vec<String>,
        /// Where to correct it.
        flags: FlagNames,
    },
    /// The context leads to something unusable.
    #[error("kubeconfig {}: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No kubeconfig and not in a pod.
    #[error(
        "no API server to talk to: no --kubeconfig, no KUBECONFIG, no {}, and not in a pod ({in_cluster}); \
         give --kubeconfig FILE",
        default_path.display()
    )]
    Nothing {
        /// The default file that is not there.
        default_path: PathBuf,
        /// Why the in-cluster configuration did not work.
        in_cluster: String,
    },
    /// `--context` without a kubeconfig to choose in.
    #[error("--context {context:?} needs a kubeconfig, and there is none; give --kubeconfig FILE")]
    ContextWithoutFile {
        /// The context asked for.
        context: String,
    },
    /// An agent was not told where the control plane is.
    #[error(
        "no control plane to talk to: give --kubeconfig FILE (or KUBECONFIG); the pod's own service account belongs to \
         the member"
    )]
    NoControlPlane,
    /// An agent does not run in its member's pod and was not told where the member is.
    #[error(
        "no member to talk to: no --member-kubeconfig, and not in a pod ({in_cluster}); give --member-kubeconfig FILE"
    )]
    NoMember {
        /// Why the in-cluster configuration did not work.
        in_cluster: String,
    },
    /// `--member-context` without a kubeconfig to choose in.
    #[error("--member-context {context:?} needs a kubeconfig; give --member-kubeconfig FILE")]
    MemberContextWithoutFile {
        /// The context asked for.
        context: String,
    },
    /// The token is none that could be sent.
    #[error(
        "cannot set up the connection to {server}: the token of its user in the kubeconfig holds a line break or another \
         character that no HTTP header can carry"
    )]
    Token {
        /// URL of the API server.
        server: String,
    },
    /// The client could not be built (TLS material, proxy).
    #[error("cannot set up the connection to {server}: {why}")]
    Client {
        /// URL of the API server.
        server: String,
        /// The cause.
        why: String,
    },
}

/// The flags by which a connection is chosen, for words about what to correct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagNames {
    kubeconfig: &'static str,
    context: &'static str,
}

const CONTROL_PLANE: FlagNames = FlagNames {
    kubeconfig: "--kubeconfig (or KUBECONFIG)",
    context: "--context",
};
const MEMBER: FlagNames = FlagNames {
    kubeconfig: "--member-kubeconfig",
    context: "--member-context",
};

/// Finds the API server: `--kubeconfig`, else `KUBECONFIG`, else the pod's service account, else `~/.kube/config`.
///
/// # Errors
/// [`ConnectError`]; whether the server answers is not tried here.
pub async fn find_config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, ConnectError> {
    if let Some(path) = kubeconfig.map(Path::to_path_buf).or_else(from_environment) {
        return from_file(&path, context, CONTROL_PLANE).await;
    }
    let default_path = std::env::home_dir()
        .unwrap_or_else(|| PathBuf::from("~"))
        .join(".kube/config");
    match Config::incluster() {
        Ok(config) if context.is_none() => Ok(config),
        _ if default_path.exists() => from_file(&default_path, context, CONTROL_PLANE).await,
        Ok(_) => Err(ConnectError::ContextWithoutFile {
            context: context.unwrap_or_default().to_owned(),
        }),
        Err(error) => match context {
            Some(context) => Err(ConnectError::ContextWithoutFile {
                context: context.to_owned(),
            }),
            None => Err(ConnectError::Nothing {
                default_path,
                in_cluster: error.to_string(),
            }),
        },
    }
}

fn from_environment() -> Option<PathBuf> {
    std::env::var_os("KUBECONFIG")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Finds the control plane for a process that lives in a member: `--kubeconfig`, else `KUBECONFIG`. Never the pod's
/// service account, which belongs to the member, nor a file that nobody named.
///
/// # Errors
/// [`ConnectError`]; whether the server answers is not tried here.
pub async fn find_distant_config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, ConnectError> {
    match kubeconfig.map(Path::to_path_buf).or_else(from_environment) {
        Some(path) => from_file(&path, context, CONTROL_PLANE).await,
        None => Err(ConnectError::NoControlPlane),
    }
}

/// Finds the member that a process lives in: `--member-kubeconfig`, else the pod's service account.
///
/// # Errors
/// [`ConnectError`]; whether the server answers is not tried here.
pub async fn find_own_config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, ConnectError> {
    match (kubeconfig, context) {
        (Some(path), context) => from_file(path, context, MEMBER).await,
        (None, Some(context)) => Err(ConnectError::MemberContextWithoutFile {
            context: context.to_owned(),
        }),
        (None, None) => Config::incluster().map_err(|error| ConnectError::NoMember {
            in_cluster: error.to_string(),
        }),
    }
}

async fn from_file(path: &Path, context: Option<&str>, flags: FlagNames) -> Result<Config, ConnectError> {
    let path = path.to_path_buf();
    let kubeconfig = Kubeconfig::read_from(&path).map_err(|error| ConnectError::Unreadable {
        path: path.clone(),
        flags,
        why: match error {
            kube::config::KubeconfigError::ReadConfig(io, _) => io.to_string(),
            other => other.to_string(),
        },
    })?;
    let known: Vec<String> = kubeconfig.contexts.iter().map(|named| named.name.clone()).collect();
    let wanted = context
        .map(str::to_owned)
        .or_else(|| kubeconfig.current_context.clone())
        .filter(|c| !c.is_empty());
    let Some(wanted) = wanted else {
        return Err(ConnectError::NoCurrentContext { path, known, flags });
    };
    if !known.contains(&wanted) {
        return Err(ConnectError::NoSuchContext {
            path,
            context: wanted,
            known,
            flags,
        });
    }
    let options = KubeConfigOptions {
        context: Some(wanted),
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| ConnectError::Unusable {
            path,
            why: error.to_string(),
        })
}

/// A client for a found configuration.
///
/// # Errors
/// [`ConnectError::Client`] when certificates, keys or the proxy cannot be used.
pub fn connect(config: Config, request_timeout: Duration) -> Result<Client, ConnectError> {
    let server = config.cluster_url.to_string();
    client_for(config, request_timeout).map_err(|error| match error {
        kube::Error::Auth(AuthError::InvalidBearerToken(_)) => ConnectError::Token { server },
        other => ConnectError::Client {
            server,
            why: crate::api_errors::one_line(&other),
        },
    })
}

fn client_for(config: Config, request_timeout: Duration) -> Result<Client, kube::Error> {
    client_by(config, request_timeout, Client::try_from)
}

/// As `make` makes it.
pub(crate) fn client_by(
    mut config: Config,
    request_timeout: Duration,
    make: impl FnOnce(Config) -> Result<Client, kube::Error>,
) -> Result<Client, kube::Error> {
    // Taken already is as good: all that matters is that one is set.
    let _ = rustls::crypto::ring::default_provider().install_default();
    config.default_retry = false;
    check_token(&config)?;
    make(config).map(|client| with_time_limit(client, request_timeout))
}

/// Making a client panics on a token that no header can carry.
fn check_token(config: &Config) -> Result<(), kube::Error> {
    // What holds the token shows it to a serializer alone.
    let auth = serde_json::to_value(&config.auth_info).map_err(kube::Error::SerdeError)?;
    let Some(token) = auth.get("token").and_then(serde_json::Value::as_str) else {
        return Ok(());
    };
    http::HeaderValue::try_from(format!("Bearer {token}"))
        .map(drop)
        .map_err(|error| kube::Error::Auth(AuthError::InvalidBearerToken(error)))
}

/// The certificates in a PEM bundle, in DER.
pub(crate) fn parse_ca_bundle(pem: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let certificates: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(pem)
        .map(|certificate| certificate.map(|der| der.to_vec()).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    if certificates.is_empty() {
        Err("it holds no certificate".to_owned())
    } else {
        Ok(certificates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("controller-kit-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    const TWO: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: 'https://127.0.0.1:6443'}\n\
        - name: broken\n  cluster: {}\nusers: []\ncontexts:\n- name: karmada\n  context: {cluster: c, user: u}\n\
        - name: host\n  context: {cluster: broken, user: u}\n";

    async fn message(path: &Path, context: Option<&str>) -> String {
        find_config(Some(path), context)
            .await
            .unwrap_err()
            .to_string()
            .replace(&path.display().to_string(), "FILE")
    }

    #[tokio::test]
    async fn a_token_of_two_lines_is_named() {
        let text = TWO.replace(
            "users: []",
            "users:\n- name: u\n  user:\n    token: |\n      a\n      b\n",
        );
        let path = temporary("token", &text);
        let config = find_config(Some(&path), Some("karmada")).await.unwrap();
        let error = connect(config, Duration::from_secs(1)).err().unwrap().to_string();
        assert!(
            error.contains("the token of its user in the kubeconfig holds a line break"),
            "{error}"
        );
        std::fs::remove_file(path).unwrap();
    }

    #[tokio::test]
    async fn every_mistake_has_its_own_sentence() {
        let missing = std::env::temp_dir().join("controller-kit-not-there");
        assert_eq!(
            message(&missing, None).await,
            "cannot read kubeconfig FILE: No such file or directory (os error 2); check --kubeconfig (or KUBECONFIG)"
        );
        let path = temporary("two", TWO);
        assert_eq!(
            message(&path, None).await,
            "kubeconfig FILE has no current-context; choose one with --context: karmada, host"
        );
        assert_eq!(
            message(&path, Some("prod")).await,
            "kubeconfig FILE has no context \"prod\"; it has karmada, host; choose one with --context"
        );
        assert_eq!(
            message(&path, Some("host")).await,
            "kubeconfig FILE: cluster url is missing on selected cluster"
        );
        let nonsense = temporary("nonsense", "{[");
        assert!(
            message(&nonsense, None)
                .await
                .starts_with("cannot read kubeconfig FILE: ")
        );
        assert_eq!(
            find_config(Some(&path), Some("karmada"))
                .await
                .unwrap()
                .cluster_url
                .to_string(),
            "https://127.0.0.1:6443/"
        );
        let of_member = |path: &Path, context: Option<&str>| {
            let (path, context) = (path.to_path_buf(), context.map(str::to_owned));
            async move {
                let error = find_own_config(Some(&path), context.as_deref()).await.unwrap_err();
                error.to_string().replace(&path.display().to_string(), "FILE")
            }
        };
        assert_eq!(
            of_member(&missing, None).await,
            "cannot read kubeconfig FILE: No such file or directory (os error 2); check --member-kubeconfig"
        );
        assert!(
            of_member(&path, Some("prod"))
                .await
                .ends_with("choose one with --member-context")
        );
        let nowhere = find_own_config(None, Some("prod")).await.unwrap_err().to_string();
        assert!(
            nowhere.starts_with("--member-context \"prod\" needs a kubeconfig"),
            "{nowhere}"
        );
        std::fs::remove_file(path).unwrap();
        std::fs::remove_file(nonsense).unwrap();
    }
}
