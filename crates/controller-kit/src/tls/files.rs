//! Files that flags name.

use std::fmt;
use std::io::Read;
use std::path::PathBuf;

/// The largest file that is read: a bundle of some hundred authorities is far below it.
const MAX_BYTES: u64 = 1024 * 1024;

/// A file, and the flag that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The flag, as in `--queue-tls-cert-file`.
    pub flag: &'static str,
    /// Where the file is.
    pub path: PathBuf,
}

impl NamedFile {
    /// The file that a flag names.
    #[must_use]
    pub fn new(flag: &'static str, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { flag, path }
    }

    /// All that is in it.
    ///
    /// # Errors
    /// A text that says why not.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        let file = std::fs::File::open(&self.path).map_err(|error| error.to_string())?;
        let mut content = Vec::new();
        let size = file
            .take(MAX_BYTES + 1)
            .read_to_end(&mut content)
            .map_err(|error| error.to_string())?;
        if size as u64 > MAX_BYTES {
            return Err(format!("it is larger than {MAX_BYTES} bytes"));
        }
        Ok(content)
    }
}

impl fmt::Display for NamedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.flag, self.path.display())
    }
}
