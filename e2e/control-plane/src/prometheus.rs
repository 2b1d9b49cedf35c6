//! Prometheus and its promtool, of Debian's package: unpacked into the cache, never installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use crate::locate::{Missing, cache_folder};

/// Debian's package.
const PACKAGE: &str = "prometheus";

/// The two programs.
#[derive(Clone, Debug)]
pub struct Prometheus {
    folder: PathBuf,
}

impl Prometheus {
    /// The server.
    #[must_use]
    pub fn server(&self) -> PathBuf {
        self.folder.join("prometheus")
    }

    /// Checks and tests rules.
    #[must_use]
    pub fn promtool(&self) -> PathBuf {
        self.folder.join("promtool")
    }

    fn at(folder: PathBuf) -> Option<Self> {
        let found = Self { folder };
        (found.server().is_file() && found.promtool().is_file()).then_some(found)
    }
}

/// Why Prometheus is not there, in one line with the way to get it.
#[derive(Debug, thiserror::Error)]
pub enum NoPrometheus {
    /// It is neither in the cache nor on the path.
    #[error("prometheus and promtool are not there: run `cargo xtask prometheus`, or put both on the PATH")]
    NotFetched,
    /// There is no home folder to keep a cache in.
    #[error(transparent)]
    Cache(#[from] Missing),
    /// Debian's tools are not here, or do not find the package.
    #[error("cannot fetch Debian's package {PACKAGE}: {why}; put prometheus and promtool on the PATH instead")]
    NotFetchable {
        /// What a tool said.
        why: String,
    },
    /// The cache cannot be written.
    #[error("cannot keep {PACKAGE} in {}: {why}", folder.display())]
    System {
        /// Where.
        folder: PathBuf,
        /// Why not.
        why: io::Error,
    },
}

/// Prometheus, where it is already: on the PATH, else the newest in the cache.
///
/// # Errors
/// [`NoPrometheus`].
pub fn locate_prometheus() -> Result<Prometheus, NoPrometheus> {
    let path = env::var_os("PATH").unwrap_or_default();
    if let Some(found) = env::split_paths(&path).find_map(Prometheus::at) {
        return Ok(found);
    }
    let mut versions: Vec<PathBuf> = match fs::read_dir(cache()?) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    versions.sort();
    let found = versions.into_iter().rev().find_map(Prometheus::at);
    found.ok_or(NoPrometheus::NotFetched)
}

/// Fetches it unless it is there.
///
/// # Errors
/// [`NoPrometheus`].
pub fn fetch_prometheus() -> Result<Prometheus, NoPrometheus> {
    if let Ok(found) = locate_prometheus() {
        return Ok(found);
    }
    let cache = cache()?;
    let work = cache.join(format!(".fetching-{}", std::process::id()));
    let fetched = in_folder(&cache, &work);
    let _ = fs::remove_dir_all(&work);
    fetched
}

fn in_folder(cache: &Path, work: &Path) -> Result<Prometheus, NoPrometheus> {
    let system = |why| NoPrometheus::System {
        folder: cache.to_owned(),
        why,
    };
    fs::create_dir_all(work).map_err(system)?;
    if download(work).is_err() {
        // The lists of packages may be old, or not there.
        run(Command::new("apt-get").args(["-qq", "update"]))?;
        download(work)?;
    }
    let package = fs::read_dir(work)
        .map_err(system)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .ok_or_else(|| NoPrometheus::NotFetchable {
            why: "apt-get download left no package".to_owned(),
        })?;
    run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(work))?;
    // prometheus_2.42.0+ds-5_amd64.deb
    let name = package.file_stem().and_then(|name| name.to_str()).unwrap_or(PACKAGE);
    let version = name.split('_').nth(1).unwrap_or(name);
    let folder = cache.join(version);
    fs::create_dir_all(&folder).map_err(system)?;
    for program in ["prometheus", "promtool"] {
        fs::rename(work.join("usr/bin").join(program), folder.join(program)).map_err(system)?;
    }
    Prometheus::at(folder).ok_or(NoPrometheus::NotFetched)
}

fn download(folder: &Path) -> Result<(), NoPrometheus> {
    let mut command = Command::new("apt-get");
    // As root apt would fetch as a user who may not write here.
    command.args(["-qq", "-o", "APT::Sandbox::User=root", "download", PACKAGE]);
    run(command.current_dir(folder))
}

fn run(command: &mut Command) -> Result<(), NoPrometheus> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| NoPrometheus::NotFetchable {
        why: format!("{shown}: {why}"),
    };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("it failed").to_owned();
    Err(failed(last))
}

fn cache() -> Result<PathBuf, NoPrometheus> {
    Ok(cache_folder()?.join("prometheus"))
}
