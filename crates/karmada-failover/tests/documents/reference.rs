//! `docs/reference/flags.md` is what the programs' own definitions say: `cargo xtask docs` writes it.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

use crate::programs::programs;
use crate::walk::root;

const PAGE: &str = "docs/reference/flags.md";

#[test]
fn the_page_of_flags_is_what_the_programs_say() {
    let (path, wanted) = (root().join(PAGE), page(&programs()));
    if std::env::var_os("KARMADA_FAILOVER_WRITE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &wanted).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let first = wanted
        .lines()
        .zip(there.lines())
        .find(|(wanted, there)| wanted != there);
    assert!(
        there == wanted,
        "{PAGE} is stale: run `cargo xtask docs`. The first line that is not as it should be: {first:?}"
    );
}

/// A row of a table.
#[derive(Clone, PartialEq, Eq)]
struct Row {
    spelling: String,
    default: String,
    variable: String,
    meaning: String,
    is_flag: bool,
    is_global: bool,
}

fn page(programs: &[(&'static str, Command)]) -> String {
    let mut text = "<!-- Generated from the programs' definitions by `cargo xtask docs`: change it there. -->\n\n\
         # Flags\n\n\
         Every flag of every program, as its `--help` has it. Each flag that has an environment variable can be given by \
         that, too; the flag wins. Durations are written as in `1h30m`, `45s` or `100ms`. A flag like \
         `--beside-stock[=BOOL]` means true without a value.\n\n"
        .to_owned();
    let mut components = programs.to_vec();
    components.retain(|(name, _)| !matches!(*name, "failoverctl" | "karmada-failover"));
    // The agent has more names for some of them.
    let others = components.iter().filter(|(name, _)| *name != "agent");
    let others: Vec<Vec<Row>> = others.map(|(_, command)| rows(command)).collect();
    let mut common = others[0].clone();
    common.retain(|row| others.iter().all(|rows| rows.contains(row)));
    text.push_str("## Common to all components\n\n");
    table(&mut text, &common);
    let mut told = common.clone();
    for (name, command) in &components {
        let own: Vec<Row> = rows(command).into_iter().filter(|row| !common.contains(row)).collect();
        told.extend(own.iter().cloned());
        section(&mut text, name, command);
        table(&mut text, &own);
    }
    for (name, command) in programs {
        match *name {
            "karmada-failover" => everything(&mut text, command, &told),
            "failoverctl" => below(&mut text, name, command),
            _ => {}
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The program that has all components but the agent: its flags are theirs.
fn everything(text: &mut String, command: &Command, told: &[Row]) {
    section(text, "karmada-failover", command);
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let all = rows(command);
        let own: Vec<Row> = all.iter().filter(|row| !told.contains(row)).cloned().collect();
        section(text, &format!("karmada-failover {}", command.get_name()), command);
        if own.len() < all.len() {
            text.push_str("It takes the flags of all components but the agent");
            text.push_str(if own.is_empty() { ".\n\n" } else { ", and\n\n" });
        }
        table(text, &own);
    }
}

/// A command and those below it. What can be said everywhere is told once.
fn below(text: &mut String, name: &str, command: &Command) {
    section(text, name, command);
    let own: Vec<Row> = rows(command);
    if own.iter().any(|row| row.is_global) {
        text.push_str("With every command:\n\n");
    }
    table(text, &own);
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        below(text, &format!("{name} {}", command.get_name()), command);
    }
}

fn section(text: &mut String, name: &str, command: &Command) {
    let _ = writeln!(text, "## {name}\n");
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        let _ = writeln!(text, "{}\n", sentence(&about.to_string()));
    }
}

fn table(text: &mut String, rows: &[Row]) {
    for (is_flag, head) in [
        (false, "| argument | meaning |\n|---|---|\n"),
        (true, "| flag | default | environment | meaning |\n|---|---|---|---|\n"),
    ] {
        let mut these = rows.iter().filter(|row| row.is_flag == is_flag).peekable();
        if these.peek().is_none() {
            continue;
        }
        text.push_str(head);
        for row in these {
            let Row {
                spelling,
                default,
                variable,
                meaning,
                ..
            } = row;
            let _ = if is_flag {
                writeln!(
                    text,
                    "| {} | {} | {} | {meaning} |",
                    code(spelling),
                    code(default),
                    code(variable)
                )
            } else {
                writeln!(text, "| {} | {meaning} |", code(spelling))
            };
        }
        text.push('\n');
    }
}

fn code(words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    format!("`{}`", words.replace('|', "\\|"))
}

fn rows(command: &Command) -> Vec<Row> {
    let arguments = command.get_arguments();
    arguments
        .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
        .map(row)
        .collect()
}

fn row(argument: &Arg) -> Row {
    let help = argument.get_long_help().or(argument.get_help());
    let mut meaning = sentence(&help.map(ToString::to_string).unwrap_or_default());
    let takes = takes_value(argument);
    let mut values = argument.get_possible_values();
    values.retain(|value| !value.is_hide_set());
    let is_bool = values.iter().all(|value| matches!(value.get_name(), "true" | "false"));
    if takes && !values.is_empty() && !is_bool {
        let names: Vec<String> = values.iter().map(|value| code(value.get_name())).collect();
        let _ = write!(meaning, " One of {}.", names.join(", "));
    }
    let others = argument.get_visible_aliases().unwrap_or_default();
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|name| code(&format!("--{name}"))).collect();
        let _ = write!(meaning, " Also {}.", names.join(", "));
    }
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<&str> = defaults.map(|value| value.to_str().unwrap()).collect();
    let is_switch = matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse);
    Row {
        spelling: spelling(argument, takes),
        default: if is_switch { String::new() } else { defaults.join(",") },
        variable: argument
            .get_env()
            .map(|name| name.to_str().unwrap().to_owned())
            .unwrap_or_default(),
        meaning,
        is_flag: argument.get_long().is_some() || argument.get_short().is_some(),
        is_global: argument.is_global_set(),
    }
}

