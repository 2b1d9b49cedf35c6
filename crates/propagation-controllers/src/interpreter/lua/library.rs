//! What scripts can call that is not Lua's: patterns within the budget, time as it is told, the `kube` module.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use mlua::{IntoLua, Lua, LuaString, MultiValue, Table, Value};

use super::budget::Budget;
use super::convert::{self, References};
use super::pattern::{self, Caught, Found, steps_of};
use super::text::Text;
use crate::interpreter::{amounts, dependencies, replicas};
use crate::quantity;

/// Everything that Rust gives to the prelude.
pub fn native(lua: &Lua, budget: &Arc<Budget>, now: &Arc<AtomicI64>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    let of = budget.clone();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "negative and NaN become 0"
    )]
    let spend = move |_: &Lua, steps: f64| of.spend_and_look(steps as u64).map_err(mlua::Error::external);
    native.set("spend", lua.create_function(spend)?)?;
    let of = budget.clone();
    native.set(
        "exhausted",
        lua.create_function(move |_, ()| Ok(of.exhausted().is_some()))?,
    )?;
    native.set("words", lua.create_function(words)?)?;
    texts(lua, &native, budget)?;
    native.set("os", time(lua, now)?)?;
    native.set("stubs", stubs(lua)?)?;
    let of = budget.clone();
    native.set(
        "require",
        lua.create_function(move |lua, name| require(lua, name, &of))?,
    )?;
    Ok(native)
}

/// Bytes of a quantity.
const MAX_QUANTITY: usize = 64;
/// Bytes of a name, as in Kubernetes.
const MAX_NAME: usize = 253;
/// Bytes of a format for `os.date`.
const MAX_DATE_FORMAT: usize = 256;
/// Size of a pod template that `kube` takes, in bytes: as a typed object it takes a hundred times its size.
const MAX_POD_TEMPLATE: usize = 256 << 10;

/// Functions of Lua that scripts do not have: calling one is an error that says so.
const NOT_THERE: [&str; 14] = [
    "collectgarbage",
    "dofile",
    "getfenv",
    "getmetatable",
    "load",
    "loadfile",
    "loadstring",
    "module",
    "newproxy",
    "rawequal",
    "rawget",
    "rawset",
    "setfenv",
    "setmetatable",
];

fn stubs(lua: &Lua) -> mlua::Result<Table> {
    let stubs = lua.create_table()?;
    for name in NOT_THERE {
        let refuse = move |_: &Lua, _: MultiValue| -> mlua::Result<()> {
            Err(mlua::Error::runtime(format!(
                "{name} is not there for scripts of customizations"
            )))
        };
        stubs.raw_set(name, lua.create_function(refuse)?)?;
    }
    Ok(stubs)
}

fn require(lua: &Lua, name: Value, budget: &Arc<Budget>) -> mlua::Result<Table> {
    match name {
        Value::String(module) if *module.as_bytes() == b"kube"[..] => kube(lua, budget),
        other => {
            let name = other.to_string()?;
            Err(mlua::Error::runtime(format!(
                "module '{name}' is not there: only kube is"
            )))
        }
    }
}

/// An error of ours as a text, as scripts expect errors to be; other values as they are.
fn words(lua: &Lua, error: Value) -> mlua::Result<Value> {
    let Value::Error(ours) = &error else { return Ok(error) };
    let (line, problem) = super::problem_of(ours);
    let place = line
        .map(|line| format!("{}:{line}: ", super::CHUNK))
        .unwrap_or_default();
    lua.create_string(format!("{place}{problem}"))?.into_lua(lua)
}

