//! The companion of PreferNoExecute taints, for schedulers that do not know that effect: NoSchedule, on a Cluster as long as
//! one of them stands there, or what was moved away would be placed back.
//!
//! Its key is ours alone, so that whoever finds it knows whose it is, and no record of it is needed.

use api_types::cluster::{Cluster, effect};
use api_types::names::taint::COMPANION;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::outcome::TaintChange;
use super::records::TaintId;
use super::times::whole_second;

/// Whether PreferNoExecute taints have a companion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Companion {
    /// They have.
    Kept,
    /// They have none; one that stands goes.
    #[default]
    None,
}

/// The change by which the companion is as it should be once `changes` are made.
pub(super) fn change(
    cluster: &Cluster,
    changes: &[TaintChange],
    companion: Companion,
    wall: Timestamp,
) -> Option<TaintChange> {
    let id = TaintId {
        key: COMPANION.to_owned(),
        effect: effect::NO_SCHEDULE.to_owned(),
    };
    let goes = |at: usize| {
        let mut changes = changes.iter();
        changes.any(|change| matches!(change, TaintChange::Remove { index, .. } if *index == at))
    };
    let mut standing = cluster.spec.taints.iter().enumerate();
    let stays = standing.any(|(at, taint)| taint.effect == effect::PREFER_NO_EXECUTE && !goes(at));
    let comes = changes
        .iter()
        .any(|change| matches!(change, TaintChange::Add { taint, .. } if taint.effect == effect::PREFER_NO_EXECUTE));
    let wanted = companion == Companion::Kept && (stays || comes);
    let stands = cluster.spec.taints.iter().position(|taint| TaintId::of(taint) == id);
    match (wanted, stands) {
        (true, None) => Some(TaintChange::Add {
            taint: Taint {
                key: id.key,
                value: None,
                effect: id.effect,
                time_added: Some(Time(whole_second(wall))),
            },
            why: "a PreferNoExecute taint stands, and nothing is placed back where it moves workloads from".to_owned(),
        }),
        (false, Some(index)) if !goes(index) => Some(TaintChange::Remove {
            id,
            index,
            why: match companion {
                Companion::Kept => "no PreferNoExecute taint stands any more".to_owned(),
                Companion::None => "it is not wanted: --prefer-no-execute-companion=false".to_owned(),
            },
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn prefer() -> Value {
        json!({"key": "p", "effect": "PreferNoExecute"})
    }

    fn companion() -> Value {
        json!({"key": COMPANION, "effect": "NoSchedule"})
    }

    fn removed(index: usize) -> TaintChange {
        TaintChange::Remove {
            id: TaintId {
                key: "p".to_owned(),
                effect: "PreferNoExecute".to_owned(),
            },
            index,
            why: String::new(),
        }
    }

    fn added() -> TaintChange {
        TaintChange::Add {
            taint: serde_json::from_value(prefer()).unwrap(),
            why: String::new(),
        }
    }

    #[rstest]
    #[case::nothing_stands(json!([{"key": "k", "effect": "NoExecute"}]), vec![], "")]
    #[case::one_stands(json!([prefer()]), vec![], "+")]
    #[case::one_comes(json!([]), vec![added()], "+")]
    #[case::one_goes(json!([prefer(), companion()]), vec![removed(0)], "-1")]
    #[case::one_of_two_goes(json!([prefer(), {"key": "q", "effect": "PreferNoExecute"}, companion()]), vec![removed(0)], "")]
    #[case::one_for_another(json!([prefer(), companion()]), vec![removed(0), added()], "")]
    #[case::it_goes_before_it_came(json!([prefer()]), vec![removed(0)], "")]
    #[case::left_over(json!([companion()]), vec![], "-0")]
    #[case::of_another_effect_it_is_somebody_elses(json!([{"key": COMPANION, "effect": "NoExecute"}]), vec![], "")]
    fn it_stands_while_one_does(#[case] taints: Value, #[case] changes: Vec<TaintChange>, #[case] expected: &str) {
        let cluster: Cluster =
            serde_json::from_value(json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "taints": taints}}))
                .unwrap();
        let shown = |companion: Companion| match change(&cluster, &changes, companion, Timestamp::UNIX_EPOCH) {
            Some(TaintChange::Add { taint, .. }) => {
                assert!(taint.time_added.is_some() && taint.effect == "NoSchedule");
                "+".to_owned()
            }
            Some(TaintChange::Remove { index, .. }) => format!("-{index}"),
            other => other.map_or_else(String::new, |other| format!("{other:?}")),
        };
        assert_eq!(shown(Companion::Kept), expected);
        let stands = taints
            .as_array()
            .unwrap()
            .iter()
            .position(|taint| *taint == companion());
        let unwanted = stands.map_or_else(String::new, |index| format!("-{index}"));
        assert_eq!(shown(Companion::None), unwanted, "where none is wanted");
    }
}
