//! The worked example as a story that is read off the API objects and the queue, the same whether everything runs in
//! one process on the sandbox or in separate processes on real API servers.

pub mod example;
pub mod expect;
mod headline;
mod line;
pub mod objects;
mod observer;
pub mod print;
mod queue_watch;
pub mod scenario;
pub mod script;
mod tale;
mod teller;
pub mod theatre;

pub use line::{Line, Step};
pub use observer::{Observer, Sources};
pub use teller::{EntrySeen, EntryStands, Teller};
pub use theatre::Theatre;
