//! A kind that nobody knows at the start: its definition comes later and goes to the members too, and a customization
//! says in Lua what its replicas, its health and its needs are. It moves like any other.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::objects::divided;
use super::{Act, Action, Check, Expectation, Scenario, Until};
use crate::story::example::Pace;
use crate::story::line::Step;

const API_VERSION: &str = "example.com/v1";
const KIND: &str = "Game";
const NAME: &str = "chess";
const BINDING: &str = "default/chess-game";

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    Scenario::of_three(
        "custom-kind",
        "Nobody knows a Game: its definition is created while all run, and goes to the members by a policy. \
                      A ResourceInterpreterCustomization says in Lua how many replicas a Game has, how they are \
                      divided, when it is healthy and which ConfigMap it needs. Three replicas run on member1 and \
                      member2, 1:2; member1 fails, and its replica moves like that of any other kind.",
        pace,
        acts(),
        expectations(),
    )
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "games.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": KIND, "listKind": "GameList", "plural": "games", "singular": "game"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "players": {"type": "integer"}, "rules": {"type": "string"},
                }}}}},
            }],
        },
    })
}

/// It stays wherever it is: without it a member deletes every Game that it has.
fn definition_everywhere() -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
        "metadata": {"name": "games"},
        "spec": {
            "resourceSelectors": [{
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "name": "games.example.com",
            }],
            "placement": {"clusterTolerations": [{"operator": "Exists"}]},
        },
    })
}

/// Nobody plays a Game in the members: what its scripts say follows from its spec.
fn customization() -> Value {
    let script = |lua: &str| json!({"luaScript": lua});
    json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "game"},
        "spec": {
            "target": {"apiVersion": API_VERSION, "kind": KIND},
            "customizations": {
                "replicaResource": script(
                    "function GetReplicas(desiredObj)\n  return desiredObj.spec.players, nil\nend\n"),
                "replicaRevision": script(
                    "function ReviseReplica(desiredObj, desiredReplica)\n  desiredObj.spec.players = desiredReplica\n  \
                     return desiredObj\nend\n"),
                "statusReflection": script(
                    "function ReflectStatus(observedObj)\n  return { availableReplicas = observedObj.spec.players }\nend\n"),
                "healthInterpretation": script(
                    "function InterpretHealth(observedObj)\n  return observedObj.spec.players > 0\nend\n"),
                "dependencyInterpretation": script(
                    "function GetDependencies(desiredObj)\n  return { {\n    apiVersion = 'v1', kind = 'ConfigMap',\n    \
                     namespace = desiredObj.metadata.namespace, name = desiredObj.spec.rules,\n  } }\nend\n"),
            },
        },
    })
}

fn game() -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": KIND, "metadata": {"namespace": "default", "name": NAME},
        "spec": {"players": 3, "rules": "rules-of-chess"},
    })
}

fn rules() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "rules-of-chess"},
        "data": {"opening": "white"},
    })
}

fn policy() -> Value {
    let mut policy = divided(NAME, &[("member1", 1), ("member2", 2)]);
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": API_VERSION, "kind": KIND, "name": NAME}]);
    policy["spec"]["propagateDeps"] = json!(true);
    policy
}

fn acts() -> Vec<Act> {
    vec![
        Act::new(
            "a kind Game is defined, its definition is sent to every member, and Lua says what a Game is",
            vec![
                Action::Create(definition()),
                Action::Create(definition_everywhere()),
                Action::Create(customization()),
            ],
        )
        .until(Until::Served(KIND)),
        Act::new(
            "a Game for three is created, with the ConfigMap that it names, and a policy that spreads it 1:2",
            vec![
                Action::Create(rules()),
                Action::Create(game()),
                Action::Create(policy()),
            ],
        )
        .until_told(Step::WorkloadRunning),
        Act::new("member1's API server is stopped", vec![Action::stop("member1")]).until_told(Step::OldCopyKept),
        Act::new("member1's API server comes back", vec![Action::start("member1")])
            .until_told(Step::OldCopyRemoved)
            .until(Until::NoTaints),
    ]
}

fn expectations() -> Vec<Expectation> {
    vec![
        Expectation::new(
            Check::Ran {
                binding: BINDING.to_owned(),
                on: BTreeMap::from([("member1".to_owned(), 1), ("member2".to_owned(), 2)]),
            },
            "GetReplicas says three, and the policy divides them 1:2",
        ),
        Expectation::new(
            Check::move_after(&[Step::WorkloadRunning, Step::ClusterNotReady, Step::TaintAdded]),
            "a kind of one's own moves like any other",
        ),
        Expectation::new(
            Check::Placed {
                binding: BINDING.to_owned(),
                on: BTreeMap::from([("member2".to_owned(), 3)]),
            },
            "nothing moves back by itself",
        ),
        Expectation::new(
            Check::Evictions(2),
            "the Game leaves member1, and so does the ConfigMap that it needs",
        ),
    ]
}
