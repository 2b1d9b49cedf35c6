//! One rule for every cause: whatever keeps a member from being seen, its condition follows at the same times, says
//! the same, and differs in its reason alone. A mistake in credentials or address counts as a failure of the cluster:
//! nobody can reach its workloads either way.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::bench::Bench;
use crate::said;
use test_bench::paused;

// C75; kueue#13238: a black hole, a deleted Secret, a useless address and refused connections.
#[test]
fn a_black_hole_a_lost_secret_and_a_bad_address_go_the_same_way() {
    paused(async {
        let names = ["hole", "secret", "address", "refuses"];
        let bench = Bench::new(&names);
        let _process = bench.start("health-0").await;
        bench.until(61).await;
        bench.member("hole").hang();
        bench.member("refuses").stop();
        let secrets = Api::<Secret>::namespaced(bench.plane().observer(), "karmada-cluster");
        secrets.delete("secret", &DeleteParams::default()).await.unwrap();
        let clusters = Api::<api_types::cluster::Cluster>::all(bench.plane().observer());
        let patch = Patch::Merge(json!({"spec": {"apiEndpoint": "http://nowhere.sandbox"}}));
        clusters
            .patch("address", &PatchParams::default(), &patch)
            .await
            .unwrap();
        bench.until(90).await;
        for name in names {
            assert_eq!(bench.ready(name).await, said("True", "ClusterReady"), "{name}");
        }
        bench.until(111).await;
        let expected = BTreeMap::from([
            ("hole", "ClusterNotReachable"),
            ("refuses", "ClusterNotReachable"),
            ("secret", "StatusCollectionFailed"),
            ("address", "StatusCollectionFailed"),
        ]);
        for (name, reason) in expected {
            assert_eq!(bench.ready(name).await, said("False", reason), "{name}");
            let events = bench.events(name).await;
            let told = events.iter().filter(|(reason, _)| reason == "ClusterNotReady").count();
            assert_eq!(told, 1, "{name}: {events:?}");
            let after = bench.since_start(name).await - 61;
            assert!((30..=50).contains(&after), "{name}: not ready after {after} s");
        }
    });
}

// Headers for a proxy of this kind cannot be sent. Ignored, they would make the member seem not to answer; without a proxy they
// mean nothing.
#[test]
fn headers_that_no_proxy_gets_are_refused_in_words() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        let clusters = Api::<api_types::cluster::Cluster>::all(bench.plane().observer());
        let edit = async |spec: serde_json::Value| {
            let patch = Patch::Merge(json!({"spec": spec}));
            clusters.patch("m1", &PatchParams::default(), &patch).await.unwrap();
        };
        edit(json!({"proxyHeader": {"authorization": "Basic x"}})).await;
        bench.until(61).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        edit(json!({"proxyURL": "socks5://proxy.example:1080"})).await;
        bench.until(90).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.until(111).await;
        assert_eq!(bench.ready("m1").await, said("False", "StatusCollectionFailed"));
        let (_, message) = bench.said("m1", "Ready").await;
        assert!(
            message.contains("spec.proxyHeader can be sent to http proxies only"),
            "{message}"
        );
    });
}

// Asked as the token's own user, the member would seem well, or ill, to somebody else than whom its Works are applied as.
#[test]
fn a_token_that_acts_for_nobody_who_is_named_is_refused_in_words() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m1", "namespace": "karmada-cluster"},
            "data": {"token": "dG9rZW4=", "impersonateGroups": "c2hvcA=="}}),
        );
        let _process = bench.start("health-0").await;
        bench.until(61).await;
        assert_eq!(bench.ready("m1").await, said("False", "StatusCollectionFailed"));
        let (_, message) = bench.said("m1", "Ready").await;
        let words = "impersonateGroups in secret karmada-cluster/m1 (spec.secretRef of cluster m1) asks for groups without \
            impersonating a user";
        assert!(message.contains(words), "{message}");
    });
}

// C62; karmada#7408, karmada#7426: a Secret that is away for one cycle changes nothing; for 40 s it does.
#[test]
fn a_credential_that_is_missing_for_a_cycle_changes_nothing() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(61).await;
        let secrets = Api::<Secret>::namespaced(bench.plane().observer(), "karmada-cluster");
        let writes = bench.writes().len();
        secrets.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(75).await;
        bench.put_secret("m1");
        bench.until(200).await;
        assert_eq!(bench.writes()[writes..], [""; 0], "nothing is said of one cycle");
        secrets.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(229).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.until(241).await;
        assert_eq!(bench.ready("m1").await, said("False", "StatusCollectionFailed"));
        assert!((30..=40).contains(&(bench.since_start("m1").await - 200)));
    });
}

// C72; kueue#11559: when the client itself is lost during an outage, the time runs on from the first loss, and the
// condition's time does not move with its reason: whoever waits for 300 s of outage waits for these.
#[test]
fn an_outage_that_changes_its_cause_is_one_outage() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(61).await;
        bench.member("m1").stop();
        bench.until(85).await;
        let secrets = Api::<Secret>::namespaced(bench.plane().observer(), "karmada-cluster");
        secrets.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(111).await;
        assert_eq!(bench.ready("m1").await, said("False", "StatusCollectionFailed"));
        let lost = bench.since_start("m1").await;
        assert!(
            (91..=101).contains(&lost),
            "30 s after the first loss, not the second: {lost}"
        );
        bench.put_secret("m1");
        bench.until(400).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        assert_eq!(bench.since_start("m1").await, lost, "one outage, one time");
        let events = bench.events("m1").await;
        let told = events.iter().filter(|(reason, _)| reason == "ClusterNotReady").count();
        assert_eq!(told, 1, "no loop of errors: {events:?}");
    });
}
