//! Of the control plane's Secrets only those are read that Clusters name.

use api_types::cluster::Cluster;
use controller_kit::telemetry::Recording;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube_sandbox::{Effect, Match, Verb};
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::Bench;
use crate::said;

fn forbidden() -> Effect {
    Effect::Error {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: "secrets is forbidden".to_owned(),
    }
}

async fn name_secret(bench: &Bench, cluster: &str, reference: Value) {
    let patch = Patch::Merge(json!({"spec": {"secretRef": reference}}));
    let clusters = Api::<Cluster>::all(bench.client());
    clusters.patch(cluster, &PatchParams::default(), &patch).await.unwrap();
}

// Whoever edits Clusters must not make the process read and hold namespaces of Secrets, one after the other.
#[test]
fn a_secret_is_followed_by_name_while_a_cluster_names_it() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        for namespace in ["tenant-a", "tenant-b"] {
            bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        let process = bench.start("health-0").await;
        let followed = || {
            let metrics = process.metrics();
            metrics.value("failover_informer_single_objects", &[("kind", "secrets")])
        };
        let tasks = || {
            let tasks = process.tasks().into_iter();
            tasks.filter(|task| task.contains("secrets")).collect::<Vec<_>>()
        };
        bench.until(15).await;
        assert_eq!(followed(), Some(2.0));
        for (number, namespace) in ["tenant-a", "tenant-b"].into_iter().enumerate() {
            name_secret(&bench, "m2", json!({"namespace": namespace, "name": "credentials"})).await;
            bench.until(30 + 15 * u64::try_from(number).unwrap()).await;
            assert_eq!(followed(), Some(2.0), "that of before is let go: {:?}", tasks());
        }
        assert_eq!(
            tasks(),
            [
                "informer secrets karmada-cluster metadata.name=m1 ",
                "informer secrets tenant-b metadata.name=credentials ",
            ]
        );
        // Both by the same, and the last one keeps it.
        name_secret(&bench, "m2", json!({"namespace": "karmada-cluster", "name": "m1"})).await;
        bench.until(60).await;
        assert_eq!(bench.ready("m2").await, said("True", "ClusterReady"));
        assert_eq!(followed(), Some(1.0));
        let clusters = Api::<Cluster>::all(bench.client());
        clusters.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(75).await;
        assert_eq!(followed(), Some(1.0));
        clusters.delete("m2", &DeleteParams::default()).await.unwrap();
        bench.until(90).await;
        assert_eq!((followed(), tasks()), (None, Vec::<String>::new()));
    });
}

// Who joins a member and forgets the Role learns it from the Cluster: which Secret, what was answered, what to do.
#[test]
fn a_secret_that_may_not_be_read_is_named_by_its_cluster() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let log = Recording::start("warn", &bench.clock).unwrap();
        bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant-a"}}));
        let secrets = Match::any().verb(Verb::List).resource("secrets").namespace("tenant-a");
        let refused = bench.plane().faults().inject(secrets, forbidden());
        let _process = bench.start("health-0").await;
        bench.until(61).await;
        name_secret(&bench, "m2", json!({"namespace": "tenant-a", "name": "credentials"})).await;
        bench.until(90).await;
        assert_eq!(
            bench.ready("m2").await,
            said("True", "ClusterReady"),
            "by the threshold, as all"
        );
        bench.until(130).await;
        assert_eq!(bench.ready("m2").await, said("False", "StatusCollectionFailed"));
        let needle = [
            "secret tenant-a/credentials",
            "HTTP 403: secrets is forbidden",
            "list and watch",
        ];
        let (_, message) = bench.said("m2", "Ready").await;
        let events = bench.events("m2").await;
        let told: Vec<&String> = events
            .iter()
            .filter(|(reason, _)| reason == "ClusterNotReady")
            .map(|(_, note)| note)
            .collect();
        assert_eq!(told.len(), 1, "{events:?}");
        let logged = log.lines();
        let logged: Vec<&String> = logged.iter().filter(|line| line.contains("not probed")).collect();
        assert_eq!(logged.len(), 1, "{logged:#?}");
        for words in needle {
            for text in [&message, told[0], logged[0]] {
                assert!(text.contains(words), "{words:?} in {text}");
            }
        }
        let writes = bench.writes().len();
        bench.until(600).await;
        assert_eq!(bench.writes()[writes..], [""; 0], "it is said once");
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        // Its Role comes; the Secret had been there.
        bench.plane().faults().remove(refused);
        bench.put(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "credentials", "namespace": "tenant-a"},
            "stringData": {"token": "token"}}),
        );
        bench.until(700).await;
        assert_eq!(bench.ready("m2").await, said("True", "ClusterReady"));
    });
}

// A reporter that could read no Secret, and whose rights come back, asks for each of them at another moment: no member is
// held to be forbidden because another one was earlier.
#[test]
fn rights_that_come_back_make_no_cluster_not_ready() {
    paused(async {
        let names = ["m1", "m2", "m3", "m4", "m5", "m6"];
        let bench = Bench::new(&names);
        let process = bench.start("health-0").await;
        bench.until(60).await;
        process.stop().await;
        let secrets = Match::any().verb(Verb::List).resource("secrets");
        let refused = bench.plane().faults().inject(secrets, forbidden());
        let _process = bench.start("health-1").await;
        bench.until(300).await;
        bench.plane().faults().remove(refused);
        bench.until(600).await;
        for name in names {
            assert_eq!(bench.ready(name).await, said("True", "ClusterReady"));
            let events = bench.events(name).await;
            assert!(
                events.iter().all(|(reason, _)| reason != "ClusterNotReady"),
                "{events:?}"
            );
        }
    });
}
