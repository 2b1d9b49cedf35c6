//! Words that both explanations use.

use super::rows::taint_text;
use super::view::{PolicyOnCluster, TaintOfPolicy};

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn join(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1 cluster`, `2 clusters`.
pub(crate) fn number(count: usize, thing: &str) -> String {
    if count == 1 {
        format!("1 {thing}")
    } else {
        format!("{count} {thing}s")
    }
}

/// `member1 gets taint k:NoExecute`.
pub(crate) fn lead(row: &PolicyOnCluster, verb: &str, taint: &TaintOfPolicy) -> String {
    format!("{} {verb} taint {}", row.cluster, taint_text(taint))
}

/// What helps where a window starts anew again and again.
pub(crate) const CALM_THE_REPORTER: &str =
    "let whoever writes the condition change its lastTransitionTime with its status only";

/// `; but the window starts anew …`, where it does so again and again.
pub(crate) fn but_restless(row: &PolicyOnCluster) -> String {
    row.restless
        .as_ref()
        .map_or_else(String::new, |why| format!("; but {why}"))
}
