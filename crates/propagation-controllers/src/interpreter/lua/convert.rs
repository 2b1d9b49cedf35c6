//! Objects into a script and back.
//!
//! Lua has one kind of number and one kind of table, so three things are lost on the way: whether an empty table was a
//! list or an object, whole numbers that a float does not hold, and nulls. The first two are found again in the
//! objects that were given to the script, as stock does for the first: an empty table becomes what stands empty at that
//! path there, and is left out where nothing does. A null is an absent field.

use std::collections::BTreeMap;

use mlua::Lua;
use serde_json::{Map, Number, Value};

use super::budget::Budget;
use crate::json::DEEPEST;

/// Size of what a script may give back, in bytes: more than the API server takes.
pub const MAX_RESULT: usize = 2 << 20;
/// How deep tables may stand in each other: no deeper than what is carried to members and back.
const MAX_DEPTH: usize = DEEPEST;
/// From here on a float does not hold every whole number.
const EXACT: u64 = 1 << 53;

/// What a script gave back.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// Nothing.
    Nil,
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A table without entries: a list or an object.
    Empty,
    /// A table with the keys 1 to n.
    List(Vec<Tree>),
    /// A table with texts as keys.
    Object(BTreeMap<String, Tree>),
}

impl Tree {
    /// The type, as Lua names it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Boolean(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::Empty | Self::List(_) | Self::Object(_) => "table",
        }
    }
}

/// The type of a value, as Lua names it.
pub fn type_name(value: &mlua::Value) -> &'static str {
    match value {
        mlua::Value::Integer(_) => "number",
        other => other.type_name(),
    }
}

/// JSON as Lua sees it.
pub fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<mlua::Value> {
    into_lua(lua, value, MAX_DEPTH)
}

fn into_lua(lua: &Lua, value: &Value, depth: usize) -> mlua::Result<mlua::Value> {
    let deeper = || {
        depth
            .checked_sub(1)
            .ok_or_else(|| mlua::Error::runtime(format!("an object is deeper than {MAX_DEPTH}")))
    };
    Ok(match value {
        Value::Null => mlua::Value::Nil,
        Value::Bool(value) => mlua::Value::Boolean(*value),
        Value::Number(number) => mlua::Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => mlua::Value::String(lua.create_string(text)?),
        Value::Array(items) => {
            let deeper = deeper()?;
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            let mut index = 0;
            for item in items.iter().filter(|item| !item.is_null()) {
                index += 1;
                table.raw_set(index, into_lua(lua, item, deeper)?)?;
            }
            mlua::Value::Table(table)
        }
        Value::Object(fields) => {
            let deeper = deeper()?;
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, field) in fields.iter().filter(|(_, field)| !field.is_null()) {
                table.raw_set(name.as_str(), into_lua(lua, field, deeper)?)?;
            }
            mlua::Value::Table(table)
        }
    })
}

/// Reads what a script gives back, as far as the bounds allow.
pub fn read(value: &mlua::Value, budget: &Budget) -> Result<Tree, String> {
    read_within(value, MAX_RESULT, budget)
}

/// Reads a value of at most `most` bytes. Each table is taken from the budget: the same large one may stand at many places.
pub fn read_within(value: &mlua::Value, most: usize, budget: &Budget) -> Result<Tree, String> {
    let mut reader = Reader {
        most,
        left: most,
        budget,
    };
    reader.read(value, MAX_DEPTH)
}

struct Reader<'a> {
    most: usize,
    left: usize,
    budget: &'a Budget,
}

impl Reader<'_> {
    fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| match self.most {
            MAX_RESULT => format!("the result is larger than {} MiB", MAX_RESULT >> 20),
            most => format!("a pod template is larger than {} KiB", most >> 10),
        })?;
        Ok(())
    }

    fn read(&mut self, value: &mlua::Value, depth: usize) -> Result<Tree, String> {
        self.take(4)?;
        match value {
            mlua::Value::Nil => Ok(Tree::Nil),
            mlua::Value::Boolean(value) => Ok(Tree::Boolean(*value)),
            #[allow(clippy::cast_precision_loss, reason = "Lua 5.1 has floats alone")]
            mlua::Value::Integer(number) => Ok(Tree::Number(*number as f64)),
            mlua::Value::Number(number) => Ok(Tree::Number(*number)),
            mlua::Value::String(text) => {
                let bytes = text.as_bytes();
                self.take(bytes.len())?;
                Ok(Tree::Text(String::from_utf8_lossy(&bytes).into_owned()))
            }
            mlua::Value::Table(table) => {
                let deeper = depth
                    .checked_sub(1)
                    .ok_or_else(|| format!("the result is deeper than {MAX_DEPTH}; does a table contain itself?"))?;
                self.read_table(table, deeper)
            }
            other => Err(format!("the result contains a {}", other.type_name())),
        }
    }

    fn read_table(&mut self, table: &mlua::Table, depth: usize) -> Result<Tree, String> {
        self.budget
            .spend_and_look(1)
            .map_err(|exhausted| exhausted.to_string())?;
        let (mut items, mut fields) = (BTreeMap::new(), BTreeMap::new());
        for entry in table.pairs::<mlua::Value, mlua::Value>() {
            let (key, value) = entry.map_err(|error| error.to_string())?;
            let value = self.read(&value, depth)?;
            if let mlua::Value::String(name) = &key {
                self.take(name.as_bytes().len())?;
            }
            match read_key(&key)? {
                Key::Index(index) => drop(items.insert(index, value)),
                Key::Name(name) => drop(fields.insert(name, value)),
            }
        }
        match (items.is_empty(), fields.is_empty()) {
            (true, true) => Ok(Tree::Empty),
            (true, false) => Ok(Tree::Object(fields)),
            (false, true) if items.last_key_value().map(|(last, _)| *last) == Some(items.len() as u64) => {
                Ok(Tree::List(items.into_values().collect()))
            }
            (false, true) => Err("a list in the result has holes".to_owned()),
            (false, false) => Err("a table in the result has both numbers and names as keys".to_owned()),
        }
    }
}

