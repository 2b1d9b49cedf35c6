//! The scheduler and the plain reference agree on whole looks: ordered groups, copies that an earlier look kept, copies that
//! this one keeps. And what holds of any of them.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::names::annotation;
use api_types::work::Binding;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use scheduler_filters::schedule::StartFrom;
use scheduler_filters::{Decision, Failure, last_copy};
use serde_json::{Value, json};

use crate::agreement::{any_case, objects};
use crate::looks::{Around, Look, Placed, Report, Says, Task, Unfit, look};
use crate::objects::*;
use crate::reference::{Fit, Site, Spread, Way};

/// As many as a case has at most.
const SITES: usize = 8;

fn any_report() -> impl Strategy<Value = Option<Report>> {
    let says = prop_oneof![3 => Just(Says::Healthy), 1 => Just(Says::Unhealthy), 1 => Just(Says::Unknown)];
    let shown = prop_oneof![1 => Just(None), 2 => (0_i32..9).prop_map(Some), 2 => Just(Some(24))];
    let report =
        (prop::bool::weighted(0.8), says, shown).prop_map(|(applied, says, shown)| Report { applied, says, shown });
    prop::option::weighted(0.7, report)
}

fn any_around() -> impl Strategy<Value = (Option<Report>, Option<Task>, Option<bool>, Unfit)> {
    let unfit = prop::sample::select(vec![
        Unfit::NoSchedule,
        Unfit::NoExecute,
        Unfit::Deleted,
        Unfit::Blocked,
    ]);
    let task = (prop::option::of(0_i32..5), any::<bool>()).prop_map(|(replicas, waits)| Task { replicas, waits });
    let noted = prop::option::weighted(0.2, prop::bool::weighted(0.8));
    (any_report(), prop::option::weighted(0.15, task), noted, unfit)
}

fn any_look() -> impl Strategy<Value = Look> {
    let groups = prop_oneof![
        1 => Just(Vec::new()),
        2 => prop::collection::vec(prop::collection::vec(any::<bool>(), SITES), 1..4),
    ];
    let in_use = prop_oneof![1 => Just(None), 3 => (0_usize..4).prop_map(Some)];
    let gone = prop::option::weighted(0.1, 0..SITES);
    let around = prop::collection::vec(any_around(), SITES);
    (any_case(), around, groups, in_use, gone).prop_map(|(mut case, around, groups, in_use, gone)| {
        if let Some(site) = gone.and_then(|at| case.sites.get_mut(at)) {
            site.fit = Fit::Gone;
        }
        let around = around
            .into_iter()
            .zip(&case.sites)
            .map(|((report, task, noted, unfit), site)| Around {
                unfit,
                report,
                task,
                // Somebody has changed the replicas of some since they were noted.
                noted: noted
                    .zip(site.assigned)
                    .map(|(same, replicas)| if same { replicas } else { replicas + 1 }),
            });
        let around = around.collect();
        Look {
            case,
            around,
            groups,
            in_use,
        }
    })
}

fn group_name(at: usize) -> String {
    format!("group-{at}")
}

fn takes_nothing_new(cluster: &mut Cluster, why: Unfit) {
    let mut object = serde_json::to_value(&*cluster).unwrap();
    match why {
        Unfit::NoSchedule => {}
        Unfit::NoExecute => object["spec"]["taints"][0]["effect"] = json!("NoExecute"),
        Unfit::Deleted => {
            object["spec"]["taints"] = json!([]);
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T11:00:00Z");
        }
        Unfit::Blocked => object["spec"]["taints"] = json!([]),
    }
    *cluster = serde_json::from_value(object).unwrap();
}

