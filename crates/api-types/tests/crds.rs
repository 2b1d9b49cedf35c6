//! The generated CRDs: complete, structural, and their CEL rules refuse what they should.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use kube_cel::Validator;
use serde_json::{Value, json};

fn schema_of(name: &str) -> Value {
    let crd = api_types::crds()
        .into_iter()
        .find(|crd| crd.metadata.name.as_deref() == Some(name))
        .unwrap();
    let version = &crd.spec.versions[0];
    serde_json::to_value(version.schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap()).unwrap()
}

/// What the API server would say to `object`, by the rules alone.
fn refusals(crd: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
    let errors = Validator::new()
        .validate(&schema_of(crd), object, old)
        .err()
        .map(|found| found.to_string());
    errors.into_iter().collect()
}

#[test]
fn every_kind_is_there_under_karmadas_names() {
    let names: Vec<_> = api_types::crds()
        .into_iter()
        .map(|crd| crd.metadata.name.unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "clusterpropagationpolicies.policy.karmada.io",
            "clusterresourcebindings.work.karmada.io",
            "clusters.cluster.karmada.io",
            "clustertaintpolicies.policy.karmada.io",
            "failoverpauses.failover.karmada.io",
            "failoverrecords.failover.karmada.io",
            "propagationpolicies.policy.karmada.io",
            "resourcebindings.work.karmada.io",
            "resourceinterpretercustomizations.config.karmada.io",
            "works.work.karmada.io",
        ]
    );
}

/// What `kubectl get ctp` shows without being asked for more.
#[test]
fn a_list_of_taint_policies_says_when_the_next_window_ends() {
    let crds = api_types::crds();
    let policies = crds
        .iter()
        .find(|crd| crd.spec.names.kind == "ClusterTaintPolicy")
        .unwrap();
    let columns = policies.spec.versions[0].additional_printer_columns.as_ref().unwrap();
    let shown: Vec<&str> = columns
        .iter()
        .filter(|column| column.priority.unwrap_or_default() == 0)
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(shown, ["TARGETS", "MATCHING", "TAINTED", "PENDING", "NEXT", "AGE"]);
}

