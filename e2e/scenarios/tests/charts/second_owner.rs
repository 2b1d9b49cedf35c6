//! A second owner of what a stock Karmada does is refused.

use controller_kit::Mode;
use failoverctl::check::stock::{Program, Stock};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::json;

use crate::component_names::hosted;
use crate::control_plane::Stage;

const SYSTEM: &str = "karmada-system";
/// Another namespace of the host cluster.
const ELSEWHERE: &str = "elsewhere";
const BESIDE: &str = "mode=beside,karmada.kubeconfigSecret=k";

/// With the stock Karmada that is on, where helm can look: on the Karmada API server, and on its host cluster.
pub async fn is_refused(stage: &Stage) {
    let api_service: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1alpha1.cluster.karmada.io"},
        "spec": {
            "group": "cluster.karmada.io", "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 10,
            "insecureSkipTLSVerify": true,
            "service": {"name": "karmada-aggregated-apiserver", "namespace": "karmada-system"},
        },
    }))
    .unwrap();
    let services = kube::api::ApiResource {
        group: "apiregistration.k8s.io".into(),
        version: "v1".into(),
        api_version: "apiregistration.k8s.io/v1".into(),
        kind: "APIService".into(),
        plural: "apiservices".into(),
    };
    // The one that the kinds of the other chart have made stands for none.
    let services: Api<DynamicObject> = Api::all_with(stage.client.clone(), &services);
    let patch = kube::api::Patch::Merge(json!({"metadata": {"labels": null}, "spec": api_service.data["spec"]}));
    services
        .patch("v1alpha1.cluster.karmada.io", &Default::default(), &patch)
        .await
        .unwrap();
    for name in ["karmada-crds", "control-plane", "taint-manager", "eviction-queue"] {
        let said = stage.refused(name, &["--dry-run=server"]);
        assert!(
            said.contains("stock Karmada") && said.contains("mode=beside"),
            "{name}: {said}"
        );
    }

    let hosts = Hosts { stage };
    hosts
        .make(deployed(&["--feature-gates=PropagateDeps=true,Failover=true"]))
        .await;
    // Nobody has said beside, and the control plane is elsewhere.
    let unsaid = ["--dry-run=server", "--set", "karmada.kubeconfigSecret=k"];
    for name in hosted(Mode::Standalone) {
        let said = stage.refused(name, &unsaid);
        let is_told = said.contains("a stock Karmada runs in karmada-system") && said.contains("mode=beside");
        assert!(is_told, "{name}: {said}");
    }
    let apart = "control-plane.enabled=false,global.karmada.kubeconfigSecretSuffix=-kubeconfig";
    let said = stage.refused("karmada-failover", &["--dry-run=server", "--set", apart]);
    assert!(said.contains("a stock Karmada runs in karmada-system"), "{said}");
    for (name, advice) in [
        (
            "graceful-eviction-controller",
            "add -gracefulEviction to its --controllers",
        ),
        (
            "application-failover-controller",
            "add -applicationFailover to its --controllers",
        ),
        ("taint-manager", "--feature-gates=Failover=false"),
        ("taint-policy-controller", "--feature-gates=Failover=false"),
    ] {
        let said = hosts.refused_beside(name, SYSTEM);
        assert!(said.contains(advice), "{name}: {said}");
    }
    hosts.its_controllers().await;
    hosts.its_gate().await;
    hosts.whatever_it_is_called().await;
    hosts.in_another_namespace().await;
}

/// A controller manager of stock's with these arguments.
fn deployed(arguments: &[&str]) -> Deployment {
    called(
        SYSTEM,
        "karmada-controller-manager",
        "registry.example.com/karmada/karmada-controller-manager:v1.18.0",
        &[&["/bin/karmada-controller-manager"][..], arguments].concat(),
    )
}

fn called(namespace: &str, name: &str, image: &str, command: &[&str]) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"selector": {"matchLabels": {"app": "stock"}}, "template": {
            "metadata": {"labels": {"app": "stock"}},
            "spec": {"containers": [{"name": "stock", "image": image, "command": command}]},
        }},
    }))
    .unwrap()
}

/// Where stock's Deployments are.
struct Hosts<'a> {
    stage: &'a Stage,
}

