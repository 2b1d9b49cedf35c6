//! Programs that are run to their end on an API server without our kinds: they say what they have to say about their
//! command line, and end.

use std::process::Command;
use std::sync::Arc;

use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::json;

/// A program of ours, and the words that select what it does.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Its file: `env!("CARGO_BIN_EXE_…")`.
    pub file: &'a str,
    /// What stands before the flags, such as `run`.
    pub command: &'a [&'a str],
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// Standard output, then standard error.
    pub text: String,
    /// Its exit status.
    pub status: Option<i32>,
}

impl Said {
    /// The lines of the log of at least this level that have all these words.
    #[must_use]
    pub fn lines(&self, words: &[&str]) -> Vec<&str> {
        let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
        self.text.lines().filter(has_all).collect()
    }
}

impl Program<'_> {
    /// Runs it with these flags, without leases' namespace missing but without our kinds.
    #[must_use]
    pub fn run(&self, flags: &[&str]) -> Said {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        let clock = controller_kit::Clock::system();
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now())));
        let served = runtime
            .block_on(sandbox.serve_http("127.0.0.1:0".parse().unwrap()))
            .unwrap();
        sandbox
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
            .unwrap();
        let name = self.file.rsplit('/').next().unwrap();
        let port = served.url().rsplit(':').next().unwrap().to_owned();
        let kubeconfig = std::env::temp_dir().join(format!("{name}-{}-{port}", std::process::id()));
        std::fs::write(&kubeconfig, served.kubeconfig()).unwrap();
        let output = Command::new(self.file)
            .args(self.command)
            .arg("--admin-bind-address=0")
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(flags)
            .output()
            .unwrap();
        std::fs::remove_file(&kubeconfig).unwrap();
        Said {
            text: format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ),
            status: output.status.code(),
        }
    }
}

/// Flags that Karmada has and that have no effect here are accepted, each with one warning that says what to use
/// instead.
///
/// # Panics
/// When they are not.
pub fn assert_old_flags_are_warned_about(program: Program<'_>, expected: &[(&str, &str)]) {
    let flags: Vec<&str> = expected.iter().map(|(flag, _)| *flag).collect();
    let said = program.run(&flags);
    assert_eq!(said.status, Some(1), "not an error of usage: {}", said.text);
    for (flag, instead) in expected {
        let name = flag.trim_start_matches("--feature-gates=").split('=').next().unwrap();
        let lines = said.lines(&["WARN", name]);
        assert_eq!(lines.len(), 1, "one warning about {name}: {}", said.text);
        assert!(lines[0].contains(instead), "{instead:?} is not in {}", lines[0]);
    }
}
