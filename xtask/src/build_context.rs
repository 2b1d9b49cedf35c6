//! What goes to the builder of the images, as a folder: the tracked files of the checkout that `.dockerignore` lets through,
//! and no other. A build in the checkout itself finds files that the builder does not have.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use xshell::cmd;

use crate::dockerignore::DockerIgnore;
use crate::workspace::Workspace;

/// Brings a folder to what goes to the builder.
pub fn prepare(workspace: &Workspace, folder: &Path) -> Result<()> {
    let root = workspace.shell().current_dir();
    copy(&root, &files(workspace)?, folder)
}

/// The tracked files of the checkout that go to the builder, from its root.
pub fn files(workspace: &Workspace) -> Result<BTreeSet<String>> {
    let ignore = DockerIgnore::parse(&workspace.shell().read_file(".dockerignore")?)?;
    let tracked = cmd!(workspace.shell(), "git ls-files -z").quiet().read()?;
    let tracked = tracked.split('\0').filter(|path| !path.is_empty());
    let files: BTreeSet<String> = tracked
        .filter(|path| ignore.lets_through(path))
        .map(str::to_owned)
        .collect();
    ensure!(!files.is_empty(), "git knows no file that .dockerignore lets through");
    Ok(files)
}

/// Makes `to` hold these files of `from` and nothing else. A file that is as it was keeps its time: what is built from it
/// is not built anew.
fn copy(from: &Path, files: &BTreeSet<String>, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for old in all_in(to)? {
        let path = old.strip_prefix(to)?.to_string_lossy().into_owned();
        if !files.contains(&path) {
            fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
            // An empty folder would count as a package without a manifest. One that is not empty is not removed.
            let folders = old.ancestors().skip(1).take_while(|folder| *folder != to);
            for folder in folders {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
    }
    for file in files {
        let (source, copied) = (from.join(file), to.join(file));
        copy_one(&source, &copied).with_context(|| format!("cannot copy {}", source.display()))?;
    }
    Ok(())
}

fn copy_one(source: &Path, copied: &Path) -> Result<()> {
    let Ok(metadata) = source.symlink_metadata() else {
        // Tracked, but taken away in this checkout: then the builder does not have it either.
        return if copied.symlink_metadata().is_ok() {
            Ok(fs::remove_file(copied)?)
        } else {
            Ok(())
        };
    };
    if let Some(folder) = copied.parent() {
        fs::create_dir_all(folder)?;
    }
    if metadata.is_symlink() {
        let target = fs::read_link(source)?;
        if fs::read_link(copied).ok().as_ref() != Some(&target) {
            if copied.symlink_metadata().is_ok() {
                fs::remove_file(copied)?;
            }
            symlink(target, copied)?;
        }
        return Ok(());
    }
    if copied.is_symlink() {
        // What it leads to is not ours to write.
        fs::remove_file(copied)?;
    }
    if fs::read(copied).ok() != Some(fs::read(source)?) {
        fs::copy(source, copied)?;
    }
    Ok(())
}

/// All that is no folder, at any depth.
fn all_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut waiting = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str]) -> BTreeSet<String> {
        files.iter().map(|&file| file.to_owned()).collect()
    }

    #[test]
    fn a_copy_has_the_files_and_no_others_and_what_is_unchanged_keeps_its_time() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to) = (from.path(), to.path());
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::create_dir_all(from.join("c/d")).unwrap();
        for file in ["a/b/same", "a/changed", "a/gone", "c/d/left", "never"] {
            fs::write(from.join(file), "first").unwrap();
        }
        symlink("b/same", from.join("a/link")).unwrap();
        let files = names(&["a/b/same", "a/changed", "a/gone", "a/link", "c/d/left"]);
        copy(from, &files, to).unwrap();
        let all = |folder: &Path| -> BTreeSet<PathBuf> {
            let all = all_in(folder).unwrap().into_iter();
            all.map(|path| path.strip_prefix(folder).unwrap().to_owned()).collect()
        };
        assert_eq!(all(to), files.iter().map(PathBuf::from).collect());
        assert_eq!(fs::read_link(to.join("a/link")).unwrap(), Path::new("b/same"));

        // Long ago, so that a second copy of the same could not have this time by chance.
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        for file in ["a/b/same", "a/changed"] {
            let file = fs::File::options().write(true).open(to.join(file)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        fs::write(from.join("a/changed"), "second").unwrap();
        fs::remove_file(from.join("a/gone")).unwrap();
        copy(from, &names(&["a/b/same", "a/changed", "a/gone"]), to).unwrap();
        assert_eq!(all(to), ["a/b/same", "a/changed"].map(PathBuf::from).into());
        assert!(!to.join("c").exists(), "no folder is left of what is gone");
        assert_eq!(fs::read_to_string(to.join("a/changed")).unwrap(), "second");
        let modified = |file: &str| fs::metadata(to.join(file)).unwrap().modified().unwrap();
        assert_eq!(modified("a/b/same"), long_ago);
        assert_ne!(modified("a/changed"), long_ago);
    }

    #[test]
    fn a_file_in_place_of_a_link_leaves_alone_what_the_link_led_to() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to) = (from.path(), to.path());
        fs::write(to.join("other"), "other").unwrap();
        symlink(to.join("other"), to.join("file")).unwrap();
        fs::write(from.join("file"), "file").unwrap();
        copy_one(&from.join("file"), &to.join("file")).unwrap();
        assert_eq!(fs::read_to_string(to.join("other")).unwrap(), "other");
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "file");
    }

    /// The texts that a source file compiles in, up to where its tests begin: the paths behind `include_…!("`.
    fn compiled_in(source: &str) -> Vec<&str> {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        ["include_str!(\"", "include_bytes!(\""]
            .iter()
            .flat_map(|start| code.split(start).skip(1))
            .filter_map(|rest| rest.split('"').next())
            .collect()
    }

    /// `a/../b` is `b`.
    fn without_detours(path: &str) -> String {
        let mut plain: Vec<&str> = Vec::new();
        for segment in path.split('/') {
            if segment == ".." {
                plain.pop();
            } else {
                plain.push(segment);
            }
        }
        plain.join("/")
    }

    // A quick look for what a build of half an hour finds: files beside the sources that are compiled in.
    #[test]
    fn what_the_programs_compile_in_and_read_goes_to_the_builder() {
        let workspace = Workspace::find().unwrap();
        let files = files(&workspace).unwrap();
        for read in ["Cargo.lock", "Cargo.toml", "Dockerfile"] {
            assert!(files.contains(read), "{read} does not go to the builder");
        }
        let built = |file: &&String| {
            let is_source = file.starts_with("crates/") && file.contains("/src/") && file.ends_with(".rs");
            is_source || file.starts_with("xtask/src/") || file.starts_with("e2e/control-plane/src/")
        };
        let mut found = 0;
        for file in files.iter().filter(built) {
            let (folder, _) = file.rsplit_once('/').unwrap();
            let source = workspace.shell().read_file(file).unwrap();
            for path in compiled_in(&source) {
                let read = without_detours(&format!("{folder}/{path}"));
                assert!(
                    files.contains(&read),
                    "{file} compiles {read} in, which does not go to the builder"
                );
                found += 1;
            }
        }
        assert!(found > 5, "only {found} are seen");
    }
}
