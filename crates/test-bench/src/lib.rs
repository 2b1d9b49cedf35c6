//! The bench on which controllers are tested: a control plane and members on the sandbox, under paused time; and
//! programs that are run to hear what they say. Only tests depend on it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod authority;
mod bench;
mod big_fleet;
pub mod cpu_time;
mod footprint;
mod heap;
mod moves;
mod own_process;
mod paused;
mod program;
mod queue;
pub mod statistics;
pub mod stock;
pub mod usage;
mod words;

pub use authority::{Authority, Counts, Issued, Of, Wanted};
pub use bench::{Bench, STARTED};
pub use big_fleet::BigFleet;
pub use footprint::Footprint;
pub use heap::{Heap, assert_flat, heap, held_to_its_end};
pub use moves::Moves;
pub use own_process::{OwnProcess, free_address};
pub use paused::paused;
pub use program::{Program, Said, assert_old_flags_are_warned_about};
pub use queue::{QueueWatch, forgotten_entries};
