//! The status of a binding from its Works, as a pure function.
//!
//! Status of a cluster that is not Ready stays as it was read last, and `collectedAt` shows how old it is; when the grace
//! is over its health is Unknown: it is never shown as Healthy for ever. Of one that is Ready again it stays, too, until
//! something is reported since, or so long that it would have been: it may have come back empty.

use std::sync::Arc;

use api_types::ClusterName;
use api_types::conditions;
use api_types::work::{
    AggregatedStatusItem, Binding, ManifestStatus, ResourceBindingStatus, ResourceHealth, Work, work_condition,
};
use controller_kit::Next;
use failover_core::cluster_health::freshness::Freshness;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::fully_applied::{self, Known};
use crate::binding::reconcile::cluster_of;

/// The status of `binding`, with the parts of other writers as they are.
#[must_use]
pub fn status(
    binding: &Binding,
    works: &[Arc<Work>],
    freshness: &(dyn Fn(&ClusterName) -> Freshness + Sync),
    known: &Known<'_>,
    now: Timestamp,
) -> ResourceBindingStatus {
    let mut status = binding.status.clone().unwrap_or_default();
    let mut items: Vec<AggregatedStatusItem> = works
        .iter()
        .filter(|work| work.metadata.deletion_timestamp.is_none())
        .filter_map(|work| {
            let cluster = cluster_of(work)?;
            Some(item(
                &cluster,
                work,
                binding.status_on(&cluster),
                freshness(&cluster),
                now,
            ))
        })
        .collect();
    items.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    status.aggregated_status = items;
    fully_applied::say(binding, works, known, &mut status, now);
    status
}

/// When a copy's health turns Unknown, or counts again, although nothing changes.
#[must_use]
pub fn look_again(works: &[Arc<Work>], freshness: &(dyn Fn(&ClusterName) -> Freshness + Sync)) -> Next {
    let clusters = works.iter().filter_map(|work| cluster_of(work));
    let ends = clusters.filter_map(|cluster| match freshness(&cluster) {
        Freshness::Kept { until } | Freshness::Returned { until, .. } => Some(until),
        Freshness::Fresh | Freshness::Stale => None,
    });
    ends.min().map_or(Next::Done, Next::At)
}

fn item(
    cluster: &ClusterName,
    work: &Work,
    before: Option<&AggregatedStatusItem>,
    freshness: Freshness,
    now: Timestamp,
) -> AggregatedStatusItem {
    let reported = work.status.as_ref().and_then(|status| status.manifest_statuses.first());
    let applied = work
        .status
        .as_ref()
        .and_then(|status| conditions::get(&status.conditions, work_condition::APPLIED));
    let is_applied = applied.is_some_and(|applied| applied.status == "True");
    let mut item = AggregatedStatusItem {
        cluster_name: cluster.to_string(),
        status: reported.and_then(|reported| reported.status.clone()),
        applied: is_applied,
        applied_message: applied
            .filter(|applied| applied.status != "True")
            .map(|applied| applied.message.clone()),
        health: Some(ResourceHealth::Unknown),
        ..AggregatedStatusItem::default()
    };
    // A Work that nobody has reported on is a new copy: what was known of the one before is not its own.
    let Some(reported) = reported else { return item };
    let counts = counts(before, reported, freshness);
    match freshness {
        _ if counts && is_applied => item.health.clone_from(&reported.health),
        // What was said stays: also that nobody knows, if that was said already.
        Freshness::Kept { .. } | Freshness::Returned { .. } if is_applied => {
            let said = before.and_then(|before| before.health.clone());
            item.health = said.or(item.health);
        }
        _ => {}
    }
    let healthy = item.health == Some(ResourceHealth::Healthy);
    let settled = before.and_then(|before| before.settled).unwrap_or(false) || healthy;
    item.settled = settled.then_some(true);
    item.creation_timestamp = before
        .and_then(|before| before.creation_timestamp.clone())
        .or(Some(Time(now)));
    // A cluster that leaves makes its health Unknown, and one that returns known again: nothing was read for that.
    let unknown = Some(ResourceHealth::Unknown);
    let same = before.is_some_and(|before| {
        let by_presence = before.health == unknown || item.health == unknown;
        before.status == item.status && (before.health == item.health || by_presence)
    });
    let noted = before.and_then(|before| before.collected_at.clone());
    item.collected_at = match noted {
        Some(noted) if same || !counts => Some(noted),
        _ => Some(Time(now)),
    };
    item
}

