//! Draws a plan.

use std::time::Duration;

use api_types::names::taint;
use karmada_failover::story::scenario::{self, MemberState};
use kube_sandbox::Reachability;
use serde_json::{Value, json};

use crate::objects;
use crate::plan::{Action, Kind, MemberPlan, Packaging, Plan, Workload, WriteFault};
use crate::random::Random;

/// How long actions go on.
pub const WEATHER: Duration = Duration::from_secs(420);
const GROUPS: [&str; 2] = ["red", "blue"];
const KEYS: [&str; 3] = [taint::NOT_READY, taint::UNREACHABLE, "example.io/broken"];
const EFFECTS: [&str; 3] = ["NoSchedule", "NoExecute", "PreferNoExecute"];

/// The plan of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut random = Random::new(seed);
    let members = members(&mut random);
    let policies: Vec<Value> = (0..random.between(1, 4))
        .map(|index| policy(&mut random, index))
        .collect();
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    let workloads: Vec<Workload> = (0..random.between(2, 6))
        .map(|index| workload(&mut random, index, &names))
        .collect();
    let packaging = *random.pick(&[
        Packaging::AllInOne,
        Packaging::AllInOne,
        Packaging::OneEach,
        Packaging::TwoReplicas,
    ]);
    let flags = vec![
        format!("--cluster-status-update-frequency={}s", random.pick(&[5, 10])),
        format!("--cluster-success-threshold={}s", random.pick(&[5, 15, 30])),
        format!("--cluster-failure-threshold={}s", random.pick(&[5, 15, 30])),
        format!("--unhealthy-cluster-threshold={}", random.pick(&["0.55", "0.9"])),
        format!("--leader-grace={}s", random.pick(&[1, 10])),
    ];
    let mut plan = Plan {
        seed,
        members,
        policies,
        workloads,
        evictions_per_second: *random.pick(&[0.1, 0.5, 0.5, 2.0, 2.0]),
        packaging,
        flags,
        actions: Vec::new(),
    };
    let mut drawn = Vec::new();
    for _ in 0..random.between(8, 24) {
        let at = Duration::from_millis(random.between(1_000, 410_000));
        let lasting = Duration::from_millis(random.between(1_000, 150_000));
        drawn.extend(actions(&mut random, &plan, at, lasting));
    }
    drawn.sort_by_key(|(at, _)| *at);
    plan.actions = drawn;
    plan
}

fn members(random: &mut Random) -> Vec<MemberPlan> {
    (1..=random.one_of(&[2, 3, 3, 4, 4, 5, 6]))
        .map(|number| MemberPlan {
            name: format!("member{number}"),
            group: random.one_of(&GROUPS),
            ready_after: Duration::from_secs(*random.pick(&[1, 1, 5, 20])),
        })
        .collect()
}

fn policy(random: &mut Random, index: u64) -> Value {
    let key = random.one_of(&KEYS);
    // The first policy moves workloads, or nothing ever would.
    let effect = if index == 0 {
        *random.pick(&EFFECTS[1..])
    } else {
        random.one_of(&EFFECTS)
    };
    let fails = *random.pick(&[&["False", "Unknown"] as &[&str], &["False"], &["Unknown", "False"]]);
    let spec = if random.one_in(4) {
        json!({
            "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": fails}],
            "removeOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
            "taints": [{"key": key, "effect": effect}],
        })
    } else {
        let condition = if random.one_in(2) {
            json!({"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]})
        } else {
            json!({"conditionType": "Ready", "operator": "In", "statusValues": fails})
        };
        json!({
            "matchConditions": [condition],
            "taintsToAdd": [{
                "key": key, "effect": effect,
                "addOnMatchSeconds": random.pick(&[1, 5, 30, 90]),
                "removeOnMismatchSeconds": random.pick(&[1, 5, 30, 60]),
            }],
        })
    };
    let mut policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy",
        "metadata": {"name": format!("policy{index}")},
        "spec": spec,
    });
    if random.one_in(4) {
        policy["spec"]["targetClusters"] = json!({"labelSelector": {"matchLabels": {"group": random.one_of(&GROUPS)}}});
    }
    policy
}

