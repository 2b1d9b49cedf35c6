//! Commands of helm: verbs and flags that it has, charts and files of values that are here. What they render is looked at
//! where helm itself is.

use crate::walk::root;

const VERBS: &[&str] = &[
    "get",
    "history",
    "install",
    "list",
    "package",
    "rollback",
    "status",
    "template",
    "uninstall",
    "upgrade",
];
const SWITCHES: &[&str] = &[
    "--create-namespace",
    "--dry-run",
    "--install",
    "--reset-then-reuse-values",
    "--reuse-values",
    "--wait",
];
const WITH_VALUE: &[&str] = &[
    "--kube-context",
    "--kubeconfig",
    "--namespace",
    "--set",
    "--set-string",
    "--timeout",
    "--values",
    "--version",
    "-f",
    "-n",
];

pub fn judged(words: &[String]) -> Result<(), String> {
    let verb = words[0].as_str();
    if !VERBS.contains(&verb) {
        return Err(format!("helm has no {verb}"));
    }
    let mut rest = words[1..].iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let flag = word.split('=').next().unwrap_or_default();
        if WITH_VALUE.contains(&flag) {
            let value = match word.split_once('=') {
                Some((_, value)) => value,
                None => rest.next().ok_or(format!("{flag} has no value"))?,
            };
            if matches!(flag, "--values" | "-f") {
                there(value)?;
            }
        } else if word.starts_with('-') && !SWITCHES.contains(&word) {
            return Err(format!("{word} is not among what is known here"));
        } else {
            there(word)?;
        }
    }
    Ok(())
}

/// Something that begins like a path of the charts.
fn there(path: &str) -> Result<(), String> {
    if !path.starts_with("charts/") || root().join(path).exists() {
        return Ok(());
    }
    Err(format!("there is no {path}"))
}

#[test]
fn what_is_not_there_is_found() {
    let judge = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        judged(&words)
    };
    for wrong in [
        "instal a charts/agent",
        "install a charts/agnet",
        "install a charts/agent --sett a=b",
        "upgrade a charts/agent --values charts/agent/valuez.yaml",
        "upgrade a charts/agent --set",
    ] {
        assert!(judge(wrong).is_err(), "{wrong}");
    }
    let right = "upgrade a charts/agent --namespace=b --set a=b --values charts/agent/values.yaml --wait";
    assert_eq!(judge(right), Ok(()));
}
