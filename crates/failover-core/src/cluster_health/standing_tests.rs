use rstest::rstest;
use serde_json::{Value, json};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::super::on_leases::{not_isolated_until, probes_overdue};
use super::super::saying::say;
use super::super::silence::LeaseMark;
use super::super::watch::{Graces, Rule, Seen, Stake};
use super::super::words;
use super::*;

fn names() -> LeaseNames {
    LeaseNames {
        reporter: "karmada-system/cluster-status".to_owned(),
        monitor: "karmada-system/cluster".to_owned(),
        agents: "karmada-cluster".to_owned(),
    }
}

fn lease(renewed: u64, annotations: &Value) -> Lease {
    serde_json::from_value(json!({
        "metadata": {"uid": "u", "resourceVersion": renewed.to_string(), "annotations": annotations},
        "spec": {"holderIdentity": "h"}
    }))
    .unwrap()
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const GRACES: Graces = Graces {
    grace: Duration::from_secs(40),
    startup: Duration::from_secs(60),
};

/// A watch on a reporter alone, which renews at `renewals`; judged at the end.
fn reporter(renewals: &[u64], now: u64) -> Watch {
    let mut watch = Watch::new(GRACES);
    for (number, second) in std::iter::once(&0).chain(renewals).enumerate() {
        let seen = Seen {
            lease: Some(LeaseMark::from(&lease(number as u64, &json!({})))),
            ready: None,
            stake: Stake::Reported,
        };
        watch.note(Source::Reporter, seen, at(*second));
    }
    watch.judge(Rule::InForce, at(now));
    watch
}

fn overdue(names: &str) -> Probed {
    let mut probed = Probed::default();
    for name in ["m1", "m2"] {
        probed.note(&name.into(), None, at(0));
    }
    probed.overdue(probes_overdue(&lease(
        1,
        &json!({"failover.karmada.io/probes-overdue": names}),
    )));
    probed
}

#[rstest]
#[case::named_by_one_that_renews("m1,m2", &[5, 10], 12, Standing::Overdue)]
#[case::spaces_do_not_matter(" m2 , m1 ", &[5], 12, Standing::Overdue)]
#[case::not_named("m2", &[5, 10], 12, Standing::Reported)]
#[case::nobody_is("", &[5, 10], 12, Standing::Reported)]
#[case::nobody_could_be_asked("*", &[5, 10], 12, Standing::NothingProbed)]
#[case::nobody_could_be_asked_by_one_that_is_silent("*", &[5], 45, Standing::ReporterDown { limit: at(40), lease: LeaseThere::Yes })]
#[case::named_in_a_lease_of_which_nobody_knows_how_old_it_is("m1", &[], 12, Standing::NotKnown)]
#[case::still_within_the_grace_period("m1", &[5], 44, Standing::Overdue)]
#[case::by_one_that_is_silent("m1", &[5], 45, Standing::ReporterDown { limit: at(40), lease: LeaseThere::Yes })]
fn a_push_cluster(#[case] named: &str, #[case] renewals: &[u64], #[case] now: u64, #[case] expected: Standing) {
    let watch = reporter(renewals, now);
    let found = standing(&watch, &overdue(named), &"m1".into(), ReportedBy::Reporter, at(now));
    assert_eq!(found, expected);
}

#[test]
fn a_word_on_the_cluster_that_is_newer_than_the_list_counts_more() {
    let mut probed = overdue("m1");
    let ready: Condition = serde_json::from_value(ready("True", "ClusterReady", "")).unwrap();
    probed.note(&"m1".into(), ReadyMark::of(Some(&ready)), at(7));
    let of = |watch: &Watch, now| standing(watch, &probed, &"m1".into(), ReportedBy::Reporter, at(now));
    assert_eq!(of(&reporter(&[5], 8), 8), Standing::Reported);
    assert_eq!(
        of(&reporter(&[5, 10], 11), 11),
        Standing::Overdue,
        "the next renewal still names it"
    );
}

#[test]
fn a_pull_cluster_does_not_care_for_the_reporter() {
    let mut watch = reporter(&[], 0);
    let agent = Source::Agent("m1".into());
    let seen = |number| Seen {
        lease: Some(LeaseMark::from(&lease(number, &json!({})))),
        ready: None,
        stake: Stake::Reported,
    };
    watch.note(agent.clone(), seen(1), at(0));
    watch.note(agent, seen(2), at(30));
    watch.judge(Rule::InForce, at(50));
    let of = |watch: &Watch, now| standing(watch, &overdue("m1"), &"m1".into(), ReportedBy::Agent, at(now));
    assert_eq!(of(&watch, 50), Standing::Reported);
    watch.judge(Rule::InForce, at(70));
    let silent = Standing::Silent {
        limit: at(40),
        lease: LeaseThere::Yes,
    };
    assert_eq!(of(&watch, 70), silent);
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!({"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn said(standing: &Standing, stored: Value) -> Vec<(String, String)> {
    let stored: Vec<Condition> = serde_json::from_value(stored).unwrap();
    let all = say(standing, &stored, &"m1".into(), &names());
    all.into_iter()
        .map(|said| (format!("{}={}/{}", said.type_, said.status, said.reason), said.message))
        .collect()
}

const SILENT: Standing = Standing::Silent {
    limit: Duration::from_secs(40),
    lease: LeaseThere::Yes,
};
const NO_LEASE: Standing = Standing::Silent {
    limit: Duration::from_secs(60),
    lease: LeaseThere::No,
};
const DOWN: Standing = Standing::ReporterDown {
    limit: Duration::from_secs(40),
    lease: LeaseThere::Yes,
};
const ISOLATED: Standing = Standing::MonitorIsolated {
    leases: 3,
    limit: Duration::from_secs(40),
};

#[rstest]
#[case::silent(&SILENT, "True", "ClusterReady", Some("Ready=Unknown/ClusterStatusUnknown"))]
#[case::silent_after_bad_news(&SILENT, "False", "ClusterNotReady", Some("Ready=Unknown/ClusterStatusUnknown"))]
#[case::overdue(&Standing::Overdue, "True", "ClusterReady", Some("Ready=Unknown/ClusterStatusUnknown"))]
#[case::said_already(&SILENT, "Unknown", "ClusterStatusUnknown", None)]
#[case::another_writers_unknown(&SILENT, "Unknown", "SomebodySaysSo", None)]
#[case::nothing_is_marked_without_the_reporter(&DOWN, "True", "ClusterReady", Some("ReporterDown=True/LeaseNotRenewed"))]
#[case::nothing_is_marked_in_isolation(&ISOLATED, "True", "ClusterReady", Some("MonitorIsolated=True/AllLeasesStale"))]
#[case::nothing_in_doubt(&Standing::InDoubt, "True", "ClusterReady", None)]
#[case::nothing_at_the_start(&Standing::NotKnown, "True", "ClusterReady", None)]
#[case::all_is_well(&Standing::Reported, "True", "ClusterReady", None)]
fn conditions(#[case] standing: &Standing, #[case] status: &str, #[case] reason: &str, #[case] expected: Option<&str>) {
    let found = said(standing, json!([ready(status, reason, "")]));
    let found: Vec<&str> = found.iter().map(|(condition, _)| condition.as_str()).collect();
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn what_was_said_once_is_not_said_again_and_is_taken_back_when_it_is_over() {
    for (standing, type_) in [(&DOWN, "ReporterDown"), (&ISOLATED, "MonitorIsolated")] {
        let stored = |status: &str, message: &str| json!([ready("True", "ClusterReady", ""), {"type": type_, "status": status, "reason": "", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        let (_, message) = said(standing, json!([]))[0].clone();
        assert_eq!(said(standing, stored("True", &message)), []);
        // A restarted monitor knows nothing yet, and takes nothing back.
        assert_eq!(said(&Standing::NotKnown, stored("True", &message)), []);
        let over = said(&Standing::Reported, stored("True", &message));
        assert_eq!(over, [(format!("{type_}=False/LeaseRenewed"), String::new())]);
        assert_eq!(said(&Standing::Reported, stored("False", "")), []);
    }
}

#[test]
fn a_cluster_that_nobody_ever_reported_on_is_told_once_what_to_look_for() {
    let bare = json!([ready("Unknown", words::NEVER_UPDATED, words::NEVER_UPDATED_MESSAGE)]);
    let found = said(&NO_LEASE, bare);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "Ready=Unknown/ClusterStatusNeverUpdated");
    assert_eq!(
        found[0].1,
        "Cluster status controller never posted cluster status. (there has been no Lease karmada-cluster/m1 for 1m: is its \
         agent running, and may it write that Lease?)"
    );
    assert_eq!(
        said(&NO_LEASE, json!([ready("Unknown", words::NEVER_UPDATED, &found[0].1)])),
        []
    );
}

// What the reporter itself cannot do is not silence of the members.
#[test]
fn a_reporter_that_can_ask_nobody_is_in_trouble_itself_and_no_cluster_is_unknown() {
    let stored = json!([ready("True", words::READY, "")]);
    let found = said(&Standing::NothingProbed, stored);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "ReporterDown=True/NothingProbed");
    assert!(
        found[0]
            .1
            .contains("could ask no member at all, which is its own trouble"),
        "{found:?}"
    );
}

#[test]
fn messages_name_the_lease_and_what_to_do() {
    let cluster = "m1".into();
    let of = |standing: &Standing| standing.reason(&cluster, &names());
    assert_eq!(
        of(&SILENT),
        "its agent has not renewed Lease karmada-cluster/m1 for 40s"
    );
    assert!(of(&Standing::Overdue).contains("karmada-system/cluster-status"));
    assert!(of(&DOWN).contains("start clusterStatus"));
    let isolated = of(&ISOLATED);
    assert!(
        isolated.contains("none of the 3 leases")
            && isolated.contains(
                "annotate Lease karmada-system/cluster with override.failover.karmada.io/not-isolated-until=TIME"
            ),
        "{isolated}"
    );
}

#[rstest]
#[case(json!({}), Ok(None))]
#[case(json!({"override.failover.karmada.io/not-isolated-until": "2026-01-01T12:00:00Z"}), Ok(Some(1_767_268_800)))]
#[case(json!({"override.failover.karmada.io/not-isolated-until": " 2026-01-01T13:00:00+01:00 "}), Ok(Some(1_767_268_800)))]
#[case(json!({"override.failover.karmada.io/not-isolated-until": "tomorrow"}), Err(()))]
#[case(json!({"override.failover.karmada.io/not-isolated-until": ""}), Err(()))]
fn a_persons_word(#[case] annotations: Value, #[case] expected: Result<Option<i64>, ()>) {
    let found = not_isolated_until(&lease(1, &annotations));
    if let Err(message) = &found {
        assert!(message.contains("2026-01-01T12:00:00Z"), "{message}");
    }
    assert_eq!(found.map(|time| time.map(Timestamp::as_second)).map_err(drop), expected);
}

proptest::proptest! {
    // Whatever stands in the annotations, reading them neither fails nor names an empty cluster.
    #[test]
    fn any_text_can_be_read(text in ".*") {
        let lease = lease(1, &json!({
            "failover.karmada.io/probes-overdue": text, "override.failover.karmada.io/not-isolated-until": text
        }));
        for name in probes_overdue(&lease) {
            proptest::prop_assert!(!name.as_str().trim().is_empty());
        }
        let _ = not_isolated_until(&lease);
    }
}
