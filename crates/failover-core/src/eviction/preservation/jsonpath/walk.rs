//! From a status to the values that steps lead to.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Comparison, Filter, Step};

/// How many values one template may look at: a status is at most a few megabytes, and a path may look at each of its
/// parts many times.
const MAX_LOOKS: usize = 200_000;

/// A status that does not have what the template names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// A key is missing.
    #[error("{name} is not found")]
    Missing {
        /// The key.
        name: String,
    },
    /// The path leads nowhere, or to no value at all.
    #[error("nothing is found")]
    Nothing,
    /// The value is null.
    #[error("the value is null")]
    Null,
    /// There are fewer items.
    #[error("there is no item {index} among {items}")]
    NoItem {
        /// The index.
        index: i64,
        /// How many there are.
        items: usize,
    },
    /// The step between items is not positive.
    #[error("the step of a slice must be above 0")]
    Step,
    /// Brackets want a list.
    #[error("it is no list")]
    NoList,
    /// Two values that cannot be compared.
    #[error("it compares values of different kinds, or several")]
    Incomparable,
    /// Too much to look at, or too long a text.
    #[error("it leads to too much")]
    TooMuch,
}

/// Walks with a bound.
pub(super) struct Walk {
    looks: usize,
}

impl Walk {
    pub(super) fn new() -> Self {
        Self { looks: MAX_LOOKS }
    }

    /// The values to which the steps lead.
    pub(super) fn all<'v>(&mut self, mut values: Vec<&'v Value>, steps: &'v [Step]) -> Result<Vec<&'v Value>, NoValue> {
        for step in steps {
            values = self.one(&values, step)?;
        }
        Ok(values)
    }

    fn looked(&mut self, values: usize) -> Result<(), NoValue> {
        self.looks = self.looks.checked_sub(values.max(1)).ok_or(NoValue::TooMuch)?;
        Ok(())
    }

    fn one<'v>(&mut self, from: &[&'v Value], step: &'v Step) -> Result<Vec<&'v Value>, NoValue> {
        self.looked(from.len())?;
        match step {
            Step::Literal(value) => Ok(vec![value]),
            Step::Field(name) => {
                let found: Vec<&Value> = from.iter().filter_map(|value| value.as_object()?.get(name)).collect();
                if found.is_empty() && !from.is_empty() {
                    return Err(NoValue::Missing { name: name.clone() });
                }
                Ok(found)
            }
            Step::Wildcard => {
                let found: Vec<&Value> = from.iter().flat_map(|value| parts(value)).collect();
                self.looked(found.len())?;
                Ok(found)
            }
            Step::Descend => {
                let mut found = Vec::new();
                self.descend(from, &mut found)?;
                Ok(found)
            }
            Step::Index(index) => each_list(from, |list| item(list, *index).map(|item| vec![item])),
            Step::Slice { start, end, step } => {
                let found = each_list(from, |list| slice(list, *start, *end, *step))?;
                self.looked(found.len())?;
                Ok(found)
            }
            Step::Union(each) => {
                let mut found = Vec::new();
                for steps in each {
                    found.extend(self.all(from.to_vec(), steps)?);
                }
                Ok(found)
            }
            Step::Filter(filter) => {
                let mut found = Vec::new();
                for value in from {
                    for item in value.as_array().ok_or(NoValue::NoList)? {
                        if self.keeps(filter, item)? {
                            found.push(item);
                        }
                    }
                }
                Ok(found)
            }
        }
    }

    /// Every value that has parts, before its parts.
    fn descend<'v>(&mut self, from: &[&'v Value], found: &mut Vec<&'v Value>) -> Result<(), NoValue> {
        for value in from {
            let parts: Vec<&Value> = parts(value).collect();
            self.looked(parts.len())?;
            if !parts.is_empty() {
                found.push(value);
                self.descend(&parts, found)?;
            }
        }
        Ok(())
    }

    fn keeps(&mut self, filter: &Filter, item: &Value) -> Result<bool, NoValue> {
        match filter {
            Filter::Exists(steps) => match self.all(vec![item], steps) {
                Ok(found) => Ok(!found.is_empty()),
                Err(NoValue::TooMuch) => Err(NoValue::TooMuch),
                Err(_) => Ok(false),
            },
            Filter::Compare { left, by, right } => {
                let left = self.all(vec![item], left)?;
                let right = self.all(vec![item], right)?;
                match (&left[..], &right[..]) {
                    ([], _) | (_, []) => Ok(false),
                    ([left], [right]) => compare(left, *by, right),
                    _ => Err(NoValue::Incomparable),
                }
            }
        }
    }
}

/// The values of an object, by key, or the items of a list.
fn parts(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            Box::new(fields.into_iter().map(|(_, value)| value))
        }
        Value::Array(items) => Box::new(items.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

fn each_list<'v>(
    from: &[&'v Value],
    mut of: impl FnMut(&'v [Value]) -> Result<Vec<&'v Value>, NoValue>,
) -> Result<Vec<&'v Value>, NoValue> {
    let mut found = Vec::new();
    for value in from.iter().filter(|value| !value.is_null()) {
        found.extend(of(value.as_array().ok_or(NoValue::NoList)?)?);
    }
    Ok(found)
}

fn item(list: &[Value], index: i64) -> Result<&Value, NoValue> {
    let no_item = NoValue::NoItem {
        index,
        items: list.len(),
    };
    from_end(index, list.len()).and_then(|at| list.get(at)).ok_or(no_item)
}

/// Where an index stands, counted from the end if it is negative.
fn from_end(index: i64, items: usize) -> Option<usize> {
    let items = i64::try_from(items).ok()?;
    usize::try_from(if index < 0 { index.checked_add(items)? } else { index }).ok()
}

fn slice(list: &[Value], start: Option<i64>, end: Option<i64>, step: Option<i64>) -> Result<Vec<&Value>, NoValue> {
    let no_item = |index: i64| NoValue::NoItem {
        index,
        items: list.len(),
    };
    let place = |index: Option<i64>, default: usize| match index {
        None => Ok(default),
        Some(index) => from_end(index, list.len()).ok_or(no_item(index)),
    };
    let step = step.unwrap_or(1);
    let step = usize::try_from(step)
        .ok()
        .filter(|step| *step > 0)
        .ok_or(NoValue::Step)?;
    let (first, after) = (place(start, 0)?, place(end, list.len())?);
    if first == after {
        return Ok(Vec::new());
    }
    let chosen = list.get(first..after).ok_or(no_item(end.or(start).unwrap_or(0)))?;
    Ok(chosen.iter().step_by(step).collect())
}

fn compare(left: &Value, by: Comparison, right: &Value) -> Result<bool, NoValue> {
    let order = match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => left.as_f64().zip(right.as_f64()).and_then(|(l, r)| l.partial_cmp(&r)),
        },
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => {
            return match by {
                Comparison::Equal => Ok(left == right),
                Comparison::NotEqual => Ok(left != right),
                _ => Err(NoValue::Incomparable),
            };
        }
        _ => None,
    };
    let order = order.ok_or(NoValue::Incomparable)?;
    Ok(match by {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    })
}
