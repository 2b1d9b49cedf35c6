//! Flags and environment variables that the pages name are some program's.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use clap::Command;
use regex::Regex;

use crate::programs::{programs, xtask};
use crate::walk::{At, Page, hold};

/// Flags of other programs, which the pages have to name.
const OF_OTHERS: &[&str] = &[
    // kube-apiserver.
    "admission-control-config-file",
    // Stock Karmada's webhook and scheduler.
    "allow-no-execute-taint-policy",
    "enable-empty-workload-propagation",
    // helm.
    "kube-context",
    "reset-then-reuse-values",
    "reuse-values",
    "set",
];
/// Variables that are no flag's.
const VARIABLES: &[&str] = &[
    // Of builds, tests and tasks.
    "KARMADA_FAILOVER_CACHE",
    "KARMADA_FAILOVER_FULL",
    "KARMADA_FAILOVER_VERSION",
    "KARMADA_FAILOVER_WRITE_DOCS",
];

/// The names of all flags, and of the variables that stand for them.
static KNOWN: LazyLock<(BTreeSet<String>, BTreeSet<String>)> = LazyLock::new(|| {
    let (mut flags, mut variables) = (BTreeSet::new(), BTreeSet::new());
    for command in programs().into_iter().map(|(_, command)| command).chain([xtask()]) {
        gather(command, &mut flags, &mut variables);
    }
    flags.extend(OF_OTHERS.iter().map(|name| (*name).to_owned()));
    variables.extend(VARIABLES.iter().map(|name| (*name).to_owned()));
    (flags, variables)
});

fn gather(mut command: Command, flags: &mut BTreeSet<String>, variables: &mut BTreeSet<String>) {
    // Help and version are there once it is built.
    command.build();
    for flag in command.get_arguments() {
        flags.extend(flag.get_long().map(str::to_owned));
        flags.extend(flag.get_all_aliases().into_iter().flatten().map(str::to_owned));
        variables.extend(flag.get_env().map(|name| name.to_str().unwrap().to_owned()));
    }
    for below in command.get_subcommands() {
        gather(below.clone(), flags, variables);
    }
}

#[test]
fn every_flag_is_some_programs() {
    hold(complaints);
}

fn complaints(page: &Page) -> Vec<At<String>> {
    let flag = Regex::new(r"^--([a-z][a-z0-9-]*)(…?)").unwrap();
    let variable = Regex::new(r"\bKARMADA_FAILOVER_[A-Z_]+").unwrap();
    let (flags, variables) = &*KNOWN;
    let mut wrong = Vec::new();
    for At { line, it: code } in &page.codes {
        let mut tell = |it: String| wrong.push(At { line: *line, it });
        if let Some(found) = flag.captures(code) {
            let (name, begins) = (&found[1], !found[2].is_empty());
            let there = flags.contains(name) || (begins && flags.iter().any(|flag| flag.starts_with(name)));
            if !there {
                tell(format!("--{name} is no flag of any program"));
            }
        }
        for name in variable.find_iter(code).map(|found| found.as_str()) {
            if !variables.contains(name) {
                tell(format!("{name} is read by nobody"));
            }
        }
    }
    wrong
}

#[test]
fn flags_of_no_program_are_found() {
    let page = "`--beside-stok`\n`--queue-adress HOST`, `--queue-…`, `--qeue-…`\n`KARMADA_FAILOVER_KUBECONFIGG=x`\n\
                `--beside-stock`, `--queue-address=x`, `--karmada-kubeconfig`, `KARMADA_FAILOVER_KUBECONFIG`";
    let found = complaints(&Page::read("page.md", page));
    let lines: Vec<usize> = found.iter().map(|complaint| complaint.line).collect();
    assert_eq!(lines, [1, 2, 2, 3], "{found:?}");
}
