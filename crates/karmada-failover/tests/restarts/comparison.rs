//! Two runs of one story: the same but for the time that an outage costs.

use std::time::Duration;

use super::components::Component;
use super::end_state::differences;
use super::outages::Outage;
use super::play::Outcome;
use super::story::{Moment, Story};

/// How much earlier a step may be told than in the reference run: what the simulated network takes.
const EARLIER_SECONDS: f64 = 0.2;
/// How much later beyond the outage: retries with back-off, looks every so often.
const LATER_SECONDS: f64 = 6.0;

/// What is wrong with a run that had an outage.
pub fn problems(story: &Story, reference: &Outcome, run: &Outcome, outage: &Outage) -> Vec<String> {
    let mut problems = run.problems.clone();
    problems.extend(differences(&reference.end, &run.end));
    let order = |outcome: &Outcome| {
        outcome
            .evictions
            .iter()
            .map(|(_, binding, cluster)| format!("{binding} from {cluster}"))
            .collect::<Vec<_>>()
    };
    if order(reference) != order(run) {
        problems.push(format!("evictions were {:?}, not {:?}", order(run), order(reference)));
    }
    problems.extend(times(story, reference, run, outage));
    problems
}

/// Each step follows the one before as it did in the reference run, or as soon as the component is back.
fn times(story: &Story, reference: &Outcome, run: &Outcome, outage: &Outage) -> Vec<String> {
    let mut problems = Vec::new();
    // What became due during the outage leaves at the rate afterwards.
    let queue = (story.drained_in() - Duration::from_secs(2)).as_secs_f64();
    let began = run.outage_at.unwrap_or_default();
    let back = began + (outage.length() + outage.warm_up()).as_secs_f64();
    let mut steps: Vec<_> = reference.times.iter().collect();
    steps.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut delay = 0.0_f64;
    for (moment, expected) in steps {
        let Some(at) = run.times.get(moment) else {
            problems.push(format!("{moment:?} was never told"));
            continue;
        };
        if *at < expected - EARLIER_SECONDS {
            problems.push(format!("{moment:?} at {at:.1} s, earlier than at {expected:.1} s"));
        }
        let latest = if *at < began {
            expected + EARLIER_SECONDS
        } else {
            let opens_late = opens_late(*moment, run, outage);
            (expected + delay.max(opens_late)).max(back) + queue + LATER_SECONDS
        };
        if *at > latest {
            problems.push(format!(
                "{moment:?} at {at:.1} s, later than {latest:.1} s (reference {expected:.1} s, the outage began at {began:.1} s)"
            ));
        }
        delay = delay.max(at - expected);
    }
    problems
}

/// How much later the window of a taint may have been opened: it opens when its controller sees the condition, and one
/// that was open before the outage goes on through it.
fn opens_late(moment: Moment, run: &Outcome, outage: &Outage) -> f64 {
    let condition = match moment {
        Moment::NoExecuteAdded => Moment::ClusterNotReady,
        Moment::NoExecuteRemoved => Moment::ClusterReturned,
        _ => return 0.0,
    };
    let changed_at = run.times.get(&condition).copied().unwrap_or_default();
    let began = run.outage_at.unwrap_or_default();
    let was_open = changed_at + EARLIER_SECONDS < began;
    if outage.component == Component::TaintPolicy && !was_open {
        outage.length().as_secs_f64()
    } else {
        0.0
    }
}
