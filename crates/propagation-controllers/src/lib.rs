//! What turns a template and a policy into objects on member clusters, and brings their status back.

pub mod interpreter;
pub mod json;
pub mod kinds;
pub mod quantity;
