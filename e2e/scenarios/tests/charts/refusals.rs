//! Wrong values are refused by name, before anything is installed.

use crate::{COMPONENTS, chart, least, renderer};

#[test]
fn no_chart_takes_a_value_that_means_nothing() {
    let Some(helm) = renderer() else { return };
    for name in COMPONENTS
        .into_iter()
        .chain(["control-plane", "karmada-crds", "karmada-failover", "monitoring"])
    {
        let path = chart(name).display().to_string();
        for (key, complaint) in [("replica", "'replica' not allowed"), ("settings.nonsense", "nonsense")] {
            // Of these, the umbrella and what goes to the control plane have no settings at all.
            let setting = format!("{key}=3");
            let arguments = [
                &[
                    "template",
                    name,
                    &path,
                    "--namespace",
                    "karmada-system",
                    "--set",
                    &setting,
                ],
                least(name),
            ];
            let said = helm.refused(&arguments.concat()).unwrap();
            assert!(
                said.contains(complaint) || said.contains("'settings' not allowed"),
                "{name} {key}: {said}"
            );
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let Some(helm) = renderer() else { return };
    for (name, settings, complaint) in [
        (
            "taint-manager",
            "mode=alone",
            "value must be one of 'standalone', 'beside'",
        ),
        (
            "taint-manager",
            "settings.preEvictionCheck=sometimes",
            "settings/preEvictionCheck",
        ),
        (
            "eviction-queue",
            "settings.resourceEvictionRate=-1",
            "settings/resourceEvictionRate",
        ),
        (
            "eviction-queue",
            "settings.unhealthyClusterThreshold=2",
            "settings/unhealthyClusterThreshold",
        ),
        ("eviction-queue", "settings.leaderGrace=soon", "settings/leaderGrace"),
        (
            "eviction-queue",
            "tls.source=none",
            "value must be one of 'helm', 'certManager', 'existing'",
        ),
        ("scheduler", "ports.admin=80000", "ports/admin"),
        ("scheduler", "otlpEndpoint=https://collector:4317", "otlpEndpoint"),
        ("scheduler", "otlpEndpoint=collector:4317", "otlpEndpoint"),
        (
            "karmada-failover",
            "global.otlpEndpoint=http://collector",
            "global/otlpEndpoint",
        ),
        (
            "cluster-health-controller",
            "mode=beside",
            "stock Karmada does this itself",
        ),
        (
            "propagation-controllers",
            "mode=beside",
            "stock Karmada does this itself",
        ),
        (
            "scheduler",
            "mode=beside,settings.schedulerName=default-scheduler",
            "leave settings.schedulerName out (failover-scheduler)",
        ),
        (
            "agent",
            "karmada.kubeconfigSecret=",
            "karmada.kubeconfigSecret is missing",
        ),
        ("agent", "clusterName=", "clusterName is missing"),
        ("agent", "clusterName=Not_A_Name", "clusterName"),
        ("control-plane", "webhook.enabled=true", "webhook/url"),
        ("control-plane", "webhook.enabled=true", "webhook/service/name"),
        ("control-plane", "webhook.url=http://plain", "webhook/url"),
        (
            "karmada-failover",
            "global.karmada.kubeconfigSecretSuffix=-kubeconfig",
            "set control-plane.enabled=false",
        ),
        ("karmada-failover", "global.mode=beside", "Error: "),
        (
            "karmada-failover",
            "global.mode=beside,scheduler.enabled=false,cluster-health-controller.enabled=false,\
             propagation-controllers.enabled=false",
            "-f charts/karmada-failover/values-beside.yaml",
        ),
        (
            "karmada-failover",
            "control-plane.webhook.enabled=true,control-plane.webhook.caBundle=YQ==",
            "first set webhook.enabled=true",
        ),
        (
            "karmada-failover",
            "eviction-queue.ports.grpc=9555,application-failover-controller.queue.port=9555",
            "set taint-manager.queue.port=9555",
        ),
        (
            "karmada-failover",
            "eviction-queue.ports.grpc=9555,taint-manager.queue.port=9555",
            "set application-failover-controller.queue.port=9555",
        ),
        (
            "karmada-failover",
            "taint-manger.enabled=false",
            "'taint-manger' not allowed",
        ),
        ("karmada-failover", "taint-manager.replica=1", "'replica' not allowed"),
    ] {
        let path = chart(name).display().to_string();
        let arguments = ["template", name, &path, "--namespace", "karmada-system"];
        let said = helm
            .refused(&[&arguments, least(name), &["--set", settings]].concat())
            .unwrap();
        assert!(said.contains(complaint), "{name} {settings}: {said}");
    }
}

/// What looks like it, and is none.
#[test]
fn what_makes_sense_is_not_refused() {
    let Some(helm) = renderer() else { return };
    let asked = "control-plane.webhook.enabled=true,control-plane.webhook.caBundle=YQ==";
    for settings in [
        format!("{asked},webhook.enabled=true"),
        format!("{asked},control-plane.webhook.url=https://elsewhere:8443"),
        format!("{asked},control-plane.webhook.service.name=of-another-release"),
        "eviction-queue.ports.grpc=9555,taint-manager.queue.port=9555,application-failover-controller.queue.port=9555"
            .to_owned(),
        // Nobody who may call it is told a port.
        "eviction-queue.ports.grpc=9555,taint-manager.networkPolicy.enabled=false,\
         application-failover-controller.enabled=false"
            .to_owned(),
        "eviction-queue.ports.grpc=9555,eviction-queue.advertiseAddress=queue.example.com:9443".to_owned(),
        "eviction-queue.enabled=false".to_owned(),
    ] {
        helm.template(&chart("karmada-failover"), &["--set", &settings])
            .unwrap();
    }
}

/// Where the account is, there the Pod is.
#[test]
fn without_a_kubeconfig_the_namespace_is_karmada_system() {
    let Some(helm) = renderer() else { return };
    let path = chart("taint-manager").display().to_string();
    let elsewhere = ["template", "x", &path, "--namespace", "elsewhere"];
    let said = helm.refused(&elsewhere).unwrap();
    assert!(said.contains("install it into the namespace karmada-system"), "{said}");
    helm.run(&[&elsewhere[..], &["--set", "karmada.kubeconfigSecret=k"]].concat())
        .unwrap();
}
