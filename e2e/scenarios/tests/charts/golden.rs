//! What the charts render, as files under `golden/`: a change there is seen by who reviews it. `INSTA_UPDATE=always` writes
//! them anew.

use insta::{assert_snapshot, with_settings};

use crate::objects::{arguments, objects};
use crate::{COMPONENTS, chart, least, renderer};

/// What helm makes by chance is not shown.
fn without_secrets(manifests: &str) -> String {
    let shown = manifests.lines().map(|line| match line.trim_start().split_once(": ") {
        Some((key @ ("ca.crt" | "tls.crt" | "tls.key"), _)) => {
            format!(
                "{}{key}: (made by helm)",
                " ".repeat(line.len() - line.trim_start().len())
            )
        }
        _ => line.trim_end().to_owned(),
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn assert_golden(name: &str, manifests: &str) {
    with_settings!({snapshot_path => "golden", prepend_module_to_snapshot => false, omit_expression => true}, {
        assert_snapshot!(name, without_secrets(manifests));
    });
}

#[test]
fn each_component_by_itself() {
    let Some(helm) = renderer() else { return };
    for name in COMPONENTS {
        assert_golden(name, &helm.template(&chart(name), least(name)).unwrap());
    }
    // The rules and the dashboard lie in the repository as they are.
    let monitoring = helm.template(&chart("monitoring"), &[]).unwrap();
    let kinds: Vec<&str> = monitoring.lines().filter(|line| line.starts_with("kind:")).collect();
    assert_eq!(kinds, ["kind: ConfigMap", "kind: PrometheusRule"]);
}

/// Stock's is default-scheduler there.
#[test]
fn a_scheduler_beside_stocks_has_a_name_of_its_own() {
    let Some(helm) = renderer() else { return };
    for (flags, name) in [
        ("mode=beside", "failover-scheduler"),
        ("mode=beside,settings.schedulerName=mine", "mine"),
    ] {
        let told = arguments(&objects(&helm, "scheduler", &["--set", flags]));
        assert!(told.contains(&format!("--scheduler-name={name}")), "{told:?}");
    }
}

/// All switches on.
#[test]
fn the_eviction_queue_with_all_switches() {
    let Some(helm) = renderer() else { return };
    let flags = [
        "--set",
        "tls.source=certManager,serviceMonitor.enabled=true,karmada.kubeconfigSecret=k,access.admins={root},otlpEndpoint=http://otel:4317",
    ];
    assert_golden(
        "eviction-queue-all",
        &helm.template(&chart("eviction-queue"), &flags).unwrap(),
    );
}

#[test]
fn what_goes_to_the_control_plane() {
    let Some(helm) = renderer() else { return };
    // Kinds and rights lie in the repository as they are.
    for (name, flags) in [
        ("control-plane", &[][..]),
        ("control-plane-beside", &["--set", "mode=beside"][..]),
    ] {
        let manifests = helm.template(&chart("control-plane"), flags).unwrap();
        let told: Vec<String> = serde_saphyr::from_multiple::<serde_json::Value>(&manifests)
            .unwrap()
            .iter()
            .filter(|object| !object.is_null())
            .map(|object| {
                let (kind, metadata) = (object["kind"].as_str().unwrap(), &object["metadata"]);
                let namespace = metadata["namespace"].as_str().map(|name| format!(" in {name}"));
                let kept = metadata["annotations"]["helm.sh/resource-policy"] == "keep";
                let name = metadata["name"].as_str().unwrap();
                format!(
                    "{kind} {name}{}{}",
                    namespace.unwrap_or_default(),
                    if kept { ", kept" } else { "" }
                )
            })
            .collect();
        assert_golden(name, &told.join("\n"));
    }
}

#[test]
fn the_umbrella_beside_stock() {
    let Some(helm) = renderer() else { return };
    let umbrella = chart("karmada-failover");
    let preset = umbrella.join("values-beside.yaml").display().to_string();
    assert_golden(
        "karmada-failover-beside",
        &helm.template(&umbrella, &["--values", &preset]).unwrap(),
    );
}
