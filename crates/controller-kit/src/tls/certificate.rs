//! What a certificate says of itself, as far as anybody here asks. Pure.

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// What a certificate says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Its names, each once: the common name, then URIs, then DNS names.
    pub names: Vec<String>,
    /// Valid from here on.
    pub not_before: Timestamp,
    /// Valid up to here.
    pub not_after: Timestamp,
}

/// Why a certificate does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateProblem {
    /// It is no X.509 certificate.
    #[error("is no X.509 certificate: {why}")]
    Malformed {
        /// Why not.
        why: String,
    },
    /// Its time is over.
    #[error("has expired: it was valid until {not_after}, and now it is {now}")]
    Expired {
        /// The end of its time.
        not_after: Timestamp,
        /// The time now, to the second.
        now: Timestamp,
    },
    /// Its time has not come.
    #[error("is not valid yet: it is from {not_before} on, and now it is {now}")]
    NotYetValid {
        /// The begin of its time.
        not_before: Timestamp,
        /// The time now, to the second.
        now: Timestamp,
    },
}

impl CertificateFacts {
    /// Reads them from the certificate's DER.
    ///
    /// # Errors
    /// [`CertificateProblem::Malformed`].
    pub fn of(certificate: &CertificateDer<'_>) -> Result<Self, CertificateProblem> {
        let malformed = |why: String| CertificateProblem::Malformed { why };
        let (_, read) = X509Certificate::from_der(certificate).map_err(|error| malformed(error.to_string()))?;
        let time = |seconds: i64| Timestamp::from_second(seconds).map_err(|error| malformed(error.to_string()));
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        };
        for name in read.subject().iter_common_name() {
            add(name.as_str().unwrap_or_default());
        }
        let alternatives = read
            .subject_alternative_name()
            .map_err(|error| malformed(error.to_string()))?;
        let alternatives = alternatives.map_or(&[][..], |extension| extension.value.general_names.as_slice());
        for name in alternatives {
            if let GeneralName::URI(uri) = name {
                add(uri);
            }
        }
        for name in alternatives {
            if let GeneralName::DNSName(dns) = name {
                add(dns);
            }
        }
        Ok(Self {
            names,
            not_before: time(read.validity().not_before.timestamp())?,
            not_after: time(read.validity().not_after.timestamp())?,
        })
    }

    /// Whether it counts now.
    ///
    /// # Errors
    /// It is too early or too late.
    pub fn valid_at(&self, now: Timestamp) -> Result<(), CertificateProblem> {
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
        if now < self.not_before {
            let not_before = self.not_before;
            return Err(CertificateProblem::NotYetValid { not_before, now });
        }
        if now > self.not_after {
            let not_after = self.not_after;
            return Err(CertificateProblem::Expired { not_after, now });
        }
        Ok(())
    }
}
