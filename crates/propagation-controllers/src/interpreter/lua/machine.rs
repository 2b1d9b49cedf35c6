//! One Lua machine with one script loaded. Each call runs the whole script anew in globals of its own: nothing of one
//! object stays for the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use mlua::chunk::ChunkMode;
use mlua::{Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value, VmState};

use super::budget::{Budget, LOOK_EVERY, MEMORY};
use super::convert::{self, Tree};
use super::{CHUNK, ScriptError, jumps, library};

/// Memory that a machine may keep between calls, in bytes; one that has more is not used again.
const KEPT_MEMORY: usize = 1 << 20;

/// What is said where a script of stock jumps in another way.
const NO_GOTO: &str = "; of goto there is only that to a label at the end of the loop's body";

/// What a script is called with.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// An object or a list.
    Json(&'a serde_json::Value),
    /// A number.
    Number(i32),
    /// Nil.
    Nothing,
}

/// A machine with a script.
pub struct Machine {
    lua: Lua,
    main: Function,
    seen: Table,
    libraries: Table,
    begin: Function,
    budget: Arc<Budget>,
    now: Arc<AtomicI64>,
}

impl Machine {
    /// Loads the script; does not run it yet.
    pub fn load(script: &str) -> Result<Self, ScriptError> {
        let budget = Arc::new(Budget::new());
        let built = match Self::build(script, budget.clone()) {
            Err(error @ mlua::Error::SyntaxError { .. }) => jumps::without_jumps(script)
                .and_then(|without| Self::build(&without, budget.clone()).ok())
                .ok_or(error),
            other => other,
        };
        built.map_err(|error| {
            let mut told = ScriptError::of(&error, &budget);
            if matches!(error, mlua::Error::SyntaxError { .. }) && has_goto(script, told.line) {
                told.problem.push_str(NO_GOTO);
            }
            told
        })
    }

    fn build(script: &str, budget: Arc<Budget>) -> mlua::Result<Self> {
        let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::new())?;
        let now = Arc::new(AtomicI64::new(0));
        let native = library::native(&lua, &budget, &now)?;
        let prelude = lua
            .load(include_str!("prelude.lua"))
            .set_name("=library")
            .set_mode(ChunkMode::Text);
        let (seen, libraries, begin) = prelude.call(native)?;
        let main = lua
            .load(script)
            .set_name(format!("={CHUNK}"))
            .set_mode(ChunkMode::Text)
            .into_function()?;
        let hook = budget.clone();
        let every = HookTriggers::new().every_nth_instruction(LOOK_EVERY);
        lua.set_hook(every, move |_, debug| match hook.spend_and_look(LOOK_EVERY.into()) {
            Ok(()) => Ok(VmState::Continue),
            Err(exhausted) => {
                let line = debug
                    .current_line()
                    .filter(|_| debug.source().short_src.as_deref() == Some(CHUNK));
                let place = line.map(|line| format!("{CHUNK}:{line}: ")).unwrap_or_default();
                Err(mlua::Error::runtime(format!("{place}{exhausted}")))
            }
        })?;
        Ok(Self {
            lua,
            main,
            seen,
            libraries,
            begin,
            budget,
            now,
        })
    }

    /// Runs the script and calls its `function`; `results` values are read, the first first.
    pub fn call(
        &self,
        function: &str,
        arguments: &[Argument<'_>],
        results: usize,
        now: Timestamp,
    ) -> Result<Vec<Tree>, ScriptError> {
        self.budget.renew();
        self.now.store(now.as_second(), Ordering::Relaxed);
        let values = self
            .run(function, arguments)
            .map_err(|error| ScriptError::of(&error, &self.budget))?;
        let mut trees = Vec::with_capacity(results);
        for value in values.iter().take(results) {
            let tree = convert::read(value, &self.budget);
            trees.push(tree.map_err(|problem| ScriptError {
                exhausted: self.budget.exhausted().is_some(),
                ..ScriptError::plain(problem)
            })?);
        }
        trees.resize(results, Tree::Nil);
        Ok(trees)
    }

    /// Whether the script runs as far as making its `function`.
    pub fn check(&self, function: &str, now: Timestamp) -> Result<(), ScriptError> {
        self.budget.renew();
        self.now.store(now.as_second(), Ordering::Relaxed);
        let made = self.function(function);
        made.map(drop).map_err(|error| ScriptError::of(&error, &self.budget))
    }

    fn function(&self, function: &str) -> mlua::Result<Function> {
        // What earlier calls left behind does not count.
        self.lua.set_memory_limit(self.lua.used_memory() + MEMORY)?;
        self.begin.call::<()>(())?;
        let globals = self.fresh_globals()?;
        self.main.set_environment(globals.clone())?;
        self.main.call::<()>(())?;
        match globals.raw_get::<Value>(function)? {
            Value::Function(called) => Ok(called),
            Value::Nil => Err(mlua::Error::runtime(format!("the script has no function {function}"))),
            other => {
                let problem = format!("{function} is no function but a {}", convert::type_name(&other));
                Err(mlua::Error::runtime(problem))
            }
        }
    }

    fn run(&self, function: &str, arguments: &[Argument<'_>]) -> mlua::Result<MultiValue> {
        let called = self.function(function)?;
        let given: mlua::Result<MultiValue> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Json(value) => convert::to_lua(&self.lua, value),
                Argument::Number(number) => Ok(Value::Number(f64::from(*number))),
                Argument::Nothing => Ok(Value::Nil),
            })
            .collect();
        called.call(given?)
    }

    /// Everything that scripts see, in tables of this call: one that changes them changes nothing for the next.
    fn fresh_globals(&self) -> mlua::Result<Table> {
        let globals = copied(&self.lua, &self.seen)?;
        for entry in self.libraries.pairs::<Value, Table>() {
            let (name, library) = entry?;
            globals.raw_set(name, copied(&self.lua, &library)?)?;
        }
        globals.raw_set("_G", &globals)?;
        Ok(globals)
    }

    /// Instructions that the last call took.
    pub fn spent(&self) -> u64 {
        self.budget.spent()
    }

    /// Whether the machine is as good as a new one.
    pub fn can_be_kept(&self) -> bool {
        if self.lua.used_memory() <= KEPT_MEMORY {
            return true;
        }
        // Most of it is what the call has left behind.
        self.lua.gc_collect().is_ok() && self.lua.used_memory() <= KEPT_MEMORY
    }
}

/// Whether the line jumps, or is jumped to.
fn has_goto(script: &str, line: Option<u32>) -> bool {
    let row = line.and_then(|line| script.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?));
    row.is_some_and(|row| {
        let mut words = row.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        row.contains("::") || words.any(|word| word == "goto")
    })
}

fn copied(lua: &Lua, table: &Table) -> mlua::Result<Table> {
    let copy = lua.create_table()?;
    for entry in table.pairs::<Value, Value>() {
        let (name, value) = entry?;
        copy.raw_set(name, value)?;
    }
    Ok(copy)
}
