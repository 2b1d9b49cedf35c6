//! grpcurl, as an operator types it who asks the eviction queue.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use e2e_harness::{ControlPlane, Tool};
use serde_json::Value;

const INSPECTION: &str = "karmada.failover.evictionqueue.v1.QueueInspection";

/// grpcurl and the address of a queue.
pub struct Grpcurl {
    program: PathBuf,
    address: String,
}

impl Grpcurl {
    /// That asks the queue at this address.
    pub fn of(control_plane: &ControlPlane, address: String) -> anyhow::Result<Self> {
        let binaries = control_plane.binaries();
        ensure!(
            binaries.has(Tool::Grpcurl),
            "there is no grpcurl among the programs of the control plane"
        );
        Ok(Self {
            program: binaries.path(Tool::Grpcurl),
            address,
        })
    }

    /// The services that the queue says it has.
    pub fn list(&self) -> anyhow::Result<String> {
        self.run("list")
    }

    /// The answer of a method of `QueueInspection` that is asked for all.
    pub fn ask(&self, method: &str) -> anyhow::Result<Value> {
        let answer = self.run(&format!("{INSPECTION}/{method}"))?;
        serde_json::from_str(&answer).with_context(|| format!("{method} answered {answer}"))
    }

    fn run(&self, what: &str) -> anyhow::Result<String> {
        let output = Command::new(&self.program)
            .args(["-plaintext", &self.address, what])
            .output()
            .context("cannot run grpcurl")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "grpcurl {what}: {complaint}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
