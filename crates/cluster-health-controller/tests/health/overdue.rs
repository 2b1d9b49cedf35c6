//! The push reporter says on its Lease whom it has not been able to probe.

use api_types::names::annotation;
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams};
use kube_sandbox::{Effect, Match, Verb};
use serde_json::json;

use crate::bench::Bench;
use test_bench::paused;

async fn named(bench: &Bench) -> Option<String> {
    let leases = Api::<Lease>::namespaced(bench.plane().observer(), "karmada-system");
    let lease = leases.get("cluster-status").await.unwrap();
    lease.annotations().get(annotation::PROBES_OVERDUE).cloned()
}

fn put_clusters_without_credentials(bench: &Bench, names: &[&str]) {
    for name in names {
        bench.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "apiEndpoint": "http://m1.sandbox",
                     "secretRef": {"namespace": "elsewhere", "name": name}}}),
        );
    }
}

#[test]
fn members_that_could_not_be_probed_for_the_grace_period_are_named_on_the_lease() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}));
        // Their credentials cannot be read: of them nothing at all is known, not even that they do not answer.
        put_clusters_without_credentials(&bench, &["m3", "m2"]);
        let secrets = Match::any().verb(Verb::List).resource("secrets").namespace("elsewhere");
        let hang = bench.plane().faults().inject(secrets, Effect::Hang);
        let _process = bench.start("health-0").await;
        bench.until(39).await;
        assert_eq!(
            named(&bench).await,
            None,
            "nothing is written while there is nothing to say"
        );
        bench.until(41).await;
        assert_eq!(named(&bench).await.as_deref(), Some("m2,m3"));
        // A list that stays the same is not written again: the Lease has its renewals, every five seconds.
        let renewals = || {
            let writes = bench.plane().faults().writes();
            let of_lease = writes
                .iter()
                .filter(|w| w.client == "health" && w.name.as_deref() == Some("cluster-status"));
            of_lease.count()
        };
        let before = renewals();
        bench.until(101).await;
        assert_eq!(renewals() - before, 12);
        // Gone is not overdue.
        let clusters = Api::<api_types::cluster::Cluster>::all(bench.plane().observer());
        clusters.delete("m3", &DeleteParams::default()).await.unwrap();
        bench.until(103).await;
        assert_eq!(named(&bench).await.as_deref(), Some("m2"));
        bench.plane().faults().remove(hang);
        bench.until(240).await;
        assert_eq!(named(&bench).await.as_deref(), Some(""), "all are probed again");
        assert_eq!(bench.ready("m1").await.0, "True");
    });
}

#[test]
fn a_new_leader_begins_with_a_clean_list() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}));
        put_clusters_without_credentials(&bench, &["m2"]);
        let secrets = Match::any().verb(Verb::List).resource("secrets").namespace("elsewhere");
        bench.plane().faults().inject(secrets, Effect::Hang);
        let process = bench.start("health-0").await;
        bench.until(60).await;
        assert_eq!(named(&bench).await.as_deref(), Some("m2"));
        process.stop().await;
        let _next = bench.start("health-1").await;
        bench.until(90).await;
        assert_eq!(named(&bench).await, None, "it has not looked for the grace period yet");
        bench.until(120).await;
        assert_eq!(named(&bench).await.as_deref(), Some("m2"));
    });
}

/// What the reporter cannot do for anybody, as without the right to list secrets, is its own trouble.
#[test]
fn a_restarted_reporter_that_can_probe_nobody_makes_no_cluster_unknown() {
    paused(async {
        let bench = Bench::new(&["m1", "m2", "m3"]);
        let process = bench.start("health-0").await;
        bench.until(60).await;
        process.stop().await;
        let secrets = Match::any().verb(Verb::List).resource("secrets");
        let forbidden = Effect::Error {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "secrets is forbidden".to_owned(),
        };
        let refused = bench.plane().faults().inject(secrets, forbidden);
        let process = bench.start("health-1").await;
        bench.until(300).await;
        assert_eq!(named(&bench).await.as_deref(), Some("*"));
        for name in ["m1", "m2", "m3"] {
            assert_eq!(bench.ready(name).await.0, "True");
            let (status, message) = bench.said(name, "ReporterDown").await;
            assert_eq!(status, "True");
            assert!(message.contains("could ask no member at all"), "{message}");
        }
        bench.plane().faults().remove(refused);
        bench.until(600).await;
        assert_eq!(named(&bench).await.as_deref(), Some(""));
        for name in ["m1", "m2", "m3"] {
            assert_eq!(bench.said(name, "ReporterDown").await.0, "False");
            assert_eq!(bench.ready(name).await.0, "True");
        }
        process.stop().await;
    });
}