/// The API server refuses schemas that are not structural; the commonest slips are found here without one.
#[test]
fn schemas_are_structural() {
    fn walk(path: &str, schema: &Value, problems: &mut Vec<String>) {
        let Some(object) = schema.as_object() else { return };
        let any = object.contains_key("x-kubernetes-preserve-unknown-fields")
            || object.contains_key("x-kubernetes-int-or-string");
        if !object.contains_key("type") && !any {
            problems.push(format!("{path}: no type"));
        }
        for word in ["$ref", "definitions", "oneOf", "const"] {
            if object.contains_key(word) {
                problems.push(format!("{path}: {word}"));
            }
        }
        if object.contains_key("anyOf") && !any {
            problems.push(format!("{path}: anyOf"));
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            walk(&format!("{path}.{name}"), property, problems);
        }
        if schema["items"].is_object() {
            walk(&format!("{path}[]"), &schema["items"], problems);
        }
        if schema["additionalProperties"].is_object() {
            walk(&format!("{path}{{}}"), &schema["additionalProperties"], problems);
        }
    }
    let mut problems = Vec::new();
    for crd in api_types::crds() {
        let name = crd.metadata.name.unwrap();
        let schema = schema_of(&name);
        walk(&name, &schema, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// `kubectl explain` says of every kind and every field, at any depth, what it means.
#[test]
fn every_field_is_documented() {
    fn walk(path: &str, schema: &Value, silent: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            // Those of every Kubernetes object: the API server documents them itself.
            if path.matches('.').count() == 1 && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                continue;
            }
            if property["description"]
                .as_str()
                .is_none_or(|said| said.trim().is_empty())
            {
                silent.push(path.clone());
            }
            walk(&path, property, silent);
        }
        for inner in ["items", "additionalProperties"] {
            if schema[inner].is_object() {
                walk(path, &schema[inner], silent);
            }
        }
    }
    let mut silent = Vec::new();
    for crd in api_types::crds() {
        let kind = crd.spec.names.kind;
        let schema = schema_of(&crd.metadata.name.unwrap());
        let said = schema["description"].as_str().unwrap_or_default();
        if said.is_empty() || said.starts_with("Auto-generated") {
            silent.push(kind.clone());
        }
        walk(&kind, &schema, &mut silent);
    }
    assert!(silent.is_empty(), "no description: {silent:#?}");
}

#[test]
fn a_taint_policy_has_one_form() {
    const CTP: &str = "clustertaintpolicies.policy.karmada.io";
    let taint = json!({"key": "k", "effect": "NoExecute"});
    let policy = |spec: Value| json!({"metadata": {"name": "p"}, "spec": spec});
    let ours = policy(json!({"matchConditions": [], "taintsToAdd": [taint]}));
    let stock = policy(
        json!({"addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}], "taints": [taint]}),
    );
    assert_eq!(refusals(CTP, &ours, None), Vec::<String>::new());
    assert_eq!(refusals(CTP, &stock, None), Vec::<String>::new());
    let mixed = policy(json!({"matchConditions": [], "taintsToAdd": [taint], "taints": [taint]}));
    assert!(refusals(CTP, &mixed, None)[0].contains("two forms of a policy"));
    let twice = policy(json!({"targetCluster": {}, "targetClusters": {}, "taints": [taint]}));
    assert!(refusals(CTP, &twice, None)[0].contains("two spellings"));
    assert!(refusals(CTP, &policy(json!({"matchConditions": []})), None)[0].contains("at least one taint"));
}

/// C17 (karmada PR#3437): a grace period and a suppressed deletion contradict each other.
#[test]
fn a_task_has_a_grace_period_or_a_suppressed_deletion() {
    const RB: &str = "resourcebindings.work.karmada.io";
    let binding = |task: Value| {
        let mut task = task;
        for (key, value) in [
            ("fromCluster", "m1"),
            ("reason", "TaintUntolerated"),
            ("producer", "TaintManager"),
        ] {
            task[key] = json!(value);
        }
        json!({"metadata": {"name": "b"}, "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c"}, "gracefulEvictionTasks": [task]}})
    };
    let both = binding(json!({"gracePeriodSeconds": 0, "suppressDeletion": true}));
    assert!(refusals(RB, &both, None)[0].contains("contradict"));
    assert!(refusals(RB, &binding(json!({"suppressDeletion": true})), None).is_empty());
    let minimum = &schema_of(RB)["properties"]["spec"]["properties"]["gracefulEvictionTasks"]["items"]["properties"]["gracePeriodSeconds"]
        ["minimum"];
    assert_eq!(
        minimum.as_f64(),
        Some(0.0),
        "a negative grace period is refused by the schema"
    );
}

/// C37 (karmada#7272): the toleration operators Lt and Gt of newer Kubernetes types are refused.
#[test]
fn tolerations_know_exists_and_equal_only() {
    for crd in [
        "propagationpolicies.policy.karmada.io",
        "clusterpropagationpolicies.policy.karmada.io",
    ] {
        let schema = schema_of(crd);
        let operator = &schema["properties"]["spec"]["properties"]["placement"]["properties"]["clusterTolerations"]["items"]
            ["properties"]["operator"];
        assert_eq!(operator["enum"], json!(["Exists", "Equal"]));
    }
}

/// C20 (karmada PR#6387): the old spellings of purge modes stay valid.
#[test]
fn old_purge_modes_are_accepted_and_grace_goes_with_graceful_only() {
    const PP: &str = "propagationpolicies.policy.karmada.io";
    let policy = |cluster: Value| json!({"metadata": {"name": "p"}, "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Secret"}], "failover": {"cluster": cluster}}});
    for mode in ["Gracefully", "Graciously"] {
        assert!(
            refusals(PP, &policy(json!({"purgeMode": mode, "gracePeriodSeconds": 5})), None).is_empty(),
            "{mode}"
        );
    }
    for mode in ["Directly", "Immediately", "Never"] {
        let said = refusals(PP, &policy(json!({"purgeMode": mode, "gracePeriodSeconds": 5})), None);
        assert!(said[0].contains("only with purgeMode Gracefully"), "{mode}: {said:?}");
    }
}

#[test]
fn a_cluster_name_fits_its_namespace() {
    const CLUSTER: &str = "clusters.cluster.karmada.io";
    let cluster = |name: &str| json!({"metadata": {"name": name}, "spec": {"syncMode": "Push"}});
    assert!(refusals(CLUSTER, &cluster("member1"), None).is_empty());
    assert!(refusals(CLUSTER, &cluster(&"m".repeat(49)), None)[0].contains("at most 48 characters"));
    assert!(refusals(CLUSTER, &cluster("m.1"), None)[0].contains("DNS label"));
}

#[test]
fn the_scheduler_of_a_policy_cannot_change() {
    const PP: &str = "propagationpolicies.policy.karmada.io";
    let policy = |name: &str| json!({"metadata": {"name": "p"}, "spec": {"schedulerName": name, "resourceSelectors": [{"apiVersion": "v1", "kind": "Secret"}]}});
    assert!(refusals(PP, &policy("b"), Some(&policy("a")))[0].contains("cannot be changed"));
    assert!(refusals(PP, &policy("a"), Some(&policy("a"))).is_empty());
}

/// A value that this version does not know must not make a list of objects unreadable, nor be lost when written back.
#[test]
fn unknown_words_survive() {
    use api_types::policy::PurgeMode;
    let mode: PurgeMode = serde_json::from_value(json!("Eventually")).unwrap();
    assert_eq!(mode.effective(), PurgeMode::Gracefully);
    assert_eq!(serde_json::to_value(&mode).unwrap(), json!("Eventually"));
}
