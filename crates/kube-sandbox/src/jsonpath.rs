//! The small part of Kubernetes' JSONPath that CRDs use in columns, selectable fields and scale paths:
//! `.a.b`, `.a[0]`, `.a[*].b`, `.a[?(@.type=="Ready")].status`, `['key']`, and `\.` inside a name.

use serde_json::Value;

#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    Index(usize),
    All,
    Filter { field: Vec<String>, value: String },
}

/// The first value at the path.
pub(crate) fn first<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    all(object, path).into_iter().next()
}

/// All values at the path, in order; empty when the path leads nowhere or is malformed.
pub(crate) fn all<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let Some(steps) = parse(path) else { return Vec::new() };
    let mut found = vec![object];
    for step in &steps {
        found = found.into_iter().flat_map(|v| take(v, step)).collect();
    }
    found
}

/// Sets a plain path of fields.
pub(crate) fn set(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for part in path.split('.').filter(|p| !p.is_empty()) {
        at = &mut at[part];
    }
    *at = value;
}

fn take<'a>(value: &'a Value, step: &Step) -> Vec<&'a Value> {
    match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::Index(i) => value.get(*i).into_iter().collect(),
        Step::All => match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(map) => map.values().collect(),
            _ => Vec::new(),
        },
        Step::Filter { field, value: wanted } => value
            .as_array()
            .into_iter()
            .flatten()
            .filter(|item| {
                let at = field.iter().try_fold(*item, |v, f| v.get(f));
                match at {
                    Some(Value::String(text)) => text == wanted,
                    Some(Value::Bool(truth)) => wanted == if *truth { "true" } else { "false" },
                    Some(Value::Number(number)) => number.to_string().as_str() == wanted,
                    _ => false,
                }
            })
            .collect(),
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let path = path
        .trim()
        .trim_start_matches('{')
        .trim_end_matches('}')
        .trim_start_matches('$');
    let chars: Vec<char> = path.chars().collect();
    let (mut steps, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        match chars[i] {
            '.' => {
                i += 1;
                let mut name = String::new();
                while i < chars.len() && chars[i] != '.' && chars[i] != '[' {
                    if chars[i] == '\\' {
                        i += 1;
                    }
                    name.extend(chars.get(i));
                    i += 1;
                }
                match name.as_str() {
                    "" => {}
                    "*" => steps.push(Step::All),
                    _ => steps.push(Step::Field(name)),
                }
            }
            '[' => {
                let end = closing(&chars, i)?;
                let inner: String = chars[i + 1..end].iter().collect();
                steps.push(parse_bracket(inner.trim())?);
                i = end + 1;
            }
            _ => return None,
        }
    }
    Some(steps)
}

fn closing(chars: &[char], open: usize) -> Option<usize> {
    let mut quote = None;
    for (i, c) in chars.iter().enumerate().skip(open + 1) {
        match (quote, *c) {
            (None, ']') => return Some(i),
            (None, '\'' | '"') => quote = Some(*c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
    }
    None
}

fn parse_bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::All);
    }
    if let Ok(index) = inner.parse() {
        return Some(Step::Index(index));
    }
    if let Some(condition) = inner.strip_prefix("?(").and_then(|c| c.strip_suffix(')')) {
        let (field, value) = condition.split_once("==")?;
        let field = field
            .trim()
            .trim_start_matches("@.")
            .split('.')
            .map(str::to_owned)
            .collect();
        return Some(Step::Filter {
            field,
            value: value.trim().trim_matches(['\'', '"']).to_owned(),
        });
    }
    let name = inner.trim_matches(['\'', '"']);
    Some(Step::Field(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    #[rstest]
    #[case(".spec.a", json!([1]))]
    #[case(".list[1].n", json!(["y"]))]
    #[case(".list[*].n", json!(["x", "y"]))]
    #[case(".list[?(@.n==\"y\")].v", json!([2]))]
    #[case(".meta.annotations.a\\.b/c", json!(["z"]))]
    #[case(".meta.annotations['a.b/c']", json!(["z"]))]
    #[case(".nothing.here", json!([]))]
    #[case("[", json!([]))]
    fn finds(#[case] path: &str, #[case] expected: Value) {
        let object = json!({"spec": {"a": 1}, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "meta": {"annotations": {"a.b/c": "z"}}});
        assert_eq!(json!(super::all(&object, path)), expected);
    }
}
