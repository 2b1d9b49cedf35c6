use super::regions::{Wanted, score};
use super::*;
use crate::testing::cluster;
use Demand::{Each, Together};
use Mode::{Fresh, Steady};
use rstest::rstest;
use serde_json::json;

/// Name, region, score, assigned replicas, room.
type Given = (&'static str, &'static str, i64, i32, i32);

fn clusters(given: &[Given]) -> Vec<Cluster> {
    let each = given.iter();
    each.map(|(name, region, ..)| cluster(name, json!({"spec": {"region": region}})))
        .collect()
}

fn candidates<'a>(objects: &'a [Cluster], given: &[Given]) -> Vec<Candidate<'a>> {
    let each = objects.iter().zip(given);
    each.map(|(cluster, (_, _, score, assigned, room))| Candidate {
        cluster,
        score: *score,
        is_present: *assigned > 0,
        available: Available {
            assigned: *assigned,
            room: *room,
        },
    })
    .collect()
}

fn chosen(given: &[Given], spread: Spread, demand: Demand, mode: Mode) -> Result<String, SelectError> {
    let objects = clusters(given);
    Ok(names(&select(candidates(&objects, given), spread, demand, 0, mode)?))
}

fn names(chosen: &[Candidate<'_>]) -> String {
    let names = chosen
        .iter()
        .map(|candidate| candidate.cluster.cluster_name().to_string());
    names.collect::<Vec<_>>().join(" ")
}

fn groups(min: usize, max: usize) -> Groups {
    Groups { min, max }
}

fn by_clusters(min: usize, max: usize) -> Spread {
    Spread::Clusters(groups(min, max))
}

fn by_regions(regions: (usize, usize), clusters: (usize, usize)) -> Spread {
    Spread::Regions {
        regions: groups(regions.0, regions.1),
        clusters: Some(groups(clusters.0, clusters.1)),
    }
}

const THREE: [Given; 3] = [("m1", "", 0, 0, 5), ("m2", "", 0, 0, 9), ("m3", "", 100, 0, 1)];

#[rstest]
#[case::no_constraint(Spread::Everywhere, Each(3), Ok("m3 m2 m1"))]
#[case::best_by_score_then_room(by_clusters(1, 2), Each(3), Ok("m3 m2"))]
#[case::fewer_than_max(by_clusters(1, 9), Each(3), Ok("m3 m2 m1"))]
#[case::too_few(by_clusters(4, 9), Each(3), Err(SelectError::TooFew { feasible: 3, min: 4 }))]
#[case::max_is_not_defaulted(by_clusters(1, 0), Each(3), Err(SelectError::None))]
#[case::room_is_nothing_to_duplicated(by_clusters(1, 1), Each(9), Ok("m3"))]
#[case::enough_room(by_clusters(1, 2), Together(10), Ok("m3 m2"))]
#[case::the_last_gives_way(by_clusters(1, 1), Together(2), Ok("m2"))]
#[case::both_give_way(by_clusters(2, 2), Together(14), Ok("m1 m2"))]
#[case::no_two_have_room(by_clusters(2, 2), Together(15), Err(SelectError::NoRoom { clusters: 2 }))]
#[case::contradiction_takes_the_maximum(by_clusters(3, 2), Each(3), Ok("m3 m2"))]
fn of_clusters(#[case] spread: Spread, #[case] demand: Demand, #[case] expected: Result<&str, SelectError>) {
    assert_eq!(chosen(&THREE, spread, demand, Steady), expected.map(str::to_owned));
}

// What runs comes before any score, and gives way to nobody, unless a person asks.
#[rstest]
#[case::a_better_score(by_clusters(1, 1), Each(3), Steady, &[("m1", "", 300, 0, 9), ("m2", "", 100, 3, 0)], Ok("m2"))]
#[case::and_a_person_asks(by_clusters(1, 1), Each(3), Fresh, &[("m1", "", 300, 0, 9), ("m2", "", 100, 3, 0)], Ok("m1"))]
#[case::better_regions(by_regions((1, 1), (1, 1)), Each(3), Steady, &[("m1", "a", 300, 0, 9), ("m2", "a", 100, 3, 0)], Ok("m2"))]
#[case::the_other_gives_way(by_clusters(1, 2), Together(21), Steady, &[("m2", "", 200, 10, 0), ("m3", "", 110, 0, 8), ("m4", "", 100, 0, 11)], Ok("m2 m4"))]
// 13 replicas of 23 are missing, 12 and 11 find room: of two clusters one would have to give up its 10.
#[case::it_gives_way_to_none(by_clusters(1, 2), Together(23), Steady, &[("m2", "", 200, 10, 0), ("m3", "", 100, 0, 12), ("m4", "", 100, 0, 11)], Err(SelectError::NoRoom { clusters: 2 }))]
#[case::unless_asked(by_clusters(1, 2), Together(23), Fresh, &[("m2", "", 200, 10, 0), ("m3", "", 100, 0, 12), ("m4", "", 100, 0, 11)], Ok("m4 m3"))]
fn what_runs_comes_first(
    #[case] spread: Spread,
    #[case] demand: Demand,
    #[case] mode: Mode,
    #[case] given: &[Given],
    #[case] expected: Result<&str, SelectError>,
) {
    assert_eq!(chosen(given, spread, demand, mode), expected.map(str::to_owned));
}

// Two copies are left of so many: a1 and b1 of regions a and b; regions c and d have one and two clusters.
#[rstest]
#[case::none_failed(0, by_regions((2, 3), (2, 3)), "a1 b1")]
#[case::one_failed(3, by_regions((2, 3), (2, 3)), "a1 b1 c1")]
#[case::no_more_clusters_are_allowed(3, by_regions((2, 3), (2, 2)), "a1 b1")]
#[case::no_more_regions_are_allowed(3, by_regions((2, 2), (2, 3)), "a1 b1")]
#[case::two_failed(4, by_regions((2, 4), (2, 4)), "a1 b1 c1 d1")]
#[case::two_failed_of_three_regions(4, by_regions((2, 3), (2, 4)), "a1 b1 d1 d2")]
#[case::as_many_as_there_are(9, by_regions((2, 4), (2, 9)), "a1 b1 c1 d1 d2")]
#[case::as_many_as_can_be(4, by_regions((2, 3), (2, 3)), "a1 b1 c1")]
#[case::one_for_each_region(3, Spread::Regions { regions: groups(2, 3), clusters: None }, "a1 b1 c1")]
fn copies_that_failed_are_replaced_in_other_regions(
    #[case] copies: usize,
    #[case] spread: Spread,
    #[case] expected: &str,
) {
    let given = [
        ("a1", "a", 200, 3, 9),
        ("b1", "b", 200, 3, 9),
        ("c1", "c", 100, 0, 9),
        ("d1", "d", 90, 0, 9),
        ("d2", "d", 90, 0, 1),
    ];
    let objects = clusters(&given);
    let chosen = select(candidates(&objects, &given), spread, Each(3), copies, Steady).unwrap();
    assert_eq!(names(&chosen), expected);
}

// Regions a (3 clusters), b (2) and c (1).
const SIX: [Given; 6] = [
    ("a1", "a", 0, 0, 30),
    ("a2", "a", 0, 0, 20),
    ("a3", "a", 0, 0, 10),
    ("b1", "b", 0, 0, 60),
    ("b2", "b", 0, 0, 5),
    ("c1", "c", 0, 0, 40),
];

#[rstest]
// Able to hold 20 each: a1 and a2, b1, c1.
#[case::the_most_able_region(by_regions((1, 1), (1, 3)), Each(20), Ok("a1 a2 a3"))]
#[case::one_of_each_first(by_regions((2, 2), (2, 2)), Each(20), Ok("a1 b1"))]
#[case::then_the_best_of_the_rest(by_regions((2, 2), (2, 4)), Each(20), Ok("a1 b1 a2 a3"))]
#[case::all_regions(by_regions((3, 3), (3, 4)), Each(20), Ok("a1 b1 c1 a2"))]
// Five clusters want a and b; c is not needed.
#[case::more_regions_where_clusters_are_missing(by_regions((1, 3), (5, 6)), Each(20), Ok("a1 b1 a2 a3 b2"))]
#[case::no_more_regions_than_allowed(by_regions((1, 1), (4, 6)), Each(20), Err(SelectError::TooFewInRegions))]
#[case::too_few_regions(by_regions((4, 4), (4, 4)), Each(20), Err(SelectError::TooFewRegions { feasible: 3, min: 4 }))]
#[case::contradiction(by_regions((3, 3), (1, 2)), Each(20), Err(SelectError::Contradiction { regions: 3, clusters: 2 }))]
#[case::no_region_allowed(by_regions((1, 0), (1, 2)), Each(20), Err(SelectError::None))]
#[case::no_cluster_allowed(by_regions((1, 1), (1, 0)), Each(20), Err(SelectError::None))]
#[case::one_for_each_where_clusters_are_not_said(Spread::Regions { regions: groups(2, 2), clusters: None }, Each(20), Ok("a1 b1"))]
// Of 120 replicas a holds 60 on its first two, b 65, c 40; one region is to hold 60.
#[case::divided_by_what_a_region_holds(by_regions((2, 2), (2, 6)), Together(120), Ok("a1 b1 a2 a3 b2"))]
fn of_regions(#[case] spread: Spread, #[case] demand: Demand, #[case] expected: Result<&str, SelectError>) {
    let expected = expected.map(str::to_owned);
    assert_eq!(chosen(&SIX, spread, demand, Steady), expected);
    assert_eq!(chosen(&SIX, spread, demand, Fresh), expected, "nothing is in use");
}

#[rstest]
// Duplicated, 50 replicas.
#[case::two_are_able(Each(50), (1, 1), &[("1", "", 100, 0, 60), ("2", "", 100, 0, 70), ("3", "", 100, 0, 40)], 2_100)]
#[case::four_are_able(Each(50), (1, 1), &[("1", "", 0, 0, 60), ("2", "", 0, 0, 60), ("3", "", 0, 0, 60), ("4", "", 0, 0, 60)], 4_000)]
#[case::present_ones_are_able(Each(50), (1, 1), &[("1", "", 100, 50, 0)], 1_100)]
// karmada PR#7154, C79: none is able, and nothing is divided by their number.
#[case::none_is_able(Each(50), (1, 1), &[("1", "", 100, 0, 0), ("2", "", 100, 0, 0)], 0)]
#[case::an_empty_group(Each(50), (1, 1), &[], 0)]
#[case::an_empty_group_divided(Together(50), (1, 1), &[], 0)]
// Divided, 100 replicas over two regions: 50 for each, and two clusters at least are looked at.
#[case::short(Together(100), (2, 1), &[("1", "", 100, 0, 10), ("2", "", 100, 0, 10), ("3", "", 100, 0, 10), ("4", "", 100, 0, 10), ("5", "", 100, 0, 5)], 45_100)]
#[case::enough(Together(100), (2, 1), &[("1", "", 0, 0, 40), ("2", "", 0, 0, 30), ("3", "", 0, 0, 10)], 50_000)]
#[case::more_than_enough_is_enough(Together(100), (2, 1), &[("1", "", 0, 0, 100), ("2", "", 0, 0, 100)], 50_000)]
#[case::those_looked_at_count(Together(100), (2, 1), &[("1", "", 200, 0, 100), ("2", "", 100, 0, 100), ("3", "", 0, 0, 100)], 50_150)]
#[case::a_remainder_is_rounded_up(Together(101), (2, 1), &[("1", "", 0, 0, 51), ("2", "", 0, 0, 0)], 51_000)]
#[case::no_replicas(Together(0), (2, 1), &[("1", "", 100, 0, i32::MAX)], 100)]
#[case::very_many(Together(i32::MAX), (1, 1), &[("1", "", i64::MAX, 0, i32::MAX)], i64::MAX)]
fn the_score_of_a_region(
    #[case] demand: Demand,
    #[case] mins: (usize, usize),
    #[case] given: &[Given],
    #[case] expected: i64,
) {
    let objects = clusters(given);
    let wanted = Wanted {
        regions: groups(mins.0, 9),
        clusters: Some(groups(mins.1, 9)),
        demand,
        copies: 0,
        mode: Steady,
    };
    assert_eq!(score(&candidates(&objects, given), &wanted), expected);
}

/// As `SIX`, and what runs on c1.
fn on_c1(assigned: i32, room: i32) -> [Given; 6] {
    let mut six = SIX;
    six[5] = ("c1", "c", 100, assigned, room);
    six
}

#[rstest]
#[case::a_better_region_does_not_take_it(by_regions((1, 1), (1, 1)), Each(20), &on_c1(20, 0), Steady, "c1")]
#[case::unless_a_person_asks(by_regions((1, 1), (1, 1)), Each(20), &on_c1(20, 0), Fresh, "a1")]
#[case::one_more_region_is_wanted(by_regions((2, 2), (2, 2)), Each(20), &on_c1(20, 0), Steady, "a1 c1")]
#[case::more_clusters_are_wanted(by_regions((1, 2), (2, 3)), Each(20), &on_c1(20, 0), Steady, "a1 c1 a2")]
#[case::there_is_room(by_regions((1, 1), (1, 1)), Together(25), &on_c1(20, 5), Steady, "c1")]
#[case::there_is_none(by_regions((1, 1), (1, 1)), Together(26), &on_c1(20, 5), Steady, "a1")]
fn a_region_in_use_stays(
    #[case] spread: Spread,
    #[case] demand: Demand,
    #[case] given: &[Given],
    #[case] mode: Mode,
    #[case] expected: &str,
) {
    assert_eq!(chosen(given, spread, demand, mode), Ok(expected.to_owned()));
}

/// More sets than can be walked: an answer all the same, and the best ones.
#[test]
fn very_many_regions() {
    let names: Vec<String> = (0..60).map(|n| format!("r{n:02}")).collect();
    let objects: Vec<Cluster> = names
        .iter()
        .map(|name| cluster(name, json!({"spec": {"region": name}})))
        .collect();
    let all = || {
        let each = objects.iter().enumerate();
        each.map(|(n, cluster)| Candidate {
            cluster,
            score: i64::try_from(n).unwrap(),
            is_present: false,
            available: Available { assigned: 0, room: 1 },
        })
        .collect::<Vec<_>>()
    };
    let chosen = select(all(), by_regions((30, 30), (30, 30)), Each(1), 0, Steady).unwrap();
    let mut best: Vec<String> = names[30..].to_vec();
    best.reverse();
    assert_eq!(
        chosen
            .iter()
            .map(|c| c.cluster.cluster_name().to_string())
            .collect::<Vec<_>>(),
        best
    );
    assert_eq!(
        select(all(), by_regions((30, 30), (31, 40)), Each(1), 0, Steady).unwrap_err(),
        SelectError::TooFewInRegions
    );
}
