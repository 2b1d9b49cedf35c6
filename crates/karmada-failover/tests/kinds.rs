//! Every kind that a binding can carry, not only Deployments: it is placed, leaves a failed member, and its old copy
//! goes when the member is back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use api_types::names::work_name;
use common::{World, simulate};
use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::expect::placement;
use serde_json::{Value, json};

const MINUTES: Duration = Duration::from_secs(900);

const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 300,
    remove_on_mismatch_seconds: 180,
    evictions_per_second: 0.5,
};

/// One object of a kind.
struct Sample {
    api_version: &'static str,
    kind: &'static str,
    name: &'static str,
    /// Replicas in the binding's result; none for what has none.
    replicas: i32,
    body: Value,
}

impl Sample {
    fn binding(&self) -> String {
        format!("default/{}-{}", self.name, self.kind.to_lowercase())
    }

    fn object(&self) -> Value {
        let mut object = self.body.clone();
        object["apiVersion"] = json!(self.api_version);
        object["kind"] = json!(self.kind);
        object["metadata"] = json!({"namespace": "default", "name": self.name});
        object
    }

    fn copy_on(&self, world: &World, member: &str) -> Option<Value> {
        let member = world.fleet.member(member).unwrap();
        member
            .sandbox()
            .get(self.api_version, self.kind, Some("default"), self.name)
    }

    /// Placed on this member alone, the copy there, and no task left.
    async fn is_settled_on(&self, world: &World, member: &str) -> bool {
        let Some(binding) = world.binding(&self.binding()).await else {
            return false;
        };
        placement(&binding) == [(member.to_owned(), self.replicas)].into()
            && binding.spec.graceful_eviction_tasks.is_empty()
            && self.copy_on(world, member).is_some()
    }
}

fn samples() -> Vec<Sample> {
    let sample = |api_version, kind, name, replicas, body| Sample {
        api_version,
        kind,
        name,
        replicas,
        body,
    };
    let pods = |app: &str| json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    let mut job_pods = pods("batch");
    job_pods["spec"]["restartPolicy"] = json!("Never");
    let stateful =
        json!({"replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": pods("db")});
    let service = json!({"selector": {"app": "db"}, "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]});
    vec![
        sample(
            "batch/v1",
            "Job",
            "batch",
            2,
            json!({"spec": {"parallelism": 2, "completions": 2, "template": job_pods}}),
        ),
        sample("apps/v1", "StatefulSet", "db", 2, json!({"spec": stateful})),
        sample("v1", "ConfigMap", "settings", 0, json!({"data": {"colour": "blue"}})),
        sample(
            "v1",
            "Secret",
            "password",
            0,
            json!({"type": "Opaque", "data": {"password": "c2VjcmV0"}}),
        ),
        sample("v1", "Service", "front", 0, json!({"spec": service})),
    ]
}

/// member1 while it will do, else member2.
fn policy(samples: &[Sample]) -> Value {
    let selectors: Vec<Value> = samples
        .iter()
        .map(|s| json!({"apiVersion": s.api_version, "kind": s.kind, "name": s.name}))
        .collect();
    let group = |member: &str| json!({"affinityName": member, "clusterNames": [member]});
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": "samples"},
        "spec": {"resourceSelectors": selectors, "placement": {"clusterAffinities": [group("member1"), group("member2")]}},
    })
}

async fn all_settled_on(world: &World, samples: &[Sample], member: &str) -> Option<()> {
    for sample in samples {
        if !sample.is_settled_on(world, member).await {
            return None;
        }
    }
    Some(())
}

#[test]
fn every_kind_fails_over_and_its_old_copy_goes_on_return() {
    simulate(|| async {
        let world = World::new(&["member1", "member2"]);
        let process = world.run("all-in-one", &[]).await;
        for member in ["member1", "member2"] {
            world
                .wait_for("a Ready member", MINUTES, || async {
                    world.cluster(member).await.is_ready().then_some(())
                })
                .await;
        }
        let samples = samples();
        example::taint_policies(&PACE)
            .into_iter()
            .for_each(|policy| world.create(policy));
        world.create(policy(&samples));
        samples.iter().for_each(|sample| world.create(sample.object()));

        world
            .wait_for("every kind on member1", MINUTES, || {
                all_settled_on(&world, &samples, "member1")
            })
            .await;
        assert!(samples.iter().all(|sample| sample.copy_on(&world, "member2").is_none()));
        let secret = samples
            .iter()
            .find(|sample| sample.kind == "Secret")
            .unwrap()
            .copy_on(&world, "member1")
            .unwrap();
        assert_eq!(secret["data"]["password"], "c2VjcmV0");
        tokio::time::sleep(MINUTES).await;

        world.fleet.member("member1").unwrap().stop();
        world
            .wait_for("every kind on member2", MINUTES, || {
                all_settled_on(&world, &samples, "member2")
            })
            .await;
        let evicted: BTreeSet<String> = world
            .rules
            .evictions()
            .into_iter()
            .map(|(_, binding, _)| binding.to_string())
            .collect();
        assert_eq!(
            evicted,
            samples.iter().map(Sample::binding).collect(),
            "each left through the queue, once"
        );
        assert_eq!(world.rules.evictions().len(), samples.len());
        tokio::time::sleep(MINUTES).await;
        let waiting: BTreeSet<String> = world
            .works("member1")
            .await
            .into_iter()
            .filter(|work| work.metadata.deletion_timestamp.is_some())
            .filter_map(|work| work.metadata.name)
            .collect();
        assert_eq!(
            waiting,
            samples
                .iter()
                .map(|s| work_name(s.kind, Some("default"), s.name))
                .collect(),
            "the old Works wait for member1"
        );

        world.fleet.member("member1").unwrap().resume();
        world
            .wait_for("the old copies to go", MINUTES, || async {
                let gone = samples.iter().all(|sample| sample.copy_on(&world, "member1").is_none());
                let no_works = world
                    .works("member1")
                    .await
                    .iter()
                    .all(|work| work.metadata.deletion_timestamp.is_none());
                (gone && no_works).then_some(())
            })
            .await;
        tokio::time::sleep(MINUTES).await;
        assert!(world.cluster("member1").await.spec.taints.is_empty());
        assert!(
            all_settled_on(&world, &samples, "member2").await.is_some(),
            "nothing moves back by itself"
        );
        world.finish(vec![process]).await;
    });
}
