//! Health by kind. Rules of stock Karmada; those for Jobs and CronJobs are ours: without one a Job counts as healthy as
//! soon as it is applied, and the copy that still runs would be removed; and a CronJob whose runs fail would never move.
//!
//! Which kinds have a rule stands in [`failover_core::graceful::kinds`]: a rule for a kind that is not in that table
//! does not count.

use failover_core::graceful::kinds::has_health_rule;
use serde_json::Value;

use super::{Health, gvk};
use crate::json::{count, list, some_text, text};

pub(super) fn health(observed: &Value) -> Health {
    let (api_version, kind) = gvk(observed);
    if !has_health_rule(api_version, kind) {
        return Health::NoRule;
    }
    let healthy = match (api_version, kind) {
        ("apps/v1", "Deployment" | "StatefulSet") => rolled_out(observed),
        ("apps/v1", "ReplicaSet") => {
            generation_is_observed(observed)
                && count(observed, "/status/availableReplicas") >= wanted_replicas(observed)
        }
        ("apps/v1", "DaemonSet") => {
            let updated = count(observed, "/status/updatedNumberScheduled");
            generation_is_observed(observed)
                && updated >= count(observed, "/status/desiredNumberScheduled")
                && count(observed, "/status/numberAvailable") >= updated
        }
        ("batch/v1", "Job") => job_works(observed),
        ("batch/v1", "CronJob") => cron_job_works(observed),
        ("v1", "Service") => text(observed, "/spec/type") != "LoadBalancer" || has_address(observed),
        ("networking.k8s.io/v1", "Ingress") => has_address(observed),
        ("v1", "PersistentVolumeClaim") => text(observed, "/status/phase") == "Bound",
        ("v1", "Pod") => match text(observed, "/status/phase") {
            "Succeeded" => true,
            "Running" => condition_is_true(observed, "Ready"),
            _ => false,
        },
        ("policy/v1", "PodDisruptionBudget") => {
            count(observed, "/status/currentHealthy") >= count(observed, "/status/desiredHealthy")
        }
        _ => return Health::NoRule,
    };
    if healthy { Health::Healthy } else { Health::Unhealthy }
}

fn generation_is_observed(observed: &Value) -> bool {
    count(observed, "/status/observedGeneration") == count(observed, "/metadata/generation")
}

/// `spec.replicas`; what is not set asks for nothing.
fn wanted_replicas(observed: &Value) -> i64 {
    count(observed, "/spec/replicas")
}

fn rolled_out(observed: &Value) -> bool {
    let updated = count(observed, "/status/updatedReplicas");
    generation_is_observed(observed)
        && updated >= wanted_replicas(observed)
        && count(observed, "/status/availableReplicas") >= updated
}

/// Finished, held back on purpose, or as many pods at work or done as run side by side.
///
/// Pods that are done count: of a Job with short pods few are ready at any moment, although it goes on well.
fn job_works(job: &Value) -> bool {
    if condition_is_true(job, "Failed") || condition_is_true(job, "FailureTarget") {
        return false;
    }
    if condition_is_true(job, "Complete") || job.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true) {
        return true;
    }
    let at_work = match job.pointer("/status/ready").and_then(Value::as_i64) {
        Some(ready) => ready,
        None => count(job, "/status/active"),
    };
    let side_by_side = job.pointer("/spec/parallelism").and_then(Value::as_i64).unwrap_or(1);
    let wanted = match job.pointer("/spec/completions").and_then(Value::as_i64) {
        Some(completions) => side_by_side.min(completions),
        None => side_by_side,
    };
    at_work.saturating_add(count(job, "/status/succeeded")) >= wanted
}

