//! Commands of kubectl: verbs and flags that it has, and kinds that there are: Kubernetes' own, ours, and those of what
//! people have beside.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::programs::{Stands, words};

const VERBS: &[&str] = &[
    "annotate",
    "api-resources",
    "apply",
    "auth",
    "config",
    "create",
    "delete",
    "describe",
    "edit",
    "events",
    "explain",
    "exec",
    "get",
    "label",
    "logs",
    "patch",
    "port-forward",
    "rollout",
    "scale",
    "wait",
];
/// Verbs whose first word names kinds, or `KIND/NAME`.
const OF_KINDS: &[&str] = &[
    "annotate", "create", "delete", "describe", "edit", "explain", "get", "label", "patch", "wait",
];
const SWITCHES: &[&str] = &[
    "--all",
    "--all-namespaces",
    "--dry-run",
    "--follow",
    "--force",
    "--minify",
    "--overwrite",
    "--prefix",
    "--previous",
    "--show-labels",
    "--watch",
    "-A",
    "-w",
];
const WITH_VALUE: &[&str] = &[
    "--clusterrole",
    "--container",
    "--context",
    "--field-selector",
    "--filename",
    "--for",
    "--from-file",
    "--kubeconfig",
    "--namespace",
    "--output",
    "--patch",
    "--raw",
    "--selector",
    "--since",
    "--tail",
    "--timeout",
    "--type",
    "--user",
    "-f",
    "-l",
];
const SHORT_WITH_VALUE: &[&str] = &["-n", "-o", "-p", "-c"];

/// Kinds that others than we and Kubernetes bring.
const OF_OTHERS: &[&str] = &[
    // cert-manager.
    "certificate",
    "certificates",
    // Prometheus' operator.
    "podmonitors",
    "prometheusrules",
    "servicemonitors",
];

/// Kubernetes' own, as kubectl calls them.
const BUILT_IN: &[&str] = &[
    "all",
    "apiservice",
    "apiservices",
    "clusterrole",
    "clusterrolebinding",
    "clusterrolebindings",
    "clusterroles",
    "cm",
    "configmap",
    "configmaps",
    "crd",
    "crds",
    "customresourcedefinition",
    "customresourcedefinitions",
    "daemonset",
    "daemonsets",
    "deploy",
    "deployment",
    "deployments",
    "endpointslices",
    "event",
    "events",
    "job",
    "jobs",
    "lease",
    "leases",
    "mutatingwebhookconfigurations",
    "namespace",
    "namespaces",
    "networkpolicies",
    "networkpolicy",
    "node",
    "nodes",
    "ns",
    "pdb",
    "pod",
    "poddisruptionbudgets",
    "pods",
    "priorityclasses",
    "replicasets",
    "role",
    "rolebinding",
    "rolebindings",
    "roles",
    "sa",
    "secret",
    "secrets",
    "service",
    "serviceaccount",
    "serviceaccounts",
    "services",
    "svc",
    "validatingwebhookconfigurations",
];

/// Ours, by every name that kubectl takes, with and without their group.
static OURS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut all = BTreeSet::new();
    for crd in api_types::crds() {
        let names = crd.spec.names;
        let short = names.short_names.into_iter().flatten();
        for name in [names.plural, names.kind.to_lowercase()]
            .into_iter()
            .chain(names.singular)
            .chain(short)
        {
            all.insert(format!("{name}.{}", crd.spec.group));
            all.insert(name);
        }
    }
    all
});

pub fn judged(words: &[String], stands: Stands) -> Result<(), String> {
    let (mut others, mut raw) = (Vec::new(), false);
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let (flag, glued) = word.split_once('=').map_or((word, false), |(flag, _)| (flag, true));
        if word == "--" {
            break;
        } else if WITH_VALUE.contains(&flag) || SHORT_WITH_VALUE.contains(&flag) {
            raw |= flag == "--raw";
            if !glued && rest.next().is_none() && stands == Stands::Whole {
                return Err(format!("{flag} has no value"));
            }
        } else if word.starts_with('-') && word != "-" {
            if !SWITCHES.contains(&flag) {
                return Err(format!("{flag} is not among what is known here"));
            }
        } else {
            others.push(word);
        }
    }
    let Some((verb, objects)) = others.split_first() else {
        // Flags alone are told of.
        return Ok(());
    };
    if !VERBS.contains(verb) {
        return Err(format!("kubectl has no {verb}"));
    }
    match objects.first() {
        Some(kinds) if OF_KINDS.contains(verb) && !raw => kinds.split(',').try_for_each(kind),
        _ => Ok(()),
    }
}

fn kind(word: &str) -> Result<(), String> {
    let name = word.split('/').next().unwrap_or_default();
    // `kubectl explain` goes on to fields.
    let name = if OURS.contains(name) {
        name
    } else {
        name.split('.').next().unwrap_or_default()
    };
    let known = OURS.contains(name) || BUILT_IN.contains(&name) || OF_OTHERS.contains(&name);
    known.then_some(()).ok_or(format!("there is no kind {word}"))
}

#[test]
fn what_is_not_there_is_found() {
    let judge = |line: &str| judged(&words(line), Stands::Whole);
    for wrong in [
        "gte pods",
        "get clusterz",
        "get clusters,workz -A",
        "--kubeconfig x get leasez -n y",
        "get pods --al",
        "get pods -n",
        "delete deploymnt/x",
    ] {
        assert!(judge(wrong).is_err(), "{wrong}");
    }
    for right in [
        "get clusters,rb,work -A",
        "--kubeconfig x get lease/eviction-queue -n y -o yaml",
        "get --raw /readyz",
        "describe clustertaintpolicies.policy.karmada.io",
        "logs deploy/x --tail=50",
        "apply -f -",
    ] {
        assert_eq!(judge(right), Ok(()), "{right}");
    }
}
