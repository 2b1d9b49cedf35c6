//! From files to documents: several a file, lists taken apart. A document that cannot be read hides no other.

use std::path::{Path, PathBuf};

use failover_core::lint::{Code, Finding};
use serde_json::Value;

use super::tree::{self, NoYaml, Place, Places};
use crate::failure::{ExitStatus, Failure};

/// Files that a directory is searched for.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// The file name that stands for standard input.
const STDIN: &str = "-";

/// A file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name, as it is shown.
    pub file: String,
    /// What it holds.
    pub text: String,
}

/// One document, or one item of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    /// The file.
    pub file: String,
    /// Its number in the file, from 1.
    pub number: usize,
    /// Where it begins.
    pub begins: Place,
    /// What it holds.
    pub value: Value,
    /// Where its fields stand.
    pub places: Places,
}

/// A document that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unreadable {
    /// The file.
    pub file: String,
    /// Its number in the file, from 1.
    pub number: usize,
    /// Where reading ended.
    pub place: Place,
    /// Why.
    pub finding: Finding,
}

/// Reads the files; a directory stands for its YAML and JSON files, without those of directories in it.
///
/// # Errors
/// One cannot be read, or a directory has none.
pub fn sources(files: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut found = Vec::new();
    for file in files {
        if file.as_os_str() == STDIN {
            let text =
                std::io::read_to_string(std::io::stdin()).map_err(|error| unreadable("standard input", &error))?;
            found.push(Source {
                file: STDIN.to_owned(),
                text,
            });
        } else if file.is_dir() {
            found.extend(of_directory(file)?);
        } else {
            found.push(of_file(file)?);
        }
    }
    Ok(found)
}

fn of_file(file: &Path) -> Result<Source, Failure> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(&shown, &error))?;
    Ok(Source { file: shown, text })
}

fn of_directory(directory: &Path) -> Result<Vec<Source>, Failure> {
    let shown = directory.display().to_string();
    let entries = std::fs::read_dir(directory).map_err(|error| unreadable(&shown, &error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            path.is_file() && extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        })
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(Failure::new(
            ExitStatus::Usage,
            format!("cannot lint {shown}"),
            "the directory has no .yaml, .yml or .json file",
            "name files, or a directory that has some; directories in it are not searched",
        ));
    }
    files.iter().map(|file| of_file(file)).collect()
}

fn unreadable(file: &str, error: &std::io::Error) -> Failure {
    let next = if error.kind() == std::io::ErrorKind::InvalidData {
        "give YAML or JSON in UTF-8"
    } else {
        "check the name, and whether it may be read"
    };
    Failure::new(
        ExitStatus::Usage,
        format!("cannot read {file}"),
        error.to_string(),
        next,
    )
}

/// The documents of a file, and those that cannot be read.
pub(crate) fn documents(source: &Source) -> (Vec<Document>, Vec<Unreadable>) {
    let (mut readable, mut unreadable) = (Vec::new(), Vec::new());
    let mut number = 0;
    for (first_line, text) in split(&source.text) {
        match tree::read(&text, first_line) {
            Ok(None) => {}
            Ok(Some((value, places))) => {
                number += 1;
                let begins = places.nearest("").unwrap_or(Place {
                    line: first_line,
                    column: 1,
                });
                let whole = Document {
                    file: source.file.clone(),
                    number,
                    begins,
                    value,
                    places,
                };
                readable.extend(items(whole));
            }
            Err(NoYaml { place, why }) => {
                number += 1;
                unreadable.push(Unreadable {
                    file: source.file.clone(),
                    number,
                    place: place.unwrap_or(Place {
                        line: first_line,
                        column: 1,
                    }),
                    finding: Finding::new(
                        Code::YamlSyntax,
                        "",
                        format!("cannot be read: {why}"),
                        "what cannot be read is not looked at, and kubectl refuses it",
                        "correct the YAML there, or a little above",
                    ),
                });
            }
        }
    }
    (readable, unreadable)
}

/// The texts between lines that begin with `---`, each with the number of its first line. Nowhere in YAML can such a
/// line be part of a document.
fn split(text: &str) -> Vec<(u64, String)> {
    let mut parts = vec![(1, String::new())];
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let marker = line
            .strip_prefix("---")
            .filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if let Some(rest) = marker {
            // What follows on the same line is the document's; spaces keep its columns.
            parts.push((number, format!("   {rest}")));
        } else if let Some((_, part)) = parts.last_mut() {
            // Directives stand before the marker, in a part of their own that holds no document.
            if !(line.starts_with('%') && part.trim().is_empty()) {
                part.push_str(line);
            } else {
                part.push('\n');
            }
        }
    }
    parts
}

/// The items of a `List`, or the document itself.
fn items(whole: Document) -> Vec<Document> {
    let is_list = whole.value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    let Some(items) = whole.value["items"].as_array().filter(|_| is_list) else {
        return vec![whole];
    };
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let path = format!("items[{index}]");
            Document {
                value: item.clone(),
                places: whole.places.under(&path),
                begins: whole.places.nearest(&path).unwrap_or(whole.begins),
                ..whole.clone()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, first line and kind of each document, and numbers of those that cannot be read.
    fn read(text: &str) -> (Vec<(usize, u64, Value)>, Vec<usize>) {
        let source = Source {
            file: "f".to_owned(),
            text: text.to_owned(),
        };
        let (readable, unreadable) = documents(&source);
        (
            readable
                .into_iter()
                .map(|d| (d.number, d.begins.line, d.value["kind"].clone()))
                .collect(),
            unreadable.into_iter().map(|d| d.number).collect(),
        )
    }

    #[test]
    fn a_document_that_cannot_be_read_hides_no_other() {
        let text = "# first\n---\nkind: A\n---\nkind: [B\n---\n# nothing\n--- \nkind: C\n...\n";
        let (readable, unreadable) = read(text);
        assert_eq!(readable, [(1, 3, "A".into()), (3, 9, "C".into())]);
        assert_eq!(unreadable, [2]);
    }

    #[test]
    fn lists_are_taken_apart() {
        let text = "kind: List\napiVersion: v1\nitems:\n- kind: A\n- kind: B\n";
        assert_eq!(read(text).0, [(1, 4, "A".into()), (1, 5, "B".into())]);
    }

    #[test]
    fn windows_line_ends_and_directives() {
        let (readable, unreadable) = read("%YAML 1.2\r\n---\r\nkind: A\r\n---\r\nkind: B\r\n");
        assert_eq!(readable, [(1, 3, "A".into()), (2, 5, "B".into())]);
        assert_eq!(unreadable, [0; 0]);
    }

    #[test]
    fn three_dashes_in_a_text_are_no_end() {
        let (readable, _) = read("kind: A\ntext: |\n  ---\n  more\nother: ---a\n");
        assert_eq!(readable.len(), 1);
    }
}
