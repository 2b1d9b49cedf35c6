//! Every runbook begins with what to type, and what it says to type can be typed.

use clap::Parser;
use regex::Regex;

use crate::scan::root;

fn pages() -> Vec<(String, String)> {
    let pages = std::fs::read_dir(root().join("docs/runbooks")).unwrap();
    pages
        .map(|page| page.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// The words of a command line; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let word = Regex::new(r"'([^']*)'|(\S+)").unwrap();
    let found = word.captures_iter(line);
    found
        .map(|word| word.get(1).or(word.get(2)).unwrap().as_str().to_owned())
        .collect()
}

fn parses(command: &str) -> Result<(), String> {
    let command = command
        .replace("NAMESPACE/NAME", "shop/web")
        .replace("FILE…", "policy.yaml");
    match failoverctl::Cli::try_parse_from(words(&command)) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{command}: {error}")),
    }
}

#[test]
fn every_runbook_begins_with_what_to_type() {
    for (name, text) in pages() {
        let begins = format!("# {name}\n\n```sh\n");
        let rest = text
            .strip_prefix(&begins)
            .unwrap_or_else(|| panic!("{name} begins otherwise"));
        let first = rest.lines().next().unwrap();
        assert!(
            first.starts_with("failoverctl ") || first.starts_with("kubectl "),
            "{name}: {first}"
        );
        for heading in [
            "## Is it safe\n",
            "## What it is, and what to do\n",
            "## When it is over\n",
        ] {
            assert!(text.contains(heading), "{name} lacks {heading}");
        }
    }
}

#[test]
fn what_runbooks_say_to_type_can_be_typed() {
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        let block = text.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
        let typed = block.lines().map(str::to_owned);
        let inline = text.split('`').skip(1).step_by(2).map(str::to_owned);
        for command in typed
            .chain(inline)
            .filter(|command| command.starts_with("failoverctl "))
        {
            wrong.extend(parses(&command).err().map(|error| format!("{name}: {error}")));
        }
        for path in text
            .split('`')
            .filter(|word| word.starts_with("docs/") && !word.contains(' '))
        {
            if !root().join(path).is_file() {
                wrong.push(format!("{name}: {path} is not there"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A flag that a runbook names is one of some program's.
#[test]
fn flags_in_runbooks_exist() {
    let mut sources = String::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        gather(&folder.unwrap().path().join("src"), &mut sources);
    }
    let flag = Regex::new(r"`--([a-z-]+)`").unwrap();
    for (name, text) in pages() {
        for hit in flag.captures_iter(&text) {
            let field = hit[1].replace('-', "_");
            assert!(
                sources.contains(&format!("pub {field}:")) || sources.contains(&format!("long = \"{}\"", &hit[1])),
                "{name}: --{} is no flag",
                &hit[1]
            );
        }
    }
}

fn gather(folder: &std::path::Path, text: &mut String) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            gather(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}
