//! What holds of every Pod of ours, whatever its component.

use serde_json::{Value, json};

use crate::objects::{objects, only};
use crate::{COMPONENTS, renderer};

/// As the Pod Security Standard `restricted` wants it, and more.
fn assert_restricted(name: &str, pod: &Value) {
    let container = &pod["containers"][0];
    assert_eq!(pod["containers"].as_array().unwrap().len(), 1, "{name}");
    for (what, is, wanted) in [
        (
            "a user without rights",
            &pod["securityContext"]["runAsNonRoot"],
            json!(true),
        ),
        (
            "seccomp",
            &pod["securityContext"]["seccompProfile"]["type"],
            json!("RuntimeDefault"),
        ),
        (
            "no more rights later",
            &container["securityContext"]["allowPrivilegeEscalation"],
            json!(false),
        ),
        (
            "nothing to write to",
            &container["securityContext"]["readOnlyRootFilesystem"],
            json!(true),
        ),
        (
            "no capabilities",
            &container["securityContext"]["capabilities"],
            json!({"drop": ["ALL"]}),
        ),
        ("no names of Services", &pod["enableServiceLinks"], json!(false)),
    ] {
        assert_eq!(*is, wanted, "{name}: {what}");
    }
    for unwanted in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"] {
        assert!(pod[unwanted].is_null(), "{name}: {unwanted}");
    }
    for volume in pod["volumes"].as_array().into_iter().flatten() {
        let kind = if volume["secret"].is_null() {
            "configMap"
        } else {
            "secret"
        };
        assert_eq!(volume[kind]["defaultMode"], 0o440, "{name}: {volume}");
    }
    for (probe, path) in [
        ("startupProbe", "/healthz"),
        ("livenessProbe", "/healthz"),
        ("readinessProbe", "/readyz"),
    ] {
        let asked = json!({"path": path, "port": "admin"});
        assert_eq!(container[probe]["httpGet"], asked, "{name}: {probe}");
    }
    let ports = container["ports"].as_array().unwrap();
    assert!(ports.iter().any(|port| port["name"] == "admin"), "{name}: {ports:?}");
    let resources = &container["resources"];
    assert!(
        resources["requests"]["memory"].is_string() && resources["limits"]["memory"].is_string(),
        "{name}"
    );
}

#[test]
fn pods_are_restricted_and_stand_apart() {
    let Some(helm) = renderer() else { return };
    for name in COMPONENTS {
        let objects = objects(&helm, name, &["--set", "karmada.kubeconfigSecret=k,replicas=3"]);
        let deployment = only(&objects, "Deployment");
        let pod = &deployment["spec"]["template"]["spec"];
        assert_restricted(name, pod);
        assert_eq!(deployment["metadata"]["name"], *name);
        assert_eq!(pod["containers"][0]["name"], *name, "by it the tests find the program");
        assert_eq!(pod["topologySpreadConstraints"].as_array().unwrap().len(), 2, "{name}");
        assert_eq!(
            only(&objects, "PodDisruptionBudget")["spec"]["maxUnavailable"],
            1,
            "{name}"
        );
        assert_eq!(
            only(&objects, "NetworkPolicy")["spec"]["policyTypes"],
            json!(["Ingress", "Egress"]),
            "{name}"
        );
    }
}

/// Where an operator looks stands how Pods are asked, and why not over gRPC.
#[test]
fn how_pods_are_asked_is_documented() {
    let Some(helm) = renderer() else { return };
    let documents = [
        include_str!("../../../../docs/charts.md"),
        include_str!("../../../../charts/eviction-queue/README.md"),
    ];
    let told = ["| probes |", "| `ports.admin` |"];
    let told = documents.iter().zip(told).map(|(document, row)| {
        let row = document.lines().find(|line| line.starts_with(row));
        row.unwrap_or_else(|| panic!("no row {row:?}"))
    });
    let objects = objects(&helm, "eviction-queue", &[]);
    let container = &only(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    for row in told {
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let path = container[probe]["httpGet"]["path"].as_str().unwrap();
            assert!(row.contains(path), "{row} says nothing of {path}");
        }
        for words in ["HTTP", "gRPC", "TLS"] {
            assert!(
                row.to_lowercase().contains(&words.to_lowercase()),
                "{row} says nothing of {words}"
            );
        }
    }
}