fn takes_value(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
}

fn spelling(argument: &Arg, takes: bool) -> String {
    let value = match argument.get_value_names() {
        Some(names) => names
            .iter()
            .map(clap::builder::Str::as_str)
            .collect::<Vec<_>>()
            .join(" "),
        None => argument.get_id().as_str().to_uppercase(),
    };
    let Some(long) = argument.get_long() else { return value };
    let short = argument
        .get_short()
        .map(|short| format!("-{short}, "))
        .unwrap_or_default();
    let value = match takes {
        // Old ones, whose values mean nothing.
        true if argument.is_hide_set() => String::new(),
        true if argument.is_require_equals_set() => format!("[={value}]"),
        true => format!(" {value}"),
        false => String::new(),
    };
    format!("{short}--{long}{value}")
}

/// The same with the full stop that is taken off short texts.
fn sentence(help: &str) -> String {
    let mut text = plain(help);
    if !text.is_empty() && !text.ends_with('.') {
        text.push('.');
    }
    text
}

/// Words of a help text as Markdown in one line: what is not between backticks means nothing but itself.
fn plain(help: &str) -> String {
    let line: Vec<&str> = help.split_whitespace().collect();
    let mut text = String::new();
    let mut is_code = false;
    for letter in line.join(" ").chars() {
        match letter {
            '`' => is_code = !is_code,
            '|' => text.push('\\'),
            '*' | '<' | '[' | ']' if !is_code => text.push('\\'),
            _ => {}
        }
        text.push(letter);
    }
    text
}

#[test]
fn rows_say_what_help_says() {
    let programs = programs();
    let row = |program: &str, spelling: &str| {
        let (_, command) = programs.iter().find(|(name, _)| *name == program).unwrap();
        let mut rows = rows(command).into_iter();
        rows.find(|row| row.spelling == spelling)
            .unwrap_or_else(|| panic!("{program} has no {spelling}"))
    };
    let level = row("agent", "--log-level FILTER");
    assert_eq!(
        (level.default.as_str(), level.variable.as_str()),
        ("info", "KARMADA_FAILOVER_LOG_LEVEL")
    );
    assert!(
        row("agent", "--kubeconfig FILE")
            .meaning
            .ends_with(" Also `--karmada-kubeconfig`.")
    );
    let beside = row("taint-manager", "--beside-stock[=BOOL]");
    assert_eq!(beside.default, "false");
    assert!(
        row("taint-manager", "--log-format FORMAT")
            .meaning
            .ends_with(" One of `text`, `json`.")
    );
    let old = row("taint-manager", "--enable-taint-manager");
    assert!(old.meaning.starts_with("Without effect: use "), "{}", old.meaning);
    assert_eq!(row("failoverctl", "-o, --output FORMAT").default, "table");
    assert_eq!(plain("a `*` b *\n<c> [d] e|f"), "a `*` b \\* \\<c> \\[d\\] e\\|f");
}
