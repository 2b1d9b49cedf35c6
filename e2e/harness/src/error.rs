//! What can go wrong while starting and steering servers.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// What went wrong, with what a reader needs to go on: the program, the file, the end of its log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The programs of a control plane are not here.
    #[error(transparent)]
    Missing(#[from] e2e_control_plane::Missing),
    /// A file, folder, process or signal was refused by the system.
    #[error("{what}: {source}")]
    System {
        /// What was tried, on what.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// No port is free.
    #[error("no free port on 127.0.0.1 between {first} and {last}")]
    NoPort {
        /// The first port tried.
        first: u16,
        /// The last port tried.
        last: u16,
    },
    /// A program ended although it should run.
    #[error("{name} ended ({status}); its log ends with:\n{log_tail}")]
    Ended {
        /// The process's name.
        name: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log_tail: String,
    },
    /// Something was waited for in vain.
    #[error("{what} not within {}: {last}", human(*waited))]
    TooLate {
        /// What was waited for.
        what: String,
        /// How long.
        waited: Duration,
        /// How it stood at the last look.
        last: String,
    },
    /// A process is asked for a signal or its id while it is stopped.
    #[error("{0} does not run")]
    NotRunning(String),
    /// An API server's answer.
    #[error("{what}: {source}")]
    Api {
        /// What was asked.
        what: String,
        /// The answer.
        source: Box<kube::Error>,
    },
    /// A kubeconfig that this crate wrote is not accepted.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] Box<kube::config::KubeconfigError>),
    /// A key pair could not be made.
    #[error("no key pair for service accounts could be made")]
    NoKey,
    /// helm refuses.
    #[error("helm {arguments}: {said}")]
    Helm {
        /// What it was asked.
        arguments: String,
        /// Its complaint.
        said: String,
    },
    /// One of our own programs has not been built.
    #[error(
        "{program} is not in {folder}: build it with `cargo build --workspace --bins`, or name the folder in {variable}"
    )]
    NoProgram {
        /// The program.
        program: String,
        /// Where it was looked for.
        folder: String,
        /// The variable that names another folder.
        variable: &'static str,
    },
}

impl Error {
    /// Whether a server ended because somebody was quicker on its port.
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Ended { log_tail, .. } if log_tail.contains("address already in use"))
    }

    /// For `map_err` on what the system refused.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }

    /// For `map_err` on an API server's answer.
    pub(crate) fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Api {
            what,
            source: Box::new(source),
        }
    }
}

fn human(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