fn texts(lua: &Lua, native: &Table, budget: &Arc<Budget>) -> mlua::Result<()> {
    let of = budget.clone();
    let find = move |lua: &Lua, (text, sought, init, plain): (LuaString, LuaString, Option<f64>, Value)| {
        let (text, sought) = (text.as_bytes(), sought.as_bytes());
        let Some(from) = start_of(init, text.len()) else {
            return MultiValue::from_lua_nil();
        };
        let is_plain = !matches!(plain, Value::Nil | Value::Boolean(false));
        of.spend(steps_of(sought.len())).map_err(mlua::Error::external)?;
        if is_plain || !sought.iter().any(|byte| b"^$*+?.([%-".contains(byte)) {
            let place = plain_search(&text[from..], &sought, &of)?;
            return place.map_or_else(MultiValue::from_lua_nil, |place| {
                numbers(lua, &[from + place + 1, from + place + sought.len()])
            });
        }
        match pattern::search(&text, &sought, from, &of).map_err(mlua::Error::external)? {
            None => MultiValue::from_lua_nil(),
            Some(found) => {
                let mut results = numbers(lua, &[found.start + 1, found.end])?;
                for caught in &found.captures {
                    results.push_back(caught_value(lua, &text, *caught)?);
                }
                Ok(results)
            }
        }
    };
    native.set("find", lua.create_function(find)?)?;

    let of = budget.clone();
    let matched = move |lua: &Lua, (text, sought, init): (LuaString, LuaString, Option<f64>)| {
        let (text, sought) = (text.as_bytes(), sought.as_bytes());
        let Some(from) = start_of(init, text.len()) else {
            return MultiValue::from_lua_nil();
        };
        match pattern::search(&text, &sought, from, &of).map_err(mlua::Error::external)? {
            None => MultiValue::from_lua_nil(),
            Some(found) => caught_or_whole(lua, &text, &found),
        }
    };
    native.set("match", lua.create_function(matched)?)?;

    let of = budget.clone();
    let step = move |lua: &Lua, (text, sought, at): (LuaString, LuaString, usize)| {
        let (text, sought) = (text.as_bytes(), sought.as_bytes());
        let mut from = at.saturating_sub(1);
        // Here `^` is a character like others, as in Lua 5.1.
        while from <= text.len() {
            if let Some(found) = pattern::match_at(&text, &sought, from, &of).map_err(mlua::Error::external)? {
                let behind = found.end + usize::from(found.end == found.start) + 1;
                let mut results = caught_or_whole(lua, &text, &found)?;
                results.push_front(number(lua, behind)?);
                return Ok(results);
            }
            from += 1;
        }
        MultiValue::from_lua_nil()
    };
    native.set("gmatch_step", lua.create_function(step)?)?;

    let of = budget.clone();
    let replace = move |lua: &Lua, (text, sought, by, most): (LuaString, LuaString, Value, Option<f64>)| {
        replaced(lua, &text, &sought, &by, most.unwrap_or(f64::INFINITY), &of)
    };
    native.set("gsub", lua.create_function(replace)?)
}

trait NilResult {
    fn from_lua_nil() -> mlua::Result<MultiValue>;
}

impl NilResult for MultiValue {
    fn from_lua_nil() -> mlua::Result<MultiValue> {
        Ok(MultiValue::from_iter([Value::Nil]))
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "places in texts are far below what a float holds"
)]
fn number(lua: &Lua, number: usize) -> mlua::Result<Value> {
    (number as f64).into_lua(lua)
}

fn numbers(lua: &Lua, all: &[usize]) -> mlua::Result<MultiValue> {
    all.iter().map(|place| number(lua, *place)).collect()
}

/// Where a search begins, counted from 0: `init` counts from 1, negative from the end; nothing when behind the end.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "within the length of a text"
)]
fn start_of(init: Option<f64>, length: usize) -> Option<usize> {
    let init = init.unwrap_or(1.0);
    let from = if init < 0.0 { length as f64 + init } else { init - 1.0 };
    if from.is_nan() || from <= 0.0 {
        return Some(0);
    }
    (from <= length as f64).then_some(from as usize)
}