/// A token only where it is used: in the control plane's own cluster, and the agent's on its member.
#[test]
fn tokens_are_where_they_are_used() {
    let Some(helm) = renderer() else { return };
    for name in COMPONENTS {
        let token = |flags: &[&str]| {
            let objects = objects(&helm, name, flags);
            let pod = only(&objects, "Deployment")["spec"]["template"]["spec"].clone();
            (
                pod["automountServiceAccountToken"].clone(),
                pod["serviceAccountName"].clone(),
            )
        };
        let there = (json!(true), json!(name));
        if name == "agent" {
            assert_eq!(token(&[]), there);
        } else {
            assert_eq!(token(&[]), there, "{name} in the control plane's cluster");
            let elsewhere = token(&["--set", "karmada.kubeconfigSecret=k"]);
            assert_eq!(elsewhere, (json!(false), Value::Null), "{name} on a host cluster");
        }
    }
}

#[test]
fn with_one_replica_there_is_no_budget_and_each_switch_switches() {
    let Some(helm) = renderer() else { return };
    let kinds = |flags: &[&str]| -> Vec<String> {
        let objects = objects(&helm, "scheduler", flags);
        objects
            .iter()
            .map(|object| object["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    let has = |kinds: &[String], kind: &str| kinds.iter().any(|one| one == kind);
    assert!(!has(&kinds(&["--set", "replicas=1"]), "PodDisruptionBudget"));
    assert!(!has(
        &kinds(&["--set", "podDisruptionBudget.enabled=false"]),
        "PodDisruptionBudget"
    ));
    assert!(!has(&kinds(&["--set", "networkPolicy.enabled=false"]), "NetworkPolicy"));
    assert!(!has(&kinds(&[]), "ServiceMonitor"));
    assert!(has(&kinds(&["--set", "serviceMonitor.enabled=true"]), "ServiceMonitor"));
    assert!(has(
        &kinds(&["--set", "global.serviceMonitor.enabled=true"]),
        "ServiceMonitor"
    ));
}

/// What a Pod is told to call, its network policy lets it call.
#[test]
fn what_is_called_is_let_out() {
    let Some(helm) = renderer() else { return };
    let out = |name: &str, flags: &[&str]| -> Vec<Value> {
        let objects = objects(&helm, name, flags);
        let rules = only(&objects, "NetworkPolicy")["spec"]["egress"].as_array().unwrap();
        rules
            .iter()
            .flat_map(|rule| rule["ports"].as_array().unwrap().clone())
            .collect()
    };
    let tcp = |port: u16| json!({"port": port, "protocol": "TCP"});
    for name in COMPONENTS {
        for key in ["otlpEndpoint", "global.otlpEndpoint"] {
            let ports = out(name, &["--set", &format!("{key}=http://collector:4319")]);
            let any = json!({"port": 1, "endPort": 65535, "protocol": "TCP"});
            assert!(ports.contains(&tcp(4319)) || ports.contains(&any), "{name} {key}");
        }
        assert!(!out(name, &[]).contains(&tcp(4317)), "{name}");
    }
    let more = [
        "--set",
        "global.networkPolicy.dnsPorts={5353},global.networkPolicy.apiServerPorts={7443}",
    ];
    let ports = out("scheduler", &more);
    for wanted in [
        tcp(53),
        tcp(5353),
        json!({"port": 5353, "protocol": "UDP"}),
        tcp(6443),
        tcp(7443),
    ] {
        assert!(ports.contains(&wanted), "{wanted}");
    }
}

/// Where the cluster chooses the user, as OpenShift does.
#[test]
fn whom_pods_run_as_can_be_said() {
    let Some(helm) = renderer() else { return };
    let context = |flags: &[&str]| -> Value {
        let objects = objects(&helm, "scheduler", flags);
        only(&objects, "Deployment")["spec"]["template"]["spec"]["securityContext"].clone()
    };
    assert_eq!(context(&[])["runAsUser"], 65532);
    let shared = ["--set", "global.podSecurityContext.runAsNonRoot=true"];
    assert_eq!(context(&shared), json!({"runAsNonRoot": true}));
    let own = ["--set", "podSecurityContext.fsGroup=7"];
    assert_eq!(context(&[&shared[..], &own].concat()), json!({"fsGroup": 7}));
}

/// The rights on a member are those that the agent says it needs.
#[test]
fn the_agents_rights_are_those_that_it_prints() {
    let Some(helm) = renderer() else { return };
    let objects = objects(&helm, "agent", &[]);
    let program = e2e_harness::Programs::find().unwrap().path("agent").unwrap();
    let printed = std::process::Command::new(program)
        .args(["--cluster-name=member1", "--print-rights=member"])
        .output()
        .unwrap();
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let printed = printed["items"].as_array().unwrap();
    let rules = |objects: &[Value]| -> Value {
        let role = objects.iter().find(|object| object["kind"] == "ClusterRole").unwrap();
        role["rules"].clone()
    };
    assert_eq!(rules(&objects), rules(printed));
}
