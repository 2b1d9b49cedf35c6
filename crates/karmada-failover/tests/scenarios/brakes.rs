//! Where the brakes begin to work, to the cluster: beside a stock Karmada, too, but for the stories of large crowds, which
//! cost much and meet nothing there that the others do not.

use std::collections::BTreeMap;

use controller_kit::Mode;
use karmada_failover::story::Step;
use karmada_failover::story::scenario::mass_failure::{Crowd, binding, members};
use karmada_failover::story::scenario::{Act, Action, Chapter, Check, Expectation, Until};
use rstest::rstest;

use crate::chapters::{PACE, REDUCED, story};
use crate::common::simulate;
use crate::stage::{play, play_in_mode};

fn stop(names: &[String]) -> Vec<Action> {
    names.iter().map(|name| Action::stop(name)).collect()
}

fn chapter(acts: Vec<Act>, expectations: Vec<(Check, &str)>) -> Chapter {
    let expectations = expectations
        .into_iter()
        .map(|(check, because)| Expectation::new(check, because))
        .collect();
    Chapter {
        heading: String::new(),
        acts,
        expectations,
    }
}

/// C44 (kubernetes#30138): 11 of 20 are exactly 0.55, which is not over the threshold; the twelfth is.
#[rstest]
fn exactly_the_threshold_is_not_over_it(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    simulate(|| async {
        let crowd = Crowd {
            homes: members(1, 4),
            empty: members(5, 12),
            refuges: members(13, 20),
            workloads: 8,
            tolerate_seconds: 60,
        };
        let eleven = &crowd.failing()[..11];
        let acts = vec![
            Act::new("eleven of twenty stop", stop(eleven))
                .until(Until::Told(Step::ReplacementHealthy, 8))
                .then_wait(60),
            Act::new("one more stops", vec![Action::stop("member12")]).until(Until::Regime("Reduced")),
        ];
        let normal = Check::Rate {
            regime: "Normal",
            evictions_per_second: PACE.evictions_per_second,
            at_least: 8,
        };
        let told = play_in_mode(
            mode,
            &story(
                &crowd,
                &[],
                chapter(
                    acts,
                    vec![
                        (normal, "0.55 is not more than 0.55"),
                        (Check::Regimes(vec!["Reduced"]), "0.6 is"),
                    ],
                ),
            ),
        )
        .await;
        assert_eq!(told.of(Step::RegimeChanged).count(), 1, "eleven changed nothing");
    });
}

/// C44 (kubernetes#30138): a fleet of exactly 10 is small: it halts where one of 11 goes on slowly.
#[rstest]
fn ten_clusters_are_a_small_fleet(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    for (bystanders, regime) in [(0, "Halted"), (1, "Reduced")] {
        simulate(|| async move {
            let failing = if bystanders == 0 { members(2, 6) } else { members(2, 7) };
            let refuges = if bystanders == 0 {
                members(7, 10)
            } else {
                members(8, 11)
            };
            let crowd = Crowd {
                homes: members(1, 1),
                empty: failing,
                refuges,
                workloads: 4,
                tolerate_seconds: 60,
            };
            let acts = vec![
                Act::new("more than half stop", stop(&crowd.failing()))
                    .until(Until::Regime(regime))
                    .then_wait(600),
            ];
            let evictions = if regime == "Halted" { 0 } else { 4 };
            play_in_mode(
                mode,
                &story(
                    &crowd,
                    &[],
                    chapter(
                        acts,
                        vec![(Check::Evictions(evictions), "ten are small, eleven are large")],
                    ),
                ),
            )
            .await;
        });
    }
}

/// C44 (kubernetes#30138): of two clusters one is half, and two are all.
#[rstest]
fn two_of_two_are_all(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    simulate(|| async {
        let crowd = Crowd {
            homes: members(1, 1),
            empty: Vec::new(),
            refuges: members(2, 2),
            workloads: 1,
            tolerate_seconds: 60,
        };
        let acts = vec![
            Act::new("both stop", vec![Action::stop("member1"), Action::stop("member2")])
                .until(Until::Regime("AllFaulty"))
                .then_wait(600),
        ];
        play_in_mode(
            mode,
            &story(
                &crowd,
                &[],
                chapter(acts, vec![(Check::Evictions(0), "there is nowhere to go")]),
            ),
        )
        .await;
    });
}

/// C45 (kubernetes#70501): one zone of two fails as a whole. That is half of the fleet, so its workloads move to the other at the usual
/// rate; when the other fails too, nothing moves.
#[test]
fn a_whole_zone_fails_and_then_the_other() {
    simulate(|| async {
        let (a, b) = (members(1, 5), members(6, 10));
        let crowd = Crowd {
            homes: a.clone(),
            empty: Vec::new(),
            refuges: b.clone(),
            workloads: 20,
            tolerate_seconds: 60,
        };
        let mut expectations = vec![
            (
                Check::Rate {
                    regime: "Normal",
                    evictions_per_second: PACE.evictions_per_second,
                    at_least: 20,
                },
                "half of a fleet is not too much of it",
            ),
            (
                Check::OnlyLeft {
                    binding: None,
                    clusters: a.clone(),
                },
                "there was no place when zone b failed",
            ),
            (Check::Evictions(20), "who was on zone a, once"),
        ];
        for number in 1..=20 {
            let refuge = b[(number - 1) % b.len()].clone();
            let on = BTreeMap::from([(refuge, 2)]);
            expectations.push((
                Check::Placed {
                    binding: binding(number),
                    on,
                },
                "zone b took over, and nothing moved on",
            ));
        }
        let acts = vec![
            Act::new("zone a stops", stop(&a)).until(Until::Told(Step::OldCopyKept, 20)),
            Act::new("zone b stops", stop(&b))
                .until(Until::Regime("AllFaulty"))
                .then_wait(1200),
        ];
        play(&story(&crowd, &[], chapter(acts, expectations))).await;
    });
}

/// A fleet that recovers while its queue is reduced: the entries of clusters that returned go, and cost no turn.
#[test]
fn who_returns_from_a_reduced_queue_costs_no_turn() {
    simulate(|| async {
        let crowd = Crowd {
            homes: members(1, 8),
            empty: Vec::new(),
            refuges: members(9, 12),
            workloads: 24,
            tolerate_seconds: 60,
        };
        let failing = crowd.failing();
        let back: Vec<Action> = failing.iter().map(|name| Action::start(name)).collect();
        let acts = vec![
            Act::new("eight of twelve stop", stop(&failing)).until(Until::Told(Step::ClusterEvicted, 5)),
            Act::new("all come back", back)
                .until(Until::NoTaints)
                .until(Until::NoTasks)
                .then_wait(600),
        ];
        let told = play(&story(
            &crowd,
            &[],
            chapter(
                acts,
                vec![
                    (
                        Check::Rate {
                            regime: "Reduced",
                            evictions_per_second: REDUCED,
                            at_least: 5,
                        },
                        "a reduced queue goes at the secondary rate",
                    ),
                    (
                        Check::AtLeast(Step::EvictionAbandoned, 5),
                        "who need not leave any more does not",
                    ),
                ],
            ),
        ))
        .await;
        let returned = told.of(Step::ClusterReturned).map(|line| line.at).fold(0.0, f64::max);
        let late: Vec<f64> = told
            .of(Step::ClusterEvicted)
            .map(|line| line.at)
            .filter(|at| *at > returned)
            .collect();
        assert_eq!(late, Vec::<f64>::new(), "nobody leaves a cluster that is Ready again");
    });
}
