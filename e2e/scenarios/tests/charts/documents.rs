//! What the documents tell people to type with helm renders.

use std::path::Path;

use crate::renderer;

/// The lines of a page's shell blocks that begin with helm.
fn helm_lines(page: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let (mut lines, mut is_shell) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(language) = line.strip_prefix("```") {
            is_shell = matches!(language, "sh" | "console");
        } else if is_shell && line.trim_start_matches("$ ").starts_with("helm ") {
            lines.push(line.trim_start_matches("$ ").to_owned());
        }
    }
    lines
}

/// The same as `helm template` takes it: without what only a server knows.
fn as_template(line: &str) -> Option<Vec<String>> {
    let mut words = line.split(' ').skip(1);
    let verb = words.next().unwrap();
    match verb {
        "install" | "upgrade" => {}
        "rollback" | "uninstall" => return None,
        other => panic!("helm {other}: what does it do?"),
    }
    let mut arguments = vec!["template".to_owned()];
    while let Some(word) = words.next() {
        match word {
            "--wait" | "--create-namespace" | "--reset-then-reuse-values" => {}
            "--kubeconfig" => drop(words.next()),
            // What a command before it has read from a server.
            other => arguments.push(other.replace("\"$ca\"", "YQ==")),
        }
    }
    Some(arguments)
}

#[test]
fn commands_of_the_documents_render() {
    let Some(helm) = renderer() else { return };
    let root = std::fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    let mut tried = 0;
    for page in ["README.md", "docs/install.md", "docs/charts.md"] {
        for line in helm_lines(page) {
            let Some(mut arguments) = as_template(&line) else {
                continue;
            };
            for argument in &mut arguments {
                if argument.starts_with("charts/") {
                    *argument = root.join(&argument).display().to_string();
                }
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            helm.run(&arguments)
                .unwrap_or_else(|error| panic!("{page}: {line}: {error}"));
            tried += 1;
        }
    }
    assert!(tried > 8, "only {tried} commands were found");
}
