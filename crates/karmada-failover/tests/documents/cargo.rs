//! Commands of cargo: packages, tests and benchmarks that are there, and programs that take what follows `--`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::programs::{Stands, program, takes, words, xtask};
use crate::walk::root;

/// The packages of the workspace, by name, with their folders.
static PACKAGES: LazyLock<Vec<(String, PathBuf)>> = LazyLock::new(|| {
    let mut found = Vec::new();
    for folder in ["crates", "examples", "e2e", "."] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let folder = entry.unwrap().path();
            found.extend(package(&folder).map(|name| (name, folder)));
        }
    }
    found.extend(package(&root().join("xtask/crds")).map(|name| (name, root().join("xtask/crds"))));
    found
});

fn package(folder: &Path) -> Option<String> {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("name = \""))?;
    Some(line.trim_end_matches('"').to_owned())
}

/// Flags without a value that the pages use.
const SWITCHES: &[&str] = &[
    "--all-targets",
    "--bins",
    "--fix",
    "--lib",
    "--locked",
    "--quiet",
    "--release",
    "--tests",
    "--workspace",
];

pub fn judged(words: &[String], stands: Stands) -> Result<(), String> {
    match words[0].as_str() {
        "xtask" => {
            let mut all = vec!["cargo xtask".to_owned()];
            all.extend_from_slice(&words[1..]);
            takes(&xtask(), &all, stands)
        }
        "run" | "test" | "build" | "bench" | "clippy" => targets(words, stands),
        "fmt" | "deny" => Ok(()),
        other => Err(format!("cargo {other} is not among what is known here")),
    }
}

fn targets(words: &[String], stands: Stands) -> Result<(), String> {
    let (own, passed) = match words.iter().position(|word| word == "--") {
        Some(end) => (&words[1..end], &words[end + 1..]),
        None => (&words[1..], &[][..]),
    };
    let mut of = None;
    let mut rest = own.iter().map(String::as_str).filter(|word| *word != "…");
    while let Some(word) = rest.next() {
        let (flag, glued) = word
            .split_once('=')
            .map_or((word, None), |(flag, value)| (flag, Some(value)));
        if SWITCHES.contains(&flag) {
            continue;
        }
        if !matches!(flag, "-p" | "--package" | "--test" | "--bench" | "--bin") {
            // The filter of a test.
            if flag.starts_with('-') || words[0] != "test" {
                return Err(format!("{flag} is not among what is known here"));
            }
            continue;
        }
        let value = glued.or_else(|| rest.next()).ok_or(format!("{flag} has no value"))?;
        if value.chars().all(|letter| letter.is_ascii_uppercase()) {
            continue;
        }
        match flag {
            "--test" => target("tests", value, of)?,
            "--bench" => target("benches", value, of)?,
            "--bin" => {
                folder(value)?;
            }
            _ => {
                folder(value)?;
                of = Some(value);
            }
        }
    }
    if words[0] == "run" {
        // By default the one with everything.
        let name = of.unwrap_or("karmada-failover");
        if let Some(command) = program(name) {
            let mut all = vec![name.to_owned()];
            all.extend_from_slice(passed);
            return takes(&command, &all, stands);
        }
    }
    Ok(())
}

fn folder(package: &str) -> Result<&'static Path, String> {
    let found = PACKAGES.iter().find(|(name, _)| name == package);
    found
        .map(|(_, folder)| folder.as_path())
        .ok_or(format!("there is no package {package}"))
}

/// Whether a package has the test or benchmark, or, without one, any package has.
fn target(kind: &str, name: &str, of: Option<&str>) -> Result<(), String> {
    let is_in = |folder: &Path| {
        let base = folder.join(kind).join(name);
        base.with_extension("rs").is_file() || base.join("main.rs").is_file()
    };
    let there = match of {
        Some(package) => is_in(folder(package)?),
        None => PACKAGES.iter().any(|(_, folder)| is_in(folder)),
    };
    there.then_some(()).ok_or(format!("there is no {name} among {kind}"))
}

#[test]
fn what_is_not_there_is_found() {
    let judge = |line: &str| judged(&words(line), Stands::Whole);
    for wrong in [
        "xtask tset",
        "xtask test --ful",
        "run -p karmada-failovr",
        "run -p karmada-failover -- demo --fats",
        "test --workspace --test documentz",
        "test -p failoverctl --test documents",
        "build --relaese",
        "biuld",
    ] {
        assert!(judge(wrong).is_err(), "{wrong}");
    }
    for right in [
        "xtask test --full",
        "xtask bench --json queue",
        "run --release -p karmada-failover -- demo --fast",
        "run -- demo",
        "test --workspace --test documents -- links",
        "test -p CRATE",
    ] {
        assert_eq!(judge(right), Ok(()), "{right}");
    }
}
