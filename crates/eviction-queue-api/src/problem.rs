//! Why there is no connection, in words of the queue's flags.

use std::sync::Arc;

use controller_kit::tls::in_words;
use parking_lot::Mutex;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// The source of a status that no server gave: the connection failed, and this is why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConnectionProblem(pub Arc<str>);

/// What was last wrong with a connection. What ends a handshake of TLS 1.3 on the other side is heard only afterwards,
/// as an error of reading, of which HTTP/2 keeps no more than that there was one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trouble {
    last: Arc<Mutex<Option<ConnectionProblem>>>,
}

impl Trouble {
    pub fn is(&self, words: impl Into<Arc<str>>) -> ConnectionProblem {
        let problem = ConnectionProblem(words.into());
        *self.last.lock() = Some(problem.clone());
        problem
    }

    pub fn is_over(&self) {
        *self.last.lock() = None;
    }

    pub fn last(&self) -> Option<ConnectionProblem> {
        self.last.lock().clone()
    }
}

/// An error of TLS, and what to do.
pub(crate) fn of_tls(address: &str, error: &Error) -> String {
    let what_to_do = match error {
        Error::InvalidCertificate(why) => match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "; renew the queue's certificate (--queue-tls-cert-file), and compare the clocks"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "; compare the clocks",
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "; --queue-ca-file must hold the authority of the queue's certificate"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "; give a name that it has as --queue-server-name"
            }
            _ => "; issue another certificate for the queue",
        },
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "; give --queue-client-cert-file and --queue-client-key-file"
        }
        Error::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::DecryptError,
        ) => {
            "; --queue-client-cert-file must hold a valid certificate of an authority in --queue-client-ca-file of the queue"
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "; leave --queue-ca-file away if the queue has no --queue-tls-cert-file"
        }
        _ => "",
    };
    format!(
        "no TLS with the eviction queue at {address}: {}{what_to_do}",
        in_words(error)
    )
}
