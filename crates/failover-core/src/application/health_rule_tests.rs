use rstest::rstest;
use serde_json::json;

use super::super::testing::binding;
use super::*;

// C97 (karmada#7843): kinds that can never fail over are named; Jobs and CronJobs are none of them here.
#[rstest]
#[case::deployment("apps/v1", "Deployment", "Healthy", None)]
#[case::job("batch/v1", "Job", "Healthy", None)]
#[case::cron_job("batch/v1", "CronJob", "Healthy", None)]
#[case::config_map("v1", "ConfigMap", "Healthy", Some("no health rule for v1 ConfigMap"))]
#[case::of_another_group("example.com/v1", "Job", "Unknown", Some("no health rule for example.com/v1 Job"))]
#[case::somebody_else_has_a_rule("example.com/v1", "Job", "Unhealthy", None)]
fn kinds(#[case] api_version: &str, #[case] kind: &str, #[case] health: &str, #[case] expected: Option<&str>) {
    let binding = binding(health, |b| {
        b["spec"]["resource"]["apiVersion"] = json!(api_version);
        b["spec"]["resource"]["kind"] = json!(kind);
    });
    assert_eq!(no_health_rule(&binding).as_deref(), expected);
    let is_theirs = api_version == "example.com/v1" && health == "Unhealthy";
    assert_eq!(has_rule_of_another(&binding), is_theirs);
}

#[test]
fn who_does_not_ask_for_failover_is_not_warned() {
    let binding = binding("Healthy", |b| {
        b["spec"]["resource"]["kind"] = json!("ConfigMap");
        b["spec"]["resource"]["apiVersion"] = json!("v1");
        b["spec"]["failover"] = json!({"cluster": {}});
    });
    assert_eq!(no_health_rule(&binding), None);
}
