//! What the `main` of every binary comes to.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::{Controller, Ended, KitFlags, Process, Running, open_files};
use crate::connect::{ConnectError, connect, find_config, find_distant_config, find_own_config};
use crate::members::OwnMember;
use crate::tasks::Failure;
use crate::telemetry::{Telemetry, TelemetryError, Traces};

/// Exit code when the process could not start or could not go on.
pub const EXIT_FAILURE: u8 = 1;
/// Exit code for a command line that cannot be right.
pub const EXIT_USAGE: u8 = 2;
/// Exit code when a lease was lost. Nothing is wrong with the program: another replica leads, this one is to be
/// restarted as a candidate.
pub const EXIT_LEASE_LOST: u8 = 10;

/// The longest that a request to the member may take that a component lives in, unless its controller says less.
const LONGEST_MEMBER_REQUEST: Duration = Duration::from_secs(60);

/// Runs a component until it is asked to end (SIGTERM, SIGINT) or cannot go on, and returns its exit code:
/// 0 after a graceful end, [`EXIT_USAGE`] for mistakes in flags, [`EXIT_LEASE_LOST`] when a lease was lost,
/// [`EXIT_FAILURE`] otherwise. A second signal ends it at once.
#[must_use]
pub fn main(component: &'static str, flags: KitFlags, controllers: Vec<Controller>) -> ExitCode {
    main_at(component, flags, Place::ControlPlane, controllers)
}

/// The same for a component that lives in a member and works for that member alone. `flags` say where the control plane
/// is, and have to: a pod's service account belongs to the member.
#[must_use]
pub fn main_in_member(
    component: &'static str,
    flags: KitFlags,
    member: MemberAccess,
    controllers: Vec<Controller>,
) -> ExitCode {
    main_at(component, flags, Place::Member(member), controllers)
}

/// How a component reaches the member that it lives in: by a kubeconfig, else by the pod's service account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberAccess {
    /// The kubeconfig.
    pub kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig; its current one if not given.
    pub context: Option<String>,
}

/// Where a component lives.
enum Place {
    ControlPlane,
    Member(MemberAccess),
}

fn main_at(component: &'static str, flags: KitFlags, place: Place, controllers: Vec<Controller>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(component, EXIT_FAILURE, &[format!("cannot start threads: {error}")]),
    };
    let code = runtime.block_on(run(component, flags, place, controllers));
    // Nothing of ours is left; what a library still does is not waited for.
    runtime.shutdown_background();
    code
}

async fn run(component: &'static str, flags: KitFlags, place: Place, controllers: Vec<Controller>) -> ExitCode {
    let identity = unique_identity();
    let telemetry = match Telemetry::install(component, &identity, &flags) {
        Ok(telemetry) => telemetry,
        Err(error @ TelemetryError::Installed(_)) => return complain(component, EXIT_FAILURE, &[error.to_string()]),
        Err(error) => return complain(component, EXIT_USAGE, &[error.to_string()]),
    };
    let code = run_logged(component, identity, flags, telemetry.traces(), place, controllers).await;
    telemetry.finish();
    code
}

async fn run_logged(
    component: &'static str,
    identity: String,
    flags: KitFlags,
    traces: Traces,
    place: Place,
    controllers: Vec<Controller>,
) -> ExitCode {
    let mut connection_problems = Vec::new();
    let client = match control_plane(&flags, &place).await {
        Ok(client) => client,
        // Mistakes in flags are still looked for, to report all at once.
        Err(error) => {
            connection_problems.push(error.to_string());
            unconnected()
        }
    };
    let mut process = Process::builder(component, client)
        .flags(flags)
        .identity(identity)
        .traces(traces)
        .controllers(controllers);
    if let Place::Member(access) = &place {
        match own_member(access).await {
            Ok(member) => process = process.members(Arc::new(member)),
            Err(error) => connection_problems.push(error.to_string()),
        }
    }
    let mut problems = process.problems();
    problems.extend(connection_problems);
    if !problems.is_empty() {
        return complain(component, EXIT_USAGE, &problems);
    }
    let open_files = open_files::raise_limit();
    tracing::info!(component, version = crate::VERSION, open_files, "starting");
    let running = match process.start().await {
        Ok(running) => running,
        Err(error) => return complain(component, EXIT_FAILURE, &[error.to_string()]),
    };
    tokio::select! {
        biased;
        ended = running.ended() => exit_code(&ended),
        () = shutdown_signal() => stop(&running).await,
    }
}

