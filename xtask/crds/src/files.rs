//! The files: their names, their text, and how a folder differs from them.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, fs, io};

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// The files by name, with their text.
pub(crate) type Files = BTreeMap<String, String>;

const HEAD: &str = "# Generated from crates/api-types by `cargo xtask crds`: change it there.\n";

/// A file that is not as it should be.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// It is not there.
    Missing(String),
    /// Its text is another one.
    Stale(String),
    /// No type of ours makes it.
    Unknown(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "missing: {name}"),
            Self::Stale(name) => write!(f, "stale: {name}"),
            Self::Unknown(name) => write!(f, "unknown: {name}"),
        }
    }
}

/// The files for these CRDs: `GROUP_PLURAL.yaml`, as Kubernetes' own generator calls them.
pub(crate) fn expected(crds: &[CustomResourceDefinition]) -> Result<Files> {
    crds.iter()
        .map(|crd| {
            let (group, plural) = (&crd.spec.group, &crd.spec.names.plural);
            let text =
                serde_saphyr::to_string(crd).with_context(|| format!("cannot write {plural}.{group} as YAML"))?;
            Ok((format!("{group}_{plural}.yaml"), format!("{HEAD}{}\n", text.trim_end())))
        })
        .collect()
}

/// How a folder differs from what it should hold, in the order of the names.
pub(crate) fn difference(folder: &Path, expected: &Files) -> Result<Vec<Difference>> {
    let found = read(folder)?;
    let mut differences: Vec<_> = expected
        .iter()
        .filter_map(|(name, text)| match found.get(name) {
            None => Some(Difference::Missing(name.clone())),
            Some(other) if other != text => Some(Difference::Stale(name.clone())),
            Some(_) => None,
        })
        .collect();
    differences.extend(
        found
            .into_keys()
            .filter(|name| !expected.contains_key(name))
            .map(Difference::Unknown),
    );
    Ok(differences)
}

/// Makes the folder hold these files and no other YAML.
pub(crate) fn write(folder: &Path, expected: &Files) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for difference in difference(folder, expected)? {
        match difference {
            Difference::Missing(name) | Difference::Stale(name) => {
                let path = folder.join(&name);
                let text = expected.get(&name).map_or("", String::as_str);
                fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            }
            Difference::Unknown(name) => {
                let path = folder.join(name);
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
    }
    Ok(())
}

/// The YAML files of a folder; none, where it is not there.
fn read(folder: &Path) -> Result<Files> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Files::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", folder.display())),
    };
    let mut files = Files::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("cannot read {}", folder.display()))?
            .path();
        if path.extension().is_some_and(|extension| extension == "yaml")
            && let Some(name) = path.file_name()
        {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files in the repository are what the types say.
    #[test]
    fn the_checked_in_files_are_current() {
        for (folder, expected) in crate::folders(&crate::charts()).unwrap() {
            assert!(!expected.is_empty());
            let differences = difference(&folder, &expected).unwrap();
            assert!(differences.is_empty(), "run `cargo xtask crds`: {differences:?}");
        }
    }

    #[test]
    fn the_text_says_what_the_types_say() {
        let crds = api_types::crds();
        let files = expected(&crds).unwrap();
        assert_eq!(files.len(), crds.len());
        let mut read: Vec<CustomResourceDefinition> = files
            .values()
            .map(|text| serde_saphyr::from_str(text).unwrap())
            .collect();
        read.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        assert_eq!(read, crds);
    }

    #[test]
    fn a_folder_is_compared_and_put_right() {
        let folder = tempfile::tempdir().unwrap();
        let files: Files = [("a.yaml", "one"), ("b.yaml", "two")]
            .map(|(n, t)| (n.to_owned(), t.to_owned()))
            .into();
        fs::write(folder.path().join("b.yaml"), "another").unwrap();
        fs::write(folder.path().join("c.yaml"), "").unwrap();
        fs::write(folder.path().join("README.md"), "").unwrap();
        let differences = difference(folder.path(), &files).unwrap();
        let expected = [
            Difference::Missing("a.yaml".to_owned()),
            Difference::Stale("b.yaml".to_owned()),
            Difference::Unknown("c.yaml".to_owned()),
        ];
        assert_eq!(differences, expected);
        write(folder.path(), &files).unwrap();
        assert!(difference(folder.path(), &files).unwrap().is_empty());
        assert!(folder.path().join("README.md").exists());
    }
}
