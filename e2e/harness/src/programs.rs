//! Where our own programs are.

use std::env;
use std::path::PathBuf;

use crate::error::Error;

/// The variable that names the folder.
const VARIABLE: &str = "KARMADA_FAILOVER_BIN_DIR";

/// A folder with our programs.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// The folder named by `KARMADA_FAILOVER_BIN_DIR`; else the one of the running program, which for a test is the
    /// one above it (cargo puts tests into `deps`).
    ///
    /// # Errors
    /// [`Error::System`] when the running program cannot be found.
    pub fn find() -> Result<Self, Error> {
        if let Some(folder) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            return Ok(Self { folder: folder.into() });
        }
        let mut folder = env::current_exe().map_err(Error::system("cannot find the running program"))?;
        folder.pop();
        if folder.ends_with("deps") {
            folder.pop();
        }
        Ok(Self { folder })
    }

    /// Where a program is.
    ///
    /// # Errors
    /// [`Error::NoProgram`] when it has not been built.
    pub fn path(&self, program: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(program);
        if path.is_file() {
            return Ok(path);
        }
        Err(Error::NoProgram {
            program: program.to_owned(),
            folder: self.folder.display().to_string(),
            variable: VARIABLE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_the_way_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let programs = Programs {
            folder: folder.path().to_owned(),
        };
        let error = programs.path("taint-manager").unwrap_err().to_string();
        assert!(error.starts_with("taint-manager is not in "), "{error}");
        assert!(error.contains("cargo build --workspace --bins"), "{error}");
        std::fs::write(folder.path().join("taint-manager"), "").unwrap();
        assert_eq!(
            programs.path("taint-manager").unwrap(),
            folder.path().join("taint-manager")
        );
    }
}
