//! The gates that charts take are those that the programs take: with another one their Pods would end again and again.

use std::collections::BTreeSet;

use controller_kit::{FeatureGates, Gate};
use serde_json::Value;

use crate::{COMPONENTS, chart, least, renderer};

/// What a chart's schema says of its gates, for a component, or of those of all.
fn gates(name: &str) -> Value {
    let text = std::fs::read_to_string(chart(name).join("values.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let of_all = &schema["properties"]["global"]["properties"]["featureGates"];
    if of_all.is_object() {
        return of_all.clone();
    }
    schema["properties"]["featureGates"].clone()
}

#[test]
fn charts_and_programs_have_the_same_gates() {
    let all: BTreeSet<&str> = Gate::ALL.iter().map(|gate| gate.name()).collect();
    for name in COMPONENTS.into_iter().chain(["karmada-failover"]) {
        let gates = gates(name);
        let names: Vec<String> = serde_json::from_value(gates["propertyNames"]["enum"].clone())
            .unwrap_or_else(|error| panic!("{name}: {error}: {gates}"));
        let taken: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        assert!(taken.is_superset(&all), "{name}: {taken:?}");
        // Those too that have no effect any more.
        for gate in taken {
            FeatureGates::parse(&[format!("{gate}=true")]).unwrap();
        }
    }
}

#[test]
fn no_chart_takes_a_gate_that_does_not_exist() {
    let Some(helm) = renderer() else { return };
    let wrong = "featureGates.Failovr=true";
    let of_all = format!("global.{wrong}");
    let of_one = format!("taint-manager.{wrong}");
    let components = COMPONENTS.map(|name| (name, wrong));
    let umbrella = ["karmada-failover"; 2]
        .into_iter()
        .zip([of_all.as_str(), of_one.as_str()]);
    for (name, setting) in components.into_iter().chain(umbrella) {
        let path = chart(name).display().to_string();
        let arguments = [
            "template",
            name,
            &path,
            "--namespace",
            "karmada-system",
            "--set",
            setting,
        ];
        let said = helm.refused(&[&arguments, least(name)].concat()).unwrap();
        assert!(
            said.contains("invalid propertyName 'Failovr'"),
            "{name} {setting}: {said}"
        );
    }
}
