//! The pages, and what is on them: links, headings, code in a line and in blocks, each with its line.

use std::path::{Path, PathBuf};

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

/// Something on a page.
#[derive(Debug, PartialEq, Eq)]
pub struct At<T> {
    /// From 1.
    pub line: usize,
    pub it: T,
}

/// A block of code.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    pub language: String,
    pub text: String,
}

/// What a page has.
#[derive(Debug, Default)]
pub struct Page {
    /// From the root of the repository.
    pub path: String,
    pub links: Vec<At<String>>,
    /// References to links that the page does not define.
    pub undefined: Vec<At<String>>,
    /// Headings as words.
    pub headings: Vec<String>,
    /// `Code` in a line.
    pub codes: Vec<At<String>>,
    /// Their line is that of the first line of their text.
    pub blocks: Vec<At<Block>>,
}

impl Page {
    pub fn read(path: &str, text: &str) -> Self {
        let line = |offset: usize| text[..offset].matches('\n').count() + 1;
        let mut page = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        let mut undefined = Vec::new();
        let tell = |link: BrokenLink| {
            undefined.push(At {
                line: line(link.span.start),
                it: link.reference.to_string(),
            });
            None::<(CowStr, CowStr)>
        };
        let parser = Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(tell));
        let (mut heading, mut block) = (None::<String>, None::<At<Block>>);
        for (event, range) in parser.into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => page.links.push(At {
                    line: line(range.start),
                    it: dest_url.to_string(),
                }),
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.headings.extend(heading.take()),
                Event::Start(Tag::CodeBlock(kind)) => {
                    let (language, fence) = match kind {
                        CodeBlockKind::Fenced(language) => (language.to_string(), 1),
                        CodeBlockKind::Indented => (String::new(), 0),
                    };
                    block = Some(At {
                        line: line(range.start) + fence,
                        it: Block {
                            language,
                            text: String::new(),
                        },
                    });
                }
                Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
                Event::Text(words) => {
                    if let Some(block) = &mut block {
                        block.it.text.push_str(&words);
                    } else if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                    page.codes.push(At {
                        line: line(range.start),
                        it: words.to_string(),
                    });
                }
                _ => {}
            }
        }
        // `[words][reference]` is looked up by both.
        undefined.dedup();
        page.undefined = undefined;
        page
    }
}

/// The root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Markdown page of the repository.
pub fn pages() -> Vec<Page> {
    let mut found = Vec::new();
    gather(&root(), "", &mut found);
    found.sort();
    for wanted in ["README.md", "docs/install.md", "charts/agent/README.md"] {
        assert!(
            found.iter().any(|path| path == wanted),
            "{wanted} is not among the pages"
        );
    }
    found
        .iter()
        .map(|path| Page::read(path, &std::fs::read_to_string(root().join(path)).unwrap()))
        .collect()
}

fn gather(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{prefix}{name}");
        if entry.file_type().unwrap().is_dir() {
            // What is built, and what git keeps.
            if name != "target" && !name.starts_with('.') {
                gather(&entry.path(), &format!("{path}/"), found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// What `look` finds wrong on the pages: none of it may be.
pub fn hold(look: impl Fn(&Page) -> Vec<At<String>>) {
    let mut wrong = Vec::new();
    for page in pages() {
        let found = look(&page).into_iter();
        wrong.extend(found.map(|At { line, it }| format!("{}:{line}: {it}", page.path)));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_page_is_read_with_its_lines() {
    let page = Page::read(
        "a.md",
        "# A `b` c\n\nSee [d](e.md#f), [g][h] and `i`.\n\n1. j\n\n   ```sh\n   k \\\n     l\n   ```\n\n| m |\n|---|\n| `n \\| o` |\n",
    );
    assert_eq!(page.headings, ["A b c"]);
    let at = |line, it: &str| At {
        line,
        it: it.to_owned(),
    };
    assert_eq!(page.links, [at(3, "e.md#f")]);
    assert_eq!(page.undefined, [at(3, "h")]);
    assert_eq!(page.codes, [at(1, "b"), at(3, "i"), at(14, "n | o")]);
    let block = Block {
        language: "sh".to_owned(),
        text: "k \\\n  l\n".to_owned(),
    };
    assert_eq!(page.blocks, [At { line: 8, it: block }]);
}
