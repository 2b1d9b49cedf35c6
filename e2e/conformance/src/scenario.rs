//! A scenario: operations that are done one after the other, in a namespace of their own.

use crate::operation::Operation;

/// Operations on one subject, in their order.
#[derive(Clone)]
pub struct Scenario {
    /// What it is about; also the name of its namespace.
    pub name: &'static str,
    /// What is done.
    pub operations: Vec<Operation>,
}

impl Scenario {
    /// A scenario of this name.
    #[must_use]
    pub fn new(name: &'static str, operations: Vec<Operation>) -> Self {
        Self { name, operations }
    }
}