enum Key {
    Index(u64),
    Name(String),
}

fn read_key(key: &mlua::Value) -> Result<Key, String> {
    let number = match key {
        mlua::Value::String(name) => return Ok(Key::Name(name.to_string_lossy())),
        mlua::Value::Integer(index) => u64::try_from(*index).ok(),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        mlua::Value::Number(index) if *index >= 1.0 && *index < 1e15 && index.fract() == 0.0 => Some(*index as u64),
        _ => None,
    };
    let index = number.filter(|index| *index > 0);
    index
        .map(Key::Index)
        .ok_or_else(|| format!("a table in the result has a key that is neither a name nor a place in a list: {key:?}"))
}

/// The objects that were given to a script, as far as they say what it gives back.
#[derive(Debug, Default)]
pub struct References {
    top: Place,
    /// Whole numbers that a float does not hold, by the float that they become; nothing where two become the same.
    large: BTreeMap<u64, Option<Number>>,
}

/// What is known of a place in the objects; all items of a list are one place. A tree, not paths: names may be long.
#[derive(Debug, Default)]
struct Place {
    has_empty_list: bool,
    has_empty_object: bool,
    fields: BTreeMap<String, Place>,
}

impl References {
    /// What the objects say.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut references = Self::default();
        for object in objects {
            references.top.learn(object, &mut references.large);
        }
        references
    }
}

impl Place {
    fn learn(&mut self, value: &Value, large: &mut BTreeMap<u64, Option<Number>>) {
        match value {
            Value::Array(items) if items.is_empty() => self.has_empty_list = true,
            Value::Array(items) => items.iter().for_each(|item| self.learn(item, large)),
            Value::Object(fields) if fields.is_empty() => self.has_empty_object = true,
            Value::Object(fields) => {
                for (name, field) in fields {
                    let mut below = self.fields.remove(name).unwrap_or_default();
                    below.learn(field, large);
                    if below.tells() {
                        self.fields.insert(name.clone(), below);
                    }
                }
            }
            Value::Number(number) => {
                let size = number.as_i64().map(i64::unsigned_abs).or(number.as_u64());
                if let (Some(_), Some(float)) = (size.filter(|size| *size > EXACT), number.as_f64()) {
                    let known = large.entry(float.to_bits()).or_insert_with(|| Some(number.clone()));
                    if known.as_ref() != Some(number) {
                        *known = None;
                    }
                }
            }
            _ => {}
        }
    }

    fn tells(&self) -> bool {
        self.has_empty_list || self.has_empty_object || !self.fields.is_empty()
    }
}

/// What a script gave back as JSON. At the top an empty table is an object.
pub fn json(tree: Tree, references: &References) -> Result<Value, String> {
    Ok(json_at(tree, references, Some(&references.top), Parent::None)?.unwrap_or(Value::Object(Map::new())))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    None,
    List,
    Object,
}

fn json_at(
    tree: Tree,
    references: &References,
    place: Option<&Place>,
    parent: Parent,
) -> Result<Option<Value>, String> {
    Ok(Some(match tree {
        Tree::Nil => Value::Null,
        Tree::Boolean(value) => Value::Bool(value),
        Tree::Number(number) => Value::Number(json_number(number, references)?),
        Tree::Text(text) => Value::String(text),
        Tree::Empty if place.is_some_and(|place| place.has_empty_object) => Value::Object(Map::new()),
        Tree::Empty if place.is_some_and(|place| place.has_empty_list) => Value::Array(Vec::new()),
        // Left out, an item of a list would change the places of the others.
        Tree::Empty if parent == Parent::List => Value::Object(Map::new()),
        Tree::Empty => return Ok(None),
        Tree::List(items) => {
            let mut list = Vec::with_capacity(items.len());
            for item in items {
                list.extend(json_at(item, references, place, Parent::List)?);
            }
            Value::Array(list)
        }
        Tree::Object(entries) => {
            let mut fields = Map::new();
            for (name, entry) in entries {
                let below = place.and_then(|place| place.fields.get(&name));
                if let Some(value) = json_at(entry, references, below, Parent::Object)? {
                    fields.insert(name, value);
                }
            }
            Value::Object(fields)
        }
    }))
}

/// A whole number where it is one, as Go writes it.
fn json_number(number: f64, references: &References) -> Result<Number, String> {
    if let Some(Some(exact)) = references.large.get(&number.to_bits()) {
        return Ok(exact.clone());
    }
    // The bounds are exact floats, the upper one the first that does not fit.
    #[allow(clippy::cast_possible_truncation, reason = "checked")]
    let whole = (number.fract() == 0.0
        && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number))
    .then_some(number as i64);
    whole
        .map(Number::from)
        .or_else(|| Number::from_f64(number))
        .ok_or_else(|| format!("the result contains {number}, which JSON has no word for"))
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
