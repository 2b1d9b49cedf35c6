//! From text to steps.

use serde_json::Value;

use super::{Comparison, Filter, Node, Step};

/// The longest template that is read; the API takes 1,024.
const MAX_LENGTH: usize = 4096;
/// How deep filters and ranges may be nested.
const MAX_DEPTH: usize = 16;

/// A text that is no JSONPath template in kubectl's dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// There is no expression in it, although it looks like one.
    #[error("an expression stands in braces, such as {{.replicas}}")]
    NoBraces,
    /// It is too long or too deeply nested.
    #[error("it is too long or too deeply nested")]
    TooLarge,
    /// Something that was begun is not ended.
    #[error("{what} is not closed")]
    NotClosed {
        /// What was begun.
        what: &'static str,
    },
    /// `{end}` without `{range}`.
    #[error("{{end}} without {{range}}")]
    NothingToEnd,
    /// Something stands where it means nothing.
    #[error("{what:?} means nothing here")]
    Unknown {
        /// The text.
        what: String,
    },
}

impl BadPath {
    fn unknown(what: impl Into<String>) -> Self {
        Self::Unknown { what: what.into() }
    }
}

/// Reads a template.
pub(super) fn template(text: &str) -> Result<Vec<Node>, BadPath> {
    if text.len() > MAX_LENGTH {
        return Err(BadPath::TooLarge);
    }
    if !text.contains('{') && text.trim_start().starts_with(['.', '$', '@', '[']) {
        return Err(BadPath::NoBraces);
    }
    let mut outer: Vec<(Vec<Step>, Vec<Node>)> = Vec::new();
    let mut nodes = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some((before, after)) = rest.split_once('{') else {
            nodes.push(Node::Text(rest.to_owned()));
            break;
        };
        if !before.is_empty() {
            nodes.push(Node::Text(before.to_owned()));
        }
        let mut reader = Reader { rest: after, depth: 0 };
        match reader.action()? {
            Action::Values(steps) => nodes.push(Node::Values(steps)),
            Action::Range(steps) => {
                if outer.len() >= MAX_DEPTH {
                    return Err(BadPath::TooLarge);
                }
                outer.push((steps, std::mem::take(&mut nodes)));
            }
            Action::End => {
                let (steps, around) = outer.pop().ok_or(BadPath::NothingToEnd)?;
                let body = std::mem::replace(&mut nodes, around);
                nodes.push(Node::Range(steps, body));
            }
        }
        rest = reader.rest;
    }
    // As in the original, what is not ended goes to the end of the template.
    while let Some((steps, around)) = outer.pop() {
        let body = std::mem::replace(&mut nodes, around);
        nodes.push(Node::Range(steps, body));
    }
    Ok(nodes)
}

enum Action {
    Values(Vec<Step>),
    Range(Vec<Step>),
    End,
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn take(&mut self, prefix: &str) -> bool {
        let after = self.rest.strip_prefix(prefix);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// What stands before the first character for which `ends` says yes; the rest begins with it.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let at = self.rest.find(ends).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(at);
        self.rest = rest;
        taken
    }

    /// An expression, up to its closing brace.
    fn action(&mut self) -> Result<Action, BadPath> {
        let mut steps = Vec::new();
        let mut is_range = false;
        let mut is_end = false;
        loop {
            if self.take("}") {
                return Ok(match (is_end, is_range) {
                    (true, _) => Action::End,
                    (false, true) => Action::Range(steps),
                    (false, false) => Action::Values(steps),
                });
            }
            if self.take("[?(") {
                steps.push(Step::Filter(self.filter()?));
                continue;
            }
            if self.take("..") {
                if steps.last() == Some(&Step::Descend) {
                    return Err(BadPath::unknown("...."));
                }
                steps.push(Step::Descend);
                if self.rest.starts_with(is_word) {
                    steps.push(self.field()?);
                }
                continue;
            }
            match self.rest.chars().next() {
                None | Some('\n' | '\r') => return Err(BadPath::NotClosed { what: "the brace" }),
                Some(' ' | '@' | '$') => self.rest = &self.rest[1..],
                Some('[') => self.brackets(&mut steps)?,
                Some(quote @ ('"' | '\'')) => steps.push(self.quoted(quote)?),
                Some('.') => {
                    self.rest = &self.rest[1..];
                    steps.push(self.field()?);
                }
                Some(c) if c.is_ascii_digit() || matches!(c, '+' | '-') => steps.push(self.number()?),
                Some(c) if is_word(c) => match self.until(ends_word) {
                    "true" => steps.push(Step::Literal(Value::Bool(true))),
                    "false" => steps.push(Step::Literal(Value::Bool(false))),
                    "range" => is_range = true,
                    "end" => is_end = true,
                    other => return Err(BadPath::unknown(other)),
                },
                Some(c) => return Err(BadPath::unknown(c)),
            }
        }
    }

