//! Who may call the queue, and what.
//!
//! [`method`](callable) says what each method needs, `decision` whether a call with what is seen of its caller gets in:
//! both pure. Around them: [`Gate`] sees the caller, asks the API server about tokens (`reviews`, `answers`) and keeps
//! looking while a stream lasts; [`AccessLayer`] puts every call through it, whatever service it is for.
//!
//! Guarantees: what is not in the table is not served; what cannot be asked about is not let in; a token is never
//! logged, and kept in the clear only while its call lasts.

mod answers;
mod bodies;
mod caller;
mod complaints;
mod decision;
mod flags;
mod gate;
mod layer;
mod method;
mod names;
mod reviews;

pub use self::caller::{Caller, KnownBy};
pub(crate) use self::complaints::Complaints;
pub use self::decision::{Policy, RESOURCE, Tokens};
pub use self::flags::AccessFlags;
pub use self::gate::{Gate, MAX_HEADER_BYTES};
pub use self::layer::{AccessLayer, Guarded};
pub use self::method::{Callable, Lasts, Need, Role, callable};
pub use self::names::RoleNames;
