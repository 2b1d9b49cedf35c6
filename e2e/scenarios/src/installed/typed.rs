//! Commands of docs/install.md, typed as they stand there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use e2e_harness::{Binaries, Programs};

const INSTALL: &str = include_str!("../../../../docs/install.md");
/// As they are typed in.
const FENCES: (&str, &str) = ("```sh\n", "```");

/// The commands of a section, in their order.
pub fn commands(heading: &str) -> anyhow::Result<String> {
    Ok(blocks(heading)?.concat())
}

/// The same, each block of the page by itself.
pub fn blocks(heading: &str) -> anyhow::Result<Vec<&'static str>> {
    let begin = format!("\n## {heading}\n");
    let (_, section) = INSTALL
        .split_once(&begin)
        .with_context(|| format!("docs/install.md has no section {heading:?}"))?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let blocks = section.split(FENCES.0).skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|block| block.split(FENCES.1).next()).collect();
    ensure!(!blocks.is_empty(), "docs/install.md has no commands under {heading:?}");
    Ok(blocks)
}

/// The commands of a section that are a line by themselves and begin with this word, as helm or kubectl.
pub fn lines(heading: &str, word: &str) -> anyhow::Result<Vec<&'static str>> {
    let lines = blocks(heading)?.into_iter().flat_map(str::lines).map(str::trim);
    let lines: Vec<&str> = lines
        .filter(|line| line.split_ascii_whitespace().next() == Some(word))
        .collect();
    ensure!(!lines.is_empty(), "docs/install.md has no {word} under {heading:?}");
    Ok(lines)
}

/// Where they are typed: in the checkout, with our programs and those of Kubernetes at hand.
pub struct Terminal {
    path: OsString,
    home: PathBuf,
    variables: BTreeMap<&'static str, OsString>,
}

impl Terminal {
    /// With these variables. What helm keeps for itself goes to `home`.
    pub fn new(
        binaries: &Binaries,
        home: &Path,
        variables: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> anyhow::Result<Self> {
        let ours = Programs::find()?.path("agent")?;
        let ours = ours.parent().context("programs lie in a folder")?.to_owned();
        let systems = std::env::var_os("PATH").unwrap_or_default();
        let systems = std::env::split_paths(&systems).collect::<Vec<_>>();
        let folders = [ours, binaries.folder().to_owned()].into_iter().chain(systems);
        Ok(Self {
            path: std::env::join_paths(folders)?,
            home: home.to_owned(),
            variables: variables.into_iter().collect(),
        })
    }

    /// Types them in; the first that fails ends it, and its complaint is the error.
    pub fn type_in(&self, commands: &str) -> anyhow::Result<()> {
        let output = Command::new("sh")
            .args(["-euc", commands])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("KUBECONFIG", "/dev/null")
            .envs(&self.variables)
            .stdin(Stdio::null())
            .output()
            .context("cannot run sh")?;
        if output.status.success() {
            return Ok(());
        }
        bail!(
            "{commands}\nends with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_their_section() {
        let pull = commands("Pull members").unwrap();
        assert!(pull.starts_with("agent --cluster-name=member3"), "{pull}");
        assert!(pull.contains("helm install agent "), "{pull}");
        assert!(!pull.contains("webhook") && !pull.contains("```"), "{pull}");
        assert!(commands("No such section").is_err());
        let on_two = lines("Standalone, on two clusters", "helm").unwrap();
        assert!(
            on_two.iter().all(|line| line.starts_with("helm install ")),
            "{on_two:?}"
        );
        assert_eq!(on_two.len(), 3, "{on_two:?}");
        assert!(lines("Pull members", "rm").is_err());
    }
}
