//! Each chapter of `mass-failure` by itself: forty workloads, probes every ten seconds, windows of minutes, default
//! rates.

use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::scenario::mass_failure::{self, Crowd, members, tolerate_seconds};
use karmada_failover::story::scenario::{Act, Action, Chapter, Check, Expectation, Network, Scenario, Until};
use karmada_failover::story::{Line, Step};

use crate::common::simulate;
use crate::stage::play;

/// The windows of a real fleet.
pub const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 300,
    remove_on_mismatch_seconds: 180,
    evictions_per_second: 0.5,
};

/// The default.
pub const REDUCED: f64 = 0.1;

/// A story of one chapter, on the clusters of the crowd and so many that never fail.
pub fn story(crowd: &Crowd, bystanders: &[String], mut chapter: Chapter) -> Scenario {
    chapter.acts.insert(0, crowd.create());
    chapter.expectations.extend(crowd.ran());
    Scenario {
        name: "one chapter",
        description: String::new(),
        members: [crowd.all(), bystanders.to_vec()].concat(),
        joining: Vec::new(),
        pace: PACE,
        reduced_evictions_per_second: REDUCED,
        given: example::taint_policies(&PACE),
        chapters: vec![chapter],
    }
}

fn crowd(homes: Vec<String>, empty: Vec<String>, refuges: Vec<String>) -> Crowd {
    Crowd {
        homes,
        empty,
        refuges,
        workloads: 40,
        tolerate_seconds: tolerate_seconds(&PACE),
    }
}

/// 8 of 12 fail: the reduced rate, and the primary one again when 2 have returned.
///
/// C48 (kubernetes/enhancements#5263): the tolerations of all forty workloads run when the share passes the threshold, and still they leave at the
/// reduced rate: the brake sits where tasks are written, not where taints are added.
#[test]
fn a_large_fleet_goes_on_slowly_and_then_at_its_usual_rate() {
    simulate(|| async {
        let crowd = crowd(members(1, 6), members(7, 8), members(9, 12));
        let told = play(&story(&crowd, &[], mass_failure::reduced(&crowd, &PACE, REDUCED, 10))).await;
        let regime_at = |name: &str| {
            let changes = told
                .of(Step::RegimeChanged)
                .filter(|line| line.regime.as_deref() == Some(name));
            changes.map(|line| line.at).next().expect("the regime was told")
        };
        let released: Vec<f64> = told.of(Step::EvictionReleased).map(|line| line.at).collect();
        let (reduced, normal) = (regime_at("Reduced"), regime_at("Normal"));
        let slowly: Vec<f64> = released
            .iter()
            .copied()
            .filter(|at| (reduced..normal).contains(at))
            .collect();
        assert!(
            slowly.windows(2).all(|pair| pair[1] - pair[0] > 9.9),
            "one in ten seconds: {slowly:?}"
        );
        assert!(
            slowly.windows(2).all(|pair| pair[1] - pair[0] < 10.1),
            "and no slower: {slowly:?}"
        );
        let quickly: Vec<f64> = released.iter().copied().filter(|at| *at >= normal).collect();
        assert!(
            quickly.windows(2).all(|pair| (1.9..2.1).contains(&(pair[1] - pair[0]))),
            "one in two: {quickly:?}"
        );
        assert_eq!(
            slowly.len() + quickly.len(),
            40,
            "nobody left before the brake: {released:?}"
        );
        assert_eq!(
            told.status_line("Reduced"),
            "Reduced, 0.1/s: 8 of 12 clusters are faulty (66.7 %), more than 55.0 % of a fleet of more than 10"
        );
    });
}

/// 4 of 6 fail: nothing moves, and `failoverctl status` says why in one line.
#[test]
fn a_small_fleet_halts_and_says_why() {
    simulate(|| async {
        let crowd = crowd(members(1, 4), Vec::new(), members(5, 6));
        let told = play(&story(&crowd, &[], mass_failure::halted(&crowd, &PACE))).await;
        assert_eq!(
            told.status_line("Halted"),
            "Halted, 0/s: 4 of 6 clusters are faulty (66.7 %), more than 55.0 % of a fleet of at most 10"
        );
    });
}

/// All fail within one window, one by one, and return so: nobody moves but from the straggler, at the regime's rate.
#[test]
fn who_fails_and_returns_with_all_others_is_not_left() {
    simulate(|| async {
        let crowd = crowd(members(1, 4), Vec::new(), members(5, 6));
        let told = play(&story(&crowd, &[], mass_failure::all_fail(&crowd, &PACE))).await;
        let left: Vec<f64> = told.of(Step::ClusterEvicted).map(|line| line.at).collect();
        assert!(
            left.windows(2).all(|pair| pair[1] - pair[0] > 1.9),
            "the straggler, at 0.5 a second: {left:?}"
        );
    });
}

/// The same when nobody bears a failed cluster for a moment: the first are due before the last cluster is tainted. No
/// cluster that could take them is Ready then, so they stay.
#[test]
fn nobody_leaves_while_no_cluster_is_ready() {
    simulate(|| async {
        let crowd = Crowd {
            tolerate_seconds: 0,
            ..crowd(members(1, 4), Vec::new(), members(5, 6))
        };
        let told = play(&story(&crowd, &[], mass_failure::all_fail(&crowd, &PACE))).await;
        let held = |line: &&Line| line.why.contains("no other cluster can take it");
        assert!(
            told.of(Step::EvictionHeld).any(|line| held(&line)),
            "who was due found no place"
        );
    });
}

/// C46 (kubernetes#20640): the control plane loses its own network for ten minutes. No task is written while no cluster can be reached,
/// and nobody leaves clusters that are Ready again.
#[test]
fn the_network_of_the_control_plane_is_cut_and_comes_back() {
    simulate(|| async {
        let crowd = Crowd {
            tolerate_seconds: 300,
            ..crowd(members(1, 6), Vec::new(), members(7, 10))
        };
        let chapter = Chapter {
            heading: String::new(),
            acts: vec![
                Act::new(
                    "the network is cut for ten minutes",
                    vec![
                        Action::Network(Network::Cut),
                        Action::wait(600),
                        Action::Network(Network::Whole),
                    ],
                )
                .until(Until::NoTaints)
                .then_wait(1800),
            ],
            expectations: vec![
                Expectation::new(
                    Check::AtLeast(Step::TaintAdded, 20),
                    "every cluster was tainted meanwhile",
                ),
                Expectation::new(
                    Check::Never(Step::EvictionReleased),
                    "no cluster could be reached, and then all",
                ),
                Expectation::new(Check::Evictions(0), "what returns Ready was not at fault"),
            ],
        };
        play(&story(&crowd, &[], chapter)).await;
    });
}

/// As the chapter of the story tells it: until the regime says so, and back.
#[test]
fn a_short_cut_moves_nothing_either() {
    simulate(|| async {
        let crowd = crowd(members(1, 6), Vec::new(), members(7, 12));
        play(&story(&crowd, &[], mass_failure::network_cut(&crowd, &PACE))).await;
    });
}
