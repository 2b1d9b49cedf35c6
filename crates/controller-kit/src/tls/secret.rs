//! A text in a file that nobody may see, such as a bearer token.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};

use super::files::NamedFile;
use super::material::TlsError;
use super::reloading::{Material, Reloading};
use crate::Clock;

/// A text that is not shown: its debug form says nothing, and its memory is cleared when it goes.
#[derive(Clone)]
pub struct SecretText(Arc<SecretString>);

impl SecretText {
    /// Keeps a text secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(SecretString::from(text.into())))
    }

    /// The text, for the one place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

impl Material for SecretText {
    fn not_after(&self) -> Option<Timestamp> {
        None
    }
}

/// A token in a file, read again when it changes.
///
/// # Errors
/// [`TlsError`] when it cannot be read, or has characters that do not go into a header.
pub fn secret_text(what: &'static str, file: NamedFile, clock: &Clock) -> Result<Reloading<SecretText>, TlsError> {
    Reloading::start(what, vec![file], clock.clone(), |contents, _| {
        let [(file, content)] = contents else {
            return Err(TlsError::NoToken {
                file: NamedFile::new("", ""),
            });
        };
        let text = std::str::from_utf8(content).unwrap_or_default().trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TlsError::NoToken { file: (*file).clone() });
        }
        Ok(SecretText::new(text))
    })
}
