//! A YAML or JSON document as a value, with the place of each of its fields.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

/// Line and column, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line in the file.
    pub line: u64,
    /// Column.
    pub column: u64,
}

/// Where each field of a document stands, by its path, such as `spec.taintsToAdd[0].effect`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<String, Place>);

impl Places {
    /// The place of the field, or, where it is not written, of the nearest field around it.
    #[must_use]
    pub fn nearest(&self, path: &str) -> Option<Place> {
        let mut path = path;
        loop {
            if let Some(place) = self.0.get(path) {
                return Some(*place);
            }
            path = path.rfind(['.', '[']).map(|end| &path[..end])?;
        }
    }

    /// The places of a part of the document, as a document of its own.
    #[must_use]
    pub fn under(&self, path: &str) -> Self {
        let inside = |(known, place): (&String, &Place)| {
            let rest = known.strip_prefix(path)?;
            let rest = rest.strip_prefix('.').or_else(|| rest.is_empty().then_some(rest))?;
            Some((rest.to_owned(), *place))
        };
        Self(self.0.iter().filter_map(inside).collect())
    }
}

/// A text that is no YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub(super) struct NoYaml {
    /// Where reading ended, if that is known.
    pub place: Option<Place>,
    /// The parser's words.
    pub why: String,
}

/// Reads one document. Nothing is read from one that holds nothing but comments. `first_line` is the line of the file
/// on which `text` begins, from 1.
///
/// # Errors
/// [`NoYaml`].
pub(super) fn read(text: &str, first_line: u64) -> Result<Option<(Value, Places)>, NoYaml> {
    let node: Option<Spanned<Node>> = serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map(|location| Place {
            line: first_line + location.line().saturating_sub(1),
            column: location.column(),
        });
        NoYaml {
            place,
            why: in_one_line(&error),
        }
    })?;
    Ok(node.map(|node| {
        let mut places = Places::default();
        let at = place(&node, first_line);
        let value = node.value.into_value(String::new(), at, first_line, &mut places);
        (value, places)
    }))
}

/// The parser's message without the piece of text that it shows, which the place says too.
fn in_one_line(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let line = text
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches("error:")
        .trim();
    // It counts from where the document begins; the place, which is told beside it, counts from where the file does.
    line.split(" at line ").next().unwrap_or_default().to_owned()
}

fn place<T>(node: &Spanned<T>, first_line: u64) -> Place {
    Place {
        line: first_line + node.referenced.line().saturating_sub(1),
        column: node.referenced.column(),
    }
}

enum Node {
    Scalar(Value),
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
}

impl Node {
    fn into_value(self, path: String, at: Place, first_line: u64, places: &mut Places) -> Value {
        let value = match self {
            Self::Scalar(value) => value,
            Self::List(items) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| {
                    let at = place(&item, first_line);
                    item.value
                        .into_value(format!("{path}[{index}]"), at, first_line, places)
                })
                .collect(),
            Self::Map(fields) => {
                let mut object = Map::new();
                for (key, field) in fields {
                    let at = place(&key, first_line);
                    let path = if path.is_empty() {
                        key.value.clone()
                    } else {
                        format!("{path}.{}", key.value)
                    };
                    object.insert(key.value, field.value.into_value(path, at, first_line, places));
                }
                Value::Object(object)
            }
        };
        places.0.insert(path, at);
        value
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(field) = fields.next_entry()? {
            map.push(field);
        }
        Ok(Node::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(line: u64, column: u64) -> Option<Place> {
        Some(Place { line, column })
    }

    #[test]
    fn values_and_their_places() {
        let text =
            "# a comment\nkind: X\nspec:\n  list:\n  - a: 1\n    b: [true, \"True\", null, 1.5]\n  - {c: text}\n";
        let (value, places) = read(text, 11).unwrap().unwrap();
        assert_eq!(
            value,
            json!({"kind": "X", "spec": {"list": [{"a": 1, "b": [true, "True", null, 1.5]}, {"c": "text"}]}})
        );
        assert_eq!(places.nearest("spec.list[0].b"), at(16, 5));
        assert_eq!(places.nearest("spec.list[0].b[1]"), at(16, 15));
        assert_eq!(places.nearest("spec.list[1].c"), at(17, 6));
        assert_eq!(places.nearest("spec.list[1].missing.deeper"), at(17, 5));
        assert_eq!(places.under("spec.list[1]").nearest("c"), at(17, 6));
    }

    #[test]
    fn json_is_read_too() {
        let (value, places) = read("{\n\t\"kind\": \"X\",\n\t\"n\": -3\n}", 1).unwrap().unwrap();
        assert_eq!(value, json!({"kind": "X", "n": -3}));
        assert_eq!(places.nearest("n").map(|place| place.line), Some(3));
    }

    #[test]
    fn nothing_but_comments() {
        assert_eq!(read("# nothing\n", 1), Ok(None));
        assert_eq!(read("", 1), Ok(None));
    }

    #[test]
    fn what_is_no_yaml_says_where() {
        let NoYaml { place, why } = read("a: 1\nb: [1, 2\nc: 3\n", 5).unwrap_err();
        assert!(place.is_some_and(|place| place.line >= 6), "{place:?} {why}");
        assert!(!why.is_empty() && !why.contains('\n'), "{why}");
        let NoYaml { place, why } = read("a: 1\na: 2\n", 1).unwrap_err();
        assert_eq!(place.map(|place| place.line), Some(2));
        assert!(why.contains("duplicate"), "{why}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_answered(text in "[a-z:\\-\\[\\]{}#&*!|>'\"%@` \t\n0-9]{0,60}") {
            let _ = read(&text, 1);
        }
    }
}
