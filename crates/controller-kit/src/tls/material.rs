//! From what files hold to what TLS needs. Pure: contents and the time go in.
//!
//! What the parser says of a key never gets into an error: it may quote the line that it does not like.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::certificate::{CertificateFacts, CertificateProblem};
use super::files::NamedFile;

/// Why files are no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{file}: cannot be read: {why}; name a PEM file that this process may read")]
    Read {
        /// The file.
        file: NamedFile,
        /// Why not.
        why: String,
    },
    /// A file holds no certificate.
    #[error("{file}: no certificate is in it; write PEM blocks \"BEGIN CERTIFICATE\" into it, the own one first")]
    NoCertificate {
        /// The file.
        file: NamedFile,
    },
    /// A file holds no private key.
    #[error(
        "{file}: no private key is in it that can be read; write it as a PEM block \"BEGIN PRIVATE KEY\", without a password"
    )]
    NoKey {
        /// The file.
        file: NamedFile,
    },
    /// A certificate does not count.
    #[error("{file}: the certificate{} {problem}; issue a new one", named(.name))]
    Certificate {
        /// The file.
        file: NamedFile,
        /// Its first name; empty when it has none or none can be read.
        name: String,
        /// Why not.
        problem: CertificateProblem,
    },
    /// The key is not the certificate's.
    #[error("{key}: this is not the key of the certificate in {certificate}; write both files from the same issue")]
    Mismatch {
        /// The file of the key.
        key: NamedFile,
        /// The file of the certificate.
        certificate: NamedFile,
    },
    /// A key or a certificate is of a kind that is not supported.
    #[error("{file}: {why}; use a key of ECDSA P-256 or P-384, Ed25519, or RSA of 2048 bits and more")]
    Unsupported {
        /// The file.
        file: NamedFile,
        /// Why not.
        why: String,
    },
    /// A text that goes into a header has other characters.
    #[error("{file}: it is empty or has characters that no token has; write the token alone into it")]
    NoToken {
        /// The file.
        file: NamedFile,
    },
}

fn named(name: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!(" of {name:?}")
    }
}

impl TlsError {
    /// When time alone mends it, if it does.
    pub(super) fn counts_from(&self) -> Option<Timestamp> {
        match self {
            Self::Certificate {
                problem: CertificateProblem::NotYetValid { not_before, .. },
                ..
            } => Some(*not_before),
            _ => None,
        }
    }
}

fn certificates(file: &NamedFile, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err(TlsError::NoCertificate { file: file.clone() }),
    }
}

fn facts(file: &NamedFile, certificate: &CertificateDer<'_>, now: Timestamp) -> Result<CertificateFacts, TlsError> {
    let wrong = |name: &str, problem| TlsError::Certificate {
        file: file.clone(),
        name: name.to_owned(),
        problem,
    };
    let facts = CertificateFacts::of(certificate).map_err(|problem| wrong("", problem))?;
    facts
        .valid_at(now)
        .map_err(|problem| wrong(facts.names.first().map_or("", String::as_str), problem))?;
    Ok(facts)
}

/// A certificate with its chain and its key, valid now.
pub(super) fn pair(
    (certificate_file, certificate): (&NamedFile, &[u8]),
    (key_file, key): (&NamedFile, &[u8]),
    provider: &CryptoProvider,
    now: Timestamp,
) -> Result<(Arc<CertifiedKey>, CertificateFacts), TlsError> {
    let chain = certificates(certificate_file, certificate)?;
    let Some(own) = chain.first() else {
        let file = certificate_file.clone();
        return Err(TlsError::NoCertificate { file });
    };
    let facts = facts(certificate_file, own, now)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoKey { file: key_file.clone() })?;
    let certified = CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch {
            key: key_file.clone(),
            certificate: certificate_file.clone(),
        },
        rustls::Error::InvalidCertificate(why) => TlsError::Unsupported {
            file: certificate_file.clone(),
            why: why.to_string(),
        },
        _ => TlsError::Unsupported {
            file: key_file.clone(),
            why: "the private key is broken or of another kind".to_owned(),
        },
    })?;
    Ok((Arc::new(certified), facts))
}

/// The authorities of a bundle that count now.
#[derive(Debug)]
pub(super) struct Authorities {
    /// Those of which certificates are accepted.
    pub roots: Arc<RootCertStore>,
    /// Until when one of them at least counts.
    pub not_after: Timestamp,
    /// When the next one of the bundle begins to count, if one is still to come.
    pub next_from: Option<Timestamp>,
}

/// Authorities, of which one at least is valid now: a bundle keeps the last one for a while when the next one comes.
pub(super) fn authorities((file, pem): (&NamedFile, &[u8]), now: Timestamp) -> Result<Authorities, TlsError> {
    let mut store = RootCertStore::empty();
    let mut latest: Option<Timestamp> = None;
    let mut next_from: Option<Timestamp> = None;
    let mut invalid = None;
    for certificate in certificates(file, pem)? {
        match facts(file, &certificate, now) {
            Ok(facts) => latest = latest.max(Some(facts.not_after)),
            Err(
                error @ TlsError::Certificate {
                    problem: CertificateProblem::Malformed { .. },
                    ..
                },
            ) => return Err(error),
            // Whoever it vouches for is refused; the others of the bundle count.
            Err(error) => {
                // One that is still to come is what the bundle waits for, wherever it stands among those that are over.
                let from = error.counts_from();
                let is_next = from.is_some_and(|from| next_from.is_none_or(|next| from < next));
                if is_next {
                    next_from = from;
                }
                if is_next || next_from.is_none() {
                    invalid = Some(error);
                }
                continue;
            }
        }
        store.add(certificate).map_err(|error| TlsError::Unsupported {
            file: file.clone(),
            why: error.to_string(),
        })?;
    }
    match (latest, invalid) {
        (Some(not_after), _) => Ok(Authorities {
            roots: Arc::new(store),
            not_after,
            next_from,
        }),
        (None, Some(error)) => Err(error),
        (None, None) => Err(TlsError::NoCertificate { file: file.clone() }),
    }
}
