//! Builds the programs that the cache lacks, from their Go modules.
//!
//! Several callers may do this at the same time: one builds, the others wait for it. A program appears in the cache
//! whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::locate::{Binaries, Missing, built_folder, locate};
use crate::pins;
use crate::tool::Tool;

/// Why the programs could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// They can neither be found nor built here: the folder named is incomplete, or there is no cache.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// There is no Go.
    #[error(
        "real API servers are left out: there is no Go to build them with. Install Go 1.26 or newer, or name a folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kwok in KUBEBUILDER_ASSETS"
    )]
    NoGo,
    /// The Go modules are not beside this crate's manifest: it was built in a checkout that is gone.
    #[error("{} is gone: build the control plane from a checkout of the project", .0.display())]
    NoModules(PathBuf),
    /// A file or folder of the cache could not be made.
    #[error("{what} {}: {source}", path.display())]
    Cache {
        /// What was tried.
        what: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Go could not be started.
    #[error("cannot run go: {0}")]
    Go(io::Error),
    /// Go could not build a program; it has said why on the standard error.
    #[error("go could not build {name} ({status}); its message is above")]
    Failed {
        /// The program.
        name: &'static str,
        /// How Go ended.
        status: ExitStatus,
    },
}

/// Finds the programs, building those that the cache lacks; `building` hears of each build before it starts. With a
/// warm cache nothing is run.
///
/// # Errors
/// [`BuildError`], whose text says what to do.
pub fn build(mut building: impl FnMut(Tool)) -> Result<Binaries, BuildError> {
    match locate() {
        Ok(binaries) => return Ok(binaries),
        Err(Missing::NotBuilt) => {}
        Err(other) => return Err(other.into()),
    }
    go_is_there()?;
    let folder = built_folder()?;
    fs::create_dir_all(&folder).map_err(in_cache("cannot create", &folder))?;
    let _alone = lock(&folder.join(".lock"))?;
    for tool in Tool::ALL {
        let target = folder.join(tool.name());
        // Looked at under the lock: another caller may have built it while this one waited.
        if !target.is_file() {
            building(tool);
            build_one(tool, &target)?;
        }
    }
    Ok(locate()?)
}

fn go_is_there() -> Result<(), BuildError> {
    match Command::new("go")
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
    {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(BuildError::NoGo),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(BuildError::NoGo),
        Err(error) => Err(BuildError::Go(error)),
    }
}

/// Waits until no other process builds. The lock goes with the file handle, also when its holder is killed.
fn lock(path: &Path) -> Result<File, BuildError> {
    let file = File::create(path).map_err(in_cache("cannot create", path))?;
    file.lock().map_err(in_cache("cannot lock", path))?;
    Ok(file)
}

fn build_one(tool: Tool, target: &Path) -> Result<(), BuildError> {
    let module = tool.module();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(module.folder);
    if !sources.is_dir() {
        return Err(BuildError::NoModules(sources));
    }
    let unfinished = target.with_extension("unfinished");
    let status = Command::new("go")
        .current_dir(&sources)
        // Pure Go: what is built runs on any libc, and needs no C compiler.
        .env("CGO_ENABLED", "0")
        // The pins decide, not a workspace or flags of the user's.
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=readonly -buildvcs=false -trimpath")
        .args(["build", "-ldflags", &pins::linker_flags(module), "-o"])
        .arg(&unfinished)
        .arg(tool.package())
        .stdin(Stdio::null())
        // What is built is no result of the caller's: its standard output stays its own.
        .stdout(Stdio::null())
        .status()
        .map_err(BuildError::Go)?;
    if !status.success() {
        return Err(BuildError::Failed {
            name: tool.name(),
            status,
        });
    }
    fs::rename(&unfinished, target).map_err(in_cache("cannot move the program to", target))
}

fn in_cache(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::Cache { what, path, source }
}
