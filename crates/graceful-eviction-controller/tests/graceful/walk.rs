//! Random walks: clusters fail and return, an evictor takes away what may leave, members report late, the controllers
//! are restarted; whatever the order, the rules hold and everything comes to rest.

use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::work::{Binding, GracefulEvictionTask, TargetCluster};
use binding_writer::BindingWriter;
use controller_kit::random::Random;
use kube::Api;
use kube::api::ListParams;
use scheduler_filters::{FewerCopies, Fleet, Plugins, PreEvictionCheck, Question, Rules, feasibility};
use serde_json::{Value, json};

use crate::bench::{Bench, one_to_two, shown};
use crate::{COMPONENT, leaving, start_with};
use test_bench::paused;

const MEMBERS: [&str; 4] = ["member1", "member2", "member3", "member4"];

/// Sees the fleet as the evictor does, and lets go what the dry run allows.
async fn evict(bench: &Bench) {
    let clusters = Api::<Cluster>::all(bench.plane.observer())
        .list(&ListParams::default())
        .await
        .unwrap()
        .items;
    let fleet: Fleet = clusters.iter().cloned().collect();
    let writer = BindingWriter::new(bench.plane.client_named("evictor"));
    for cluster in clusters.iter().filter(|cluster| !cluster.spec.taints.is_empty()) {
        let binding = bench.binding().await;
        let leaving: ClusterName = cluster.cluster_name();
        let Some(target) = binding.spec.target(&leaving) else {
            continue;
        };
        let fits = feasibility(&Question {
            binding: &binding,
            leaving: &leaving,
            fleet: &fleet,
            plugins: &Plugins::default(),
            rules: Rules::default(),
            check: PreEvictionCheck::Affinity,
            fewer_copies: FewerCopies::Refused,
            now: bench.clock.now(),
        })
        .fits();
        if fits {
            let before: Vec<&str> = binding
                .spec
                .clusters
                .iter()
                .map(|target| target.name.as_str())
                .collect();
            let mut task = crate::bench::task(leaving.as_str(), target.replicas, bench.clock.now());
            task["clustersBeforeFailover"] = json!(before);
            let task: GracefulEvictionTask = serde_json::from_value(task).unwrap();
            writer.evict(&binding, &task).await.unwrap();
        }
    }
}

/// Ready members report what they were given; the last word of the others stays.
async fn report(bench: &Bench, ready: &[bool]) {
    let binding = bench.binding().await;
    let copies = |target: &TargetCluster| {
        json!({
            "clusterName": target.name, "applied": true, "health": "Healthy",
            "status": {"availableReplicas": target.replicas, "at": bench.clock.now()},
        })
    };
    let item = |name: &str| {
        let known = binding
            .status_on(&name.into())
            .map(|item| serde_json::to_value(item).unwrap());
        let target = binding.spec.target(&name.into());
        let is_ready = MEMBERS
            .iter()
            .position(|member| *member == name)
            .is_some_and(|n| ready[n]);
        match target {
            Some(target) if is_ready => Some(copies(target)),
            Some(_) => known,
            None => known.filter(|_| binding.spec.task(&name.into()).is_some()),
        }
    };
    let items: Vec<Value> = MEMBERS.iter().filter_map(|name| item(name)).collect();
    bench.patch_status(json!({"aggregatedStatus": items})).await;
}

fn replicas(binding: &Binding) -> i32 {
    binding.spec.clusters.iter().map(|target| target.replicas).sum()
}

/// Returns how many evictions there were.
async fn walk(seed: u64, placement: Value, settled: fn(&Binding) -> bool) -> usize {
    let bench = Bench::new(&MEMBERS);
    bench.allow_evictions_per_second(1_000.0);
    let mut random = Random::seeded(seed);
    let mut dice = |sides: u64| random.next_u64() % sides;
    let mut scheduler = bench.start_scheduler("s0").await;
    let mut graceful = start_with(&bench, "g0", graceful_eviction_controller::Flags::default()).await;
    bench.put_deployment(&json!({"placement": placement}));
    let mut ready = [true; 4];
    for step in 0..80 {
        match dice(10) {
            0..=2 => {
                let n = usize::try_from(dice(4)).unwrap();
                ready[n] = false;
                bench.fail_cluster(MEMBERS[n]);
            }
            3..=4 => {
                let n = usize::try_from(dice(4)).unwrap();
                ready[n] = true;
                bench.put_cluster(MEMBERS[n], "True", &json!([]));
            }
            5..=6 => report(&bench, &ready).await,
            7..=8 => evict(&bench).await,
            _ if dice(4) == 0 => {
                scheduler.crash();
                scheduler = bench.start_scheduler(&format!("s{step}")).await;
            }
            _ if dice(4) == 0 => {
                graceful.crash();
                graceful = start_with(
                    &bench,
                    &format!("g{step}"),
                    graceful_eviction_controller::Flags::default(),
                )
                .await;
            }
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(1 + dice(40_000))).await;
        let binding = bench.binding().await;
        for target in &binding.spec.clusters {
            assert!(
                binding.spec.task(&target.name.as_str().into()).is_none(),
                "seed {seed}, step {step}: {binding:?}"
            );
        }
    }
    for (n, name) in MEMBERS.iter().enumerate() {
        ready[n] = true;
        bench.put_cluster(name, "True", &json!([]));
    }
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        report(&bench, &ready).await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let binding = bench.binding().await;
    assert_eq!(leaving(&binding), [""; 0], "seed {seed}: {binding:?}");
    assert!(settled(&binding), "seed {seed}: {}", shown(&binding));
    assert_eq!(binding.condition("Scheduled").unwrap().status, "True", "seed {seed}");
    assert_eq!(
        binding.status.as_ref().unwrap().scheduler_observed_generation,
        binding.metadata.generation
    );
    let evictions = bench.rules.evictions().len();
    assert_eq!(bench.broken_rules(), [""; 0], "seed {seed}");
    let writes = bench.writes(COMPONENT).len();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(bench.writes(COMPONENT).len(), writes, "seed {seed}: at rest");
    evictions
}

fn walks(seeds: std::ops::Range<u64>, placement: &Value, settled: fn(&Binding) -> bool) -> usize {
    seeds.map(|seed| paused(walk(seed, placement.clone(), settled))).sum()
}

#[test]
fn divided_replicas_are_never_lost() {
    let mut placement = one_to_two();
    placement["clusterAffinity"] = json!({"clusterNames": ["member1", "member2", "member3"]});
    assert!(walks(0..8, &placement, |binding| replicas(binding) == 3) > 8);
}

#[test]
fn copies_are_never_lost() {
    let two = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]});
    assert!(walks(100..108, &two, |binding| shown(binding).matches(":3").count() == 2) > 8);
}

#[test]
fn the_only_copy_is_never_lost() {
    let only = json!({"clusterAffinity": {"clusterNames": ["member2"]}});
    assert_eq!(
        walks(200..204, &only, |binding| shown(binding) == "member2:3"),
        0,
        "it can go nowhere"
    );
}
