//! Files of the repository that the pages name are there, and are named from its root.

use std::sync::LazyLock;

use regex::Regex;

use crate::walk::{At, Page, hold, root};

/// What is a file's name by its look: folders and an ending that files of the repository have.
static FILE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\w.-]+(/[\w.-]+)+\.(json|md|proto|rs|sh|snap|toml|tpl|txt|yaml|yml)$").unwrap());

#[test]
fn files_that_the_pages_name_are_there() {
    hold(complaints);
}

fn complaints(page: &Page) -> Vec<At<String>> {
    let codes = page.codes.iter();
    codes
        .filter_map(|code| {
            Some(At {
                line: code.line,
                it: complaint(&code.it)?,
            })
        })
        .collect()
}

fn complaint(code: &str) -> Option<String> {
    let start = code.split('/').next().unwrap_or_default();
    let of_ours = code.contains('/') && !start.is_empty() && root().join(start).is_dir();
    if code.starts_with("…/") {
        return Some(format!("{code} is not a whole path"));
    }
    if code.contains(char::is_whitespace) || !(of_ours || FILE.is_match(code)) {
        return None;
    }
    (!root().join(code).exists()).then(|| format!("there is no {code}"))
}

#[test]
fn files_that_are_not_there_are_found() {
    for wrong in [
        "docs/nothing.md",
        "crates/nothing",
        "src/lib.rs",
        "…/lib.rs",
        "xtask/src/nothing.rs",
    ] {
        assert!(complaint(wrong).is_some(), "{wrong}");
    }
    for right in [
        "docs/install.md",
        "crates/failover-core",
        "docs/runbooks/",
        "apps/v1",
        "~/.kube/config",
        "/etc/karmada/karmada-apiserver.config",
        "cluster.karmada.io/not-ready",
        "NAMESPACE/NAME",
        "docs and charts/values.yaml",
    ] {
        assert_eq!(complaint(right), None, "{right}");
    }
}
