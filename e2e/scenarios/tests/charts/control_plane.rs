//! What goes to the control plane's API server: rendered, and installed on a real one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::Mode;
use e2e_harness::{Binaries, ControlPlane, Helm, Identity, Tool, available_with, eventually};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::component_names::hosted;
use crate::objects::objects;
use crate::{COMPONENTS, chart, least, renderer, second_owner};

const DEFAULTS: [&str; 2] = ["not-ready-no-schedule", "unreachable-no-schedule"];
const NAMESPACE: [&str; 2] = ["--namespace", "karmada-system"];

fn of_kind<'a>(objects: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

fn file(folder: &str, name: &str) -> Vec<Value> {
    let path = chart("control-plane").join(folder).join(format!("{name}.yaml"));
    serde_saphyr::from_multiple(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Names of the files of a folder, without their end.
fn names(folder: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(chart("control-plane").join(folder)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned))
        .collect()
}

#[test]
fn each_value_installs_the_policy_that_stands_for_it() {
    let Some(helm) = renderer() else { return };
    let policies = |settings: &[&str]| -> Vec<Value> {
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let objects = objects(&helm, "control-plane", &settings);
        of_kind(&objects, "ClusterTaintPolicy").cloned().collect()
    };
    let policy = |name: &str| file("policies", name).remove(0);
    let in_stocks_form = |name: &str| file("policies/beside", name).remove(0);
    assert_eq!(policies(&[]), DEFAULTS.map(policy), "the defaults");
    let off = [
        "policies.notReadyNoSchedule=false",
        "policies.unreachableNoSchedule=false",
    ];
    assert_eq!(policies(&off), [Value::Null; 0]);
    for (value, name) in [
        ("notReadyNoExecute", "not-ready-no-execute"),
        ("notReadyPreferNoExecute", "not-ready-prefer-no-execute"),
    ] {
        let on = format!("policies.{value}=true");
        assert_eq!(policies(&[off[0], off[1], &on]), [policy(name)]);
        assert_eq!(
            policies(&["mode=beside", &on]),
            [in_stocks_form(name)],
            "stock adds the NoSchedule taints itself, and its kind demands spec.taints"
        );
    }
    assert_eq!(policies(&["mode=beside"]), [Value::Null; 0]);
}

/// Each component is an account with its rights and, where it is wanted, a token; beside stock none that stock has itself.
#[test]
fn accounts_and_rights_are_those_of_the_mode() {
    let Some(helm) = renderer() else { return };
    let all = names("rbac");
    for component in hosted(Mode::Standalone) {
        assert!(all.contains(*component), "{component} has no rights");
    }
    for (mode, without) in [
        ("standalone", &[][..]),
        ("beside", &["cluster-health-controller", "propagation-controllers"]),
    ] {
        let wanted: BTreeSet<String> = all
            .iter()
            .filter(|name| !without.contains(&name.as_str()))
            .cloned()
            .collect();
        let rendered = objects(&helm, "control-plane", &["--set", &format!("mode={mode}")]);
        let of = |kind: &str, end: &str| -> BTreeSet<String> {
            let names = of_kind(&rendered, kind).map(|object| object["metadata"]["name"].as_str().unwrap().to_owned());
            names
                .filter_map(|name| name.strip_suffix(end).map(str::to_owned))
                .collect()
        };
        assert_eq!(of("ServiceAccount", ""), wanted, "{mode}");
        assert_eq!(of("Secret", "-token"), wanted, "{mode}");
        let mut rights: Vec<Value> = wanted.iter().flat_map(|name| file("rbac", name)).collect();
        for role in rights.iter_mut().filter(|role| role["aggregationRule"].is_object()) {
            // They are its controller's: an empty list here would be a conflict with each upgrade.
            role.as_object_mut().unwrap().remove("rules");
            // Which may make the role anew while helm takes it away.
            role["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
        }
        if mode == "beside" {
            rights.extend(names("rbac/beside").iter().flat_map(|name| file("rbac/beside", name)));
        }
        let is_right = |object: &&Value| object["apiVersion"] == "rbac.authorization.k8s.io/v1";
        let mut found: Vec<Value> = rendered.iter().filter(is_right).cloned().collect();
        for list in [&mut rights, &mut found] {
            list.sort_by_key(ToString::to_string);
        }
        assert_eq!(found, rights, "{mode}");
    }
    let tokenless = objects(&helm, "control-plane", &["--set", "tokenSecrets=false"]);
    assert_eq!(of_kind(&tokenless, "Secret").count(), 0);
}

/// A kind that another Karmada has is not brought by the chart that is installed beside it.
#[test]
fn beside_stock_only_our_own_kinds_come() {
    let Some(helm) = renderer() else { return };
    for mode in ["standalone", "beside"] {
        let rendered = objects(&helm, "control-plane", &["--set", &format!("mode={mode}")]);
        for crd in of_kind(&rendered, "CustomResourceDefinition") {
            assert_eq!(crd["spec"]["group"], "failover.karmada.io", "{mode}");
            assert_eq!(crd["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
        }
    }
    let karmadas = objects(&helm, "karmada-crds", &[]);
    assert!(karmadas.len() > 5);
    for crd in &karmadas {
        assert_ne!(crd["spec"]["group"], "failover.karmada.io");
        assert_eq!(crd["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    }
}

/// By its Service where it runs in this cluster, else by a URL.
#[test]
fn the_api_server_is_told_where_the_webhook_is() {
    let Some(helm) = renderer() else { return };
    let config = |name: &str, settings: &str| -> Value {
        let objects = objects(&helm, name, &["--set", settings]);
        let validating = of_kind(&objects, "ValidatingWebhookConfiguration").next().unwrap();
        validating["webhooks"][0]["clientConfig"].clone()
    };
    let path = "/validate/failoverpauses.failover.karmada.io";
    let service = json!({
        "caBundle": "YQ==",
        "service": {"name": "webhook", "namespace": "karmada-system", "port": 443, "path": path},
    });
    let on = "webhook.enabled=true,webhook.caBundle=YQ==";
    assert_eq!(
        config("control-plane", &format!("{on},webhook.service.name=webhook")),
        service
    );
    assert_eq!(
        config("control-plane", &format!("{on},webhook.url=https://there:8443")),
        json!({"caBundle": "YQ==", "url": format!("https://there:8443{path}")})
    );
    let in_umbrella = "control-plane.webhook.enabled=true,control-plane.webhook.caBundle=YQ==";
    assert_eq!(
        config("karmada-failover", &format!("webhook.enabled=true,{in_umbrella}")),
        service
    );
}

/// A control plane, and helm.
pub struct Stage {
    binaries: Binaries,
    helm: Helm,
    pub client: Client,
    control_plane: ControlPlane,
}

impl Stage {
    fn arguments(verb: &'static str, name: &'static str) -> Vec<String> {
        let chart = chart(name).display().to_string();
        let mut arguments = vec![verb.to_owned(), name.to_owned(), chart];
        arguments.extend(NAMESPACE.map(str::to_owned));
        arguments
    }

    pub fn run(&self, verb: &'static str, name: &'static str, more: &[&str]) -> String {
        let arguments = Self::arguments(verb, name);
        let arguments: Vec<&str> = arguments
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .collect();
        self.helm.run(&arguments).unwrap()
    }

    pub fn refused(&self, name: &'static str, more: &[&str]) -> String {
        let arguments = Self::arguments("install", name);
        let arguments: Vec<&str> = arguments
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .collect();
        self.helm.refused(&arguments).unwrap()
    }

    /// The server takes what a chart renders, field by field.
    fn takes(&self, file: &Path) {
        let output = Command::new(self.binaries.path(Tool::Kubectl))
            .env("KUBECONFIG", self.control_plane.kubeconfig(Identity::Admin))
            .args([
                "apply",
                "--server-side",
                "--dry-run=server",
                "--validate=strict",
                "--force-conflicts",
                "--filename",
            ])
            .arg(file)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}: {}",
            file.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_api_server() {
    let Some(binaries) = available_with(Tool::Helm, "the charts on a real API server") else {
        return;
    };
    let control_plane = ControlPlane::start().await.unwrap();
    let stage = Stage {
        helm: Helm::new(&binaries, control_plane.kubeconfig(Identity::Admin)).unwrap(),
        client: control_plane.client().await.unwrap(),
        binaries,
        control_plane,
    };
    half_a_set_is_refused(&stage);
    it_installs_changes_and_goes(&stage).await;
    every_chart_is_taken_by_the_server(&stage);
    each_component_alone_installs_changes_and_goes(&stage).await;
    certificates_stay_when_others_are_to_make_them(&stage).await;
    second_owner::is_refused(&stage).await;
}

fn half_a_set_is_refused(stage: &Stage) {
    let create = ["--create-namespace"];
    let said = stage.refused("control-plane", &create);
    assert!(said.contains("helm install karmada-crds charts/karmada-crds"), "{said}");
    let said = stage.refused("control-plane", &["--create-namespace", "--set", "mode=beside"]);
    assert!(
        said.contains("not that of a stock Karmada") && said.contains("--kubeconfig"),
        "{said}"
    );
    let chart = chart("control-plane").display().to_string();
    let said = stage
        .helm
        .refused(&["install", "x", &chart, "--namespace", "default"])
        .unwrap();
    assert!(said.contains("--namespace karmada-system"), "{said}");
}

async fn it_installs_changes_and_goes(stage: &Stage) {
    let notes = stage.run("install", "karmada-crds", &["--create-namespace", "--wait"]);
    assert!(notes.contains("helm install karmada-failover"), "{notes}");
    let notes = stage.run("install", "control-plane", &["--wait"]);
    assert!(notes.contains("failoverctl kubeconfig taint-manager"), "{notes}");
    assert_eq!(policies(&stage.client).await, DEFAULTS);
    let secrets: Api<Secret> = Api::namespaced(stage.client.clone(), "karmada-system");
    eventually("a token for the taint manager", Duration::from_secs(30), async || {
        let secret = secrets
            .get("taint-manager-token")
            .await
            .map_err(|error| error.to_string())?;
        if secret.data.is_some_and(|data| data.contains_key("token")) {
            Ok(())
        } else {
            Err("none".to_owned())
        }
    })
    .await
    .unwrap();
    // The second hand that writes what the chart brings: it must not stand in the way of an upgrade.
    let roles: Api<ClusterRole> = Api::all(stage.client.clone());
    eventually(
        "the rights on templates are gathered",
        Duration::from_secs(30),
        async || {
            let role = roles.get("karmada-failover:templates").await;
            match role.map_err(|error| error.to_string())?.rules {
                Some(rules) if !rules.is_empty() => Ok(()),
                _ => Err("no rules".to_owned()),
            }
        },
    )
    .await
    .unwrap();
    stage.run(
        "upgrade",
        "control-plane",
        &["--set", "policies.notReadyNoExecute=true"],
    );
    assert_eq!(
        policies(&stage.client).await,
        ["not-ready-no-execute", DEFAULTS[0], DEFAULTS[1]]
    );
    stage
        .helm
        .run(&["rollback", "control-plane", NAMESPACE[0], NAMESPACE[1]])
        .unwrap();
    assert_eq!(policies(&stage.client).await, DEFAULTS);
    stage
        .helm
        .run(&["uninstall", "control-plane", NAMESPACE[0], NAMESPACE[1]])
        .unwrap();
    // The kinds stay, and with them whatever a person applied.
    assert_eq!(policies(&stage.client).await, [""; 0]);
    // So do the credentials of members.
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    let of_members = namespaces.get("karmada-cluster").await.unwrap();
    assert!(of_members.metadata.deletion_timestamp.is_none());
    // What was kept is left alone by a release of another name, which says so.
    let chart = chart("control-plane").display().to_string();
    let other = ["install", "other", &chart, NAMESPACE[0], NAMESPACE[1]];
    let notes = stage.helm.run(&other).unwrap();
    assert!(
        notes.contains("kubectl annotate --overwrite crd failoverpauses."),
        "{notes}"
    );
    stage
        .helm
        .run(&["uninstall", "other", NAMESPACE[0], NAMESPACE[1]])
        .unwrap();
    // The one that made it has it again.
    let notes = stage.run("install", "control-plane", &["--wait"]);
    assert!(!notes.contains("kubectl annotate"), "{notes}");
    assert_eq!(policies(&stage.client).await, DEFAULTS);
}

fn every_chart_is_taken_by_the_server(stage: &Stage) {
    let folder = tempfile::tempdir().unwrap();
    for name in COMPONENTS.into_iter().chain(["karmada-failover"]) {
        // What it would put on the control plane is another release's here.
        let without: &[&str] = match name {
            "karmada-failover" => &["--set", "control-plane.enabled=false"],
            _ => &[],
        };
        stage.run("install", name, &[&["--dry-run=server"], least(name), without].concat());
        let file = folder.path().join(format!("{name}.yaml"));
        std::fs::write(&file, stage.helm.template(&chart(name), least(name)).unwrap()).unwrap();
        stage.takes(&file);
    }
}

async fn each_component_alone_installs_changes_and_goes(stage: &Stage) {
    let deployments: Api<Deployment> = Api::namespaced(stage.client.clone(), "karmada-system");
    let is_debug = async |name: &str| -> bool {
        let deployment = deployments.get(name).await.unwrap();
        let container = &deployment.spec.template.spec.unwrap().containers[0];
        let arguments = container.args.clone().unwrap_or_default();
        arguments.contains(&"--log-level=debug".to_owned())
    };
    for name in COMPONENTS {
        let notes = stage.run("install", name, least(name));
        assert!(notes.contains("\nNext, "), "{name}: {notes}");
        assert!(!is_debug(name).await, "{name}");
        stage.run("upgrade", name, &[least(name), &["--set", "log.level=debug"]].concat());
        assert!(is_debug(name).await, "{name}");
        stage.helm.run(&["rollback", name, NAMESPACE[0], NAMESPACE[1]]).unwrap();
        assert!(!is_debug(name).await, "{name}");
        stage
            .helm
            .run(&["uninstall", name, NAMESPACE[0], NAMESPACE[1]])
            .unwrap();
        assert!(deployments.get_opt(name).await.unwrap().is_none(), "{name}");
    }
}

/// Pods that run have them mounted.
async fn certificates_stay_when_others_are_to_make_them(stage: &Stage) {
    let secrets: Api<Secret> = Api::namespaced(stage.client.clone(), "karmada-system");
    let names = ["eviction-queue-server-tls", "taint-manager-queue-tls"];
    stage.run("install", "eviction-queue", &[]);
    let made = [
        secrets.get(names[0]).await.unwrap().data,
        secrets.get(names[1]).await.unwrap().data,
    ];
    for source in ["existing", "existing", "helm"] {
        stage.run("upgrade", "eviction-queue", &["--set", &format!("tls.source={source}")]);
        for (name, made) in names.iter().zip(&made) {
            assert_eq!(secrets.get(name).await.unwrap().data, *made, "{name} with {source}");
        }
    }
    stage
        .helm
        .run(&["uninstall", "eviction-queue", NAMESPACE[0], NAMESPACE[1]])
        .unwrap();
    assert!(secrets.get_opt(names[0]).await.unwrap().is_none());
}

async fn policies(client: &Client) -> Vec<String> {
    let all = Api::<ClusterTaintPolicy>::all(client.clone());
    let found = all.list(&ListParams::default()).await.unwrap();
    let mut names: Vec<String> = found.into_iter().map(|policy| policy.name_any()).collect();
    names.sort();
    names
}
