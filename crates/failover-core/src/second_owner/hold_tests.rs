use super::*;
use rstest::rstest;

const HOLD: Duration = Duration::from_secs(300);

fn at(second: u64) -> (Timestamp, Duration) {
    let elapsed = Duration::from_secs(second);
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    (start + elapsed, elapsed)
}

fn key(binding: &str, cause: &str) -> EntryKey {
    EntryKey {
        cluster: "m1".into(),
        cluster_uid: "c".into(),
        binding: binding.parse().unwrap(),
        binding_uid: "b".into(),
        cause: cause.parse::<Cause>().unwrap().into(),
    }
}

const TAINT: &str = "k:NoExecute@2026-01-01T00:00:00Z";
const APPLICATION: &str = "application@2026-01-01T00:00:00Z";
const DELETION: &str = "deletion@2026-01-01T00:00:00Z";

fn in_namespace(name: &str) -> Reach {
    Reach::Namespace(name.to_owned())
}

fn saw(signs: &mut Signs, job: Job, reach: Reach, second: u64) -> Sign {
    let (wall, elapsed) = at(second);
    signs.saw(job, reach, "an Event R of taint-manager", wall, elapsed)
}

fn held(signs: &Signs, key: &EntryKey, second: u64) -> bool {
    let (wall, elapsed) = at(second);
    signs.hold(key, wall, elapsed).is_some()
}

#[rstest]
#[case::its_own(Job::TaintManager, in_namespace("a"), "a/web", TAINT, true)]
#[case::of_another_namespace(Job::TaintManager, in_namespace("b"), "a/web", TAINT, false)]
#[case::of_another_job(Job::ApplicationFailover, in_namespace("a"), "a/web", TAINT, false)]
#[case::of_an_application(Job::ApplicationFailover, in_namespace("a"), "a/web", APPLICATION, true)]
#[case::of_an_application_by_a_taint_manager(Job::TaintManager, in_namespace("a"), "a/web", APPLICATION, false)]
#[case::nobody_elses_work(Job::TaintManager, in_namespace("a"), "a/web", DELETION, false)]
#[case::of_cluster_scope(Job::TaintManager, Reach::ClusterScope, "web", TAINT, true)]
#[case::of_cluster_scope_and_the_namespace_of_its_events(
    Job::TaintManager,
    Reach::ClusterScope,
    "default/web",
    TAINT,
    false
)]
#[case::of_a_namespace_and_cluster_scope(Job::TaintManager, in_namespace("default"), "web", TAINT, false)]
#[case::lets_copies_go(Job::GracefulEviction, in_namespace("a"), "a/web", TAINT, false)]
#[case::taints_clusters(Job::ClusterTaintPolicy, in_namespace("a"), "a/web", TAINT, false)]
fn what_a_sign_holds(
    #[case] job: Job,
    #[case] reach: Reach,
    #[case] binding: &str,
    #[case] cause: &str,
    #[case] expected: bool,
) {
    let mut signs = Signs::new(HOLD);
    saw(&mut signs, job, reach, 10);
    assert_eq!(held(&signs, &key(binding, cause), 10), expected);
}

#[test]
fn it_holds_until_the_time_after_the_last_sign() {
    let mut signs = Signs::new(HOLD);
    let key = key("a/web", TAINT);
    assert_eq!(saw(&mut signs, Job::TaintManager, in_namespace("a"), 10), Sign::Begins);
    assert_eq!(saw(&mut signs, Job::TaintManager, in_namespace("a"), 100), Sign::GoesOn);
    assert!(held(&signs, &key, 399) && !held(&signs, &key, 400));
    let (wall, elapsed) = at(250);
    let ends = signs.hold(&key, wall, elapsed).unwrap();
    assert_eq!(ends.outcome, OutcomeKind::Wait { until: at(400).0 });
    assert_eq!(ends.reason, "SecondOwner");
    assert_eq!(
        ends.message,
        "a second controller does the job of taintManager in namespace a (an Event R of taint-manager, at \
         2026-01-01T00:00:10Z): held until 5m after its last sign; to end it, run karmada-controller-manager with \
         --feature-gates=Failover=false"
    );
    assert_eq!(saw(&mut signs, Job::TaintManager, in_namespace("a"), 400), Sign::Begins);
    assert!(held(&signs, &key, 400));
}

// The wall clock may be set meanwhile: how long a hold lasts does not follow it.
#[test]
fn a_clock_that_is_set_changes_no_hold() {
    let mut signs = Signs::new(HOLD);
    saw(&mut signs, Job::TaintManager, in_namespace("a"), 10);
    let set_back: Timestamp = "2025-01-01T00:00:00Z".parse().unwrap();
    let hold = |second| signs.hold(&key("a/web", TAINT), set_back, at(second).1);
    let until = set_back + Duration::from_secs(1);
    assert_eq!(hold(309).unwrap().outcome, OutcomeKind::Wait { until });
    assert_eq!(hold(310), None);
}

#[test]
fn switched_off_nothing_is_held_or_remembered() {
    let mut signs = Signs::new(Duration::ZERO);
    assert_eq!(saw(&mut signs, Job::TaintManager, in_namespace("a"), 10), Sign::GoesOn);
    assert!(!held(&signs, &key("a/web", TAINT), 10));
    assert!(signs.of.is_empty());
}

#[test]
fn what_holds_no_more_is_forgotten() {
    let mut signs = Signs::new(HOLD);
    for number in 0..1000 {
        saw(
            &mut signs,
            Job::TaintManager,
            in_namespace(&format!("n{number}")),
            number,
        );
    }
    assert_eq!(signs.of.len(), 300);
}

#[rstest]
#[case::about_what_is_in_its_namespace("a", Some("a"), in_namespace("a"))]
#[case::about_what_is_in_default("default", Some("default"), in_namespace("default"))]
#[case::about_what_is_in_no_namespace("default", None, Reach::ClusterScope)]
#[case::the_same_written_otherwise("default", Some(""), Reach::ClusterScope)]
#[case::who_may_write_in_a_alone_says_it_is_about_no_namespace("a", None, in_namespace("a"))]
#[case::or_about_another_one("a", Some("b"), in_namespace("a"))]
fn how_far_the_writer_of_an_event_reaches(
    #[case] namespace: &str,
    #[case] about: Option<&str>,
    #[case] expected: Reach,
) {
    assert_eq!(Reach::of_event(namespace, about), expected);
}