fn scene(look: &Look) -> (Binding, Vec<Cluster>) {
    let (mut binding, mut clusters) = objects(&look.case);
    let sites = || look.case.sites.iter().enumerate();
    for (at, site) in sites().filter(|(_, site)| site.fit == Fit::Tainted) {
        let is_it = |cluster: &&mut Cluster| cluster.cluster_name().as_str() == site.name;
        takes_nothing_new(clusters.iter_mut().find(is_it).unwrap(), look.around[at].unfit);
    }
    let failed = sites().filter(|(at, _)| look.around[*at].unfit == Unfit::Blocked);
    let history = failed.map(|(_, site)| {
        let minute = if site.fit == Fit::Tainted { 55 } else { 40 };
        json!({"clusterName": site.name, "creationTimestamp": format!("2026-01-01T11:{minute}:00Z")})
    });
    binding.spec.active_eviction_history = serde_json::from_value(history.collect()).unwrap();
    let block = json!({"application": {"decisionConditions": {}, "blockPredecessorSeconds": 600}});
    binding.spec.failover = serde_json::from_value(block).unwrap();
    if !look.groups.is_empty() {
        let groups = look.groups.iter().enumerate().map(|(number, group)| {
            let named = sites().filter(|(at, site)| group[*at] && site.fit != Fit::NotNamed);
            let named: Vec<&str> = named.map(|(_, site)| site.name.as_str()).chain(["nowhere"]).collect();
            json!({"affinityName": group_name(number), "clusterNames": named})
        });
        let placement = binding.spec.placement.as_mut().unwrap();
        placement.cluster_affinity = None;
        placement.cluster_affinities = serde_json::from_value(groups.collect()).unwrap();
    }
    let tasks = sites().filter_map(|(at, site)| {
        let task = look.around[at].task.as_ref()?;
        let mut object = json!({"fromCluster": site.name, "reason": "TaintUntolerated", "producer": "TaintManager"});
        if let Some(replicas) = task.replicas {
            object["replicas"] = json!(replicas);
        }
        if !task.waits {
            object["purgeMode"] = json!("Directly");
        }
        Some(object)
    });
    binding.spec.graceful_eviction_tasks = serde_json::from_value(tasks.collect()).unwrap();
    let reports = sites().filter_map(|(at, site)| {
        let report = look.around[at].report.as_ref()?;
        let mut item =
            json!({"clusterName": site.name, "applied": report.applied, "health": format!("{:?}", report.says)});
        if let Some(shown) = report.shown {
            item["status"] = json!({"availableReplicas": shown});
        }
        Some(item)
    });
    let mut status = json!({"aggregatedStatus": reports.collect::<Vec<Value>>()});
    if let Some(at) = look.in_use {
        status["schedulerObservingAffinityName"] = json!(group_name(at));
    }
    binding.status = serde_json::from_value(status).unwrap();
    let noted = sites().filter_map(|(at, site)| Some(format!("{}:{}", site.name, look.around[at].noted?)));
    let noted: Vec<String> = noted.collect();
    if !noted.is_empty() {
        let annotations = binding.metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::KEPT_COPIES.to_owned(), noted.join(","));
    }
    (binding, clusters)
}

fn start(look: &Look) -> StartFrom {
    if look.case.fresh {
        StartFrom::FirstGroup
    } else {
        StartFrom::GroupInUse
    }
}

fn in_short(answer: &Result<Decision, Failure>) -> Result<Placed, &'static str> {
    let decision = answer.as_ref().map_err(Failure::reason)?;
    let kept = decision.kept.iter().flat_map(|kept| &kept.targets);
    Ok(Placed {
        clusters: decision.clusters.iter().map(|t| (t.name.clone(), t.replicas)).collect(),
        kept: kept.map(|target| target.name.clone()).collect(),
        group: decision
            .affinity_name
            .as_ref()
            .map(|name| name["group-".len()..].parse().unwrap()),
    })
}

/// Everything that may stand in any order, the other way round.
fn turned(binding: &Binding) -> Binding {
    let mut turned = binding.clone();
    turned.spec.clusters.reverse();
    turned.spec.graceful_eviction_tasks.reverse();
    turned.spec.active_eviction_history.reverse();
    turned.status.as_mut().unwrap().aggregated_status.reverse();
    for note in turned.metadata.annotations.iter_mut().flat_map(BTreeMap::values_mut) {
        *note = note.split(',').rev().collect::<Vec<_>>().join(",");
    }
    turned
}

