//! Authorities and the certificates that they issue, for tests of TLS.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, SanType,
    date_time_ymd,
};

/// An authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// Whose certificate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A server on this machine: 127.0.0.1, localhost, and the name.
    Server,
    /// A client.
    Client,
}

/// When a certificate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// From the year 2000 to 3000.
    Now,
    /// In the year 2001 only.
    NoLonger,
    /// From the year 2999 on.
    NotYet,
    /// From the year 2000 to the begin of this one.
    Until(i32),
    /// From the year 2000 to this moment, to the second.
    Before(SystemTime),
}

/// What a certificate is to say, all of it.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The subject's common name.
    pub common_name: String,
    /// Names that it is for.
    pub dns_names: Vec<String>,
    /// Addresses that it is for.
    pub addresses: Vec<IpAddr>,
    /// What it may be used for.
    pub usages: Vec<Of>,
}

/// A certificate and its key, PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// A new one of this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }

    /// Its own certificate, PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate with this common name that counts now.
    #[must_use]
    pub fn issue(&self, name: &str, of: Of) -> Issued {
        self.issue_for(name, of, Counts::Now, &[])
    }

    /// A certificate with this common name and these URIs.
    #[must_use]
    pub fn issue_for(&self, name: &str, of: Of, counts: Counts, uris: &[&str]) -> Issued {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![of.purpose()];
        let dns = |name: &str| SanType::DnsName(name.try_into().unwrap());
        if of == Of::Server {
            params.subject_alt_names = vec![
                SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                dns("localhost"),
                dns(name),
            ];
        }
        let uris = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap()));
        params.subject_alt_names.extend(uris);
        (params.not_before, params.not_after) = match counts {
            Counts::Now => (date_time_ymd(2000, 1, 1), date_time_ymd(3000, 1, 1)),
            Counts::NoLonger => (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1)),
            Counts::NotYet => (date_time_ymd(2999, 1, 1), date_time_ymd(3000, 1, 1)),
            Counts::Until(year) => (date_time_ymd(2000, 1, 1), date_time_ymd(year, 1, 1)),
            Counts::Before(end) => (date_time_ymd(2000, 1, 1), end.into()),
        };
        self.sign(&params)
    }

    /// A certificate that says exactly this, and counts now.
    #[must_use]
    pub fn issue_as(&self, wanted: &Wanted) -> Issued {
        let mut params = CertificateParams::new(wanted.dns_names.clone()).unwrap();
        params
            .distinguished_name
            .push(DnType::CommonName, wanted.common_name.as_str());
        let addresses = wanted.addresses.iter().copied().map(SanType::IpAddress);
        params.subject_alt_names.extend(addresses);
        params.extended_key_usages = wanted.usages.iter().map(|of| of.purpose()).collect();
        (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(3000, 1, 1));
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Issued {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

impl Of {
    fn purpose(self) -> ExtendedKeyUsagePurpose {
        match self {
            Self::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Self::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

impl Issued {
    /// Writes both as `NAME.crt` and `NAME.key`, over what is there.
    pub fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let paths = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
        std::fs::write(&paths.0, &self.certificate).unwrap();
        std::fs::write(&paths.1, &self.key).unwrap();
        paths
    }
}