impl Hosts<'_> {
    /// They are all that there is of stock.
    async fn are(&self, deployments: impl IntoIterator<Item = Deployment>) {
        for namespace in [SYSTEM, ELSEWHERE] {
            let all: Api<Deployment> = Api::namespaced(self.stage.client.clone(), namespace);
            for old in all.list(&Default::default()).await.unwrap() {
                all.delete(&old.name_any(), &Default::default()).await.unwrap();
            }
        }
        for deployment in deployments {
            self.make(deployment).await;
        }
    }

    async fn make(&self, deployment: Deployment) {
        let all: Api<Deployment> = Api::namespaced(self.stage.client.clone(), &deployment.namespace().unwrap());
        all.create(&PostParams::default(), &deployment).await.unwrap();
    }

    fn refused_beside(&self, chart: &'static str, namespace: &str) -> String {
        let more = ["--dry-run=server", "--namespace", namespace, "--set", BESIDE];
        self.stage.refused(chart, &more)
    }

    fn taken_beside(&self, chart: &'static str, namespace: &str) {
        let more = ["--dry-run=server", "--namespace", namespace, "--set", BESIDE];
        self.stage.run("install", chart, &more);
    }

    /// As failoverctl check reads them.
    async fn its_controllers(&self) {
        for (is_on, arguments) in [
            (true, &["--controllers=*,-gracefulEviction"][..]),
            (true, &["--controllers", "*,-gracefulEviction"]),
            (true, &["--controllers=cluster,applicationFailover"]),
            (true, &["--controllers=applicationFailover,-applicationFailover"]),
            (true, &["--controllers=*,-applicationFailoverToo"]),
            (true, &["--feature-gates=Failover=false"]),
            (false, &["--controllers=-applicationFailover,*"]),
            (false, &["--controllers=*", "--controllers", "-applicationFailover"]),
            (false, &["--controllers=*, -applicationFailover"]),
            (false, &["--controllers=cluster,clusterStatus"]),
            (false, &["--controllers", "cluster", "--v=4"]),
        ] {
            let stock = deployed(arguments);
            let known = Stock::of(std::slice::from_ref(&stock));
            let known = known.program(Program::ControllerManager).unwrap();
            assert_eq!(
                known.list_has("controllers", "applicationFailover"),
                is_on,
                "{arguments:?}"
            );
            self.are([stock]).await;
            if is_on {
                let said = self.refused_beside("application-failover-controller", SYSTEM);
                assert!(said.contains("add -applicationFailover"), "{arguments:?}: {said}");
            } else {
                self.taken_beside("application-failover-controller", SYSTEM);
            }
        }
        self.are([deployed(&[
            "--controllers=*,-gracefulEviction,-applicationFailover",
            "--feature-gates",
            "Failover=false",
        ])])
        .await;
        for chart in [
            "graceful-eviction-controller",
            "application-failover-controller",
            "taint-manager",
            "taint-policy-controller",
        ] {
            self.taken_beside(chart, SYSTEM);
        }
    }

    /// As failoverctl check reads it, in all of Go's words for true and false, by itself and with its stage.
    async fn its_gate(&self) {
        for (is_on, arguments) in [
            (true, &["--feature-gates=Failover=True"][..]),
            (true, &["--feature-gates=Failover=TRUE"]),
            (true, &["--feature-gates=Failover=1"]),
            (true, &["--feature-gates=Failover=t"]),
            (true, &["--feature-gates", "A=false, Failover=T"]),
            (true, &["--feature-gates=AllBeta=true"]),
            (true, &["--feature-gates=AllBeta=1,PropagateDeps=false"]),
            (
                true,
                &["--feature-gates=Failover=false", "--feature-gates=Failover=true"],
            ),
            (true, &["--feature-gates=Failover=true,AllBeta=false"]),
            (false, &["--feature-gates=Failover=F"]),
            (false, &["--feature-gates=Failover=0"]),
            (false, &["--feature-gates=AllBeta=true,Failover=false"]),
            (
                false,
                &["--feature-gates=Failover=False", "--feature-gates=AllBeta=true"],
            ),
            (
                false,
                &["--feature-gates=AllBeta=true", "--feature-gates=AllBeta=false"],
            ),
            (false, &["--feature-gates=AllAlpha=true"]),
            (false, &["--feature-gates=StatefulFailoverInjection=true"]),
            (
                false,
                &[
                    "--feature-gates=A=true,Failover=true",
                    "--feature-gates=Failover=false,StatefulFailoverInjection=true",
                ],
            ),
        ] {
            let stock = deployed(arguments);
            let known = Stock::of(std::slice::from_ref(&stock));
            let known = known.program(Program::ControllerManager).unwrap();
            assert_eq!(known.gate("Failover") == Some(true), is_on, "{arguments:?}");
            self.are([stock]).await;
            if is_on {
                let said = self.refused_beside("taint-manager", SYSTEM);
                assert!(said.contains("--feature-gates=Failover=false"), "{arguments:?}: {said}");
            } else {
                self.taken_beside("taint-manager", SYSTEM);
            }
        }
    }

    /// By its image or its command.
    async fn whatever_it_is_called(&self) {
        let on = "--feature-gates=Failover=true";
        for (is_known, name, image, command) in [
            (
                true,
                "demo-controller-manager",
                "registry:5000/karmada-controller-manager:v1.18.0@sha256:00",
                ["/bin/start", on],
            ),
            (
                true,
                "demo",
                "mirror/some-image",
                ["/usr/bin/karmada-controller-manager", on],
            ),
            (false, "karmada-controller-manager", "mirror/proxy", ["/bin/proxy", on]),
            (
                false,
                "kube-controller-manager",
                "registry.k8s.io/kube-controller-manager:v1.36.3",
                ["kube-controller-manager", on],
            ),
        ] {
            let stock = called(SYSTEM, name, image, &command);
            let known = Stock::of(std::slice::from_ref(&stock));
            assert_eq!(known.program(Program::ControllerManager).is_some(), is_known, "{name}");
            self.are([stock]).await;
            let unsaid = ["--dry-run=server", "--set", "karmada.kubeconfigSecret=k"];
            if is_known {
                let said = self.refused_beside("taint-manager", SYSTEM);
                assert!(said.contains(&format!("(Deployment {SYSTEM}/{name})")), "{said}");
                let said = self.stage.refused("scheduler", &unsaid);
                assert!(said.contains("a stock Karmada runs in karmada-system"), "{said}");
            } else {
                self.taken_beside("taint-manager", SYSTEM);
                self.stage.run("install", "scheduler", &unsaid);
            }
        }
    }

    /// Ours beside a stock Karmada need not share its namespace.
    async fn in_another_namespace(&self) {
        let namespaces: Api<Namespace> = Api::all(self.stage.client.clone());
        let elsewhere = serde_json::from_value(json!({"metadata": {"name": ELSEWHERE}})).unwrap();
        namespaces.create(&PostParams::default(), &elsewhere).await.unwrap();
        let (on, off) = (
            deployed(&["--feature-gates=Failover=true"]),
            deployed(&["--feature-gates=Failover=false"]),
        );
        let there = |deployment: &Deployment| {
            let mut deployment = deployment.clone();
            deployment.metadata.namespace = Some(ELSEWHERE.to_owned());
            deployment
        };
        self.are([on.clone()]).await;
        let said = self.refused_beside("taint-manager", ELSEWHERE);
        assert!(
            said.contains("(Deployment karmada-system/karmada-controller-manager)"),
            "{said}"
        );
        // A control plane of its own is there.
        let unsaid = [
            "--dry-run=server",
            "--namespace",
            ELSEWHERE,
            "--set",
            "karmada.kubeconfigSecret=k",
        ];
        self.stage.run("install", "scheduler", &unsaid);

        // Of two the one that it stands beside, unless that does not run.
        self.are([on.clone(), there(&off)]).await;
        self.taken_beside("taint-manager", ELSEWHERE);
        self.are([off, there(&on)]).await;
        let said = self.refused_beside("taint-manager", ELSEWHERE);
        assert!(
            said.contains("(Deployment elsewhere/karmada-controller-manager)"),
            "{said}"
        );
        self.taken_beside("taint-manager", SYSTEM);
        let mut resting = there(&on);
        resting.spec.replicas = Some(0);
        self.are([deployed(&["--feature-gates=Failover=0"]), resting]).await;
        self.taken_beside("taint-manager", ELSEWHERE);
        self.are([]).await;
    }
}
