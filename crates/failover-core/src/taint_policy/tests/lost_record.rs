//! The record of whose a taint is, removed or edited by somebody: the process that looks knows better.

use super::*;

/// What somebody makes of the record; absent: it is removed.
fn edits(record: &str) -> Vec<(&'static str, Option<String>)> {
    let without_taints = json!({"cluster": "cluster-1", "taints": {}});
    vec![
        ("was removed or edited", None),
        ("is not what", Some("oops".to_owned())),
        ("is not what", Some("{}".to_owned())),
        ("was removed or edited", Some(without_taints.to_string())),
        ("was removed or edited", Some(record.replace("\"p\":\"uid-p\"", ""))),
        ("was removed or edited", Some(record.replace("2026", "2020"))),
    ]
}

fn edit_record(world: &mut World, text: Option<&str>) {
    match text {
        Some(text) => world.set_annotation(annotation::MANAGED_TAINTS, text),
        None => {
            let annotations = world.cluster.metadata.annotations.as_mut().unwrap();
            annotations.remove(annotation::MANAGED_TAINTS);
        }
    }
}

fn record(world: &World) -> Option<String> {
    world.annotation(annotation::MANAGED_TAINTS).cloned()
}

/// A world with our taint, somebody's beside it, and what is recorded of them.
fn with_both() -> (World, String) {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.add_theirs("theirs", "NoExecute", Some(at(-5)));
    let record = record(&world).unwrap();
    (world, record)
}

#[test]
fn it_is_written_again_and_told_once_and_the_taint_stays_ours() {
    let (_, original) = with_both();
    for (told, edited) in edits(&original) {
        // Also where nobody looked since the taint was written.
        for seen in [true, false] {
            let (mut world, original) = with_both();
            if seen {
                world.until(320);
            }
            edit_record(&mut world, edited.as_deref());
            world.until(330);
            assert_eq!(record(&world), Some(original), "{edited:?}");
            let notices = &world.last.as_ref().unwrap().notices;
            assert_eq!(notices.len(), 1, "{edited:?}: {notices:?}");
            let Notice {
                reason,
                is_warning,
                text,
            } = &notices[0];
            let expected = match told {
                "is not what" => "TaintRecordUnreadable",
                _ => "TaintRecordLost",
            };
            assert_eq!((*reason, *is_warning), (expected, true));
            assert!(text.contains(told) && text.contains("this process remembers"), "{text}");
            let writes = world.writes;
            world.until(340);
            assert!(world.last.as_ref().unwrap().notices.is_empty(), "said once");
            assert_eq!(world.writes, writes);
            world.condition("Ready", "True");
            world.look();
            world.until(519);
            assert_eq!(world.taints(), [TAINT, "theirs:NoExecute"]);
            world.until(520);
            assert_eq!(world.taints(), ["theirs:NoExecute"], "{edited:?}");
        }
    }
}

/// What was remembered, but could not be written again, is told when it is.
#[test]
fn a_refused_write_loses_neither_the_taint_nor_the_word() {
    let (mut world, original) = with_both();
    edit_record(&mut world, None);
    world.look_only();
    world.look_only();
    world.look();
    assert_eq!(world.last.as_ref().unwrap().notices.len(), 1);
    assert_eq!(record(&world), Some(original));
}

/// Nobody is left who knows.
#[test]
fn a_restart_in_between_makes_the_taint_somebody_elses() {
    let (_, original) = with_both();
    for (_, edited) in edits(&original) {
        let (mut world, _) = with_both();
        edit_record(&mut world, edited.as_deref());
        world.restart();
        world.condition("Ready", "True");
        world.look();
        world.until(5000);
        assert_eq!(world.taints(), [TAINT, "theirs:NoExecute"], "{edited:?}");
        assert_eq!(record(&world), None);
    }
}

#[test]
fn who_takes_both_and_puts_another_in_its_place_owns_that() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints.clear();
    world.add_theirs("not-ready", "NoExecute", Some(at(-5)));
    edit_record(&mut world, None);
    world.until(320);
    world.condition("Ready", "True");
    world.look();
    world.until(1000);
    assert_eq!(world.taints(), [TAINT]);
    assert_eq!(record(&world), None);
}

/// A policy that was deleted in the same moment takes its taint along.
#[test]
fn what_is_to_go_at_once_goes_at_once() {
    let (mut world, _) = with_both();
    edit_record(&mut world, None);
    world.policies.clear();
    world.until(320);
    assert_eq!(
        (world.taints(), record(&world)),
        (vec!["theirs:NoExecute".to_owned()], None)
    );
    assert_eq!(world.last.as_ref().unwrap().notices.len(), 1, "it was said");
}

/// A record that claims a taint which the process never added is no sign that a person took one back.
#[test]
fn a_claim_that_was_never_made_takes_nothing_back() {
    let (_, original) = with_both();
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    edit_record(&mut world, Some(&original));
    world.until(100);
    assert_eq!(
        (record(&world), world.state("p")),
        (None, Some(PolicyClusterState::PendingAdd))
    );
    world.until(300);
    assert_eq!(world.taints(), [TAINT]);
}
