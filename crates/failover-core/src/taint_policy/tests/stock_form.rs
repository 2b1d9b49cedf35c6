//! Stock's form.

use super::*;

#[test]
fn stocks_form_is_latched() {
    let mut world = World::new(&[stock("s")]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!(world.taints(), [TAINT], "no window");
    world.now = at(10);
    world.condition("Ready", "Unknown");
    world.look();
    world.restart();
    world.until(500);
    assert_eq!(
        world.taints(),
        [TAINT],
        "neither list matches: it stays, also over a restart"
    );
    world.condition("Ready", "True");
    world.look();
    assert!(world.taints().is_empty());
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
}

#[test]
fn with_both_lists_matching_removal_wins() {
    let mut policy = stock("s");
    policy.spec.remove_on_conditions = policy.spec.add_on_conditions.clone();
    let mut world = World::new(&[policy]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!((world.taints().len(), world.writes), (0, 0));
}

/// Stock's form with windows of 60 and 30 seconds in its annotation, on a world where it has looked once.
fn windowed(remove: Option<&str>) -> World {
    let mut policy = stock("s");
    let remove = remove.map(|status| json!([{"conditionType": "Ready", "operator": "In", "statusValues": [status]}]));
    policy.spec.remove_on_conditions = serde_json::from_value(remove.unwrap_or(json!([]))).unwrap();
    let windows =
        json!([{"key": "not-ready", "effect": "NoExecute", "addOnMatchSeconds": 60, "removeOnMismatchSeconds": 30}]);
    policy.metadata.annotations = Some([(annotation::WINDOWS.to_owned(), windows.to_string())].into());
    // As it is read from the server.
    let policy = serde_json::from_value(serde_json::to_value(&policy).unwrap()).unwrap();
    let mut world = World::new(&[policy]);
    world.condition("Ready", "True");
    world.look();
    world
}

#[test]
fn with_windows_it_is_as_ours() {
    let mut world = windowed(None);
    world.condition("Ready", "False");
    world.look();
    world.until(59);
    assert!(world.taints().is_empty());
    world.until(60);
    assert_eq!(world.taints(), [TAINT]);
    world.condition("Ready", "Unknown");
    world.look();
    world.until(89);
    assert_eq!(world.taints(), [TAINT], "the window of its end runs");
    world.until(90);
    assert!(world.taints().is_empty(), "they do not match any more, for its window");
}

#[test]
fn what_its_remove_conditions_say_of_the_end_counts() {
    let mut world = windowed(Some("True"));
    world.condition("Ready", "False");
    world.look();
    world.until(60);
    assert_eq!(world.taints(), [TAINT]);
    world.condition("Ready", "Unknown");
    world.look();
    world.until(1000);
    world.restart();
    world.until(2000);
    assert_eq!(
        world.taints(),
        [TAINT],
        "neither list matches: what stands stays, also over a restart"
    );
    world.condition("Ready", "True");
    world.look();
    world.until(2029);
    assert_eq!(world.taints(), [TAINT]);
    world.until(2031);
    assert!(world.taints().is_empty());
}

#[test]
fn a_window_in_which_nothing_comes_starts_the_one_before_anew() {
    let mut world = windowed(Some("True"));
    world.condition("Ready", "False");
    world.look();
    world.until(50);
    world.condition("Ready", "Unknown");
    world.look();
    world.until(200);
    assert!(
        world.taints().is_empty(),
        "the add conditions did not match for long enough"
    );
    world.condition("Ready", "False");
    world.look();
    world.until(259);
    assert!(world.taints().is_empty());
    world.until(260);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn of_two_taints_the_later_one_does_not_come_while_neither_list_matches() {
    let mut world = windowed(Some("True"));
    let later: Vec<api_types::taint_policy::PlainTaint> = serde_json::from_value(
        json!([{"key": "not-ready", "effect": "NoExecute"}, {"key": "later", "effect": "NoExecute"}]),
    )
    .unwrap();
    let spec = &mut world.policies[0].spec;
    spec.taints = later;
    let windows = spec.windows.as_mut().unwrap();
    let mut second = windows[0].clone();
    second.key = "later".to_owned();
    second.add_on_match_seconds = 100;
    windows.push(second);
    world.look();
    world.condition("Ready", "False");
    world.look();
    world.until(60);
    world.condition("Ready", "Unknown");
    world.look();
    world.until(500);
    assert_eq!(world.taints(), [TAINT]);
    world.condition("Ready", "False");
    world.look();
    world.until(599);
    assert_eq!(world.taints(), [TAINT]);
    world.until(600);
    assert_eq!(world.taints(), [TAINT, "later:NoExecute"]);
}
