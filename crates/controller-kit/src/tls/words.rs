//! What a handshake failed of, in words that say what is wrong with whom. Pure.

use std::error::Error as StdError;

use jiff::Timestamp;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// The error of TLS in a chain of causes, if there is one.
#[must_use]
pub fn tls_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Error> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref::<Error>() {
            return Some(found);
        }
        // An I/O error shows the causes of what it wraps, not what it wraps.
        let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner as &(dyn StdError + 'static)),
            None => cause.source(),
        };
    }
    None
}

/// An error of TLS in words, as whoever sees it would say it of the other side.
#[must_use]
pub fn in_words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate(why),
        Error::NoCertificatesPresented => "the other side shows no certificate, and one is required".to_owned(),
        Error::AlertReceived(alert) => received(*alert),
        Error::InvalidMessage(InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion) => {
            "the other side does not speak TLS".to_owned()
        }
        Error::NoApplicationProtocol => "the other side speaks no protocol in common, such as HTTP/2".to_owned(),
        Error::PeerIncompatible(why) => format!("the other side speaks another TLS: {why:?}"),
        other => format!("TLS failed: {other}"),
    }
}

fn certificate(why: &CertificateError) -> String {
    match why {
        CertificateError::Expired => "the other side's certificate has expired".to_owned(),
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the other side's certificate has expired: it was valid until {}, and now it is {}",
            shown(*not_after),
            shown(*time)
        ),
        CertificateError::NotValidYet => "the other side's certificate is not valid yet".to_owned(),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the other side's certificate is not valid yet: it is from {} on, and now it is {}",
            shown(*not_before),
            shown(*time)
        ),
        CertificateError::UnknownIssuer => {
            "the other side's certificate comes from an authority that is not trusted here".to_owned()
        }
        CertificateError::BadSignature => {
            "the other side's certificate is not signed by the authority that it names".to_owned()
        }
        CertificateError::NotValidForName => "the other side's certificate is for another name".to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names = if presented.is_empty() {
                "no name at all".to_owned()
            } else {
                let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
                names.join(", ")
            };
            format!(
                "the other side's certificate is for another name: wanted {}, it has {names}",
                name(expected)
            )
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the other side's certificate is not made for this purpose: extended key usage serverAuth for a server, \
             clientAuth for a client"
                .to_owned()
        }
        other => format!("the other side's certificate is refused: {other}"),
    }
}

fn received(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => "the other side requires a certificate of ours".to_owned(),
        AlertDescription::UnknownCA => {
            "the other side refuses our certificate: it comes from an authority that is not trusted there".to_owned()
        }
        AlertDescription::CertificateExpired => {
            "the other side refuses our certificate: it is expired or not valid yet by the clock there".to_owned()
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateRevoked
        | AlertDescription::AccessDenied
        | AlertDescription::DecryptError => format!("the other side refuses our certificate ({alert:?})"),
        AlertDescription::NoApplicationProtocol => {
            "the other side speaks no protocol in common, such as HTTP/2".to_owned()
        }
        AlertDescription::ProtocolVersion => "the other side speaks no version of TLS in common".to_owned(),
        other => format!("the other side ends the handshake ({other:?})"),
    }
}

fn shown(time: UnixTime) -> String {
    i64::try_from(time.as_secs())
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(|| "a time out of range".to_owned(), |at| at.to_string())
}

/// The name in `DnsName("queue")` or `IpAddress(10.0.0.1)`.
fn bare(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'))
        .unwrap_or(name);
    inner.trim_matches('"')
}

fn name(name: &ServerName<'_>) -> String {
    name.to_str().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_through_what_wraps_it() {
        let inner = Error::AlertReceived(AlertDescription::CertificateRequired);
        let io = std::io::Error::new(std::io::ErrorKind::InvalidData, inner);
        let outer = std::io::Error::other(io);
        let found = tls_error(&outer).map(in_words);
        assert_eq!(found.as_deref(), Some("the other side requires a certificate of ours"));
        assert!(tls_error(&std::io::Error::other("else")).is_none());
    }

    #[test]
    fn names_are_told_as_they_are_written_in_certificates() {
        let error = Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("elsewhere.example").unwrap(),
            presented: vec!["IpAddress(10.0.0.1)".to_owned(), "DnsName(\"queue\")".to_owned()],
        });
        assert_eq!(
            in_words(&error),
            "the other side's certificate is for another name: wanted elsewhere.example, it has 10.0.0.1, queue"
        );
    }

    #[test]
    fn a_time_is_told_as_people_write_it() {
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let error = Error::InvalidCertificate(CertificateError::ExpiredContext {
            time: at(86_400),
            not_after: at(0),
        });
        assert_eq!(
            in_words(&error),
            "the other side's certificate has expired: it was valid until 1970-01-01T00:00:00Z, and now it is 1970-01-02T00:00:00Z"
        );
    }
}
