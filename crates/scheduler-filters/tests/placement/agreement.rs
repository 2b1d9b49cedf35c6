//! The scheduler and the plain reference agree, whatever the placement, the clusters and the present result.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use proptest::prelude::*;
use scheduler_filters::schedule::StartFrom;
use scheduler_filters::{Decision, Failure};
use serde_json::{Value, json};

use crate::objects::*;
use crate::reference::{Case, Fit, Site, Spread, Way, place};

fn any_site() -> impl Strategy<Value = (Fit, &'static str, Option<i64>, Option<i32>)> {
    let fit = prop_oneof![
        6 => Just(Fit::Fine), 1 => Just(Fit::Tainted), 1 => Just(Fit::NotReady), 1 => Just(Fit::NotNamed),
    ];
    let region = prop::sample::select(vec!["a", "b", "c", "d"]);
    let free = prop_oneof![
        1 => Just(None), 8 => (0_i64..12).prop_map(Some), 1 => Just(Some(i64::from(i32::MAX))), 1 => Just(Some(i64::MAX)),
    ];
    let assigned = prop_oneof![3 => Just(None), 2 => (0_i32..9).prop_map(Some)];
    (fit, region, free, assigned)
}

fn any_way() -> impl Strategy<Value = Way> {
    prop_oneof![
        1 => Just(Way::Duplicated),
        1 => prop::collection::vec(prop_oneof![0_i64..5, Just(i64::MAX)], 8).prop_map(Way::Weights),
        2 => Just(Way::Aggregated),
        2 => Just(Way::ByRoom),
    ]
}

fn any_spread() -> impl Strategy<Value = Spread> {
    let groups = || (0_usize..4, 0_usize..5);
    prop_oneof![
        2 => Just(Spread::No),
        2 => groups().prop_map(|(min, max)| Spread::Clusters(min, max)),
        3 => (groups(), prop::option::weighted(0.8, (0_usize..5, 0_usize..7)))
            .prop_map(|(regions, clusters)| Spread::Regions(regions, clusters)),
    ]
}

pub fn any_case() -> impl Strategy<Value = Case> {
    let sites = prop::collection::vec(any_site(), 1..8);
    (sites, 0_i32..24, any_way(), any_spread(), any::<bool>(), any::<bool>()).prop_map(
        |(sites, replicas, way, spread, fresh, ascending)| Case {
            sites: sites
                .into_iter()
                .enumerate()
                .map(|(n, (fit, region, free, assigned))| Site {
                    name: format!("m{n}"),
                    region,
                    fit,
                    free,
                    assigned,
                })
                .collect(),
            replicas,
            way,
            spread,
            fresh,
            ascending,
        },
    )
}

pub fn objects(case: &Case) -> (Binding, Vec<Cluster>) {
    let exist = case.sites.iter().filter(|site| site.fit != Fit::Gone);
    let clusters = exist.map(|site| {
        let more = match site.fit {
            Fit::Fine | Fit::NotNamed | Fit::Gone => Value::Null,
            Fit::Tainted => tainted("k", "NoSchedule"),
            Fit::NotReady => not_ready(),
        };
        let summary = site.free.map_or(Value::Null, room);
        let mut object = region(site.region);
        for part in [more, summary] {
            if !part.is_null() {
                object = and(object, &part);
            }
        }
        cluster(&site.name, &object)
    });
    let clusters = clusters.collect();
    let mut placement = match &case.way {
        Way::Duplicated => duplicated(),
        Way::Aggregated => aggregated(),
        Way::ByRoom => dynamic_weight(),
        Way::Weights(weights) => {
            let each = case.sites.iter().zip(weights);
            let each: Vec<(&str, i64)> = each.map(|(site, weight)| (site.name.as_str(), *weight)).collect();
            static_weights(&each)
        }
    };
    let named = case.sites.iter().filter(|site| site.fit != Fit::NotNamed);
    let mut named: Vec<&str> = named.map(|site| site.name.as_str()).collect();
    named.push("nowhere");
    placement["clusterAffinity"] = json!({"clusterNames": named});
    let count = |n: usize| i64::try_from(n).unwrap();
    let placement = match case.spread {
        Spread::No => placement,
        Spread::Clusters(min, max) => spread(placement, &[("cluster", count(min), count(max))]),
        Spread::Regions(regions, clusters) => {
            let by_region = ("region", count(regions.0), count(regions.1));
            let by_cluster = clusters.map(|(min, max)| ("cluster", count(min), count(max)));
            let constraints: Vec<_> = by_cluster.into_iter().chain([by_region]).collect();
            spread(placement, &constraints)
        }
    };
    let on: Vec<(&str, i32)> = case
        .sites
        .iter()
        .filter_map(|site| Some((site.name.as_str(), site.assigned?)))
        .collect();
    let mut binding = deployment(case.replicas, &placement, &on);
    // Of these, FNV-1a of the first is even and of the second odd.
    let uid = if case.ascending { "a" } else { "b" };
    binding.spec.resource.uid = Some(uid.to_owned());
    (binding, clusters)
}

