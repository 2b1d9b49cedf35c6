//! Texts that our library functions make outside of the machine, within the budget.

use super::budget::Budget;
use super::pattern::steps_of;

/// A text that grows. What all of them hold together is bounded before it is taken: functions of a script may stand in
/// each other.
pub struct Text<'a> {
    bytes: Vec<u8>,
    budget: &'a Budget,
}

impl<'a> Text<'a> {
    /// Empty.
    pub fn new(budget: &'a Budget) -> Self {
        let bytes = Vec::new();
        Self { bytes, budget }
    }

    /// Appends `more`.
    ///
    /// # Errors
    /// The budget is spent, or too much is held; nothing was appended then.
    pub fn push(&mut self, more: &[u8]) -> mlua::Result<()> {
        self.budget.spend(steps_of(more.len())).map_err(mlua::Error::external)?;
        if !self.budget.hold(more.len()) {
            return Err(mlua::Error::MemoryError("a text is too long".to_owned()));
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    /// What was appended.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        self.budget.release(self.bytes.len());
    }
}