async fn control_plane(flags: &KitFlags, place: &Place) -> Result<kube::Client, ConnectError> {
    let (kubeconfig, context) = (flags.kubeconfig.as_deref(), flags.context.as_deref());
    let config = match place {
        Place::ControlPlane => find_config(kubeconfig, context).await,
        Place::Member(_) => find_distant_config(kubeconfig, context).await,
    }?;
    connect(config, flags.request_timeout)
}

async fn own_member(access: &MemberAccess) -> Result<OwnMember, ConnectError> {
    let config = find_own_config(access.kubeconfig.as_deref(), access.context.as_deref()).await?;
    // Each controller sets time limits of its own; this one is for what they forget.
    connect(config, LONGEST_MEMBER_REQUEST).map(OwnMember::new)
}

async fn stop(running: &Running) -> ExitCode {
    tokio::select! {
        biased;
        ended = running.stop() => exit_code(&ended),
        () = shutdown_signal() => {
            tracing::warn!("second signal: ending at once");
            running.crash();
            ExitCode::from(EXIT_FAILURE)
        }
    }
}

fn exit_code(ended: &Ended) -> ExitCode {
    match ended {
        Ended::Stopped => ExitCode::SUCCESS,
        Ended::Failed(Failure::LeaseLost { controller, reason }) => {
            tracing::error!(
                controller,
                reason,
                exit_code = EXIT_LEASE_LOST,
                "ending, because the lease was lost: another replica takes over, this one starts again as a candidate"
            );
            ExitCode::from(EXIT_LEASE_LOST)
        }
        Ended::Failed(failure) => {
            tracing::error!(%failure, exit_code = EXIT_FAILURE, "ending, because of a failure");
            ExitCode::from(EXIT_FAILURE)
        }
        Ended::Crashed => ExitCode::from(EXIT_FAILURE),
    }
}

/// Whatever the log level and format: what keeps a program from starting goes to standard error as it is.
#[allow(clippy::print_stderr, reason = "the one place where a program speaks without a log")]
fn complain(component: &str, code: u8, problems: &[String]) -> ExitCode {
    for problem in problems {
        eprintln!("{component}: error: {problem}");
    }
    if code == EXIT_USAGE {
        eprintln!("{component}: see --help");
    }
    ExitCode::from(code)
}

/// An identity that no other process has, nor this one after a restart: the host's name (in a pod the pod's) and
/// something random.
#[must_use]
pub fn unique_identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| name.trim().to_owned())
        .or_else(|| std::env::var("HOSTNAME").ok())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned());
    format!("{host}_{}", uuid::Uuid::new_v4())
}

/// A client that reaches nothing, to look for further mistakes with.
fn unconnected() -> kube::Client {
    let nothing = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("not connected"))
    });
    kube::Client::new(nothing, "default")
}

/// Waits for SIGTERM or SIGINT.
#[cfg(unix)]
pub async fn shutdown_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        tracing::error!("cannot listen to signals");
        return std::future::pending().await;
    };
    tokio::select! {
        biased;
        _ = term.recv() => tracing::info!("SIGTERM"),
        _ = interrupt.recv() => tracing::info!("SIGINT"),
    }
}

/// Waits for an interrupt.
#[cfg(not(unix))]
pub async fn shutdown_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
