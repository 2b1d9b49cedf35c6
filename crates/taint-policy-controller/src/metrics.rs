//! Metrics of policies and clusters; each series goes with its objects.

use std::sync::Arc;

use api_types::cluster::Cluster;
use controller_kit::Context;
use controller_kit::metrics::Family;
use failover_core::taint_policy::FlapScore;
use jiff::Timestamp;

use crate::index::Index;

/// Computes the series at every scrape.
pub(crate) fn publish(ctx: &Context, index: &Index) {
    let (index, clock) = (index.clone(), ctx.clock.clone());
    ctx.metrics
        .collector("clusterTaintPolicy", move || families(&index, clock.now()));
}

fn families(index: &Index, now: Timestamp) -> Vec<Family> {
    let mut matching = Family::gauge(
        "cluster_taint_policy_matching",
        "Whether the policy's conditions match the cluster (1) or not (0).",
    );
    let mut seconds = Family::gauge(
        "cluster_taint_policy_seconds_until_change",
        "Seconds until the policy's running window on the cluster ends and a taint is added or removed.",
    );
    let mut transitions = Family::counter(
        "cluster_taint_policy_transitions_total",
        "How often the policy's conditions began or ceased to match the cluster.",
    );
    let mut dismissed = Family::gauge(
        "cluster_taint_policy_dismissed",
        "Whether a person took a taint of the policy back from the cluster (1) or not (0).",
    );
    let mut conflicting = Family::gauge(
        "cluster_taint_policy_conflicting",
        "Whether another policy wants another value for a taint of the policy on the cluster (1) or not (0).",
    );
    let number = |yes: bool| f64::from(u8::from(yes));
    let mut all = Vec::new();
    index.each_look(|cluster, look| {
        for (policy, report) in &look.reports {
            let transitions = look.memory.transitions(&report.policy_uid);
            all.push((cluster.name.clone(), policy.clone(), report.clone(), transitions));
        }
    });
    for (cluster, policy, report, count) in &all {
        let labels = [("member_cluster", cluster.as_str()), ("policy", policy.as_str())];
        matching = matching.with(&labels, number(report.matching));
        dismissed = dismissed.with(&labels, number(report.dismissed));
        conflicting = conflicting.with(&labels, number(report.conflict.is_some()));
        if let Some(at) = report.fires_at {
            seconds = seconds.with(&labels, at.duration_since(now).as_secs_f64().max(0.0));
        }
        // Exact far beyond any number of transitions.
        #[expect(clippy::cast_precision_loss, reason = "a count of transitions")]
        let count = *count as f64;
        transitions = transitions.with(&labels, count);
    }
    let score = |family: Family, cluster: Arc<Cluster>| {
        let score = FlapScore::read(cluster.metadata.annotations.as_ref()).unwrap_or_default();
        family.with(&[("member_cluster", cluster.cluster_name().as_str())], score.at(now))
    };
    let flaps = Family::gauge(
        "cluster_flap_score",
        "Settled crossings of the cluster's Ready condition, each forgotten with a half-life of 30 minutes.",
    );
    let flaps = index.clusters.list().into_iter().fold(flaps, score);
    vec![matching, seconds, transitions, dismissed, conflicting, flaps]
}
