//! The folder of one test's servers, and the guard that outlives the test process.
//!
//! Owners end their processes when they are dropped. Three things get past that: a `static` is never dropped, a killed
//! test process drops nothing, and neither does one that aborts. So each folder has a guard, a small shell that reads
//! from a pipe which only this process holds: when the pipe closes, for whatever reason, the guard ends the processes
//! that are still on its list and removes the folder, unless it is told to keep it.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;

/// `$1` is the folder. Deaf to what a terminal sends to all its processes, or it would be gone when it is needed.
const GUARD: &str = r#"
trap '' HUP INT TERM
list=
keep=
while read -r verb value; do
    case $verb in
        add) list="$list $value" ;;
        gone)
            left=
            for id in $list; do [ "$id" = "$value" ] || left="$left $id"; done
            list=$left
            ;;
        keep) keep=yes ;;
    esac
done
[ -z "$list" ] || kill -KILL $list 2>/dev/null
[ -n "$keep" ] || rm -rf -- "$1"
"#;

/// How many lines of each log are printed when a test fails.
const TAIL_LINES: usize = 25;

/// A folder for the data, logs and kubeconfigs of servers that belong together. It goes when its last owner does.
pub struct RunFolder {
    path: PathBuf,
    guard: Mutex<Guard>,
    /// The processes that were started, with their logs, in the order of their start.
    logs: Mutex<Vec<(String, PathBuf)>>,
    kept: AtomicBool,
}

struct Guard {
    shell: Child,
    /// Open as long as the guard shall wait.
    orders: Option<ChildStdin>,
}

impl RunFolder {
    /// Makes a new folder among the system's temporary ones.
    ///
    /// # Errors
    /// [`Error::System`] when the folder or its guard cannot be made.
    pub fn create() -> Result<Arc<Self>, Error> {
        let path = tempfile::Builder::new()
            .prefix("karmada-failover-e2e-")
            .tempdir()
            .map_err(Error::system("cannot make a temporary folder"))?
            .keep();
        let mut shell = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::system("cannot run sh"))?;
        let orders = shell.stdin.take();
        Ok(Arc::new(Self {
            path,
            guard: Mutex::new(Guard { shell, orders }),
            logs: Mutex::default(),
            kept: AtomicBool::new(false),
        }))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder in it, with those above.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).map_err(Error::system(format!("cannot create {}", path.display())))?;
        Ok(path)
    }

    /// Writes a file into it.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        fs::write(&path, content).map_err(Error::system(format!("cannot write {}", path.display())))?;
        Ok(path)
    }

    /// A process was started: the guard ends it if nobody else does, and a failure prints the end of its log.
    pub(crate) fn started(&self, name: &str, id: u32, log: &Path) {
        self.order(&format!("add {id}"));
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if !logs.iter().any(|(_, known)| known == log) {
            logs.push((name.to_owned(), log.to_owned()));
        }
    }

    /// A process has ended and its id may soon be another's.
    pub(crate) fn ended(&self, id: u32) {
        self.order(&format!("gone {id}"));
    }

    /// Prints the end of each log to the standard error and keeps the folder when its owners go. For a run that fails
    /// without a panic; a panic does the same by itself.
    pub fn report_failure(&self) {
        if self.kept.swap(true, Ordering::Relaxed) {
            return;
        }
        self.order("keep");
        eprintln!("--- logs and data are kept in {}", self.path.display());
        for (name, log) in self.logs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            eprintln!("--- {name}: the end of {}\n{}", log.display(), tail(log, TAIL_LINES));
        }
    }

    fn order(&self, line: &str) {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(orders) = &mut guard.orders
            && let Err(error) = writeln!(orders, "{line}")
        {
            // Owners still end their processes; only the case that they cannot is no longer covered.
            eprintln!("the guard of {} is gone: {error}", self.path.display());
            guard.orders = None;
        }
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.report_failure();
        }
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        drop(guard.orders.take());
        if let Err(error) = guard.shell.wait() {
            eprintln!("the guard of {} does not end: {error}", self.path.display());
        }
    }
}

impl fmt::Debug for RunFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunFolder")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The last lines of a log; in the place of a log that cannot be read, why.
pub(crate) fn tail(log: &Path, lines: usize) -> String {
    match fs::read(log) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let all: Vec<&str> = text.lines().collect();
            all.get(all.len().saturating_sub(lines)..)
                .unwrap_or_default()
                .join("\n")
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => "(no log)".to_owned(),
        Err(error) => format!("(unreadable: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_ends_what_is_left_and_removes_the_folder() {
        let folder = RunFolder::create().unwrap();
        let path = folder.path().to_owned();
        let mut forgotten = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut ended = Command::new("sleep").arg("1000").spawn().unwrap();
        folder.started("forgotten", forgotten.id(), &path.join("forgotten.log"));
        folder.started("ended", ended.id(), &path.join("ended.log"));
        folder.ended(ended.id());
        drop(folder);

        assert!(!forgotten.wait().unwrap().success());
        assert!(
            ended.try_wait().unwrap().is_none(),
            "the guard must leave alone what was taken off its list"
        );
        ended.kill().unwrap();
        ended.wait().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_failure_keeps_the_folder() {
        let folder = RunFolder::create().unwrap();
        let path = folder.write("log", b"one\ntwo\nthree\n").unwrap();
        folder.report_failure();
        drop(folder);
        assert_eq!(tail(&path, 2), "two\nthree");
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
