//! What a check says.

use serde::Serialize;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum State {
    /// As it should be.
    Fine,
    /// Worth knowing; somebody may have chosen it.
    Note,
    /// Wrong: exit status 1.
    Problem,
    /// It cannot be seen from here.
    NotSeen,
    /// There is nothing to check here.
    NotApplicable,
}

impl State {
    /// For people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Problem => "PROBLEM",
            Self::NotSeen => "not seen",
            Self::NotApplicable => "-",
        }
    }
}

/// What one check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How it is.
    pub state: State,
    /// In a line.
    pub message: String,
    /// One by one, where there are several things.
    pub details: Vec<String>,
    /// What to do.
    pub next: Option<String>,
}

impl Verdict {
    fn new(state: State, message: impl Into<String>) -> Self {
        Self {
            state,
            message: message.into(),
            details: Vec::new(),
            next: None,
        }
    }

    /// As it should be.
    pub fn fine(message: impl Into<String>) -> Self {
        Self::new(State::Fine, message)
    }

    /// Worth knowing.
    pub fn note(message: impl Into<String>) -> Self {
        Self::new(State::Note, message)
    }

    /// Wrong, and what to do.
    pub fn problem(message: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(State::Problem, message).next(next)
    }

    /// It cannot be seen, for this reason.
    pub fn not_seen(why: impl Into<String>) -> Self {
        Self::new(State::NotSeen, why)
    }

    /// There is nothing to check.
    pub fn not_applicable(why: impl Into<String>) -> Self {
        Self::new(State::NotApplicable, why)
    }

    /// The same, with what to do.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The same, with these details.
    #[must_use]
    pub fn details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }
}
