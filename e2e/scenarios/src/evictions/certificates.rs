//! Who is who at the queue: an authority, and a certificate for the queue, the taint manager and an operator.

use std::path::Path;

use test_bench::{Authority, Of};

const TAINT_MANAGER: &str = "taint-manager";
const OPERATOR: &str = "operator";

/// Flags of everybody, with the files that they name.
pub struct Certificates {
    /// Of the eviction queue.
    pub queue: Vec<String>,
    /// Of the taint manager.
    pub taint_manager: Vec<String>,
    /// Of failoverctl.
    pub operator: Vec<String>,
}

impl Certificates {
    /// Writes the files into this folder.
    pub fn write(folder: &Path) -> anyhow::Result<Self> {
        let authority = Authority::new("evictions");
        let ca = folder.join("queue-ca.crt");
        std::fs::write(&ca, authority.pem())?;
        let issued = |name: &str, of: Of| authority.issue(name, of).write(folder, name);
        let client = |name: &str| {
            let (certificate, key) = issued(name, Of::Client);
            vec![
                format!("--queue-ca-file={}", ca.display()),
                format!("--queue-client-cert-file={}", certificate.display()),
                format!("--queue-client-key-file={}", key.display()),
            ]
        };
        let (certificate, key) = issued("eviction-queue", Of::Server);
        Ok(Self {
            queue: vec![
                format!("--queue-tls-cert-file={}", certificate.display()),
                format!("--queue-tls-key-file={}", key.display()),
                format!("--queue-client-ca-file={}", ca.display()),
                format!("--queue-producers={TAINT_MANAGER}"),
                format!("--queue-consumers={TAINT_MANAGER}"),
                format!("--queue-admins={OPERATOR}"),
            ],
            taint_manager: client(TAINT_MANAGER),
            operator: client(OPERATOR),
        })
    }
}