/// Whether what is reported is of the member as it is now. Of one that is Ready again it is when it was collected since,
/// or shows another status than the one that was collected before. Another health alone does not: while the cluster was
/// away what was said stayed, so that it may have been reported before the return.
fn counts(before: Option<&AggregatedStatusItem>, reported: &ManifestStatus, freshness: Freshness) -> bool {
    match freshness {
        Freshness::Fresh => true,
        Freshness::Returned { since, .. } => before.is_none_or(|before| {
            let Some(collected) = &before.collected_at else {
                return true;
            };
            collected.0 >= since || before.status != reported.status
        }),
        Freshness::Kept { .. } | Freshness::Stale => false,
    }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
pub(super) mod tests {
    use api_types::work::condition;
    use serde_json::{Value, json};

    use super::*;

    pub fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    pub fn binding(clusters: &[&str], before: &ResourceBindingStatus) -> Binding {
        let clusters: Vec<Value> = clusters
            .iter()
            .map(|name| json!({"name": name, "replicas": 1}))
            .collect();
        let mut binding: Binding = serde_json::from_value(json!({"metadata": {"namespace": "shop", "name": "web-deployment"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "clusters": clusters}}))
        .unwrap();
        binding.status = Some(before.clone());
        binding
    }

    pub fn work(cluster: &str, applied: &str, reported: Option<(&str, i64)>) -> Arc<Work> {
        let statuses: Vec<Value> = reported
            .map(|(health, replicas)| {
                json!({"identifier": {"ordinal": 0, "version": "v1", "kind": "Deployment", "name": "web"},
                "health": health, "status": {"replicas": replicas}})
            })
            .into_iter()
            .collect();
        Arc::new(serde_json::from_value(json!({"metadata": {"namespace": format!("karmada-es-{cluster}"), "name": "w"}, "spec": {},
            "status": {"conditions": [{"type": "Applied", "status": applied, "reason": "R", "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "manifestStatuses": statuses}})).unwrap())
    }

    fn fully_applied(status: &ResourceBindingStatus) -> Option<&str> {
        conditions::get(&status.conditions, condition::FULLY_APPLIED).map(|c| c.status.as_str())
    }

    #[test]
    fn items_come_sorted_with_health_and_the_condition_follows() {
        let works = [
            work("m2", "True", Some(("Healthy", 2))),
            work("m1", "True", Some(("Unhealthy", 1))),
        ];
        let now = status(
            &binding(&["m1", "m2"], &Default::default()),
            &works,
            &|_| Freshness::Fresh,
            &Known::default(),
            at(9),
        );
        let names: Vec<_> = now
            .aggregated_status
            .iter()
            .map(|item| (item.cluster_name.as_str(), item.health.clone().unwrap()))
            .collect();
        assert_eq!(
            names,
            [("m1", ResourceHealth::Unhealthy), ("m2", ResourceHealth::Healthy)]
        );
        assert_eq!(now.aggregated_status[1].settled, Some(true));
        assert_eq!(now.aggregated_status[0].settled, None);
        assert_eq!(fully_applied(&now), Some("True"));

        let again = status(
            &binding(&["m1", "m2"], &now),
            &works,
            &|_| Freshness::Fresh,
            &Known::default(),
            at(10),
        );
        assert_eq!(again, now, "the same again is nothing to write");

        let missing = status(
            &binding(&["m1", "m2", "m3"], &now),
            &works,
            &|_| Freshness::Fresh,
            &Known::default(),
            at(10),
        );
        assert_eq!(fully_applied(&missing), Some("False"));
    }

    #[test]
    fn what_is_not_applied_is_unknown_and_says_why() {
        let works = [work("m1", "False", Some(("Healthy", 1)))];
        let now = status(
            &binding(&["m1"], &Default::default()),
            &works,
            &|_| Freshness::Fresh,
            &Known::default(),
            at(9),
        );
        let item = &now.aggregated_status[0];
        assert_eq!(
            (item.health.clone(), item.applied_message.as_deref()),
            (Some(ResourceHealth::Unknown), Some("why"))
        );
        assert_eq!(fully_applied(&now), Some("False"));
    }

    #[test]
    fn a_silent_cluster_is_unknown_and_its_status_shows_its_age() {
        let works = [work("m1", "True", Some(("Healthy", 1)))];
        let first = status(
            &binding(&["m1"], &Default::default()),
            &works,
            &|_| Freshness::Fresh,
            &Known::default(),
            at(9),
        );
        let for_a_moment = |_: &ClusterName| Freshness::Kept { until: at(70) };
        let kept = status(
            &binding(&["m1"], &first),
            &works,
            &for_a_moment,
            &Known::default(),
            at(60),
        );
        assert_eq!(kept, first, "a moment's absence is nothing to write");
        let away = status(
            &binding(&["m1"], &first),
            &works,
            &|_| Freshness::Stale,
            &Known::default(),
            at(70),
        );
        let still = status(
            &binding(&["m1"], &away),
            &works,
            &for_a_moment,
            &Known::default(),
            at(71),
        );
        assert_eq!(
            still, away,
            "what nobody knows is not known again by another way of being away"
        );
        let item = &away.aggregated_status[0];
        assert_eq!(item.health, Some(ResourceHealth::Unknown));
        assert_eq!(item.collected_at, Some(Time(at(9))));
        assert_eq!(
            (item.settled, item.status.clone()),
            (Some(true), Some(json!({"replicas": 1})))
        );

        let returned = |_: &ClusterName| Freshness::Returned {
            since: at(80),
            until: at(110),
        };
        let empty = status(&binding(&["m1"], &away), &works, &returned, &Known::default(), at(80));
        assert_eq!(
            empty, away,
            "it may have come back empty: what it said before is no report"
        );
        let anew = [work("m1", "True", Some(("Healthy", 2)))];
        let anew = status(&binding(&["m1"], &away), &anew, &returned, &Known::default(), at(84));
        let item = &anew.aggregated_status[0];
        assert_eq!(
            (item.health.clone(), item.collected_at.clone()),
            (Some(ResourceHealth::Healthy), Some(Time(at(84)))),
            "what is reported since counts"
        );
        assert_eq!(look_again(&works, &returned), Next::At(at(110)));

        let back = status(
            &binding(&["m1"], &away),
            &works,
            &|_| Freshness::Fresh,
            &Known::default(),
            at(110),
        );
        assert_eq!(back.aggregated_status[0].health, Some(ResourceHealth::Healthy));
        assert_eq!(
            back.aggregated_status[0].collected_at,
            Some(Time(at(9))),
            "its return is no report of it"
        );
        assert_eq!(back.aggregated_status[0].creation_timestamp, Some(Time(at(9))));

        let works = [work("m1", "True", Some(("Healthy", 2)))];
        let read = status(
            &binding(&["m1"], &back),
            &works,
            &|_| Freshness::Fresh,
            &Known::default(),
            at(115),
        );
        assert_eq!(read.aggregated_status[0].collected_at, Some(Time(at(115))));
    }

    // The last report of a member that goes away may come when it is not Ready any more: it is none of its return.
    #[test]
    fn health_that_was_reported_while_the_cluster_was_away_does_not_count_when_it_is_back() {
        let first = status(
            &binding(&["m1"], &Default::default()),
            &[work("m1", "True", Some(("Unhealthy", 1)))],
            &|_| Freshness::Fresh,
            &Known::default(),
            at(9),
        );
        let works = [work("m1", "True", Some(("Healthy", 1)))];
        let away = |_: &ClusterName| Freshness::Kept { until: at(70) };
        let kept = status(&binding(&["m1"], &first), &works, &away, &Known::default(), at(60));
        assert_eq!(kept, first);
        let returned = |_: &ClusterName| Freshness::Returned {
            since: at(62),
            until: at(92),
        };
        let back = status(&binding(&["m1"], &kept), &works, &returned, &Known::default(), at(63));
        assert_eq!(back, first, "nothing says that it was reported since");
        let settled = status(
            &binding(&["m1"], &back),
            &works,
            &|_| Freshness::Fresh,
            &Known::default(),
            at(92),
        );
        let item = &settled.aggregated_status[0];
        assert_eq!(
            (item.health.clone(), item.collected_at.clone()),
            (Some(ResourceHealth::Healthy), Some(Time(at(92))))
        );
    }

    #[test]
    fn a_new_copy_begins_anew() {
        let settled = status(
            &binding(&["m1"], &Default::default()),
            &[work("m1", "True", Some(("Healthy", 1)))],
            &|_| Freshness::Fresh,
            &Known::default(),
            at(9),
        );
        let fresh = status(
            &binding(&["m1"], &settled),
            &[work("m1", "True", None)],
            &|_| Freshness::Fresh,
            &Known::default(),
            at(20),
        );
        let item = &fresh.aggregated_status[0];
        assert_eq!(
            (item.settled, item.creation_timestamp.clone(), item.health.clone()),
            (None, None, Some(ResourceHealth::Unknown))
        );
    }

    #[test]
    fn works_on_their_way_out_do_not_count_and_nothing_is_said_of_nothing() {
        let mut leaving = Work::clone(&work("m1", "True", Some(("Healthy", 1))));
        leaving.metadata.deletion_timestamp = Some(Time(at(1)));
        let now = status(
            &binding(&[], &Default::default()),
            &[Arc::new(leaving)],
            &|_| Freshness::Fresh,
            &Known::default(),
            at(9),
        );
        assert!(now.aggregated_status.is_empty());
        assert_eq!(fully_applied(&now), None);
    }
}
