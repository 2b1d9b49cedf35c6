//! TLS whose certificates change while it runs: read from files, and read again when the files change.
//!
//! Guarantees: what is in force was whole and valid when it was read; files that are broken later change nothing but a
//! warning and a counter; a connection that is open keeps what it was made with, a new one gets what is in force then.
//! The machine's time counts as the injected [`Clock`](crate::Clock) has it, and ring is the only cryptography.

mod certificate;
mod endpoints;
mod files;
mod material;
mod reloading;
mod secret;
mod words;

pub use self::certificate::{CertificateFacts, CertificateProblem};
pub use self::endpoints::{CallerCertificate, ClientFiles, ClientTls, ServerFiles, ServerTls};
pub use self::files::NamedFile;
pub use self::material::TlsError;
pub use self::reloading::{LOOK_EVERY, Material, Reloading};
pub use self::secret::{SecretText, secret_text};
pub use self::words::{in_words, tls_error};
