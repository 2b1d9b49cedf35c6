//! What the build script makes of a checkout.

#[allow(dead_code, reason = "its main is cargo's to call")]
#[path = "../build.rs"]
mod build_script;

use std::path::{Path, PathBuf};
use std::process::Command;

use build_script::{version_of, written_when_head_moves};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("version-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn git(&self, arguments: &[&str]) {
        let who = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "commit.gpgSign=false",
        ];
        let status = Command::new("git")
            .args(who)
            .args(arguments)
            .current_dir(&self.0)
            .status();
        assert!(status.unwrap().success(), "{arguments:?}");
    }

    fn commit(&self) -> String {
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
        version_of(&self.0)
    }

    /// The files that are looked at, with what stands in them.
    fn watched(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
        written_when_head_moves(&self.0).into_iter().map(read).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_version_of_this_build_begins_with_the_package_s() {
    // A build may be told another one.
    let told = std::env::var("KARMADA_FAILOVER_VERSION").is_ok_and(|told| !told.is_empty());
    assert!(
        told || crate::VERSION.starts_with(env!("CARGO_PKG_VERSION")),
        "{}",
        crate::VERSION
    );
}

#[test]
fn a_checkout_adds_its_commit_and_is_seen_to_move() {
    let folder = Folder::new();
    folder.git(&["init", "--quiet"]);
    let package = env!("CARGO_PKG_VERSION");
    assert_eq!(version_of(&folder.0), package, "before the first commit");
    let first = folder.commit();
    let commit = first.strip_prefix(&format!("{package}+")).unwrap();
    assert!(
        commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit()),
        "{first}"
    );

    let before = folder.watched();
    assert_eq!(before, folder.watched(), "nothing moved");
    assert_ne!(folder.commit(), first);
    assert_ne!(folder.watched(), before);

    folder.git(&["pack-refs", "--all"]);
    let packed = folder.watched();
    folder.commit();
    assert_ne!(folder.watched(), packed, "also when the branch had no file of its own");

    let at_branch = folder.watched();
    folder.git(&["checkout", "--quiet", "--detach", "HEAD~1"]);
    assert_ne!(folder.watched(), at_branch, "another commit is checked out");
}

#[test]
fn without_a_checkout_there_is_the_package_s_version() {
    let folder = Folder::new();
    assert_eq!(version_of(&folder.0), env!("CARGO_PKG_VERSION"));
    assert!(written_when_head_moves(&folder.0).is_empty());
    assert_eq!(version_of(Path::new("/no/such/folder")), env!("CARGO_PKG_VERSION"));
}