/// Held back on purpose, not yet due for the first time, at work, or successful when it last ran: what runs at times
/// alone shows only by its last run whether it works.
fn cron_job_works(cron_job: &Value) -> bool {
    if cron_job.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true)
        || !list(cron_job, "/status/active").is_empty()
    {
        return true;
    }
    // Times of the API server are written alike, so that they compare as texts.
    match some_text(cron_job, "/status/lastScheduleTime") {
        None => true,
        Some(ran) => some_text(cron_job, "/status/lastSuccessfulTime").is_some_and(|succeeded| succeeded >= ran),
    }
}

fn has_address(observed: &Value) -> bool {
    list(observed, "/status/loadBalancer/ingress")
        .iter()
        .any(|ingress| some_text(ingress, "/ip").is_some() || some_text(ingress, "/hostname").is_some())
}

pub(super) fn condition_is_true(object: &Value, type_: &str) -> bool {
    list(object, "/status/conditions")
        .iter()
        .any(|c| text(c, "/type") == type_ && text(c, "/status") == "True")
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn workload(kind: &str, generation: i64, spec: Value, status: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a", "generation": generation},
            "spec": spec, "status": status})
    }

    #[test]
    fn every_kind_of_the_table_has_a_rule() {
        for (api_version, kind) in failover_core::graceful::kinds::KINDS_WITH_HEALTH {
            let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
            assert_ne!(health(&object), Health::NoRule, "{api_version} {kind}");
        }
    }

    #[rstest]
    #[case::all_available(2, json!({"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 3}), Health::Healthy)]
    #[case::not_yet_observed(2, json!({"observedGeneration": 1, "updatedReplicas": 3, "availableReplicas": 3}), Health::Unhealthy)]
    #[case::too_few_updated(2, json!({"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 2}), Health::Unhealthy)]
    #[case::updated_is_not_available(2, json!({"observedGeneration": 2, "updatedReplicas": 3, "availableReplicas": 2}), Health::Unhealthy)]
    #[case::no_status_yet(1, json!({}), Health::Unhealthy)]
    fn deployments_and_stateful_sets(#[case] generation: i64, #[case] status: Value, #[case] wanted: Health) {
        for kind in ["Deployment", "StatefulSet"] {
            assert_eq!(
                health(&workload(kind, generation, json!({"replicas": 3}), status.clone())),
                wanted,
                "{kind}"
            );
        }
    }

    #[test]
    fn a_deployment_of_no_replicas_is_healthy_when_observed() {
        let status = json!({"observedGeneration": 1});
        assert_eq!(
            health(&workload("Deployment", 1, json!({"replicas": 0}), status)),
            Health::Healthy
        );
    }

    #[rstest]
    #[case::replica_set(json!({"observedGeneration": 1, "availableReplicas": 1}), Health::Healthy)]
    #[case::replica_set_short(json!({"observedGeneration": 1}), Health::Unhealthy)]
    fn replica_sets(#[case] status: Value, #[case] wanted: Health) {
        assert_eq!(
            health(&workload("ReplicaSet", 1, json!({"replicas": 1}), status)),
            wanted
        );
    }

    #[rstest]
    #[case(json!({"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 2}), Health::Healthy)]
    #[case(json!({"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 1, "numberAvailable": 2}), Health::Unhealthy)]
    #[case(json!({"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 1}), Health::Unhealthy)]
    fn daemon_sets(#[case] status: Value, #[case] wanted: Health) {
        assert_eq!(health(&workload("DaemonSet", 1, json!({}), status)), wanted);
    }

    #[rstest]
    #[case::just_applied(json!({"parallelism": 2, "completions": 4}), json!({}), Health::Unhealthy)]
    #[case::pods_wait(json!({"parallelism": 2}), json!({"active": 2, "ready": 0}), Health::Unhealthy)]
    #[case::pods_run(json!({"parallelism": 2}), json!({"active": 2, "ready": 2}), Health::Healthy)]
    #[case::old_member_without_ready(json!({"parallelism": 2}), json!({"active": 2}), Health::Healthy)]
    #[case::short_pods(json!({"parallelism": 2, "completions": 9}), json!({"active": 2, "ready": 0, "succeeded": 5}), Health::Healthy)]
    #[case::never_more_than_completions(json!({"parallelism": 5, "completions": 1}), json!({"ready": 1}), Health::Healthy)]
    #[case::complete(json!({}), json!({"conditions": [{"type": "Complete", "status": "True"}]}), Health::Healthy)]
    #[case::failed(json!({}), json!({"ready": 1, "conditions": [{"type": "Failed", "status": "True"}]}), Health::Unhealthy)]
    #[case::held_back(json!({"suspend": true}), json!({}), Health::Healthy)]
    #[case::more_than_there_are_numbers(json!({}), json!({"ready": i64::MAX, "succeeded": i64::MAX}), Health::Healthy)]
    fn jobs(#[case] spec: Value, #[case] status: Value, #[case] wanted: Health) {
        let job =
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec, "status": status});
        assert_eq!(health(&job), wanted);
    }

    #[rstest]
    #[case::never_ran(json!({}), json!({}), Health::Healthy)]
    #[case::runs(json!({}), json!({"active": [{"name": "a-1"}], "lastScheduleTime": "2026-01-01T10:00:00Z"}), Health::Healthy)]
    #[case::succeeded(json!({}), json!({"lastScheduleTime": "2026-01-01T10:00:00Z", "lastSuccessfulTime": "2026-01-01T10:03:00Z"}), Health::Healthy)]
    #[case::failed(json!({}), json!({"lastScheduleTime": "2026-01-01T10:00:00Z", "lastSuccessfulTime": "2026-01-01T09:03:00Z"}), Health::Unhealthy)]
    #[case::never_succeeded(json!({}), json!({"lastScheduleTime": "2026-01-01T10:00:00Z"}), Health::Unhealthy)]
    #[case::held_back(json!({"suspend": true}), json!({"lastScheduleTime": "2026-01-01T10:00:00Z"}), Health::Healthy)]
    fn cron_jobs(#[case] spec: Value, #[case] status: Value, #[case] wanted: Health) {
        let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": spec, "status": status});
        assert_eq!(health(&object), wanted);
    }

    #[rstest]
    #[case::cluster_ip(json!({"kind": "Service", "spec": {"type": "ClusterIP"}}), Health::Healthy)]
    #[case::balancer_without_address(json!({"kind": "Service", "spec": {"type": "LoadBalancer"}}), Health::Unhealthy)]
    #[case::balancer(json!({"kind": "Service", "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}), Health::Healthy)]
    #[case::claim(json!({"kind": "PersistentVolumeClaim", "status": {"phase": "Bound"}}), Health::Healthy)]
    #[case::claim_waits(json!({"kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}), Health::Unhealthy)]
    #[case::pod_done(json!({"kind": "Pod", "status": {"phase": "Succeeded"}}), Health::Healthy)]
    #[case::pod_ready(json!({"kind": "Pod", "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}), Health::Healthy)]
    #[case::pod_not_ready(json!({"kind": "Pod", "status": {"phase": "Running"}}), Health::Unhealthy)]
    #[case::config_map(json!({"kind": "ConfigMap"}), Health::NoRule)]
    #[case::secret(json!({"kind": "Secret"}), Health::NoRule)]
    fn core_kinds(#[case] mut object: Value, #[case] wanted: Health) {
        object["apiVersion"] = json!("v1");
        assert_eq!(health(&object), wanted);
    }

    #[test]
    fn ingresses_and_budgets() {
        let ingress =
            |status: Value| json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "status": status});
        assert_eq!(health(&ingress(json!({}))), Health::Unhealthy);
        assert_eq!(
            health(&ingress(json!({"loadBalancer": {"ingress": [{"hostname": "h"}]}}))),
            Health::Healthy
        );
        let budget = |now: i64| {
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "status": {"currentHealthy": now, "desiredHealthy": 2}})
        };
        assert_eq!(health(&budget(2)), Health::Healthy);
        assert_eq!(health(&budget(1)), Health::Unhealthy);
    }
}