fn plain_search(text: &[u8], sought: &[u8], budget: &Budget) -> mlua::Result<Option<usize>> {
    let Some((first, rest)) = sought.split_first() else {
        return Ok(Some(0));
    };
    let cost = 1 + steps_of(sought.len());
    budget.spend(steps_of(text.len())).map_err(mlua::Error::external)?;
    for (place, _) in text.iter().enumerate().filter(|(_, byte)| *byte == first) {
        budget.spend(cost).map_err(mlua::Error::external)?;
        if text[place + 1..].starts_with(rest) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

fn caught_value(lua: &Lua, text: &[u8], caught: Caught) -> mlua::Result<Value> {
    match caught {
        Caught::Bytes(from, to) => lua.create_string(&text[from..to])?.into_lua(lua),
        Caught::Position(place) => number(lua, place + 1),
    }
}

fn caught_or_whole(lua: &Lua, text: &[u8], found: &Found) -> mlua::Result<MultiValue> {
    if found.captures.is_empty() {
        let whole = caught_value(lua, text, Caught::Bytes(found.start, found.end))?;
        return Ok(MultiValue::from_iter([whole]));
    }
    found
        .captures
        .iter()
        .map(|caught| caught_value(lua, text, *caught))
        .collect()
}

fn replaced(
    lua: &Lua,
    text: &LuaString,
    sought: &LuaString,
    by: &Value,
    most: f64,
    budget: &Budget,
) -> mlua::Result<(LuaString, f64)> {
    let (text, sought) = (text.as_bytes(), sought.as_bytes());
    let (sought, anchored) = match sought.split_first() {
        Some((b'^', rest)) => (rest, true),
        _ => (&sought[..], false),
    };
    let (mut result, mut times, mut at) = (Text::new(budget), 0.0, 0);
    while times < most {
        let found = pattern::match_at(&text, sought, at, budget).map_err(mlua::Error::external)?;
        let empty = found.as_ref().is_none_or(|found| found.end == at);
        if let Some(found) = &found {
            times += 1.0;
            append(lua, &mut result, &text, found, by, budget)?;
            at = found.end;
        }
        if empty {
            result.push(text.get(at..=at).unwrap_or_default())?;
            at += 1;
        }
        if at > text.len() || anchored {
            break;
        }
    }
    result.push(text.get(at..).unwrap_or_default())?;
    Ok((lua.create_string(result.bytes())?, times))
}

fn append(
    lua: &Lua,
    result: &mut Text<'_>,
    text: &[u8],
    found: &Found,
    by: &Value,
    budget: &Budget,
) -> mlua::Result<()> {
    let first = || -> mlua::Result<Value> {
        let mut caught = caught_or_whole(lua, text, found)?;
        Ok(caught.pop_front().unwrap_or(Value::Nil))
    };
    let new = match by {
        Value::Function(function) => function.call::<Value>(caught_or_whole(lua, text, found)?)?,
        Value::Table(table) => table.raw_get::<Value>(first()?)?,
        Value::String(_) | Value::Number(_) | Value::Integer(_) => {
            let template = lua.coerce_string(by.clone())?;
            let template = template.as_ref().map(LuaString::as_bytes);
            return expand(result, text, found, template.as_deref().unwrap_or_default(), budget);
        }
        other => {
            let problem = format!(
                "bad argument #3 to 'gsub' (string/function/table expected, got {})",
                other.type_name()
            );
            return Err(mlua::Error::runtime(problem));
        }
    };
    match &new {
        Value::Nil | Value::Boolean(false) => result.push(&text[found.start..found.end]),
        Value::String(_) | Value::Number(_) | Value::Integer(_) => match lua.coerce_string(new)? {
            Some(new) => result.push(&new.as_bytes()),
            None => Ok(()),
        },
        other => Err(mlua::Error::runtime(format!(
            "invalid replacement value (a {})",
            other.type_name()
        ))),
    }
}

/// `%1` is what the first parentheses have caught, `%0` all, `%%` a percent sign.
fn expand(result: &mut Text<'_>, text: &[u8], found: &Found, template: &[u8], budget: &Budget) -> mlua::Result<()> {
    // Also what adds nothing takes its time.
    let spend = |steps: u64| budget.spend(steps).map_err(mlua::Error::external);
    spend(steps_of(template.len()))?;
    let mut parts = template.split(|byte| *byte == b'%');
    result.push(parts.next().unwrap_or_default())?;
    while let Some(part) = parts.next() {
        spend(1)?;
        let Some((escaped, literal)) = part.split_first() else {
            // Two percent signs, or one at the end.
            if let Some(literal) = parts.next() {
                result.push(b"%")?;
                result.push(literal)?;
            }
            continue;
        };
        let caught = match escaped {
            b'0' => Some(Caught::Bytes(found.start, found.end)),
            digit if digit.is_ascii_digit() => {
                let index = usize::from(digit - b'1');
                let whole = (index == 0).then_some(Caught::Bytes(found.start, found.end));
                let caught = found.captures.get(index).copied().or(whole);
                Some(caught.ok_or_else(|| mlua::Error::runtime("invalid capture index"))?)
            }
            _ => None,
        };
        match caught {
            Some(Caught::Bytes(from, to)) => result.push(&text[from..to])?,
            Some(Caught::Position(place)) => result.push((place + 1).to_string().as_bytes())?,
            None => result.push(&[*escaped])?,
        }
        result.push(literal)?;
    }
    Ok(())
}

/// `os` with time alone. The time is the one of the call; there is no zone but UTC.
fn time(lua: &Lua, now: &Arc<AtomicI64>) -> mlua::Result<Table> {
    let os = lua.create_table()?;
    let clock = now.clone();
    let time = move |_: &Lua, table: Option<Table>| match table {
        None => seconds(clock.load(Ordering::Relaxed)),
        Some(table) => seconds(from_fields(&table)?),
    };
    os.set("time", lua.create_function(time)?)?;
    let clock = now.clone();
    let date = move |lua: &Lua, (format, at): (Option<LuaString>, Option<f64>)| {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a time that does not fit is refused below"
        )]
        let at = at.map_or(clock.load(Ordering::Relaxed), |at| at as i64);
        let at = Timestamp::from_second(at).map_err(mlua::Error::external)?;
        let at = at.to_zoned(TimeZone::UTC).datetime();
        let format = match &format {
            Some(format) => short(format, MAX_DATE_FORMAT, "a format of a date")?,
            None => "%c".to_owned(),
        };
        let format = format.strip_prefix('!').unwrap_or(&format);
        if format.starts_with("*t") {
            return fields_of(lua, at).map(Value::Table);
        }
        // `%c` as C writes it.
        let format = format.replace("%c", "%a %b %e %H:%M:%S %Y");
        let text = jiff::fmt::strtime::format(&format, at).map_err(mlua::Error::external)?;
        lua.create_string(text).map(Value::String)
    };
    os.set("date", lua.create_function(date)?)?;
    os.set(
        "difftime",
        lua.create_function(|_, (later, earlier): (f64, Option<f64>)| Ok(later - earlier.unwrap_or(0.0)))?,
    )?;
    Ok(os)
}

