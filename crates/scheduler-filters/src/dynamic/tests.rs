use super::*;
use crate::available::Available;
use crate::testing::{cluster, shown};
use Division::{Aggregated, ByRoom};
use Mode::{Fresh, Steady};
use api_types::cluster::Cluster;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

/// Candidates m1, m2 … with these assigned replicas and this room.
fn divided(
    clusters: &[(i32, i32)],
    replicas: i32,
    division: Division,
    mode: Mode,
    tie: TieOrder,
) -> Result<Vec<TargetCluster>, NotEnough> {
    let objects: Vec<Cluster> = (1..=clusters.len())
        .map(|n| cluster(&format!("m{n:02}"), json!({})))
        .collect();
    let candidates: Vec<Candidate<'_>> = objects
        .iter()
        .zip(clusters)
        .map(|(cluster, (assigned, room))| Candidate {
            cluster,
            score: 0,
            is_present: *assigned > 0,
            available: Available {
                assigned: *assigned,
                room: *room,
            },
        })
        .collect();
    divide(&candidates, replicas, division, mode, tie)
}

// Stock's own vectors for these strategies, and what Webster's method makes of them where they had a remainder.
#[rstest]
#[case::weights_of_room(ByRoom, Steady, &[(0, 18), (0, 12), (0, 6)], 12, "m01:6 m02:4 m03:2")]
#[case::a_remainder(ByRoom, Steady, &[(0, 20), (0, 12), (0, 6)], 12, "m01:6 m02:4 m03:2")]
#[case::equal_halves(ByRoom, Steady, &[(0, 6), (0, 12), (0, 6)], 12, "m01:3 m02:6 m03:3")]
#[case::six_eight_ten(ByRoom, Steady, &[(0, 6), (0, 8), (0, 10)], 12, "m01:3 m02:4 m03:5")]
#[case::too_little(ByRoom, Steady, &[(0, 3), (0, 3), (0, 3)], 12, "9 of 12")]
#[case::down_in_proportion(ByRoom, Steady, &[(2, 1), (4, 1), (6, 1)], 6, "m01:1 m02:2 m03:3")]
#[case::up_by_room(ByRoom, Steady, &[(2, 10), (4, 10), (6, 10)], 24, "m01:6 m02:8 m03:10")]
#[case::up_without_room(ByRoom, Steady, &[(2, 1), (4, 1), (6, 1)], 24, "3 of 12")]
#[case::as_it_is(ByRoom, Steady, &[(2, 0), (4, 0), (6, 90)], 12, "m01:2 m02:4 m03:6")]
#[case::fresh(ByRoom, Fresh, &[(9, 3), (0, 12), (3, 9)], 12, "m01:4 m02:4 m03:4")]
#[case::one_holds_all(Aggregated, Steady, &[(0, 6), (0, 12), (0, 6)], 12, "m02:12")]
#[case::two_hold_it(Aggregated, Steady, &[(0, 6), (0, 6), (0, 6)], 12, "m01:6 m02:6")]
#[case::the_largest_two_share(Aggregated, Steady, &[(0, 6), (0, 8), (0, 10)], 12, "m02:5 m03:7")]
#[case::the_largest_alone(Aggregated, Steady, &[(0, 12), (0, 8), (0, 10)], 12, "m01:12")]
#[case::aggregated_too_little(Aggregated, Steady, &[(0, 3), (0, 3), (0, 3)], 12, "9 of 12")]
#[case::down_to_the_largest(Aggregated, Steady, &[(4, 1), (8, 1), (0, 1)], 6, "m02:6")]
#[case::down_to_exactly_the_largest(Aggregated, Steady, &[(4, 100), (8, 100)], 8, "m02:8")]
#[case::up_where_it_is_and_one_more(Aggregated, Steady, &[(4, 4), (8, 6), (0, 8)], 24, "m01:7 m02:12 m03:5")]
#[case::up_where_it_is(Aggregated, Steady, &[(4, 6), (8, 6), (0, 20)], 24, "m01:10 m02:14")]
#[case::fresh_leaves_what_is_too_many(Aggregated, Fresh, &[(4, 6), (8, 4), (0, 20)], 12, "m03:12")]
#[case::fresh_counts_its_own_as_free(Aggregated, Fresh, &[(12, 0), (0, 11)], 12, "m01:12")]
fn vectors(
    #[case] division: Division,
    #[case] mode: Mode,
    #[case] clusters: &[(i32, i32)],
    #[case] replicas: i32,
    #[case] expected: &str,
) {
    let answer = match divided(clusters, replicas, division, mode, TieOrder::Ascending) {
        Ok(targets) => shown(&targets),
        Err(NotEnough { available, wanted }) => format!("{available} of {wanted}"),
    };
    assert_eq!(answer, expected);
}

proptest! {
    #[test]
    fn divisions_keep_their_promises(
        clusters in prop::collection::vec((prop_oneof![0_i32..9, Just(i32::MAX)], prop_oneof![0_i32..9, Just(i32::MAX)]), 1..7),
        replicas in prop_oneof![1_i32..40, Just(i32::MAX)],
        aggregated in any::<bool>(), fresh in any::<bool>(), descending in any::<bool>(),
    ) {
        let division = if aggregated { Aggregated } else { ByRoom };
        let mode = if fresh { Fresh } else { Steady };
        let tie = if descending { TieOrder::Descending } else { TieOrder::Ascending };
        let assigned: i64 = clusters.iter().map(|(assigned, _)| i64::from(*assigned)).sum();
        let room: i64 = clusters.iter().map(|(_, room)| i64::from(*room)).sum();
        let wanted = i64::from(replicas);
        match divided(&clusters, replicas, division, mode, tie) {
            Err(answer) => {
                let expected = if fresh { (assigned + room, wanted) } else { (room, wanted - assigned) };
                prop_assert_eq!((answer.available, answer.wanted), expected);
                prop_assert!(answer.available < answer.wanted);
            }
            Ok(targets) => {
                prop_assert_eq!(targets.iter().map(|target| i64::from(target.replicas)).sum::<i64>(), wanted);
                for (n, (assigned, room)) in clusters.iter().enumerate() {
                    let name = format!("m{:02}", n + 1);
                    let now = targets.iter().find(|target| target.name == name).map_or(0, |target| target.replicas);
                    prop_assert!(i64::from(now) <= i64::from(*assigned) + i64::from(*room), "none gets more than it can hold");
                    if !fresh {
                        let less = now < *assigned;
                        prop_assert!(!less || wanted < clusters.iter().map(|(a, _)| i64::from(*a)).sum::<i64>(), "nothing that runs moves");
                    }
                }
                // What is placed stays as it is when it is looked at again.
                let again: Vec<(i32, i32)> = clusters
                    .iter()
                    .enumerate()
                    .map(|(n, (_, room))| {
                        let name = format!("m{:02}", n + 1);
                        (targets.iter().find(|target| target.name == name).map_or(0, |target| target.replicas), *room)
                    })
                    .collect();
                prop_assert_eq!(divided(&again, replicas, division, Steady, tie), Ok(targets));
            }
        }
    }
}
