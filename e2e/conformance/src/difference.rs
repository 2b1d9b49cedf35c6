//! Two JSON values, field by field.

use std::fmt;

use serde_json::Value;

/// One place where two answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where: a JSON pointer.
    pub at: String,
    /// What the real server says; `None` where it says nothing.
    pub real: Option<Value>,
    /// What the sandbox says.
    pub sandbox: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |side: &Option<Value>| side.as_ref().map_or_else(|| "(nothing)".to_owned(), Value::to_string);
        let (real, sandbox) = (text(&self.real), text(&self.sandbox));
        let common = real.chars().zip(sandbox.chars()).take_while(|(a, b)| a == b).count();
        write!(
            f,
            "{}\n      real:    {}\n      sandbox: {}",
            self.at,
            short(&real, common),
            short(&sandbox, common)
        )
    }
}

/// Long texts are shown from shortly before the first difference on.
fn short(text: &str, common: usize) -> String {
    const MOST: usize = 400;
    const BEFORE: usize = 60;
    let start = if text.len() > MOST {
        common.saturating_sub(BEFORE)
    } else {
        0
    };
    let end = if text.chars().count() > start + MOST { "…" } else { "" };
    let begin = if start > 0 { "…" } else { "" };
    format!(
        "{begin}{}{end}",
        text.chars().skip(start).take(MOST).collect::<String>()
    )
}

/// All places where they differ, in the order of the fields. Lists of different length differ as a whole, and so do
/// answers of different codes: it makes no sense to compare an object with a refusal.
#[must_use]
pub fn differences(real: &Value, sandbox: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    let by_code = |answer: &Value| answer.get("code").filter(|code| code.as_u64() >= Some(100)).cloned();
    if by_code(real) != by_code(sandbox) {
        return vec![Difference {
            at: "/code".to_owned(),
            real: Some(real.clone()),
            sandbox: Some(sandbox.clone()),
        }];
    }
    compare(real, sandbox, &mut String::new(), &mut found);
    found
}

fn compare(real: &Value, sandbox: &Value, at: &mut String, found: &mut Vec<Difference>) {
    let difference = |at: &str, real: Option<&Value>, sandbox: Option<&Value>| Difference {
        at: at.to_owned(),
        real: real.cloned(),
        sandbox: sandbox.cloned(),
    };
    let length = at.len();
    match (real, sandbox) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).collect();
            keys.sort();
            for key in keys {
                at.push('/');
                at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) => compare(x, y, at, found),
                    (x, y) => found.push(difference(at, x, y)),
                }
                at.truncate(length);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                at.push('/');
                at.push_str(&index.to_string());
                compare(x, y, at, found);
                at.truncate(length);
            }
        }
        (a, b) if a == b => {}
        // Two spellings of a number.
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (a, b) => found.push(difference(at, Some(a), Some(b))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::differences;

    #[test]
    fn names_each_place() {
        let real = json!({"a": 1, "b": {"c/d": [1, 2]}, "only": true, "n": 1});
        let sandbox = json!({"a": 2, "b": {"c/d": [1, 3]}, "n": 1.0, "more": null});
        let places: Vec<_> = differences(&real, &sandbox).into_iter().map(|d| d.at).collect();
        assert_eq!(places, ["/a", "/b/c~1d/1", "/more", "/only"]);
    }

    #[test]
    fn lists_of_different_length_differ_as_a_whole() {
        assert_eq!(differences(&json!([[1], 2]), &json!([[1, 2], 2]))[0].at, "/0");
    }
}
