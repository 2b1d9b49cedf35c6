//! helm, with nothing of the user's own: no repositories, no plugins, no cache.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use e2e_control_plane::{Binaries, Tool};

use crate::error::Error;

/// helm against one API server, or none.
#[derive(Debug)]
pub struct Helm {
    program: PathBuf,
    home: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Helm {
    /// Against the API server of this kubeconfig; for rendering only, where it names no file.
    ///
    /// # Errors
    /// [`Error::System`] when no temporary folder can be made.
    pub fn new(binaries: &Binaries, kubeconfig: impl Into<PathBuf>) -> Result<Self, Error> {
        Ok(Self {
            program: binaries.path(Tool::Helm),
            home: tempfile::tempdir().map_err(Error::system("cannot make a temporary folder"))?,
            kubeconfig: kubeconfig.into(),
        })
    }

    /// What it prints, and how it ends.
    ///
    /// # Errors
    /// [`Error::System`] when it cannot be run.
    pub fn output(&self, arguments: &[&str]) -> Result<Output, Error> {
        let mut command = Command::new(&self.program);
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(variable, self.home.path());
        }
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .args(arguments)
            .output()
            .map_err(Error::system(format!("cannot run {}", self.program.display())))
    }

    /// What it prints; its complaint is the error.
    ///
    /// # Errors
    /// [`Error::Helm`] when it refuses.
    pub fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        let output = self.output(arguments)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(Error::Helm {
            arguments: arguments.join(" "),
            said: complaint(&output),
        })
    }

    /// What it refuses with.
    ///
    /// # Errors
    /// [`Error::Helm`] when it does not refuse.
    pub fn refused(&self, arguments: &[&str]) -> Result<String, Error> {
        let output = self.output(arguments)?;
        if output.status.success() {
            return Err(Error::Helm {
                arguments: arguments.join(" "),
                said: "it was not refused".to_owned(),
            });
        }
        Ok(complaint(&output))
    }

    /// The manifests that a chart makes, without asking any server.
    ///
    /// # Errors
    /// [`Error::Helm`] when it refuses.
    pub fn template(&self, chart: &Path, arguments: &[&str]) -> Result<String, Error> {
        let chart = chart.display().to_string();
        let name = chart.rsplit('/').next().unwrap_or_default();
        let first = ["template", name, &chart, "--namespace", "karmada-system"];
        self.run(&[&first, arguments].concat())
    }
}

/// Without the lines that say that charts share their library by a link.
fn complaint(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines = said.lines().filter(|line| !line.contains("found symbolic link"));
    lines.collect::<Vec<_>>().join("\n")
}
