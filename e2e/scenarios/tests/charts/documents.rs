//! What the documents tell people to type with helm renders.

use std::collections::BTreeMap;
use std::path::Path;

use crate::renderer;

/// The lines of a page's shell blocks that begin with helm, section by section.
fn helm_lines(page: &str) -> Vec<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let (mut sections, mut is_shell) = (vec![Vec::new()], false);
    for line in text.lines().map(str::trim) {
        if let Some(language) = line.strip_prefix("```") {
            is_shell = matches!(language, "sh" | "console");
        } else if line.starts_with("## ") {
            sections.push(Vec::new());
        } else if is_shell && line.trim_start_matches("$ ").starts_with("helm ") {
            let section = sections.last_mut().unwrap();
            section.push(line.trim_start_matches("$ ").to_owned());
        }
    }
    sections
}

/// What stands in `charts/`, as it is found from anywhere, and what a command before it has read from a server.
fn from_anywhere(word: &str) -> String {
    let root = std::fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    if word.starts_with("charts/") {
        return root.join(word).display().to_string();
    }
    word.replace("\"$ca\"", "YQ==")
}

/// The commands of a section as `helm template` takes them: without what only a server knows, and each with what its release
/// was told before, where it goes on with that.
fn as_templates(section: &[String]) -> Vec<(&str, Vec<String>)> {
    let mut told: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut templates = Vec::new();
    for line in section {
        let mut words = line.split(' ').skip(1);
        match words.next().unwrap() {
            "install" | "upgrade" => {}
            "rollback" | "uninstall" => continue,
            other => panic!("helm {other}: what does it do?"),
        }
        let (release, chart) = (words.next().unwrap(), words.next().unwrap());
        let (mut flags, mut goes_on) = (Vec::new(), false);
        while let Some(word) = words.next() {
            match word {
                "--wait" | "--create-namespace" => {}
                "--reset-then-reuse-values" => goes_on = true,
                "--kubeconfig" => drop(words.next()),
                other => flags.push(from_anywhere(other)),
            }
        }
        let before = told.remove(release).filter(|_| goes_on).unwrap_or_default();
        let flags = [before, flags].concat();
        let first = ["template", release, &from_anywhere(chart)].map(str::to_owned);
        templates.push((line.as_str(), [&first[..], &flags].concat()));
        told.insert(release, flags);
    }
    templates
}

#[test]
fn commands_of_the_documents_render() {
    let Some(helm) = renderer() else { return };
    let mut tried = 0;
    for page in ["README.md", "docs/install.md", "docs/charts.md"] {
        let sections = helm_lines(page);
        for (line, arguments) in sections.iter().flat_map(|section| as_templates(section)) {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            helm.run(&arguments)
                .unwrap_or_else(|error| panic!("{page}: {line}: {error}"));
            tried += 1;
        }
    }
    assert!(tried > 8, "only {tried} commands were found");
}