#[allow(clippy::cast_precision_loss, reason = "seconds of any date fit")]
fn seconds(seconds: i64) -> mlua::Result<f64> {
    Ok(seconds as f64)
}

fn from_fields(table: &Table) -> mlua::Result<i64> {
    let wanted = |name: &str| {
        table
            .raw_get::<Option<i16>>(name)?
            .ok_or_else(|| mlua::Error::runtime(format!("field '{name}' missing in date table")))
    };
    let (year, month, day) = (wanted("year")?, wanted("month")?, wanted("day")?);
    let or = |name: &str, default: i64| -> mlua::Result<i64> {
        Ok(table.raw_get::<Option<i32>>(name)?.map_or(default, i64::from))
    };
    let (hour, minute, second) = (or("hour", 12)?, or("min", 0)?, or("sec", 0)?);
    let span = jiff::Span::new()
        .try_months(i64::from(month) - 1)
        .and_then(|span| span.try_days(i64::from(day) - 1))
        .and_then(|span| span.try_hours(hour))
        .and_then(|span| span.try_minutes(minute))
        .and_then(|span| span.try_seconds(second));
    let at = DateTime::new(year, 1, 1, 0, 0, 0, 0)
        .and_then(|begin| span.and_then(|span| begin.checked_add(span)))
        .and_then(|at| at.to_zoned(TimeZone::UTC));
    Ok(at.map_err(mlua::Error::external)?.timestamp().as_second())
}

