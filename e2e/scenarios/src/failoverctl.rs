//! failoverctl, as an operator types it.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context as _, ensure};
use e2e_harness::{ControlPlane, Identity, Programs};
use serde_json::Value;

/// failoverctl with the kubeconfig of a control plane's administrator.
pub struct Failoverctl {
    program: PathBuf,
    kubeconfig: PathBuf,
    flags: Vec<String>,
}

impl Failoverctl {
    /// Of this control plane, with these flags beside what is asked.
    pub fn of(control_plane: &ControlPlane, flags: Vec<String>) -> anyhow::Result<Self> {
        Ok(Self {
            program: Programs::find()?.path("failoverctl")?,
            kubeconfig: control_plane.kubeconfig(Identity::Admin),
            flags,
        })
    }

    /// What it prints when it reports, well or ill; its complaint is the error.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.output(arguments)?;
        // It ends with 1 when it reports a problem.
        ensure!(
            matches!(output.status.code(), Some(0 | 1)),
            "failoverctl {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What it reports, as its JSON.
    pub fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let text = self.run(&[arguments, &["-o", "json"]].concat())?;
        serde_json::from_str(&text).with_context(|| format!("failoverctl {} printed {text}", arguments.join(" ")))
    }

    fn output(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        Command::new(&self.program)
            .args(arguments)
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            .args(&self.flags)
            .output()
            .context("cannot run failoverctl")
    }
}