    /// The same as a text of its own, one level deeper.
    fn steps_of(&self, text: &str) -> Result<Vec<Step>, BadPath> {
        if self.depth >= MAX_DEPTH {
            return Err(BadPath::TooLarge);
        }
        let text = format!("{text}}}");
        let mut inner = Reader {
            rest: &text,
            depth: self.depth + 1,
        };
        match inner.action()? {
            Action::Values(steps) if inner.rest.is_empty() => Ok(steps),
            Action::Values(_) | Action::Range(_) | Action::End => Err(BadPath::unknown(text.trim_end_matches('}'))),
        }
    }

    /// A name; `\` takes the next character as it is.
    fn field(&mut self) -> Result<Step, BadPath> {
        let mut name = String::new();
        let mut characters = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, c)) = characters.next() {
            if c == '\\' {
                name.extend(characters.next().map(|(_, c)| c).filter(|c| *c != '\\'));
            } else if ends_word(c) {
                end = at;
                break;
            } else {
                name.push(c);
            }
        }
        self.rest = &self.rest[end..];
        match name.as_str() {
            "" => Err(BadPath::unknown(".")),
            "*" => Ok(Step::Wildcard),
            _ => Ok(Step::Field(name)),
        }
    }

    fn number(&mut self) -> Result<Step, BadPath> {
        let sign = self.rest.len() - self.rest.trim_start_matches(['+', '-']).len();
        let (signs, after) = self.rest.split_at(sign);
        self.rest = after;
        let digits = self.until(|c| !c.is_ascii_digit() && c != '.');
        let text = format!("{signs}{digits}");
        let whole = text.parse::<i64>().ok().map(Value::from);
        let value = whole.or_else(|| text.parse::<f64>().ok().map(Value::from));
        value.map(Step::Literal).ok_or(BadPath::Unknown { what: text })
    }

    /// A text in quotes, which are its first character.
    fn quoted(&mut self, quote: char) -> Result<Step, BadPath> {
        let mut text = String::new();
        let mut characters = self.rest[1..].char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '\n' => break,
                '\\' => match characters.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(c @ ('\\' | '"' | '\'')) => text.push(c),
                    Some(c) => return Err(BadPath::unknown(format!("\\{c}"))),
                    None => break,
                },
                c if c == quote => {
                    self.rest = &self.rest[1 + at + 1..];
                    return Ok(Step::Literal(Value::String(text)));
                }
                c => text.push(c),
            }
        }
        Err(BadPath::NotClosed { what: "the quotation" })
    }

    fn brackets(&mut self, steps: &mut Vec<Step>) -> Result<(), BadPath> {
        self.rest = &self.rest[1..];
        let inside = self.until(|c| matches!(c, ']' | '\n'));
        if !self.take("]") {
            return Err(BadPath::NotClosed { what: "the bracket" });
        }
        let parts: Vec<&str> = inside.split(',').collect();
        if parts.len() > 1 {
            let each = parts.iter().map(|part| self.one_bracket(part.trim_matches(' ')));
            steps.push(Step::Union(each.collect::<Result<_, _>>()?));
        } else {
            steps.extend(self.one_bracket(inside)?);
        }
        Ok(())
    }

    fn one_bracket(&self, inside: &str) -> Result<Vec<Step>, BadPath> {
        if inside == "*" {
            return Ok(vec![Step::Slice {
                start: None,
                end: None,
                step: None,
            }]);
        }
        let key = inside.strip_prefix('\'').and_then(|key| key.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            return self.steps_of(&format!(".{key}"));
        }
        let number = |text: &str| match text {
            "" => Ok(None),
            _ => text.parse::<i64>().map(Some).map_err(|_| BadPath::unknown(inside)),
        };
        let numbers: Vec<Option<i64>> = inside.split(':').map(number).collect::<Result<_, _>>()?;
        match numbers[..] {
            [index] => Ok(vec![Step::Index(index.unwrap_or(0))]),
            [start, end] => Ok(vec![Step::Slice { start, end, step: None }]),
            [start, end, step] => Ok(vec![Step::Slice { start, end, step }]),
            _ => Err(BadPath::unknown(inside)),
        }
    }

    /// What stands between `[?(` and `)]`.
    fn filter(&mut self) -> Result<Filter, BadPath> {
        let not_closed = BadPath::NotClosed { what: "the filter" };
        let text = self.rest;
        let mut quote = None;
        let mut before = ' ';
        let mut end = None;
        for (at, c) in text.char_indices() {
            match (c, quote) {
                ('\n', _) => break,
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(open)) if c == open && before != '\\' => quote = None,
                (')', None) => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
            before = c;
        }
        let (inside, after) = text.split_at(end.ok_or(not_closed.clone())?);
        self.rest = after.strip_prefix(")]").ok_or(not_closed)?;
        let operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let Some(at) = inside.find(operator).filter(|at| *at > 0) else {
            return Ok(Filter::Exists(self.steps_of(inside)?));
        };
        let (left, from_operator) = inside.split_at(at);
        let right = from_operator.trim_start_matches(|c| operator(c) || c == '~');
        let by = match &from_operator[..from_operator.len() - right.len()] {
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            other => return Err(BadPath::unknown(other)),
        };
        Ok(Filter::Compare {
            left: self.steps_of(left)?,
            by,
            right: self.steps_of(right)?,
        })
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn ends_word(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}