fn workload(random: &mut Random, index: u64, members: &[String]) -> Workload {
    let kind = *random.pick(&[Kind::Deployment, Kind::Deployment, Kind::StatefulSet, Kind::ConfigMap]);
    let mut placement = json!({});
    match random.between(0, 3) {
        0 => placement["clusterAffinity"] = json!({"clusterNames": random.some(members, 1)}),
        1 => {
            placement["clusterAffinities"] = json!([
                {"affinityName": "first", "clusterNames": random.some(members, 1)},
                {"affinityName": "second", "clusterNames": members},
            ]);
        }
        2 => {
            let least = random.between(1, 2);
            placement["spreadConstraints"] = json!([{"spreadByField": "cluster", "minGroups": 1, "maxGroups": least}]);
        }
        _ => {}
    }
    if random.one_in(2) {
        placement["replicaScheduling"] = match random.between(0, 1) {
            0 => json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}),
            _ => {
                let weights: Vec<Value> = members
                    .iter()
                    .map(|name| json!({"targetCluster": {"clusterNames": [name]}, "weight": random.between(1, 3)}))
                    .collect();
                json!({
                    "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": weights},
                })
            }
        };
    } else if random.one_in(2) {
        placement["replicaScheduling"] = json!({"replicaSchedulingType": "Duplicated"});
    }
    let tolerations = tolerations(random);
    if tolerations.as_array().is_some_and(|list| !list.is_empty()) {
        placement["clusterTolerations"] = tolerations;
    }
    Workload {
        name: format!("app{index}"),
        kind,
        replicas: random.between(1, 5),
        placement,
        failover: failover(random),
        is_present: index == 0 || !random.one_in(4),
    }
}

