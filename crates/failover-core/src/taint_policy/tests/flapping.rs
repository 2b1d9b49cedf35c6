//! A cluster that never rests, for a day.

use super::*;

/// What is kept of a Cluster, in bytes: on it, and in the process.
fn bytes_kept(world: &World) -> usize {
    let annotations = world.cluster.metadata.annotations.iter().flatten();
    let stored: usize = annotations.map(|(name, text)| name.len() + text.len()).sum();
    stored + format!("{:?}", world.memory).len() + format!("{:?}", world.last.as_ref().unwrap().reports).len()
}

/// 24 hours of a Ready that changes every few minutes, under policies of both forms, with a person who takes a taint
/// back now and then: what is kept grows with nothing but the digits of counts.
#[test]
fn a_day_of_flapping_leaves_no_more_than_an_hour() {
    let mut quick = not_ready_spec("", "NoSchedule");
    quick["taintsToAdd"][0]["addOnMatchSeconds"] = json!(30);
    quick["taintsToAdd"][0]["removeOnMismatchSeconds"] = json!(60);
    let mut other = stock("s");
    other.spec.taints[0].key = "stock".to_owned();
    let mut world = World::new(&[not_ready("p", 0), policy("quick", 1, quick), other]);
    world.condition("Ready", "True");
    world.look();
    let (mut first_hour, mut later) = (0, 0);
    let mut second = 0;
    for round in 0_i64.. {
        // Both short of the windows and beyond them, and never the same twice in a row.
        second += 20 + (round * 97) % 700;
        if second > 24 * 3600 {
            break;
        }
        world.until(second);
        if round % 31 == 30 {
            world.cluster.spec.taints.clear();
            world.look();
        }
        world.condition(
            "Ready",
            ["False", "True", "Unknown", "True"][usize::try_from(round % 4).unwrap()],
        );
        world.look();
        let kept = bytes_kept(&world);
        if second < 3600 {
            first_hour = first_hour.max(kept);
        } else {
            later = later.max(kept);
        }
    }
    assert!(world.memory.as_ref().unwrap().transitions("uid-p") > 200);
    // Counts and the score have more digits, a text is a few letters longer.
    assert!(
        later <= first_hour + 400,
        "{first_hour} bytes in the first hour, {later} later"
    );
    world.condition("Ready", "True");
    world.look();
    world.until(second + 3600);
    let left: Vec<&String> = world
        .cluster
        .metadata
        .annotations
        .iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(left, [annotation::FLAP_SCORE]);
    assert!(world.taints().is_empty());
}
