use std::str::FromStr;

use failover_core::eviction::Cause;

use super::*;

fn binding(name: &str) -> BindingKey {
    BindingKey {
        namespace: Some("default".into()),
        name: name.into(),
    }
}

fn key(cluster: &str, name: &str, second: u8) -> EntryKey {
    EntryKey {
        cluster: cluster.into(),
        cluster_uid: format!("uid of {cluster}").into(),
        binding: binding(name),
        binding_uid: format!("uid of {name}").into(),
        cause: Cause::from_str(&format!("k:NoExecute@2026-01-01T00:00:{second:02}Z"))
            .unwrap()
            .into(),
    }
}

fn asked(version: &str) -> Confirmation {
    Confirmation {
        binding_version: version.into(),
        cluster_version: String::new(),
    }
}

#[test]
fn questions_are_found_by_pair_cluster_and_binding() {
    let mut all = Confirmations::default();
    for (cluster, name, second) in [("m1", "web", 1), ("m1", "web", 2), ("m1", "api", 1), ("m2", "web", 1)] {
        all.insert(key(cluster, name, second), asked("7"));
    }
    all.insert(key("m1", "web", 1), asked("9"));

    let of_pair: Vec<_> = all.of(&"m1".into(), &binding("web")).collect();
    assert_eq!(
        of_pair,
        [(&key("m1", "web", 1), &asked("9")), (&key("m1", "web", 2), &asked("7"))]
    );
    assert_eq!(all.of(&"m2".into(), &binding("api")).count(), 0);
    assert_eq!(all.bindings_on(&"m1".into()), [binding("api"), binding("web")]);
    assert_eq!(all.bindings_on(&"m3".into()), []);
    let clusters: Vec<&ClusterName> = all.clusters_of(&binding("web")).collect();
    assert_eq!(clusters, [&ClusterName::from("m1"), &ClusterName::from("m2")]);
}

#[test]
fn what_is_answered_leaves_nothing_behind() {
    let mut all = Confirmations::default();
    let keys = [key("m1", "web", 1), key("m1", "web", 2), key("m2", "web", 1)];
    for key in &keys {
        all.insert(key.clone(), asked("7"));
    }
    all.remove(&key("m3", "web", 1));
    all.remove(&keys[0]);
    all.remove(&keys[0]);
    assert_eq!(
        all.clusters_of(&binding("web")).count(),
        2,
        "the other cause is asked for"
    );
    all.remove(&keys[1]);
    assert_eq!(all.clusters_of(&binding("web")).count(), 1);
    all.remove(&keys[2]);
    assert!(all.asked.is_empty() && all.clusters_of.is_empty(), "{all:?}");
}