fn tolerations(random: &mut Random) -> Value {
    let key = random.one_of(&KEYS);
    match random.between(0, 5) {
        0 => {
            json!([{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": random.between(0, 90)}])
        }
        1 => json!([{"key": key, "operator": "Exists", "tolerationSeconds": random.between(0, 90)}]),
        2 => json!([{"key": key, "operator": "Exists"}]),
        _ => json!([]),
    }
}

fn failover(random: &mut Random) -> Option<Value> {
    let mut cluster = json!({});
    match random.between(0, 6) {
        0 | 1 => return None,
        2 => cluster["purgeMode"] = json!("Directly"),
        3 => cluster["purgeMode"] = json!("Never"),
        4 => cluster["gracePeriodSeconds"] = json!(random.between(1, 60)),
        _ => {}
    }
    if random.one_in(2) {
        cluster["tolerationSeconds"] = json!(random.between(0, 60));
    }
    Some(json!({"cluster": cluster}))
}

/// One event with its end, where it has one.
fn actions(random: &mut Random, plan: &Plan, at: Duration, lasting: Duration) -> Vec<(Duration, Action)> {
    let end = (at + lasting).min(WEATHER);
    let shortly = (at + Duration::from_secs(random.between(1, 30))).min(WEATHER);
    let member = random.pick(&plan.members).name.clone();
    let workload = usize::try_from(random.next()).unwrap_or(0) % plan.workloads.len();
    let process = usize::try_from(random.next()).unwrap_or(0) % plan.packaging.processes().len();
    let resource = *random.pick(&[
        "clusters",
        "resourcebindings",
        "works",
        "clustertaintpolicies",
        "propagationpolicies",
        "deployments",
    ]);
    let reach = |how| reach(&member, how);
    let broken = *random.pick(&[
        Reachability::Stopped,
        Reachability::Stopped,
        Reachability::Hanging,
        Reachability::Slow(Duration::from_secs(2)),
        Reachability::Slow(Duration::from_secs(20)),
        Reachability::Failing(500),
        Reachability::Failing(503),
        Reachability::Unready,
        Reachability::Garbage,
    ]);
    match random.between(0, 34) {
        // Fails for a while.
        0..=4 => vec![(at, reach(broken)), (end, reach(Reachability::Up))],
        // Fails for longer, alone or with others, and perhaps returns only at the end of all.
        30..=34 => {
            let long = (at + Duration::from_secs(random.between(30, 300))).min(WEATHER);
            let returns = !random.one_in(3);
            let mut others = random.some(&plan.members, 0);
            others.truncate(plan.members.len() / 2);
            let all = others.into_iter().map(|other| other.name).chain([member]);
            all.flat_map(|member| {
                let (fails, up) = (self::reach(&member, broken), self::reach(&member, Reachability::Up));
                [Some((at, fails)), returns.then_some((long, up))]
            })
            .flatten()
            .collect()
        }
        // Flaps.
        5 => (0..random.between(2, 5))
            .flat_map(|turn| {
                let at = at + Duration::from_secs(turn * 20);
                [
                    (at, reach(broken)),
                    (at + Duration::from_secs(10), reach(Reachability::Up)),
                ]
            })
            .collect(),
        6 => vec![(at, Action::Story(objects::group(&member, random.one_of(&GROUPS))))],
        7 | 8 => {
            let (key, effect) = (random.one_of(&KEYS), random.one_of(&EFFECTS));
            let is_stamped = *random.pick(&[true, false]);
            let added = if is_stamped {
                Action::AddStampedTaint {
                    member: member.clone(),
                    key,
                    effect,
                }
            } else {
                Action::Story(objects::taint(&member, key, effect, None))
            };
            vec![(at, added), (end, untaint(&member, key, effect))]
        }
        9 => {
            let (key, effect) = (random.one_of(&KEYS), random.one_of(&EFFECTS));
            vec![(at, untaint(&member, key, effect))]
        }
        10 => vec![(at, Action::Create { workload })],
        11 => vec![(at, Action::Delete { workload })],
        12 | 13 => vec![(
            at,
            Action::Scale {
                workload,
                replicas: random.between(1, 6),
            },
        )],
        14 => vec![(
            at,
            Action::ChangeFailover {
                workload,
                failover: failover(random),
            },
        )],
        15 => vec![(
            at,
            Action::ChangeTolerations {
                workload,
                tolerations: tolerations(random),
            },
        )],
        16 => vec![(
            at,
            Action::Story(scenario::Action::Put({
                let index = random.between(0, 3);
                policy(random, index)
            })),
        )],
        17 => vec![(
            at,
            Action::Story(scenario::Action::Delete(objects::named(
                "policy.karmada.io/v1alpha1",
                "ClusterTaintPolicy",
                None,
                &format!("policy{}", random.between(0, 3)),
            ))),
        )],
        18 => {
            let (name, spec) = match random.between(0, 2) {
                0 => ("all", json!({"scope": "All", "reason": "simulated"})),
                1 => (
                    "some",
                    json!({"scope": "Clusters", "clusters": [member], "reason": "simulated"}),
                ),
                _ => (
                    "namespace",
                    json!({"scope": "Namespaces", "namespaces": ["shop"], "reason": "simulated"}),
                ),
            };
            let pause = scenario::Action::Put(objects::pause(name, &spec));
            let resume = scenario::Action::Delete(objects::pause_named(name));
            vec![(at, Action::Story(pause)), (end, Action::Story(resume))]
        }
        19 => vec![(at, Action::Stop { process }), (shortly, Action::Start { process })],
        20 | 21 => vec![(at, Action::Crash { process }), (shortly, Action::Start { process })],
        22 => vec![(at, Action::Freeze { process }), (shortly, Action::Thaw { process })],
        23 | 24 => {
            let how = *random.pick(&[
                WriteFault::Conflict,
                WriteFault::Unavailable,
                WriteFault::Disconnect,
                WriteFault::AnswerLost,
            ]);
            vec![(
                at,
                Action::FailWrites {
                    how,
                    skip: random.between(0, 5),
                    times: random.between(1, 6),
                },
            )]
        }
        25 => {
            let at_most = Duration::from_millis(*random.pick(&[20, 200, 1_000]));
            vec![
                (at, Action::Latency { at_most }),
                (
                    end,
                    Action::Latency {
                        at_most: Duration::ZERO,
                    },
                ),
            ]
        }
        26 => match random.between(0, 3) {
            0 => vec![(
                at,
                Action::DropEvents {
                    of: resource,
                    times: random.between(1, 3),
                },
            )],
            1 => vec![(
                at,
                Action::DelayEvents {
                    of: resource,
                    by: Duration::from_millis(random.between(100, 8_000)),
                },
            )],
            2 => vec![(at, Action::CutWatches)],
            _ => vec![(at, Action::Compact)],
        },
        27 => vec![
            (
                at,
                Action::StaleLists {
                    versions: random.between(1, 20),
                },
            ),
            (shortly, Action::FreshLists),
        ],
        28 => {
            let how = *random.pick(&[Reachability::Stopped, Reachability::Hanging, Reachability::Failing(503)]);
            vec![
                (at, Action::ControlPlane { how }),
                (shortly, Action::ControlPlane { how: Reachability::Up }),
            ]
        }
        _ => {
            let seconds = i64::try_from(random.between(1, 90)).unwrap_or(1);
            vec![(
                at,
                Action::Jump {
                    seconds: if random.one_in(2) { seconds } else { -seconds },
                },
            )]
        }
    }
}

/// How a member can be reached, as a scenario says it where it can.
fn reach(member: &str, how: Reachability) -> Action {
    let told = match how {
        Reachability::Up => MemberState::Up,
        Reachability::Stopped => MemberState::Stopped,
        Reachability::Hanging => MemberState::Hanging,
        _ => {
            return Action::Reach {
                member: member.to_owned(),
                how,
            };
        }
    };
    Action::Story(scenario::Action::Member {
        name: member.to_owned(),
        to: told,
    })
}

/// Whoever added it.
fn untaint(member: &str, key: &str, effect: &str) -> Action {
    Action::Story(scenario::Action::Untaint {
        cluster: member.to_owned(),
        key: key.to_owned(),
        effect: effect.to_owned(),
    })
}
