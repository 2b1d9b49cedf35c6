//! `dump`, a support bundle of everything that the reading commands read, and `--from`, by which they read it.
//!
//! A dump is a text of JSON lines: a header, an object or an answer of the queue a line, and at the end how much it holds,
//! so that what is cut off is noticed. Read back, it answers as the API server and the queue would that it is of: so every
//! reading command works on it by the code that it works by on a living control plane.
//!
//! Rooms: `kinds` (what is in it), `shape` (its lines), `clean` (what is taken out of objects), `write` (from a control plane to
//! a file), `read` (from a file to memory), `api` and `queue` (answering from memory), `report` (what is said).

mod api;
mod clean;
mod kinds;
mod queue;
mod read;
mod report;
mod shape;
mod write;

pub use report::{DumpResult, KindCount, NotRead};
pub use write::dump;

use std::path::Path;
use std::sync::Arc;

use controller_kit::Clock;
use eviction_queue_api::memory::MemoryNetwork;
use jiff::Timestamp;
use tokio::task::JoinSet;

use api::Parts;

use crate::cli::{Cli, Command, PauseCommand, QueueCommand};
use crate::control_plane::ControlPlane;
use crate::failure::{ExitStatus, Failure};
use crate::output::At;
use crate::run::Surroundings;

/// A control plane as a dump has it.
pub struct Dumped {
    /// It answers as the API server did.
    pub control_plane: ControlPlane,
    /// The time and the network of the dump.
    pub around: Surroundings,
    /// When the dump was made.
    pub as_of: Timestamp,
    /// What it does not hold, or not as a whole.
    pub not_read: Vec<NotRead>,
    /// Serves the queue's answers for as long as it lives.
    _serving: JoinSet<()>,
}

/// Reads a dump for a command. Time begins at the moment at which it was made. Of a kind that it holds in part, a plan gets
/// nothing: what it says would be wrong.
///
/// # Errors
/// It cannot be read, is none, is of another version, or is cut off.
pub fn open(file: &Path, cli: &Cli, around: &Surroundings) -> Result<Dumped, Failure> {
    let contents = Arc::new(read::read(file)?);
    let network = MemoryNetwork::default();
    let mut serving = JoinSet::new();
    for address in contents.queue_addresses() {
        let listener = network.listen(&address);
        serving.spawn(queue::serve(Arc::clone(&contents), listener));
    }
    let as_of = contents.header.as_of;
    let parts = match &cli.command {
        Command::Plan(_) => Parts::Refused,
        _ => Parts::Shown,
    };
    Ok(Dumped {
        control_plane: ControlPlane::new(
            api::client(Arc::clone(&contents), parts),
            &contents.header.system_namespace,
        ),
        around: Surroundings {
            clock: Clock::simulated(as_of),
            network: Some(network),
            ..around.clone()
        },
        as_of,
        not_read: contents.not_read.clone(),
        _serving: serving,
    })
}

impl Dumped {
    /// What a person has to know of an answer from it.
    #[must_use]
    pub fn note(&self) -> String {
        let mut note = format!("as of {}, when the dump was made\n", At(self.as_of));
        for not in &self.not_read {
            note.push_str(&format!("not in the dump, or not all: {} ({})\n", not.what, not.why));
        }
        note
    }
}

/// Whether a command only looks.
///
/// # Errors
/// It changes something, or needs a living control plane.
pub fn check(cli: &Cli, file: &Path) -> Result<(), Failure> {
    let looks = match &cli.command {
        Command::Status { .. } | Command::Explain(_) | Command::History(_) | Command::Plan(_) | Command::Check(_) => {
            true
        }
        Command::Queue(command) => matches!(
            command,
            QueueCommand::List(_) | QueueCommand::Show(_) | QueueCommand::Recent(_)
        ),
        Command::Pause(args) => matches!(args.command, Some(PauseCommand::List)),
        _ => false,
    };
    if looks {
        return Ok(());
    }
    Err(Failure::new(
        ExitStatus::Usage,
        format!("cannot do this with --from {}", file.display()),
        "a dump can be looked at, and neither changed nor followed",
        "use --from with status, explain, history, plan, check, pause list, or queue list, show and recent",
    ))
}
