//! Conditional writes on bindings, for every controller that moves a copy from one cluster to another.
//!
//! Guarantees: each write is one JSON Patch that tests the resource version and the UID that were read, so it lands on
//! exactly the object it was computed from or not at all; list items are removed and added one by one, so that fields
//! of items and of the object that this version does not know survive; a write that would change nothing is not sent.
//!
//! [`BindingEdit`] says what to change, as a value; [`BindingWriter`] sends it and says what became of it. What is
//! written was read from [`BindingStores`], which has both kinds of binding as one.

mod annotation;
mod bindings;
mod condition;
mod edit;
mod keys;
mod own_writes;
mod reassert;
mod writer;

pub use bindings::{BindingInformers, BindingStores};
pub use edit::BindingEdit;
pub use keys::{api, binding_key, object_key};
pub use own_writes::{Cache, OwnWrites};
pub use reassert::Reassert;
pub use writer::{BindingWriter, WriteError, WriteOutcome};
