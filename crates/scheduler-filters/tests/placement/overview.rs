//! The examples of Karmada's failover overview, and the same for the other ways to divide.

use rstest::rstest;
use serde_json::{Value, json};

use scheduler_filters::{Feasibility, FewerCopies, Fleet, Plugins, PreEvictionCheck, Question, Rules, feasibility};

use crate::objects::*;

/// Five members, of which some failed.
fn members(failed: &[&str]) -> Vec<api_types::cluster::Cluster> {
    let names = ["member1", "member2", "member3", "member4", "member5"];
    let down = || and(not_ready(), &tainted("cluster.karmada.io/not-ready", "NoExecute"));
    let more = |name: &str| if failed.contains(&name) { down() } else { json!({}) };
    names
        .iter()
        .map(|name| cluster(name, &and(room(10), &more(name))))
        .collect()
}

fn and_names(mut placement: Value, names: &[&str]) -> Value {
    placement["clusterAffinity"] = json!({"clusterNames": names});
    placement
}

/// The document's policy: two groups exactly, by no field, which means by cluster.
fn two_of_four() -> Value {
    let mut placement = and_names(duplicated(), &["member1", "member2", "member3", "member5"]);
    placement["spreadConstraints"] = json!([{"maxGroups": 2, "minGroups": 2}]);
    placement
}

fn one_to_two() -> Value {
    and_names(
        static_weights(&[("member1", 1), ("member2", 2)]),
        &["member1", "member2"],
    )
}

#[rstest]
#[case::duplicated_at_first(two_of_four(), 2, &[], &[], "member1:2 member2:2")]
// "rescheduling will not delete the application on the ready cluster member1 … [member1, member3] or [member1, member5]"
#[case::duplicated_after_member2(two_of_four(), 2, &[("member1", 2), ("member2", 2)], &["member2"], "member1:2 member3:2")]
#[case::duplicated_after_member2_and_3(two_of_four(), 2, &[("member1", 2), ("member2", 2)], &["member2", "member3"], "member1:2 member5:2")]
// "member1 with 1 replica and member2 with 2 replicas … The final result will be member2 with 3 replicas."
#[case::divided_at_first(one_to_two(), 3, &[], &[], "member1:1 member2:2")]
#[case::divided_after_member1(one_to_two(), 3, &[("member1", 1), ("member2", 2)], &["member1"], "member2:3")]
// "The application distributed on the ready clusters after the initial scheduling will remain": only what is missing is
// placed, on those that run some and on others.
#[case::aggregated_at_first(aggregated(), 12, &[], &[], "member1:6 member2:6")]
#[case::aggregated_after_member1(aggregated(), 12, &[("member1", 6), ("member2", 6)], &["member1"], "member2:12")]
#[case::aggregated_beyond_its_room(aggregated(), 20, &[("member1", 12), ("member2", 8)], &["member1"], "member2:14 member3:6")]
#[case::dynamic_at_first(dynamic_weight(), 5, &[], &[], "member1:1 member2:1 member3:1 member4:1 member5:1")]
#[case::dynamic_after_member5(dynamic_weight(), 9, &[("member4", 4), ("member5", 5)], &["member5"], "member1:2 member2:1 member3:1 member4:5")]
fn examples(
    #[case] placement: Value,
    #[case] replicas: i32,
    #[case] on: &[(&str, i32)],
    #[case] failed: &[&str],
    #[case] expected: &str,
) {
    let mut binding = deployment(replicas, &placement, on);
    for name in failed.iter().filter(|name| on.iter().any(|(on, _)| on == *name)) {
        binding = evicted(binding, name);
    }
    assert_eq!(answer(&binding, &members(failed)), expected);
}

fn check(binding: &api_types::work::Binding, leaving: &str, failed: &[&str]) -> Feasibility {
    let fleet: Fleet = members(failed).into_iter().collect();
    feasibility(&Question {
        binding,
        leaving: &leaving.into(),
        fleet: &fleet,
        plugins: &Plugins::default(),
        rules: Rules::default(),
        check: PreEvictionCheck::Affinity,
        fewer_copies: FewerCopies::Refused,
        now: now(),
    })
}

/// "when the number of candidate clusters … is not less than the number of failed clusters, it will be rescheduled …
/// Otherwise, no rescheduling."
#[rstest]
#[case::two_candidates_for_one(&["member2"], true)]
#[case::two_candidates_for_two(&["member1", "member2"], true)]
#[case::one_candidate_for_two(&["member1", "member2", "member3"], false)]
#[case::none(&["member2", "member3", "member5"], false)]
fn duplicated_needs_as_many_candidates_as_failed(#[case] failed: &[&str], #[case] fits: bool) {
    let binding = deployment(2, &two_of_four(), &[("member1", 2), ("member2", 2)]);
    let answer = check(&binding, "member2", failed);
    assert_eq!(answer.fits(), fits, "{answer:?}");
}
