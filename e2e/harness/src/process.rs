//! One process: its start, its signals, its log, its end.
//!
//! A [`Process`] knows how it was started and can be started again in the same way. Whatever happens, it does not
//! outlive its owner.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::run_folder::{RunFolder, tail};

/// How often the end of a process is looked for.
const PERIOD: Duration = Duration::from_millis(20);
/// How many lines of the log an error shows.
const TAIL_LINES: usize = 15;

/// How a process is started.
#[derive(Clone, Debug)]
pub struct Launch {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Launch {
    /// A start of `program`; `name` is for messages and the log file (`NAME.log`), and unique in its folder.
    #[must_use]
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Lets another program start it, which is given these arguments and then the program and its own.
    #[must_use]
    pub fn through<T: Into<OsString>>(mut self, other: &str, arguments: impl IntoIterator<Item = T>) -> Self {
        let program = std::mem::replace(&mut self.program, PathBuf::from(other));
        let given = arguments.into_iter().map(Into::into);
        let own = std::mem::take(&mut self.arguments);
        self.arguments = given.chain([program.into_os_string()]).chain(own).collect();
        self
    }

    /// Sets a variable of the process's environment, which else is this process's without its `KUBECONFIG`.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }
}

/// A process that belongs to its owner: dropped, it is killed and reaped.
#[derive(Debug)]
pub struct Process {
    launch: Launch,
    folder: Arc<RunFolder>,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// Starts it. Both its outputs go to `NAME.log` in the folder; a restart appends.
    ///
    /// # Errors
    /// [`Error::System`] when the program or its log cannot be opened.
    pub fn start(folder: &Arc<RunFolder>, launch: Launch) -> Result<Self, Error> {
        let log = folder.path().join(format!("{}.log", launch.name));
        let mut process = Self {
            launch,
            folder: Arc::clone(folder),
            log,
            child: None,
        };
        process.start_again()?;
        Ok(process)
    }

    /// Starts it again, in the same way, after it has ended; without effect while it runs.
    ///
    /// # Errors
    /// As [`Process::start`].
    pub fn start_again(&mut self) -> Result<(), Error> {
        if self.exit_status()?.is_none() && self.child.is_some() {
            return Ok(());
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(&self.log)
            .map_err(Error::system(format!("cannot open {}", self.log.display())))?;
        let errors = log.try_clone().map_err(Error::system("cannot share a log"))?;
        let child = Command::new(&self.launch.program)
            .args(&self.launch.arguments)
            .env_remove("KUBECONFIG")
            .envs(self.launch.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(Error::system(format!("cannot run {}", self.launch.program.display())))?;
        self.folder.started(&self.launch.name, child.id(), &self.log);
        self.child = Some(child);
        Ok(())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.launch.name
    }

    /// Its id while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        tail(&self.log, TAIL_LINES)
    }

    /// How it ended, if it has just ended by itself; `None` while it runs and when it was stopped before.
    ///
    /// # Errors
    /// [`Error::System`] when the system does not tell.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>, Error> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child
            .try_wait()
            .map_err(Error::system(format!("cannot wait for {}", self.launch.name)))?;
        if status.is_some() {
            self.folder.ended(child.id());
            self.child = None;
        }
        Ok(status)
    }

    /// Fails when it has ended.
    ///
    /// # Errors
    /// [`Error::Ended`] with the end of its log; [`Error::NotRunning`] when it had been stopped.
    pub fn must_run(&mut self) -> Result<(), Error> {
        match self.exit_status()? {
            Some(status) => Err(Error::Ended {
                name: self.launch.name.clone(),
                status,
                log_tail: self.log_tail(),
            }),
            None if self.child.is_none() => Err(Error::NotRunning(self.launch.name.clone())),
            None => Ok(()),
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// [`Error::TooLate`] when it still runs after `limit`; [`Error::NotRunning`] when it did not run.
    pub async fn wait(&mut self, limit: Duration) -> Result<ExitStatus, Error> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(status);
            }
            if self.child.is_none() {
                return Err(Error::NotRunning(self.launch.name.clone()));
            }
            if start.elapsed() >= limit {
                let what = format!("the end of {}", self.launch.name);
                return Err(Error::TooLate {
                    what,
                    waited: start.elapsed(),
                    last: self.log_tail(),
                });
            }
            sleep(PERIOD).await;
        }
    }

    /// Asks it to end (SIGTERM) and waits; one that does not end within `patience` is killed, which is an error.
    ///
    /// # Errors
    /// [`Error::TooLate`] when it had to be killed; [`Error::NotRunning`] when it did not run.
    pub async fn stop(&mut self, patience: Duration) -> Result<ExitStatus, Error> {
        self.signal(Signal::TERM)?;
        // A paused process hears nothing until it goes on.
        self.signal(Signal::CONT)?;
        let ended = self.wait(patience).await;
        if ended.is_err() {
            self.kill()?;
        }
        ended
    }

