//! The pods of a Deployment as objects, where a member is to have them: who adds up what is free on a member counts them.
//!
//! Guarantee: of a Deployment that wants n replicas there are the pods `NAME-0` to `NAME-(n-1)`, made from its present
//! template, on the member's node, the first of them running; they go with their Deployment, as everything does that it
//! owns. There is no ReplicaSet between, and no scheduler that would refuse a pod a node that is full.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use crate::state::State;
use crate::store::Key;
use crate::workload_status::Pods;
use crate::write::{Half, WriteOptions};
use crate::{meta, state};

/// Says of which template a pod was made, as in a real cluster.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// Makes the pods of this Deployment be what they are to be.
pub(crate) fn follow(state: &mut State, deployment: &Value, counts: Pods, node: &str, options: WriteOptions) {
    let Some(def) = state.registry.get("", "v1", "pods") else {
        return;
    };
    let main = WriteOptions {
        half: Half::Main,
        ..options
    };
    let status = WriteOptions {
        half: Half::Status,
        ..options
    };
    let wanted = wanted(deployment, counts.wanted, node);
    let uid = deployment["metadata"]["uid"].as_str().unwrap_or_default();
    for (storage, key) in state.store.dependents(uid) {
        let Some(stored) = state.store.get(&storage, &key).filter(|_| storage == def.storage) else {
            continue;
        };
        let hash = |pod: &Value| pod["metadata"]["labels"][TEMPLATE_HASH].clone();
        let stays = wanted
            .get(&key)
            .is_some_and(|(_, pod)| hash(pod) == hash(&stored.value()));
        if !stays {
            state.delete_quietly(&def, &key, main);
        }
    }
    for (key, (ordinal, pod)) in wanted {
        if state.store.get(&def.storage, &key).is_none()
            && let Err(why) = state.create(&def, key.namespace(), pod, main)
        {
            tracing::warn!(key = key.as_str(), %why, "a simulated pod was refused");
            continue;
        }
        let Some(stored) = state.store.get(&def.storage, &key) else {
            continue;
        };
        let mut pod = state::from_storage(&def, stored.value());
        let phase = if ordinal < counts.ready { "Running" } else { "Pending" };
        pod["status"]["phase"] = phase.into();
        if let Err(why) = state.update(&def, key.namespace(), key.name(), pod, status) {
            tracing::warn!(key = key.as_str(), %why, "the status of a simulated pod was refused");
        }
    }
    state.settle(options.now);
}

/// The pods that a Deployment is to have, with their numbers.
fn wanted(deployment: &Value, replicas: i64, node: &str) -> BTreeMap<Key, (i64, Value)> {
    let metadata = &deployment["metadata"];
    let (name, namespace) = (meta::name(deployment), metadata["namespace"].as_str());
    let template = &deployment["spec"]["template"];
    let mut hasher = DefaultHasher::new();
    template.to_string().hash(&mut hasher);
    let hash = format!("{:x}", hasher.finish());
    let pod = |ordinal: i64| {
        let pod_name = format!("{name}-{ordinal}");
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": pod_name, "namespace": namespace, "labels": template["metadata"]["labels"],
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": metadata["uid"],
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "spec": template["spec"],
        });
        pod["metadata"]["labels"][TEMPLATE_HASH] = hash.clone().into();
        pod["spec"]["nodeName"] = node.into();
        (Key::new(namespace, &pod_name), (ordinal, pod))
    };
    (0..replicas).map(pod).collect()
}
