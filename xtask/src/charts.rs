//! The README of each chart: what it is, and its values, from `Chart.yaml` and the comments of `values.yaml`.
//!
//! So that this needs no YAML parser, and the values stay easy to read, `values.yaml` is written plainly: two spaces a
//! level, a comment above each value, and lists and maps that are values on one line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::workspace::Workspace;

/// What is done with the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are written.
    Write,
    /// They are compared with what would be written.
    Check,
}

/// Writes or checks the files.
pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let stale = stale(&workspace.shell().current_dir().join("charts"))?;
    for (path, text) in &stale {
        match mode {
            Mode::Write => fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
            Mode::Check => println!("stale: {}", path.display()),
        }
    }
    ensure!(mode == Mode::Write || stale.is_empty(), "run `cargo xtask charts`");
    Ok(())
}

/// The files that are not as they should be, with the text that they should have.
fn stale(charts: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut folders: Vec<PathBuf> = fs::read_dir(charts)
        .with_context(|| format!("cannot read {}", charts.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    folders.retain(|folder| folder.join("values.yaml").exists());
    folders.sort();
    let mut stale = Vec::new();
    for folder in folders {
        let path = folder.join("README.md");
        let wanted = readme(&read(&folder.join("Chart.yaml"))?, &read(&folder.join("values.yaml"))?)
            .with_context(|| format!("{}", folder.display()))?;
        if fs::read_to_string(&path).ok().as_ref() != Some(&wanted) {
            stale.push((path, wanted));
        }
    }
    Ok(stale)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn readme(chart: &str, values: &str) -> Result<String> {
    let field = |name: &str| {
        let found = chart
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found
            .map(|value| value.trim_matches('"'))
            .with_context(|| format!("Chart.yaml has no {name}"))
    };
    let (name, description) = (field("name")?, field("description")?);
    let mut text = format!(
        "<!-- Generated from Chart.yaml and values.yaml by `cargo xtask charts`: change it there. -->\n\n\
         # {name}\n\n{description}.\n\nHow the charts fit together, and in which order they are installed, stands in \
         `docs/install.md` of the repository.\n\n"
    );
    let rows = rows(values)?;
    if rows.is_empty() {
        text.push_str("It has no values.\n");
        return Ok(text);
    }
    text.push_str("| value | default | meaning |\n|---|---|---|\n");
    for Row { path, default, meaning } in rows {
        let default = if default.is_empty() {
            String::new()
        } else {
            format!("`{default}`")
        };
        text.push_str(&format!(
            "| `{path}` | {} | {} |\n",
            escaped(&default),
            escaped(&meaning)
        ));
    }
    Ok(text)
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A value.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    path: String,
    /// Empty for one that only holds others.
    default: String,
    meaning: String,
}

/// The values in their order. One that only holds others and has no comment of its own is left out.
fn rows(values: &str) -> Result<Vec<Row>> {
    let (mut rows, mut path, mut comment) = (Vec::new(), Vec::<&str>::new(), Vec::new());
    for (number, line) in values.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some(words) = trimmed.strip_prefix('#') {
            comment.push(words.trim());
            continue;
        }
        if trimmed.is_empty() {
            comment.clear();
            continue;
        }
        let indent = line.len() - trimmed.len();
        let Some((key, default)) = trimmed.split_once(':').filter(|_| !trimmed.starts_with('-')) else {
            bail!(
                "values.yaml:{}: want `key: value` on one line, found {trimmed:?}",
                number + 1
            );
        };
        ensure!(
            indent.is_multiple_of(2) && indent / 2 <= path.len(),
            "values.yaml:{}: want two spaces a level",
            number + 1
        );
        path.truncate(indent / 2);
        path.push(key);
        let (default, meaning) = (default.trim(), std::mem::take(&mut comment).join(" "));
        ensure!(
            default.is_empty() || !meaning.is_empty(),
            "values.yaml:{}: {} has no comment",
            number + 1,
            path.join(".")
        );
        if !meaning.is_empty() {
            rows.push(Row {
                path: path.join("."),
                default: default.to_owned(),
                meaning,
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_files_are_current() {
        let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts");
        let stale: Vec<_> = stale(&charts).unwrap().into_iter().map(|(path, _)| path).collect();
        assert!(stale.is_empty(), "run `cargo xtask charts`: {stale:?}");
    }

    #[test]
    fn comments_become_meanings() {
        let values = "# How it\n# runs.\nmode: standalone\nports:\n  # Metrics | probes.\n  admin: 8080\n# Labels.\nlabels: {}\n";
        let row = |path: &str, default: &str, meaning: &str| Row {
            path: path.to_owned(),
            default: default.to_owned(),
            meaning: meaning.to_owned(),
        };
        let expected = [
            row("mode", "standalone", "How it runs."),
            row("ports.admin", "8080", "Metrics | probes."),
            row("labels", "{}", "Labels."),
        ];
        assert_eq!(rows(values).unwrap(), expected);
        let readme = readme("name: x\ndescription: \"What it: is\"\n", values).unwrap();
        assert!(readme.contains("# x\n\nWhat it: is."), "{readme}");
        assert!(
            readme.contains("| `ports.admin` | `8080` | Metrics \\| probes. |"),
            "{readme}"
        );
    }

    #[test]
    fn what_is_written_otherwise_is_refused_with_its_line() {
        for (values, complaint) in [
            ("a: 1\n", "values.yaml:1: a has no comment"),
            ("# A.\na:\n  - b\n", "values.yaml:3: want `key: value`"),
            ("# A.\na: 1\n# B.\n    b: 1\n", "values.yaml:4: want two spaces a level"),
        ] {
            let error = rows(values).unwrap_err().to_string();
            assert!(error.starts_with(complaint), "{error}");
        }
    }
}
