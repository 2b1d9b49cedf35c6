//! `plan`: what it says, and what it refuses.

use failoverctl::cli::PlanSettings;
use failoverctl::controllers::Mode;
use failoverctl::failure::ExitStatus;
use failoverctl::plan::{Gate, Gathered, report};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::live::{World, typed};
use crate::objects::{binding, calm, cluster, fleet, leases, now};

/// member1 is well; three workloads more, of which one has nowhere to go and one tolerates everything.
pub fn world() -> World {
    let world = World::new(&[]);
    world.put(typed(
        "cluster.karmada.io/v1alpha1",
        "Cluster",
        json!(cluster("member1", "True")),
    ));
    for (name, placement) in [
        (
            "anywhere",
            json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}, "spreadConstraints": [
                {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1},
            ]}),
        ),
        (
            "nowhere-else",
            json!({"clusterAffinity": {"clusterNames": ["member1"]}}),
        ),
        ("tolerant", json!({"clusterTolerations": [{"operator": "Exists"}]})),
    ] {
        world.put(workload(name, &placement));
    }
    world
}

pub fn workload(name: &str, placement: &Value) -> Value {
    let mut object = json!(binding());
    object["metadata"] = json!({"name": format!("{name}-deployment"), "namespace": "default", "generation": 1});
    object["spec"]["resource"]["name"] = json!(name);
    object["spec"]["clusters"] = json!([{"name": "member1", "replicas": 3}]);
    object["spec"]["placement"] = placement.clone();
    object["spec"].as_object_mut().unwrap().remove("failover");
    object["status"]["schedulerObservedGeneration"] = json!(1);
    object["status"]["aggregatedStatus"] = json!([]);
    typed("work.karmada.io/v1alpha2", "ResourceBinding", object)
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_a_cluster_in_all_formats() {
    let world = world();
    let queue = world.start_queue().await;
    for format in ["table", "wide", "json", "name"] {
        let answer = world.ask(&["plan", "--fail", "member1", "-o", format]).await;
        assert_eq!(answer.status, ExitStatus::Problem, "one has no place");
        assert_snapshot!(format!("plan_{format}"), answer.text);
    }
    queue.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_and_a_policy() {
    let world = world();
    assert_snapshot!("plan_drain", world.ask(&["plan", "--drain", "member1"]).await.text);

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policy.yaml");
    std::fs::write(
        &file,
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {name: all-away}\nspec:\n  matchConditions: \
         [{conditionType: Ready, operator: In, statusValues: [\"True\"]}]\n  taintsToAdd: [{key: k, effect: NoExecute, \
         addOnMatchSeconds: 60}]\n",
    )
    .unwrap();
    let path = file.to_str().unwrap();
    let played = world.ask(&["plan", "--policy", path]).await;
    assert_eq!(played.status, ExitStatus::Problem, "all clusters would be faulty");
    assert_snapshot!("plan_policy", played.text);
}

#[tokio::test(start_paused = true)]
async fn halted_by_what_it_would_be() {
    let world = world();
    let plan = world.ask_json(&["plan", "--fail", "member1,member2"]).await;
    assert_eq!(plan["regimes"].as_array().unwrap().last().unwrap()["name"], "Halted");
    assert_eq!(plan["moves"], json!([]));
    let words: Vec<&Value> = plan["remaining"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["word"])
        .collect();
    assert!(words.iter().all(|word| **word == "Standstill"), "{words:?}");
    let fast = world
        .ask_json(&[
            "plan",
            "--fail",
            "member1,member2",
            "--large-cluster-num-threshold",
            "1",
            "--secondary-resource-eviction-rate",
            "2",
        ])
        .await;
    assert_eq!(
        fast["regimes"].as_array().unwrap().last().unwrap()["evictionsPerSecond"],
        2.0
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_planned() {
    let world = world();
    let refused = async |args: &[&str]| {
        let failure = world.try_ask(&[&["plan"], args].concat()).await.unwrap_err();
        (failure.status(), failure.to_string())
    };
    let (status, unknown) = refused(&["--fail", "member"]).await;
    assert_eq!(status, ExitStatus::Problem);
    assert_snapshot!(unknown, @r"
    cannot make the plan: there is no Cluster member
      next: did you mean member1 or member2 or member3?
    ");
    let directory = tempfile::tempdir().unwrap();
    let bad = |name: &str, text: &str| {
        let file = directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let shown = |text: String| text.replace(directory.path().to_str().unwrap(), "DIR");
    let (status, no_yaml) = refused(&["--policy", &bad("a.yaml", "kind: [")]).await;
    assert_eq!(status, ExitStatus::Usage);
    assert!(shown(no_yaml).starts_with("cannot plan with the policies of DIR/a.yaml: at DIR/a.yaml:1: "));
    let (_, other) = refused(&["--policy", &bad("b.yaml", "apiVersion: v1\nkind: Pod\n")]).await;
    assert_snapshot!(shown(other), @r"
    cannot plan with the policies of DIR/b.yaml: it has no ClusterTaintPolicy, only v1 Pod
      next: give a file with ClusterTaintPolicies (policy.karmada.io/v1alpha1)
    ");
    let none = "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {name: p}\nspec: {}\n";
    let (_, invalid) = refused(&["--policy", &bad("c.yaml", none)]).await;
    assert_snapshot!(shown(invalid), @r"
    cannot plan with the policies of DIR/c.yaml: at DIR/c.yaml:1: ClusterTaintPolicy p: it names no taint: give taintsToAdd, or taints in stock's form
      next: correct it; all that is wrong with it: failoverctl lint DIR/c.yaml
    ");
    let (status, missing) = refused(&["--policy", "/nowhere/p.yaml"]).await;
    assert_eq!(status, ExitStatus::Usage);
    assert!(missing.starts_with("cannot read /nowhere/p.yaml: "), "{missing}");
}

/// With the gate off it says that nothing moves, and with --gate-on what would.
#[tokio::test(start_paused = true)]
async fn the_gate_as_it_is_and_on() {
    let world = world();
    for name in ["taint-manager", "cluster-taint-policy"] {
        let off = crate::objects::lease(name, 0, "Failover=false");
        world.put(typed("coordination.k8s.io/v1", "Lease", json!(off)));
    }
    let off = world.ask(&["plan", "--drain", "member1"]).await.text;
    assert!(off.contains("Nothing moves"), "{off}");
    assert!(off.contains("feature gate Failover is off for taintManager"), "{off}");
    let on = world.ask_json(&["plan", "--drain", "member1", "--gate-on"]).await;
    assert_eq!(on["moves"].as_array().unwrap().len(), 2);
}

/// What a Cluster that is being deleted loses takes its turns in the queue, but not where stock's scheduler sees to it.
#[test]
fn a_deletion_is_the_queues_matter_or_stocks() {
    let mut deleted = cluster("member1", "True");
    deleted.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now()));
    let others = |mode: Mode| {
        let gathered = Gathered {
            world: scheduler_filters::plan::World {
                clusters: fleet(deleted.clone()),
                bindings: vec![binding()],
                policies: Vec::new(),
                pauses: Vec::new(),
            },
            leases: leases(),
            mode,
            system_namespace: "karmada-system".to_owned(),
            queue: Ok(calm()),
            pauses_error: None,
        };
        let proposal = scheduler_filters::plan::Proposal {
            failing: ["member3".into()].into(),
            ..scheduler_filters::plan::Proposal::default()
        };
        let plan = report(&gathered, &proposal, &PlanSettings::default(), Gate::AsItIs, now()).unwrap();
        plan.others.moving + plan.others.remaining
    };
    assert_eq!(others(Mode::Standalone), 1);
    assert_eq!(others(Mode::Beside), 0);
}
