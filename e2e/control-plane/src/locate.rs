//! Where the programs lie: the folder that the user names, or the cache.

use std::env;
use std::path::{Path, PathBuf};

use crate::pins;
use crate::tool::Tool;

/// The variable that names a folder with the programs (the convention of Kubernetes' envtest).
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A folder that holds at least the programs of [`Tool::NEEDED`].
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// The folder, to be put on a `PATH`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where `tool` lies; for one outside [`Tool::NEEDED`] it may not.
    #[must_use]
    pub fn path(&self, tool: Tool) -> PathBuf {
        self.folder.join(tool.name())
    }

    /// Whether `tool` is there.
    #[must_use]
    pub fn has(&self, tool: Tool) -> bool {
        self.path(tool).is_file()
    }
}

/// The programs are not there. Says in one line what is left out and how to get it.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    /// The folder named by the user is incomplete; it is never added to.
    #[error(
        "{ASSETS}={} lacks {}: put them there, or unset the variable and run `cargo xtask control-plane`, which builds them with Go",
        folder.display(), names.join(", ")
    )]
    InAssets {
        /// The folder that the variable names.
        folder: PathBuf,
        /// The programs that are not in it.
        names: Vec<&'static str>,
    },
    /// They have not been built yet.
    #[error(
        "the programs of a real control plane are not built: run `cargo xtask control-plane` (needs Go), or name a folder that has them in {ASSETS}"
    )]
    NotBuilt,
    /// There is no home folder to keep a cache in.
    #[error("no place for a cache: set KARMADA_FAILOVER_CACHE or HOME")]
    NoCache,
}

/// The project's cache outside the checkout: `$KARMADA_FAILOVER_CACHE`, else `karmada-failover` in `$XDG_CACHE_HOME`
/// or `~/.cache`.
///
/// # Errors
/// [`Missing::NoCache`] where none of these variables is set.
pub fn cache_folder() -> Result<PathBuf, Missing> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("KARMADA_FAILOVER_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("karmada-failover")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/karmada-failover")))
        .ok_or(Missing::NoCache)
}

/// Whether this runs in CI (`CI=true`), where leaving something out is a failure.
#[must_use]
pub fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Where the programs are.
///
/// # Errors
/// [`Missing`], where they are not: its text is the one line that a test or task prints when it leaves something out.
pub fn locate() -> Result<Binaries, Missing> {
    if let Some(folder) = assets_folder() {
        let names = missing_in(&folder, &Tool::NEEDED);
        return if names.is_empty() {
            Ok(Binaries { folder })
        } else {
            Err(Missing::InAssets { folder, names })
        };
    }
    let folder = built_folder()?;
    if missing_in(&folder, &Tool::ALL).is_empty() {
        Ok(Binaries { folder })
    } else {
        Err(Missing::NotBuilt)
    }
}

/// The folder that the user names, where he does.
fn assets_folder() -> Option<PathBuf> {
    env::var_os(ASSETS).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder of the cache for the programs at today's pins.
pub(crate) fn built_folder() -> Result<PathBuf, Missing> {
    Ok(cache_folder()?.join("control-plane").join(pins::key()))
}

/// The names of those `tools` that `folder` lacks.
fn missing_in(folder: &Path, tools: &[Tool]) -> Vec<&'static str> {
    tools
        .iter()
        .map(|tool| tool.name())
        .filter(|name| !folder.join(name).is_file())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("etcd"), "").unwrap();
        assert_eq!(missing_in(folder.path(), &[Tool::Etcd, Tool::Kwok]), ["kwok"]);
        let error = Missing::InAssets {
            folder: "/assets".into(),
            names: vec!["kwok", "kubectl"],
        };
        assert!(
            error
                .to_string()
                .starts_with("KUBEBUILDER_ASSETS=/assets lacks kwok, kubectl: "),
            "{error}"
        );
    }
}
