//! Every command on the pages can be typed: our programs take it; kubectl, helm and cargo know what it asks of them.

use crate::programs::{Stands, is_program, program, takes};
use crate::walk::{At, Page, hold};
use crate::{cargo, helm, kubectl, shell};

#[test]
fn every_command_can_be_typed() {
    hold(complaints);
}

/// So many commands are looked at that a page which is read wrongly would be noticed.
#[test]
fn commands_are_found() {
    let pages = crate::walk::pages();
    let count = |of: &str| {
        let all = pages.iter().flat_map(found);
        all.filter(|(_, command, _)| command[0] == of).count()
    };
    for (of, least) in [
        ("failoverctl", 100),
        ("kubectl", 30),
        ("helm", 20),
        ("cargo", 15),
        ("agent", 3),
    ] {
        assert!(count(of) >= least, "{} commands of {of}", count(of));
    }
}

fn complaints(page: &Page) -> Vec<At<String>> {
    found(page)
        .into_iter()
        .filter_map(|(line, words, stands)| {
            let wrong = judged(&words, stands).err()?;
            Some(At {
                line,
                it: format!("{}: {wrong}", words.join(" ")),
            })
        })
        .collect()
}

/// The commands of a page that somebody here can judge.
fn found(page: &Page) -> Vec<(usize, Vec<String>, Stands)> {
    let mut all = Vec::new();
    for At { line, it: block } in &page.blocks {
        for (at, script) in shell::typed(block, is_known) {
            for command in shell::commands(&script) {
                all.push((line + at + command.line, command.words, Stands::Whole));
            }
        }
    }
    for At { line, it: code } in &page.codes {
        // After a prompt and what is said of the environment.
        let mut words = code
            .split_whitespace()
            .skip_while(|word| *word == "$" || word.contains('='));
        let first = words.next().unwrap_or_default();
        // What is said to helm beside the rest.
        let more = matches!(first, "--set" | "--set-string").then(|| format!("helm upgrade … {code}"));
        if more.is_some() || is_known(first) {
            let commands = shell::commands(more.as_deref().unwrap_or(code.trim_start_matches("$ ")));
            all.extend(
                commands
                    .into_iter()
                    .map(|command| (*line, command.words, Stands::Named)),
            );
        }
    }
    all.retain(|(_, words, _)| is_known(&words[0]));
    all
}

fn is_known(name: &str) -> bool {
    matches!(name, "kubectl" | "kubectl-failover" | "helm" | "cargo") || is_program(name)
}

fn judged(words: &[String], stands: Stands) -> Result<(), String> {
    // A program that is called by its name only.
    let [name, rest @ ..] = words else { return Ok(()) };
    if rest.is_empty() {
        return Ok(());
    }
    match name.as_str() {
        "kubectl" if rest[0] == "failover" => plugin(rest, stands),
        "kubectl-failover" => plugin(words, stands),
        "kubectl" => kubectl::judged(rest, stands),
        "helm" => helm::judged(rest),
        "cargo" => cargo::judged(rest, stands),
        name => takes(&program(name).unwrap(), words, stands),
    }
}

/// failoverctl under the name by which kubectl finds it.
fn plugin(words: &[String], stands: Stands) -> Result<(), String> {
    takes(&program("failoverctl").unwrap(), words, stands)
}

#[test]
fn commands_that_cannot_be_typed_are_found_with_their_line() {
    let page = "Say `failoverctl statsu` or `kubectl failover statsu`.\n\n```sh\nfailoverctl status |\n  failoverctl dump --flie x\n\
                KUBECONFIG=x kubectl get clusterz\n```\n\n```\n$ taint-manager \\\n    --beside\nscheduler --as-an-answer\n```\n\n\
                | `cargo xtask e2e` |\n|---|\n| `cargo xtask tset` |\n";
    let found = complaints(&Page::read("page.md", page));
    let lines: Vec<(usize, &str)> = found
        .iter()
        .map(|complaint| (complaint.line, complaint.it.split(':').next().unwrap()))
        .collect();
    assert_eq!(
        lines,
        [
            (5, "failoverctl dump --flie x"),
            (6, "kubectl get clusterz"),
            (10, "taint-manager --beside"),
            (1, "failoverctl statsu"),
            (1, "kubectl failover statsu"),
            (17, "cargo xtask tset"),
        ]
    );
}
