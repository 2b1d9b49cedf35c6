//! JSONPath templates in kubectl's dialect, as `statePreservation` rules are written.
//!
//! It is not the JSONPath of RFC 9535. Expressions stand in braces and text around them is kept: `rev-{.revision}`. `$` and
//! `@` may be left out. A dot in a name is escaped: `{.labels.a\.b}`, also in brackets: `{['a\.b']}`. A key that is missing
//! is an error. Several values are joined by blanks. `{range .items[*]}{.name} {end}` repeats.
//!
//! Guarantees: any text and any status are answered, with bounded work; two runs give the same text. Differences from the
//! Go original: whole numbers are never rounded, and others have no exponent below 1e21 (there: below a million), since a
//! label cannot carry its `+`; numbers compare by value, whole or not; the values of an object come in
//! the order of its keys (there: in any); null, and an expression that finds nothing, are errors (there: `<nil>`, and
//! nothing). Regular expressions (`=~`) are refused, as in kubectl.

mod parse;
mod render;
mod walk;

use serde_json::Value;

pub use parse::BadPath;
pub use walk::NoValue;

/// A template, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    nodes: Vec<Node>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// Text around the braces.
    Text(String),
    /// `{…}`.
    Values(Vec<Step>),
    /// `{range …}` and what is repeated for each value, up to `{end}`.
    Range(Vec<Step>, Vec<Node>),
}

/// One step from values to values.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// `.name`.
    Field(String),
    /// `.*`.
    Wildcard,
    /// `..`.
    Descend,
    /// `[3]`, from the end if negative.
    Index(i64),
    /// `[start:end:step]`.
    Slice {
        start: Option<i64>,
        end: Option<i64>,
        step: Option<i64>,
    },
    /// `[0,2]`.
    Union(Vec<Vec<Step>>),
    /// `[?(…)]`.
    Filter(Filter),
    /// A number, a word or a text that is its own value.
    Literal(Value),
}

/// Which items of a list are kept.
#[derive(Clone, Debug, PartialEq)]
enum Filter {
    /// Those that have it.
    Exists(Vec<Step>),
    /// Those for which it is so.
    Compare {
        left: Vec<Step>,
        by: Comparison,
        right: Vec<Step>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// What in it cannot be read.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        Ok(Self {
            nodes: parse::template(text)?,
        })
    }

    /// The text that it makes of a status.
    ///
    /// # Errors
    /// [`NoValue`] when the status does not have what the template names.
    pub fn text(&self, status: &Value) -> Result<String, NoValue> {
        render::text(&self.nodes, status)
    }
}

#[cfg(test)]
mod tests;
