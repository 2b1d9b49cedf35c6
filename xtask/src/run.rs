//! Running a command: its output is shown as it comes, read, and its time is limited.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use xshell::Cmd;

use crate::processes::kill_tree;
use crate::stage::Stopwatch;

/// How a command went.
pub struct Finished {
    /// The lines of its standard output.
    pub lines: Vec<String>,
    /// Whether its exit status was 0.
    pub succeeded: bool,
    /// The command, for messages.
    pub command: String,
}

/// Runs a command that has to succeed and gives back the lines of its standard output.
pub fn run(command: Cmd<'_>, limit: Duration) -> Result<Vec<String>> {
    let finished = run_to_end(command, limit)?;
    ensure!(finished.succeeded, "its exit status is not 0: {}", finished.command);
    Ok(finished.lines)
}

/// The same for a command whose output is no part of ours: it is shown on the standard error.
pub fn run_aside(command: Cmd<'_>, limit: Duration) -> Result<Vec<String>> {
    let finished = run_showing(command, limit, |line| eprintln!("{line}"))?;
    ensure!(finished.succeeded, "its exit status is not 0: {}", finished.command);
    Ok(finished.lines)
}

/// Runs a command. Its standard error goes where ours goes. An error means that it could not be run or took longer
/// than `limit`, in which case it is killed, and all that it has started.
pub fn run_to_end(command: Cmd<'_>, limit: Duration) -> Result<Finished> {
    run_showing(command, limit, |line| println!("{line}"))
}

fn run_showing(command: Cmd<'_>, limit: Duration, show: fn(&str)) -> Result<Finished> {
    let name = command.to_string();
    let watch = Stopwatch::start();
    let mut child = Command::from(without_own_package(command))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .with_context(|| format!("cannot run {name}"))?;
    let stdout = child.stdout.take().context("the command has no standard output")?;
    let coming = read_lines(stdout);
    let mut lines = Vec::new();
    loop {
        match coming.recv_timeout(limit.saturating_sub(watch.elapsed())) {
            Ok(line) => {
                show(&line);
                lines.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                kill_tree(&mut child).with_context(|| format!("took too long: {name}"))?;
                bail!("took longer than {} s and was killed: {name}", limit.as_secs());
            }
        }
    }
    let succeeded = child
        .wait()
        .with_context(|| format!("cannot wait for {name}"))?
        .success();
    Ok(Finished {
        lines,
        succeeded,
        command: name,
    })
}

/// Without what `cargo xtask` says in the environment of the package `xtask` itself: build scripts (ring's) ask to be run
/// anew when these change, so that a build from here and one from a shell would each undo what the other has built.
pub fn without_own_package(command: Cmd<'_>) -> Cmd<'_> {
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        .fold(command, Cmd::env_remove)
}

/// The lines come from a thread, so that the reader can stop waiting for them.
fn read_lines(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n') {
            // A read error is the end, as is a reader that has gone.
            let Ok(line) = line else { break };
            if sender
                .send(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned())
                .is_err()
            {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use xshell::{Shell, cmd};

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn output_and_status_are_told() {
        let shell = Shell::new().unwrap();
        let script = "echo one; echo two; exit 3";
        let finished = run_to_end(cmd!(shell, "sh -c {script}"), SOON).unwrap();
        assert_eq!(finished.lines, ["one", "two"]);
        assert!(!finished.succeeded);
        let error = run(cmd!(shell, "sh -c {script}"), SOON).unwrap_err().to_string();
        assert!(error.starts_with("its exit status is not 0: sh -c"), "{error}");
    }

    #[test]
    fn a_command_does_not_know_the_package_that_runs_it() {
        let shell = Shell::new().unwrap();
        assert!(
            std::env::var_os("CARGO_PKG_NAME").is_some(),
            "cargo tells a test its package"
        );
        let told = run(cmd!(shell, "env"), SOON).unwrap();
        assert!(!told.iter().any(|line| line.starts_with("CARGO_PKG_")), "{told:?}");
    }

    #[test]
    fn what_takes_too_long_is_killed() {
        let shell = Shell::new().unwrap();
        let error = run(cmd!(shell, "sleep 1000"), Duration::from_millis(50))
            .unwrap_err()
            .to_string();
        assert!(error.contains("was killed: sleep 1000"), "{error}");
    }
}
