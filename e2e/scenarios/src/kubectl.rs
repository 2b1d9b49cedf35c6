//! kubectl, as a person types it.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, ensure};
use e2e_harness::{ControlPlane, Identity, Tool};

/// kubectl with the kubeconfig of a control plane's administrator.
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

/// What became of a manifest.
pub struct Tried {
    /// Whether the API server takes it.
    pub is_taken: bool,
    /// Its complaint, and what it warns of.
    pub said: String,
}

impl Kubectl {
    /// Of this control plane.
    pub fn of(control_plane: &ControlPlane) -> anyhow::Result<Self> {
        ensure!(
            control_plane.binaries().has(Tool::Kubectl),
            "there is no kubectl among the programs of the control plane"
        );
        Ok(Self {
            program: control_plane.binaries().path(Tool::Kubectl),
            kubeconfig: control_plane.kubeconfig(Identity::Admin),
        })
    }

    /// What it prints; its complaint is the error.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.output(arguments, "")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {}: {complaint}", arguments.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What the API server says to a manifest, which it does not store.
    pub fn tried(&self, manifest: &str) -> anyhow::Result<Tried> {
        let output = self.output(&["create", "--dry-run=server", "-f", "-"], manifest)?;
        Ok(Tried {
            is_taken: output.status.success(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// What the API server says against a manifest; `None` when it takes it.
    pub fn refusal(&self, manifest: &str) -> anyhow::Result<Option<String>> {
        let tried = self.tried(manifest)?;
        Ok((!tried.is_taken).then_some(tried.said))
    }

    fn output(&self, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let mut child = Command::new(&self.program)
            .env("KUBECONFIG", &self.kubeconfig)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run kubectl")?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that has ended already has something to say.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output().context("cannot wait for kubectl")
    }
}