fn start(case: &Case) -> StartFrom {
    if case.fresh {
        StartFrom::FirstGroup
    } else {
        StartFrom::GroupInUse
    }
}

fn in_short(answer: &Result<Decision, Failure>) -> Result<BTreeMap<String, i32>, &'static str> {
    match answer {
        Ok(decision) => Ok(decision.clusters.iter().map(|t| (t.name.clone(), t.replicas)).collect()),
        Err(failure) => Err(failure.reason()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn the_scheduler_places_as_the_reference_does(case in any_case()) {
        let (binding, mut clusters) = objects(&case);
        let answer = placed(&binding, &clusters, start(&case));
        prop_assert_eq!(in_short(&answer), place(&case), "{:?}", answer);
        clusters.reverse();
        prop_assert_eq!(&placed(&binding, &clusters, start(&case)), &answer, "the order of clusters says nothing");
        let mut turned = binding.clone();
        turned.spec.clusters.reverse();
        prop_assert_eq!(&placed(&turned, &clusters, start(&case)), &answer, "nor does that of the present result");
    }

    /// Nothing moves by itself: a result is its own next result. (Where a tainted cluster is left it is no candidate any
    /// more, so that the next look has others to choose from.)
    #[test]
    fn what_is_placed_stays(mut case in any_case()) {
        for site in &mut case.sites {
            if site.fit == Fit::Tainted {
                site.fit = Fit::NotReady;
            }
        }
        let (mut binding, clusters) = objects(&case);
        if let Ok(decision) = placed(&binding, &clusters, start(&case)) {
            binding.spec.clusters.clone_from(&decision.clusters);
            let again = placed(&binding, &clusters, StartFrom::GroupInUse);
            prop_assert_eq!(again.map(|again| again.clusters), Ok(decision.clusters));
        }
    }

    /// A failover places what is missing, and takes nothing from anybody else. (Fixed weights are divided anew, and where the
    /// regions in use have too little room others take their place.)
    #[test]
    fn a_failover_moves_only_what_is_missing(mut case in any_case(), at in any::<prop::sample::Index>()) {
        case.fresh = false;
        if matches!(case.way, Way::Weights(_)) {
            case.way = Way::Aggregated;
        }
        if matches!(case.spread, Spread::Regions(..)) {
            case.spread = Spread::Clusters(1, 3);
        }
        let (binding, clusters) = objects(&case);
        let Ok(before) = placed(&binding, &clusters, StartFrom::GroupInUse) else { return Ok(()) };
        if before.clusters.is_empty() {
            return Ok(());
        }
        let lost = at.get(&before.clusters).name.clone();
        let failed: Vec<Cluster> = clusters
            .into_iter()
            .map(|cluster| {
                let mut cluster = cluster;
                if cluster.cluster_name().as_str() == lost {
                    let taints = json!([{"key": "down", "effect": "NoExecute", "timeAdded": "2026-01-01T12:00:00Z"}]);
                    cluster.spec.taints = serde_json::from_value(taints).unwrap();
                }
                cluster
            })
            .collect();
        let mut binding = binding;
        binding.spec.clusters.clone_from(&before.clusters);
        let Ok(after) = placed(&evicted(binding, &lost), &failed, StartFrom::GroupInUse) else { return Ok(()) };
        for target in before.clusters.iter().filter(|target| target.name != lost) {
            let now = after.clusters.iter().find(|now| now.name == target.name).map(|now| now.replicas);
            prop_assert!(now.is_some_and(|now| now >= target.replicas), "{:?} became {:?}", target, after.clusters);
        }
        prop_assert!(after.clusters.iter().all(|target| target.name != lost));
    }
}
