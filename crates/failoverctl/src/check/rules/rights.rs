//! What this user may do.

use crate::check::facts::{Facts, Right};
use crate::check::verdict::Verdict;

pub(super) fn rights(facts: &Facts) -> Verdict {
    let rights = match &facts.rights {
        Ok(rights) => rights,
        Err(why) => return Verdict::not_seen(why),
    };
    let lacking = |to_change: bool| -> Vec<String> {
        let lacks = |right: &&Right| !right.allowed && right.to_change == to_change;
        let lines = rights.iter().filter(lacks);
        lines
            .map(|right| format!("may not {} {}", right.verb, right.what))
            .collect()
    };
    let (to_look, to_change) = (lacking(false), lacking(true));
    if !to_look.is_empty() {
        let message = format!("{} rights that the reading commands use are missing", to_look.len());
        let next = "bind the user to ClusterRole karmada-failover:failoverctl-view, and to the Role of that name";
        return Verdict::problem(message, next).details(to_look);
    }
    if !to_change.is_empty() {
        let message = format!(
            "it may look at everything, and lacks {} rights to change something",
            to_change.len()
        );
        let next = "to drain, pause, order and hand back: bind the user to ClusterRole karmada-failover:failoverctl";
        return Verdict::note(message).details(to_change).next(next);
    }
    Verdict::fine("it may look at everything and carry out every order")
}