    /// Ends it at once (SIGKILL), as a crash does; without effect when it does not run.
    ///
    /// # Errors
    /// [`Error::System`] when the system refuses.
    pub fn kill(&mut self) -> Result<(), Error> {
        if let Some(mut child) = self.child.take() {
            let name = &self.launch.name;
            child.kill().map_err(Error::system(format!("cannot kill {name}")))?;
            child.wait().map_err(Error::system(format!("cannot wait for {name}")))?;
            self.folder.ended(child.id());
        }
        Ok(())
    }

    /// Freezes it (SIGSTOP): it keeps its connections and answers nothing, as a machine that hangs.
    ///
    /// # Errors
    /// [`Error::NotRunning`] when it does not run.
    pub fn pause(&self) -> Result<(), Error> {
        self.signal(Signal::STOP)?;
        // The signal is on its way: the last thread stops a moment later. Looked at, not taken: the end of the process
        // stays to be waited for.
        let look = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()?), look)
            .map(drop)
            .map_err(|error| Error::System {
                what: format!("cannot pause {}", self.launch.name),
                source: error.into(),
            })
    }

    /// Lets it go on after [`Process::pause`].
    ///
    /// # Errors
    /// [`Error::NotRunning`] when it does not run.
    pub fn resume(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        // The child has not been waited for, so the id is still its own.
        kill_process(self.pid()?, signal).map_err(|error| Error::System {
            what: format!("cannot signal {}", self.launch.name),
            source: error.into(),
        })
    }

    fn pid(&self) -> Result<Pid, Error> {
        let id = self
            .child
            .as_ref()
            .and_then(|child| Pid::from_raw(i32::try_from(child.id()).ok()?));
        id.ok_or_else(|| Error::NotRunning(self.launch.name.clone()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // While the processes still stand as they did: the first owner to go reports for all.
            self.folder.report_failure();
        }
        if let Err(error) = self.kill() {
            eprintln!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn shell(name: &str, script: &str) -> Launch {
        Launch::new(name, "sh").args(["-c", script])
    }

    #[tokio::test]
    async fn an_end_is_told_with_the_log() {
        let folder = RunFolder::create().unwrap();
        let mut process = Process::start(&folder, shell("short", "echo alas >&2; exit 3")).unwrap();
        let status = process.wait(SOON).await.unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(process.log_tail(), "alas");
        assert!(matches!(process.must_run(), Err(Error::NotRunning(_))));
    }

    #[tokio::test]
    async fn a_restart_appends_to_the_log() {
        let folder = RunFolder::create().unwrap();
        let mut process = Process::start(&folder, shell("twice", "echo $WORD").env("WORD", "again")).unwrap();
        process.wait(SOON).await.unwrap();
        process.start_again().unwrap();
        process.wait(SOON).await.unwrap();
        assert_eq!(process.log_tail(), "again\nagain");
    }

    #[tokio::test]
    async fn stop_lets_a_paused_process_end_in_order() {
        let folder = RunFolder::create().unwrap();
        let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
        let mut process = Process::start(&folder, shell("polite", script)).unwrap();
        crate::eventually("the trap", SOON, async || {
            if process.log_tail() == "ready" {
                Ok(())
            } else {
                Err(process.log_tail())
            }
        })
        .await
        .unwrap();
        process.pause().unwrap();
        let status = process.stop(SOON).await.unwrap();
        assert!(status.success(), "{status}");
        assert_eq!(process.log_tail(), "ready\nbye");
    }

    #[tokio::test]
    async fn one_that_does_not_listen_is_killed_and_it_is_said() {
        let folder = RunFolder::create().unwrap();
        let script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
        let mut process = Process::start(&folder, shell("deaf", script)).unwrap();
        crate::eventually("the trap", SOON, async || {
            if process.log_tail() == "ready" {
                Ok(())
            } else {
                Err(process.log_tail())
            }
        })
        .await
        .unwrap();
        assert!(matches!(
            process.stop(Duration::from_millis(100)).await,
            Err(Error::TooLate { .. })
        ));
        assert_eq!(process.id(), None);
    }

    #[test]
    fn dropped_is_ended() {
        let folder = RunFolder::create().unwrap();
        let process = Process::start(&folder, Launch::new("sleeper", "sleep").arg("1000")).unwrap();
        let id = process.id().unwrap();
        assert!(Path::new(&format!("/proc/{id}")).exists());
        drop(process);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
