//! What the state of a cluster, and of the application on it, means for a binding today. Pure: the verdicts are those of
//! the controllers.

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::work::Binding;
use failover_core::application::rules::Rules;
use failover_core::application::{self, ApplicationVerdict};
use failover_core::eviction::stay::{Stay, stays};
use failover_core::eviction::{Affected, Switches, Verdict, cause_on_cluster, verdict};
use serde::Serialize;

use super::report::Role;
use crate::output::At;

/// What a cluster's state means for the binding now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerdictView {
    /// Whether the workload has to leave, or, of a candidate, would have to.
    pub affected: bool,
    /// `Affected`, or why not in a word.
    pub word: &'static str,
    /// Why, in a sentence.
    pub reason: String,
    /// `key:effect@timeAdded`, `deletion@time` or `application@unhealthySince`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// When it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<At>,
    /// What becomes of the old copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purge_mode: Option<String>,
    /// The annotation failover.karmada.io/stay keeps the workload there in spite of the cause: how it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stay: Option<String>,
}

/// Judges one cluster. Of two causes the one that is due first is told; where neither moves the workload, both say why.
pub(super) fn verdict_view(
    binding: &Binding,
    name: &ClusterName,
    cluster: &Cluster,
    role: Role,
    switches: &Switches,
) -> VerdictView {
    let of_cluster = match role {
        Role::Chosen | Role::ChosenAndLeft | Role::Left => verdict(binding, cluster, switches),
        Role::Candidate => cause_on_cluster(binding, cluster, switches),
    };
    let asked = role == Role::Chosen && Rules::of(binding).is_some();
    let of_application = asked.then(|| application::verdict(binding, cluster));
    match (of_cluster, of_application) {
        (Verdict::Affected(first), Some(ApplicationVerdict::Affected(other))) => {
            let earlier = if other.due_at < first.due_at { other } else { first };
            affected(binding, name, &earlier)
        }
        (Verdict::Affected(only), _) | (_, Some(ApplicationVerdict::Affected(only))) => affected(binding, name, &only),
        (Verdict::NotAffected(why), Some(ApplicationVerdict::NotAffected(and))) => {
            stays_there(why.word(), format!("{why}; {and}"))
        }
        (Verdict::NotAffected(why), None) => stays_there(why.word(), why.to_string()),
    }
}

fn stays_there(word: &'static str, reason: String) -> VerdictView {
    VerdictView {
        affected: false,
        word,
        reason,
        cause: None,
        due_at: None,
        purge_mode: None,
        stay: None,
    }
}

fn affected(binding: &Binding, name: &ClusterName, affected: &Affected) -> VerdictView {
    VerdictView {
        affected: true,
        word: "Affected",
        reason: affected.reason(),
        cause: Some(affected.cause.identity()),
        due_at: Some(At(affected.due_at)),
        purge_mode: Some(affected.purge_mode.to_string()),
        stay: match stays(binding, name, &affected.cause) {
            Stay::NotAsked => None,
            Stay::Asked(item) => Some(item.verdict.map_or_else(
                || "whatever the cause".to_owned(),
                |verdict| format!("in spite of {verdict}"),
            )),
            Stay::Unreadable(error) => Some(format!("the annotation cannot be read ({error}), so nothing moves")),
        },
    }
}

/// What the policy allows when the application fails; nothing where it does not ask for that.
pub(super) fn application_says(binding: &Binding) -> Option<String> {
    let rules = Rules::of(binding)?;
    Some(format!(
        "spec.failover.application: it moves when it is unhealthy for {} s, {}",
        rules.toleration_seconds, rules.purge_mode
    ))
}