/// The scheduler writes what it found.
fn write(look: &mut Look, placed: &Placed) {
    for (site, around) in look.case.sites.iter_mut().zip(&mut look.around) {
        let now = placed.clusters.get(&site.name).copied();
        let is_kept = placed.kept.contains(&site.name);
        // What was said of the others is from before they were given their replicas.
        if !is_kept {
            around.report = None;
        }
        site.assigned = now;
        around.noted = now.filter(|_| is_kept);
    }
    look.in_use = placed.group;
    look.case.fresh = false;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn the_scheduler_looks_as_the_reference_does(scenery in any_look()) {
        let (binding, mut clusters) = scene(&scenery);
        let answer = placed(&binding, &clusters, start(&scenery));
        prop_assert_eq!(in_short(&answer), look(&scenery), "{:?}", answer);
        clusters.reverse();
        prop_assert_eq!(&placed(&turned(&binding), &clusters, start(&scenery)), &answer, "no order says anything");
    }

    /// What holds of any result, whoever has found it.
    #[test]
    fn a_result_is_whole_and_refused_clusters_are_not_in_it(scenery in any_look()) {
        let (binding, clusters) = scene(&scenery);
        let Ok(decision) = placed(&binding, &clusters, start(&scenery)) else { return Ok(()) };
        let placed = in_short(&Ok(decision)).unwrap();
        let replicas = scenery.case.replicas;
        prop_assert!(replicas == 0 || placed.clusters.len() > placed.kept.len(), "empty is no result");
        let chosen: Vec<(&String, i32)> =
            placed.clusters.iter().filter(|(name, _)| !placed.kept.contains(*name)).map(|(name, n)| (name, *n)).collect();
        if matches!(scenery.case.way, Way::Duplicated) {
            prop_assert!(chosen.iter().all(|(_, n)| *n == replicas));
        } else {
            prop_assert_eq!(chosen.iter().map(|(_, n)| n).sum::<i32>(), replicas);
        }
        for (at, site) in scenery.case.sites.iter().enumerate() {
            if placed.kept.contains(&site.name) {
                prop_assert_eq!(placed.clusters.get(&site.name).copied(), site.assigned, "a copy stays as it is");
                prop_assert!(scenery.is_named(at) && site.fit != Fit::Gone);
            } else if placed.clusters.contains_key(&site.name) {
                let by_group = placed.group.is_none_or(|group| scenery.groups[group][at]);
                prop_assert!(by_group && !matches!(site.fit, Fit::NotNamed | Fit::Gone), "{} is not named", site.name);
                let takes_new = site.fit == Fit::Fine || site.fit == Fit::NotReady && scenery.around[at].task.is_none();
                prop_assert!(site.assigned.is_some() || takes_new, "{} is refused", site.name);
            }
        }
        if !scenery.case.fresh && scenery.in_use.is_some_and(|at| at < scenery.groups.len()) {
            prop_assert!(placed.group >= scenery.in_use, "nothing falls back by itself");
        }
    }

    /// No look takes the only copy that works: it stays, or another one that works does.
    #[test]
    fn the_only_copy_that_works_stays(scenery in any_look()) {
        let (binding, clusters) = scene(&scenery);
        let Ok(decision) = placed(&binding, &clusters, start(&scenery)) else { return Ok(()) };
        let placed = in_short(&Ok(decision)).unwrap();
        let all: Vec<_> = scenery.case.sites.iter().enumerate().collect();
        let works = |(at, site): &(usize, &Site)| site.assigned.is_some_and(|n| n > 0 && scenery.works(*at, n));
        // With a task it is on its way out anyway; one that nobody names goes by a word.
        let counts = |(at, site): &(usize, &Site)| {
            works(&(*at, site)) && scenery.is_named(*at) && scenery.around[*at].task.is_none()
        };
        let stays = |pair: &(usize, &Site)| works(pair) && placed.clusters.contains_key(&pair.1.name);
        let is_held = all.iter().any(stays) || all.iter().any(|(at, _)| scenery.leaves_late_and_works(*at));
        prop_assert!(!all.iter().any(counts) || is_held || scenery.case.replicas == 0, "{:?}", placed);
    }

    /// Nothing moves by itself, group and kept copies included; and when what was chosen works, the kept copies go and
    /// nothing else does. (Left out: a tainted cluster that is left is no candidate any more; regions, of which others may be
    /// better once the copies before count no more.)
    #[test]
    fn what_is_placed_stays_until_it_works(mut scenery in any_look()) {
        for (site, around) in scenery.case.sites.iter_mut().zip(&mut scenery.around) {
            if site.fit == Fit::Tainted {
                site.fit = Fit::NotReady;
            }
            around.task = None;
        }
        if matches!(scenery.case.spread, Spread::Regions(..)) {
            scenery.case.spread = Spread::No;
        }
        let look_now = |scenery: &Look| {
            let (binding, clusters) = scene(scenery);
            in_short(&placed(&binding, &clusters, start(scenery)))
        };
        let Ok(first) = look_now(&scenery) else { return Ok(()) };
        write(&mut scenery, &first);
        prop_assert_eq!(look_now(&scenery), Ok(first.clone()));
        let ready = |site: &Site| !matches!(site.fit, Fit::NotReady | Fit::Gone);
        let chosen = |name: &String| first.clusters.contains_key(name) && !first.kept.contains(name);
        let new = scenery.case.sites.iter().position(|site| chosen(&site.name) && ready(site) && site.assigned > Some(0));
        if let Some(at) = new {
            scenery.around[at].report = Some(Report { applied: true, says: Says::Healthy, shown: Some(i32::MAX) });
            let mut wanted = first.clone();
            wanted.clusters.retain(|name, _| !first.kept.contains(name));
            wanted.kept.clear();
            prop_assert_eq!(look_now(&scenery), Ok(wanted));
        }
    }

    /// What an earlier look kept is read from what it wrote.
    #[test]
    fn the_note_says_what_is_kept(scenery in any_look()) {
        let (binding, clusters) = scene(&scenery);
        let Ok(decision) = placed(&binding, &clusters, start(&scenery)) else { return Ok(()) };
        let note = last_copy::note(decision.kept.as_ref()).unwrap_or_default();
        let noted: BTreeMap<String, i32> = note.split(',').filter_map(|copy| copy.split_once(':'))
            .map(|(name, replicas)| (name.to_owned(), replicas.parse().unwrap())).collect();
        let kept = in_short(&Ok(decision)).unwrap();
        let wanted = kept.clusters.into_iter().filter(|(name, _)| kept.kept.contains(name)).collect();
        prop_assert_eq!(noted, wanted);
    }
}

/// The generated looks are not all alike: each thing that they are about decides some of them.
#[test]
fn the_looks_reach_what_they_are_about() {
    let mut runner = TestRunner::deterministic();
    let (mut kept, mut later, mut all_fail, mut noted) = (0, 0, 0, 0);
    for _ in 0..2_000 {
        let scenery = any_look().new_tree(&mut runner).unwrap().current();
        let found = look(&scenery);
        match &found {
            Ok(placed) => {
                kept += u32::from(!placed.kept.is_empty());
                later += u32::from(placed.group > scenery.in_use.or(Some(0)));
            }
            Err(_) => all_fail += u32::from(scenery.groups.len() > 1),
        }
        let mut forgotten = scenery.clone();
        forgotten.around.iter_mut().for_each(|around| around.noted = None);
        noted += u32::from(look(&forgotten) != found);
    }
    for (what, count) in [
        ("kept", kept),
        ("a later group", later),
        ("no group fits", all_fail),
        ("noted", noted),
    ] {
        assert!(count >= 20, "{what}: {count} of 2,000");
    }
}
