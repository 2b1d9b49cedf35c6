//! The caller of a method, as the handlers see it: in the extensions of every request.

use std::fmt;

/// How a caller is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// It reached a server that listens on loopback only and asks for nothing.
    Loopback,
    /// By the client certificate of its connection.
    Certificate,
    /// By the bearer token of its call.
    Token,
    /// Not at all: the method is open to whoever has a connection.
    Nothing,
}

/// Who makes a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who it is, for people: the name of its certificate that gives the right (all of them, with commas, where
    /// everybody has it), the user of its token, or `local`.
    pub name: String,
    /// How that is known.
    pub known_by: KnownBy,
}

impl Caller {
    /// Whoever reaches a server that listens on loopback only, and asks for no credentials.
    #[must_use]
    pub fn local() -> Self {
        Self::new("local", KnownBy::Loopback)
    }

    pub(super) fn new(name: impl Into<String>, known_by: KnownBy) -> Self {
        let name = name.into();
        Self { name, known_by }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
