//! Sets `KARMADA_FAILOVER_VERSION`, the version that `--version` and the Leases show.
//!
//! A value in the environment wins: that is how a build without `.git` (the Dockerfile's) says which commit it is of.
//! Otherwise an optimised build asks git, and is made anew when HEAD moves. A debug build has the package's version
//! alone: it would be compiled anew, and nearly the whole workspace with it, after each commit. Without git the
//! package's version is all there is to say; that fails nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "KARMADA_FAILOVER_VERSION";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let given = std::env::var(VARIABLE).ok().filter(|given| !given.is_empty());
    let is_debug = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let version = match given {
        Some(given) => given,
        None if is_debug => env!("CARGO_PKG_VERSION").to_owned(),
        None => {
            let here = Path::new(".");
            for path in written_when_head_moves(here) {
                println!("cargo::rerun-if-changed={}", path.display());
            }
            version_of(here)
        }
    };
    println!("cargo::rustc-env={VARIABLE}={version}");
}

/// The package's version and, in a checkout, the commit.
pub fn version_of(folder: &Path) -> String {
    let package = env!("CARGO_PKG_VERSION");
    git(folder, &["rev-parse", "--short", "HEAD"])
        .map_or_else(|| package.to_owned(), |commit| format!("{package}+{commit}"))
}

/// HEAD is moved by writing one of these files. One that is not there would count as changed every time.
pub fn written_when_head_moves(folder: &Path) -> Vec<PathBuf> {
    let branch = git(folder, &["symbolic-ref", "--quiet", "HEAD"]);
    let names = ["HEAD", "logs/HEAD", "packed-refs"];
    let paths = names
        .into_iter()
        .chain(branch.as_deref())
        .filter_map(|name| git(folder, &["rev-parse", "--git-path", name]))
        .map(|path| folder.join(path));
    paths.filter(|path| path.exists()).collect()
}

/// What git answers in a folder; nothing without git, outside of a checkout, or before the first commit.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let text = text.trim();
    (answer.status.success() && !text.is_empty()).then(|| text.to_owned())
}
