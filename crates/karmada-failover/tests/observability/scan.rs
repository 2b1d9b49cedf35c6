//! The metrics of the code, read off its text: every name that is given to the registry, with its type and its help.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

/// A metric as the code has it.
#[derive(Debug, Default)]
pub struct Coded {
    /// gauge, counter or histogram.
    pub kind: String,
    /// Its help.
    pub help: String,
    /// The crates that have it.
    pub crates: BTreeSet<String>,
}

/// The root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All metrics, by name.
pub fn metrics() -> BTreeMap<String, Coded> {
    let mut all = BTreeMap::<String, Coded>::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for (metric, kind, help) in of_crate(&files) {
            let known = all.entry(metric.clone()).or_default();
            for (have, found) in [(&mut known.kind, kind), (&mut known.help, help)] {
                let Some(found) = found else { continue };
                assert!(have.is_empty() || *have == found, "{metric}: {have:?} and {found:?}");
                *have = found;
            }
            known.crates.insert(name.clone());
        }
    }
    all
}

/// The sources of a crate without their tests: path and text.
fn sources(folder: &Path, files: &mut Vec<(String, String)>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            sources(&path, files);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            let whole = std::fs::read_to_string(&path).unwrap();
            let code = whole.split("#[cfg(test)]\nmod tests").next().unwrap();
            files.push((path.to_str().unwrap().to_owned(), code.to_owned()));
        }
    }
}

type Found = (String, Option<String>, Option<String>);

const LITERAL: &str = r#""((?:[^"\\]|\\(?s:.))*)""#;
/// A constant, or a literal.
const ARGUMENT: &str = r#"((?:[a-z_]+::)*[A-Z_]+|"(?:[^"\\]|\\(?s:.))*")"#;

/// Every place where a metric is declared, described or counted.
fn of_crate(files: &[(String, String)]) -> Vec<Found> {
    let constant = Regex::new(&format!(r"const ([A-Z_]+): &str =\s*{LITERAL};")).unwrap();
    let constants: Vec<(&str, String, String)> = files
        .iter()
        .flat_map(|(path, text)| {
            let found = constant.captures_iter(text);
            found.map(move |found| (path.as_str(), found[1].to_owned(), text_of(&found[2])))
        })
        .collect();
    files.iter().flat_map(|file| of_file(file, &constants)).collect()
}

fn of_file((path, text): &(String, String), constants: &[(&str, String, String)]) -> Vec<Found> {
    let signs = ["Family::", ".describe(", ".counter(", ".gauge(", ".histogram("];
    if !signs.iter().any(|sign| text.contains(sign)) {
        return Vec::new();
    }
    let value = |argument: &str| -> String {
        if let Some(literal) = argument.strip_prefix('"') {
            return text_of(literal.strip_suffix('"').unwrap());
        }
        let (module, name) = argument.rsplit_once("::").unwrap_or(("", argument));
        let module = module.rsplit("::").next().unwrap();
        let known = || constants.iter().filter(|(_, known, _)| known == name);
        let here = known().find(|(file, ..)| *file == path && module.is_empty());
        let there = || known().find(|(file, ..)| file.contains(&format!("/{module}")));
        let (.., text) = here
            .or_else(there)
            .unwrap_or_else(|| panic!("{path}: what is {argument}?"));
        text.clone()
    };
    let mut found: Vec<Found> = Vec::new();
    let family = Regex::new(&format!(
        r"Family::(gauge|counter|histogram)\(\s*{ARGUMENT},\s*{ARGUMENT}"
    ))
    .unwrap();
    for hit in family.captures_iter(text) {
        found.push((value(&hit[2]), Some(hit[1].to_owned()), Some(value(&hit[3]))));
    }
    let counted = Regex::new(&format!(r"\.(gauge|counter|histogram)\(\s*{ARGUMENT},\s*&?[\[a-z]")).unwrap();
    for hit in counted.captures_iter(text) {
        found.push((value(&hit[2]), Some(hit[1].to_owned()), None));
    }
    let described = Regex::new(&format!(r"\.describe\(\s*{ARGUMENT},\s*{ARGUMENT}")).unwrap();
    for hit in described.captures_iter(text) {
        found.push((value(&hit[1]), None, Some(value(&hit[2]))));
    }
    // The table of gauges of clusters: name, help, and how the value is read.
    let table = Regex::new(&format!(r"\(\s*{LITERAL},\s*{LITERAL},\s*\|[a-z]+\|")).unwrap();
    for hit in table.captures_iter(text) {
        found.push((text_of(&hit[1]), Some("gauge".to_owned()), Some(text_of(&hit[2]))));
    }
    found
}

/// A literal's text: lines that go on in the next are one.
fn text_of(literal: &str) -> String {
    let joined = Regex::new(r"\\\n\s*").unwrap().replace_all(literal, "").into_owned();
    joined.replace("\\\"", "\"")
}
