//! A stock Karmada, as far as ours has to do with it: its kinds with its own fields, what its Deployments on the host
//! cluster say, and others that do its work and write as its controllers do. Who does the work are programs of ours, whose
//! Leases are in a namespace of their own, as they are nobody's whom the charts install.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use e2e_harness::{ControlPlane, Process, serve_kinds};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use karmada_failover::story::example::{self, MemberEntry, Pace};
use karmada_failover::story::objects;
use kube::Client;
use serde_json::{Value, json};
use test_bench::stock::{StockActors, stocks_crds};

use super::charts::{self, NAMESPACE};
use crate::components::{start_as, stop_components};

/// Where the Leases of those are who do its work.
const LEASES: &str = "stock-leases";
/// A version that is supported.
const VERSION: &str = "v1.17.2";
/// By which the moments of its writes are drawn.
const SEED: u64 = 1;
/// Its controllers write at most so long after one another.
const BETWEEN_WRITES: Duration = Duration::from_secs(2);

/// It runs until it is told to end.
pub struct Stock {
    processes: Vec<Process>,
    actors: StockActors,
}

impl Stock {
    /// With these members, and with failover of its own.
    pub async fn begin(
        control_plane: &ControlPlane,
        host: &Client,
        members: &[MemberEntry],
        pace: &Pace,
    ) -> anyhow::Result<Self> {
        let client = control_plane.client().await?;
        let crds: Result<Vec<CustomResourceDefinition>, _> =
            stocks_crds().into_iter().map(serde_json::from_value).collect();
        serve_kinds(&client, &crds.context("stock's kinds")?).await?;
        let leases = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASES}});
        let members = members.iter().flat_map(example::member);
        for object in example::namespaces().into_iter().chain([leases]).chain(members) {
            objects::create(&client, object).await?;
        }
        let with_failover = deployments(&["--controllers=*", "--feature-gates=Failover=true"], &[]);
        for object in [charts::namespace()].into_iter().chain(with_failover) {
            objects::create(host, object).await?;
        }
        let namespace = format!("--system-namespace={LEASES}");
        let jobs = [
            ("cluster-health-controller", pace.health_flags()),
            ("propagation-controllers", Vec::new()),
            ("scheduler", Vec::new()),
        ];
        let processes = jobs.into_iter().map(|job| {
            let name = format!("stock-{}", job.0);
            start_as(control_plane, &name, job, &[&namespace])
        });
        Ok(Self {
            processes: processes.collect::<Result<_, _>>()?,
            actors: StockActors::start(&client, SEED, BETWEEN_WRITES),
        })
    }

    /// Its failover is taken out of service, as docs/install.md says.
    pub async fn leaves_failover(host: &Client) -> anyhow::Result<()> {
        let manager = [
            "--controllers=*,-gracefulEviction,-applicationFailover",
            "--feature-gates=Failover=false",
        ];
        for object in deployments(&manager, &["--allow-no-execute-taint-policy=true"]) {
            objects::put(host, &object).await?;
        }
        Ok(())
    }

    /// It goes, having written as its controllers do.
    pub async fn end(self) -> anyhow::Result<()> {
        let [whole, parts] = self.actors.stored();
        ensure!(
            whole > 0 && parts > 0,
            "stock wrote {whole} whole objects, and {parts} parts"
        );
        drop(self.actors);
        stop_components(self.processes).await
    }
}

/// Its Deployments, with these arguments of its controller manager and its webhook.
fn deployments(manager: &[&str], webhook: &[&str]) -> Vec<Value> {
    let one = |(name, arguments): (&str, &[&str])| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": NAMESPACE, "name": name},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{
                        "name": name, "image": format!("registry.example.com/karmada/{name}:{VERSION}"),
                        "command": [format!("/bin/{name}")], "args": arguments,
                    }]},
                },
            },
        })
    };
    let all: [(&str, &[&str]); 3] = [
        ("karmada-controller-manager", manager),
        ("karmada-scheduler", &["--plugins=*"]),
        ("karmada-webhook", webhook),
    ];
    all.map(one).into()
}