fn fields_of(lua: &Lua, at: DateTime) -> mlua::Result<Table> {
    let fields = lua.create_table()?;
    fields.raw_set("year", at.year())?;
    fields.raw_set("month", at.month())?;
    fields.raw_set("day", at.day())?;
    fields.raw_set("hour", at.hour())?;
    fields.raw_set("min", at.minute())?;
    fields.raw_set("sec", at.second())?;
    fields.raw_set("wday", at.weekday().to_sunday_one_offset())?;
    fields.raw_set("yday", at.day_of_year())?;
    fields.raw_set("isdst", false)?;
    Ok(fields)
}

/// The module `kube`, with stock's functions.
fn kube(lua: &Lua, budget: &Arc<Budget>) -> mlua::Result<Table> {
    let kube = lua.create_table()?;
    let of = budget.clone();
    kube.set(
        "accuratePodRequirements",
        lua.create_function(move |lua, template: Table| {
            let template = pod_template(template, &of)?;
            let requirements = match &template.spec {
                Some(spec) => replicas::requirements_of(spec).map_err(mlua::Error::runtime)?,
                None => None,
            };
            let requirements = serde_json::to_value(requirements).map_err(mlua::Error::external)?;
            convert::to_lua(lua, &requirements)
        })?,
    )?;
    let of = budget.clone();
    kube.set(
        "getPodDependencies",
        lua.create_function(move |lua, (template, namespace): (Table, Option<LuaString>)| {
            // Each reference has it.
            let namespace = match &namespace {
                Some(namespace) => short(namespace, MAX_NAME, "a namespace")?,
                None => "default".to_owned(),
            };
            let template = pod_template(template, &of)?;
            let found = template
                .spec
                .map(|spec| dependencies::of_pod(&spec, &namespace, &[].into()));
            let found = serde_json::to_value(found.unwrap_or_default()).map_err(mlua::Error::external)?;
            convert::to_lua(lua, &found)
        })?,
    )?;
    kube.set(
        "resourceAdd",
        // The values as they are: the same long text may be given a thousand times.
        lua.create_function(|lua, all: MultiValue| {
            let mut sum = quantity::Amount::default();
            for value in all.iter().filter(|value| !value.is_nil()) {
                sum = sum.plus(amount(lua, value)?);
            }
            Ok(sum.to_string())
        })?,
    )?;
    kube.set(
        "getResourceQuantity",
        lua.create_function(|lua, value: Value| match value {
            Value::Nil => Ok(0.0),
            value => Ok(amount(lua, &value)?.as_f64()),
        })?,
    )?;
    Ok(kube)
}

fn pod_template(table: Table, budget: &Budget) -> mlua::Result<PodTemplateSpec> {
    let tree = convert::read_within(&Value::Table(table), MAX_POD_TEMPLATE, budget);
    let json = tree.and_then(|tree| convert::json(tree, &References::default()));
    let json = json.and_then(|mut json| amounts::in_pod_template(&mut json).map(|()| json));
    let json = json.map_err(mlua::Error::runtime)?;
    serde_json::from_value(json).map_err(|error| mlua::Error::runtime(format!("no pod template: {error}")))
}

fn amount(lua: &Lua, value: &Value) -> mlua::Result<quantity::Amount> {
    let Some(text) = lua.coerce_string(value.clone())? else {
        return Err(mlua::Error::runtime(format!("a {} is no quantity", value.type_name())));
    };
    quantity::parse(&short(&text, MAX_QUANTITY, "a quantity")?).map_err(mlua::Error::runtime)
}

/// A text that is to be copied, which is not done with one that is longer than `most` bytes.
fn short(text: &LuaString, most: usize, what: &str) -> mlua::Result<String> {
    let length = text.as_bytes().len();
    if length > most {
        let problem = format!("{what} has at most {most} bytes, not {length}");
        return Err(mlua::Error::runtime(problem));
    }
    Ok(text.to_str()?.to_owned())
}
