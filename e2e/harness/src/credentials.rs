//! Who may speak to an API server: its users with their tokens, and the key pair of its service accounts.

use std::fmt::Write as _;

use k8s_openapi::ByteString;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use uuid::Uuid;

use crate::error::Error;

/// The namespace of our components' service accounts.
const NAMESPACE: &str = "karmada-system";

/// A user of an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// May do everything (group `system:masters`).
    Admin,
    /// A person who works with the command line and has the rights that a test gives.
    Operator,
    /// One of our components, as the service account of that name in `karmada-system`: it has the rights that are
    /// bound to that service account, and no others.
    Component(&'static str),
}

impl Identity {
    /// Everybody whom the API servers know.
    pub const ALL: [Self; 14] = [
        Self::Admin,
        Self::Operator,
        Self::Component("agent"),
        Self::Component("application-failover-controller"),
        Self::Component("cluster-health-controller"),
        Self::Component("eviction-queue"),
        Self::Component("failoverctl"),
        Self::Component("graceful-eviction-controller"),
        Self::Component("karmada-failover"),
        Self::Component("propagation-controllers"),
        Self::Component("scheduler"),
        Self::Component("taint-manager"),
        Self::Component("taint-policy-controller"),
        Self::Component("webhook"),
    ];

    /// The name in messages and file names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Component(name) => name,
        }
    }

    /// The user as RBAC knows it.
    #[must_use]
    pub fn user(self) -> String {
        match self {
            Self::Admin | Self::Operator => self.name().to_owned(),
            Self::Component(name) => format!("system:serviceaccount:{NAMESPACE}:{name}"),
        }
    }

    fn groups(self) -> String {
        match self {
            Self::Admin => "system:masters".to_owned(),
            Self::Operator => String::new(),
            Self::Component(_) => format!("system:serviceaccounts,system:serviceaccounts:{NAMESPACE}"),
        }
    }
}

/// The tokens of one API server: new ones for each.
#[derive(Debug)]
pub(crate) struct Tokens(Vec<(Identity, String)>);

impl Tokens {
    pub(crate) fn generate() -> Self {
        Self(
            Identity::ALL
                .into_iter()
                .map(|identity| (identity, Uuid::new_v4().simple().to_string()))
                .collect(),
        )
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Identity, &str)> {
        self.0.iter().map(|(identity, token)| (*identity, token.as_str()))
    }

    pub(crate) fn of(&self, wanted: Identity) -> Option<&str> {
        self.iter()
            .find(|(identity, _)| *identity == wanted)
            .map(|(_, token)| token)
    }

    /// The file for `--token-auth-file`: token, user, uid, groups.
    pub(crate) fn file(&self) -> String {
        self.iter().fold(String::new(), |mut file, (identity, token)| {
            // Writing into a String cannot fail.
            let _ = writeln!(
                file,
                "{token},{user},{user},\"{}\"",
                identity.groups(),
                user = identity.user()
            );
            file
        })
    }
}

/// What stands before the point of a P-256 public key in DER (RFC 5480: a sequence of the algorithm and a bit string).
const P256_PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// With which an API server signs the tokens of service accounts, and checks them, both in PEM.
pub(crate) struct ServiceAccountKeys {
    pub private: String,
    pub public: String,
}

impl ServiceAccountKeys {
    /// A new pair.
    pub(crate) fn generate() -> Result<Self, Error> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let private = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| Error::NoKey)?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, private.as_ref(), &random).map_err(|_| Error::NoKey)?;
        let public = [P256_PUBLIC_KEY_HEAD.as_slice(), pair.public_key().as_ref()].concat();
        Ok(Self {
            private: pem("PRIVATE KEY", private.as_ref()),
            public: pem("PUBLIC KEY", &public),
        })
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", base64(der))
}

/// Base 64, as Kubernetes' objects spell bytes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    match serde_json::to_value(ByteString(bytes.to_vec())) {
        Ok(serde_json::Value::String(text)) => text,
        // A ByteString is always written as a string.
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_token_of_its_own() {
        let tokens = Tokens::generate();
        let manager = tokens.of(Identity::Component("taint-manager")).unwrap();
        let user = "system:serviceaccount:karmada-system:taint-manager";
        let line = format!("{manager},{user},{user},\"system:serviceaccounts,system:serviceaccounts:karmada-system\"");
        assert!(tokens.file().lines().any(|known| known == line), "{}", tokens.file());
        let mut all: Vec<_> = tokens.iter().map(|(_, token)| token).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), Identity::ALL.len());
        assert_eq!(tokens.of(Identity::Component("nobody")), None);
    }

    #[test]
    fn base64_is_padded() {
        assert_eq!(base64(b"abcd"), "YWJjZA==");
    }
}
