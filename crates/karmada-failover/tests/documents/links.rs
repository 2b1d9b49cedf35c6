//! Links lead to files and headings that are there. Those that leave the repository are not followed.

use std::collections::BTreeSet;

use crate::walk::{At, Page, hold, root};

#[test]
fn every_link_leads_somewhere() {
    hold(complaints);
}

fn complaints(page: &Page) -> Vec<At<String>> {
    let undefined = page.undefined.iter().map(|reference| At {
        line: reference.line,
        it: format!("[{}] is defined nowhere on the page", reference.it),
    });
    let dead = page.links.iter().filter_map(|link| {
        Some(At {
            line: link.line,
            it: complaint(page, &link.it)?,
        })
    });
    undefined.chain(dead).collect()
}

/// What is wrong with a link.
fn complaint(page: &Page, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link
        .split_once('#')
        .map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let Some(path) = resolved(&page.path, file) else {
        return Some(format!("{link} leads out of the repository"));
    };
    if path != page.path && !root().join(&path).exists() {
        return Some(format!("{link} leads to {path}, which is not there"));
    }
    let anchor = anchor?;
    let headings = if path == page.path {
        anchors(&page.headings)
    } else if path.ends_with(".md") {
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        anchors(&Page::read(&path, &text).headings)
    } else {
        return Some(format!("{link}: only pages have headings"));
    };
    (!headings.contains(anchor)).then(|| format!("{link}: {path} has no heading #{anchor}"))
}

/// Where a link on `page` leads, from the root of the repository; none: out of it.
fn resolved(page: &str, file: &str) -> Option<String> {
    if file.is_empty() {
        return Some(page.to_owned());
    }
    if file.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors that GitHub gives to the headings of a page: one that comes again is numbered.
fn anchors(headings: &[String]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for heading in headings {
        let anchor = anchor(heading);
        let mut numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let mut name = anchor.clone();
        while all.contains(&name) {
            name = numbered.next().unwrap();
        }
        all.insert(name);
    }
    all
}

fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let words: String = heading.trim().to_lowercase().chars().filter(kept).collect();
    words.replace(' ', "-")
}

#[test]
fn anchors_are_those_that_github_gives() {
    let headings = [
        "Where it asks",
        "`--from` and a dump",
        "What's new, and why?",
        "Again",
        "Again",
        "Again",
        "under_score – Ü",
    ];
    let anchors = anchors(&headings.map(str::to_owned));
    for wanted in [
        "where-it-asks",
        "--from-and-a-dump",
        "whats-new-and-why",
        "again",
        "again-1",
        "again-2",
        "under_score--ü",
    ] {
        assert!(anchors.contains(wanted), "{wanted} in {anchors:?}");
    }
}

#[test]
fn dead_links_are_found() {
    let page = "# Here\n\n[a](nowhere.md), [b](install.md#nothing), [c](#there), [d](../../x), [e][f]\n\
                [g](install.md), [h](#here), [i](../README.md#limits), [j](https://example.com/x)\n";
    let found = complaints(&Page::read("docs/page.md", page));
    let words: Vec<&str> = found.iter().map(|complaint| complaint.it.as_str()).collect();
    assert_eq!(
        words,
        [
            "[f] is defined nowhere on the page",
            "nowhere.md leads to docs/nowhere.md, which is not there",
            "install.md#nothing: docs/install.md has no heading #nothing",
            "#there: docs/page.md has no heading #there",
            "../../x leads out of the repository",
        ]
    );
    assert!(found.iter().all(|complaint| complaint.line == 3));
}
