//! The licences of what the programs are made of, in full: what MIT, BSD and Apache-2.0 ask of whoever passes a program on.
//!
//! The texts are the files that each package brings. Equal ones are written once. A package that brings none is named with
//! the licence that it declares.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::sbom::{compiled, metadata, text, write};
use crate::workspace::Workspace;

/// How such files begin, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
const RULE: &str = "--------------------------------------------------------------------------------";

/// Writes the texts, or prints them.
pub fn run(workspace: &Workspace, output: Option<&Path>, programs: &[String]) -> Result<()> {
    let metadata = metadata(workspace)?;
    let packages = compiled(&metadata, programs)?.into_iter();
    // Our own packages are under the licence beside this file.
    let others = packages.filter(|package| !package["source"].is_null());
    let mut of_packages = Vec::new();
    for package in others {
        let folder = Path::new(text(package, "manifest_path"))
            .parent()
            .with_context(|| format!("{} lies nowhere", title(package)))?;
        of_packages.push((title(package), texts(folder)?));
    }
    write(output, &paper(&of_packages))
}

fn title(package: &Value) -> String {
    let [name, version, licence] = ["name", "version", "license"].map(|field| text(package, field));
    format!("{name} {version} ({licence})")
}

/// The texts that a package brings.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let files = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = Vec::new();
    for file in files {
        let file = file.with_context(|| format!("cannot read {}", folder.display()))?;
        let name = file.file_name().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|start| name.starts_with(start)) && file.path().is_file() {
            paths.push(file.path());
        }
    }
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
        })
        .collect()
}

/// Each text once, below those who bring it; then those who bring none.
fn paper(packages: &[(String, Vec<String>)]) -> String {
    let mut bringers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (title, texts) in packages {
        for text in texts {
            bringers.entry(text).or_default().push(title);
        }
    }
    let mut sections: Vec<(Vec<&str>, &str)> = bringers.into_iter().map(|(text, titles)| (titles, text)).collect();
    sections.sort_unstable();
    let mut paper = String::from("These programs are made of packages of others, under these licences.\n");
    for (titles, text) in sections {
        paper.push_str(&format!("\n{RULE}\n{}\n\n{text}\n", titles.join("\n")));
    }
    let without: Vec<&str> = packages
        .iter()
        .filter(|(_, texts)| texts.is_empty())
        .map(|(title, _)| title.as_str())
        .collect();
    if !without.is_empty() {
        paper.push_str(&format!(
            "\n{RULE}\nThese bring no text of their own:\n{}\n",
            without.join("\n")
        ));
    }
    paper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_stands_once_below_all_who_bring_it() {
        let packages = [
            ("a 1.0.0 (MIT)".to_owned(), vec!["MIT text".to_owned()]),
            (
                "b 2.0.0 (MIT)".to_owned(),
                vec!["MIT text".to_owned(), "NOTICE text".to_owned()],
            ),
            ("c 3.0.0 (MIT)".to_owned(), vec![]),
        ];
        let paper = paper(&packages);
        assert!(paper.contains("a 1.0.0 (MIT)\nb 2.0.0 (MIT)\n\nMIT text\n"), "{paper}");
        assert_eq!(paper.matches("MIT text").count(), 1, "{paper}");
        assert!(paper.contains("b 2.0.0 (MIT)\n\nNOTICE text\n"), "{paper}");
        assert!(
            paper.ends_with("These bring no text of their own:\nc 3.0.0 (MIT)\n"),
            "{paper}"
        );
    }

    #[test]
    fn the_files_of_a_package_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["LICENSE-MIT", "Notice.md", "lib.rs"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(texts(folder.path()).unwrap(), ["LICENSE-MIT", "Notice.md"]);
    }
}
