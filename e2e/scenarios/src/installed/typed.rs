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
    blocks_of(INSTALL, heading).with_context(|| "docs/install.md".to_owned())
}

/// The blocks of a section of any page.
pub fn blocks_of<'a>(page: &'a str, heading: &str) -> anyhow::Result<Vec<&'a str>> {
    let section = section_of(page, heading)?;
    let blocks = section.split(FENCES.0).skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|block| block.split(FENCES.1).next()).collect();
    ensure!(!blocks.is_empty(), "no commands under {heading:?}");
    Ok(blocks)
}

/// A section of a page.
pub fn section_of<'a>(page: &'a str, heading: &str) -> anyhow::Result<&'a str> {
    let begin = format!("\n## {heading}\n");
    let (_, section) = page
        .split_once(&begin)
        .with_context(|| format!("no section {heading:?}"))?;
    Ok(section.split("\n## ").next().unwrap_or_default())
}

/// The only block of a section that says this.
pub fn block_with(heading: &str, words: &str) -> anyhow::Result<&'static str> {
    let mut found = blocks(heading)?;
    found.retain(|block| block.contains(words));
    let [block] = found.as_slice() else {
        bail!(
            "docs/install.md says {words:?} in {} blocks under {heading:?}",
            found.len()
        );
    };
    Ok(block)
}

/// The only command in a sentence of a section that begins so.
pub fn in_a_sentence(heading: &str, beginning: &str) -> anyhow::Result<&'static str> {
    let codes = section_of(INSTALL, heading)?.split('`').skip(1).step_by(2);
    let found: Vec<&str> = codes.filter(|code| code.starts_with(beginning)).collect();
    let [command] = found.as_slice() else {
        bail!("{heading:?} says {beginning:?} {} times", found.len());
    };
    Ok(command)
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

/// The only line of the commands of a section that begins so.
pub fn line(heading: &str, beginning: &str) -> anyhow::Result<&'static str> {
    let lines = blocks(heading)?.into_iter().flat_map(str::lines).map(str::trim);
    let found: Vec<&str> = lines.filter(|line| line.starts_with(beginning)).collect();
    let [line] = found.as_slice() else {
        bail!("{heading:?} says {beginning:?} {} times", found.len());
    };
    Ok(line)
}

/// Where they are typed: in the checkout, with our programs and those of Kubernetes at hand.
#[derive(Clone)]
pub struct Terminal {
    path: OsString,
    home: PathBuf,
    variables: BTreeMap<&'static str, OsString>,
}

/// How commands ended.
pub struct Ended {
    /// The status of the last one, or of the first that failed; none where a signal ended it.
    pub status: Option<i32>,
    /// What they printed.
    pub printed: String,
    /// What they complained of.
    pub complaint: String,
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

    /// With these variables, too.
    #[must_use]
    pub fn with(mut self, variables: impl IntoIterator<Item = (&'static str, OsString)>) -> Self {
        self.variables.extend(variables);
        self
    }

    /// Types them in; the first that fails ends it, and its complaint is the error.
    pub fn type_in(&self, commands: &str) -> anyhow::Result<()> {
        let ended = self.end_of(commands)?;
        if ended.status == Some(0) {
            return Ok(());
        }
        bail!("{commands}\nends with {:?}: {}", ended.status, ended.complaint)
    }

    /// Types in what asks, which may answer that something is wrong: what it prints. That nobody answers, or that the question
    /// is none, is an error.
    pub fn ask(&self, command: &str) -> anyhow::Result<String> {
        let ended = self.end_of(command)?;
        if matches!(ended.status, Some(0 | 1)) {
            return Ok(ended.printed);
        }
        let Ended {
            status,
            printed,
            complaint,
        } = ended;
        bail!("{command}\nends with {status:?}: {complaint}{printed}")
    }

    /// Types them in, whatever comes of it.
    pub fn end_of(&self, commands: &str) -> anyhow::Result<Ended> {
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
        Ok(Ended {
            status: output.status.code(),
            printed: String::from_utf8_lossy(&output.stdout).into_owned(),
            complaint: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
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
        assert_eq!(
            line("Standalone, on two clusters", "kubectl create ").unwrap(),
            "kubectl create namespace karmada-system"
        );
        assert!(line("Standalone, on two clusters", "helm install ").is_err());
        let look = "failoverctl --kubeconfig \"$KARMADA\" plan ";
        assert!(in_a_sentence("Beside a stock Karmada, v1.16 to v1.19", look).is_ok());
        assert!(in_a_sentence("Pull members", look).is_err());
        assert!(block_with("Pull members", "helm install agent ").is_ok());
        assert!(block_with("Pull members", "helm uninstall agent").is_err());
        assert!(blocks_of("## a\n", "b").is_err());
    }

    #[test]
    fn a_terminal_tells_what_comes_of_it() {
        let terminal = Terminal {
            path: std::env::var_os("PATH").unwrap_or_default(),
            home: PathBuf::from("/"),
            variables: BTreeMap::new(),
        };
        let terminal = terminal.with([("WHO", OsString::from("it"))]);
        assert_eq!(terminal.ask("echo \"$WHO\"; exit 1").unwrap(), "it\n");
        assert!(terminal.ask("echo no such flag >&2; exit 2").is_err());
        assert!(terminal.type_in("false; true").is_err());
        let ended = terminal.end_of("echo a; echo b >&2; exit 3").unwrap();
        assert_eq!(
            (ended.status, ended.printed.as_str(), ended.complaint.as_str()),
            (Some(3), "a\n", "b\n")
        );
    }
}
