//! From values to text, as Go prints them.

use serde_json::{Number, Value};

use super::walk::{NoValue, Walk};
use super::{Node, Step};

/// The longest text that is made.
const MAX_TEXT: usize = 4096;

/// The text of a template.
pub(super) fn text(nodes: &[Node], status: &Value) -> Result<String, NoValue> {
    let mut page = Page {
        walk: Walk::new(),
        text: String::new(),
        values: 0,
    };
    page.write(nodes, status)?;
    let asks = nodes.iter().any(|node| !matches!(node, Node::Text(_)));
    if asks && page.values == 0 {
        return Err(NoValue::Nothing);
    }
    Ok(page.text)
}

struct Page {
    walk: Walk,
    text: String,
    values: usize,
}

impl Page {
    fn write(&mut self, nodes: &[Node], status: &Value) -> Result<(), NoValue> {
        for node in nodes {
            match node {
                Node::Text(text) => self.put(text)?,
                Node::Values(steps) => {
                    let found = self.find(steps, status)?;
                    if found.is_empty() {
                        // A part of the state would be lost, and nobody told.
                        return Err(NoValue::Nothing);
                    }
                    for (n, value) in found.into_iter().enumerate() {
                        if n > 0 {
                            self.put(" ")?;
                        }
                        self.put(&one(value)?)?;
                        self.values += 1;
                    }
                }
                Node::Range(steps, body) => {
                    for value in self.find(steps, status)? {
                        self.values += 1;
                        self.write(body, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn find<'v>(&mut self, steps: &'v [Step], status: &'v Value) -> Result<Vec<&'v Value>, NoValue> {
        self.walk.all(vec![status], steps)
    }

    fn put(&mut self, text: &str) -> Result<(), NoValue> {
        if self.text.len() + text.len() > MAX_TEXT {
            return Err(NoValue::TooMuch);
        }
        self.text.push_str(text);
        Ok(())
    }
}

fn one(value: &Value) -> Result<String, NoValue> {
    match value {
        Value::Null => Err(NoValue::Null),
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(of_number(number)),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Ok(value.to_string()),
    }
}

/// Whole numbers in full; others by their shortest digits, with an exponent from 1e21 on and below 0.0001.
fn of_number(number: &Number) -> String {
    if !number.is_f64() {
        return number.to_string();
    }
    let value = number.as_f64().unwrap_or_default();
    if value == 0.0 || (1e-4..1e21).contains(&value.abs()) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}
