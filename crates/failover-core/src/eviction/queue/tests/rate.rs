use rstest::rstest;

use super::*;
use crate::eviction::regime::Regime;

/// Evictions in the first ten minutes with everything ready.
fn in_ten_minutes(rate: f64, consumers: u64, max_outstanding: Option<usize>) -> Sim {
    let mut sim = Sim::new(QueueSettings {
        max_outstanding_leases: max_outstanding,
        ..settings(rate)
    });
    let enough = (0..1_000).map(|n| published(if n % 2 == 0 { "m1" } else { "m2" }, &format!("b{n}"), 0));
    sim.publish(enough.collect());
    for consumer in 0..consumers {
        sim.consumer(10 + consumer, 3);
    }
    sim.run_until(600_000, Sim::evict_all);
    sim
}

// C42 (karmada#7495), S01 (karmada f8fdd02): the rate is the rate, whatever the number of consumers and workers.
#[rstest]
fn exact_whatever_the_consumers(
    #[values(0.5, 1.0)] rate: f64,
    #[values(1, 8)] consumers: u64,
    #[values(None, Some(50))] out: Option<usize>,
) {
    let sim = in_ten_minutes(rate, consumers, out);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let expected = (600.0 * rate) as usize;
    assert!(
        sim.evicted.len().abs_diff(expected) <= 1,
        "{} of {expected}",
        sim.evicted.len()
    );
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let apart = (1_000.0 / rate) as u64;
    assert!(
        sim.evicted.windows(2).all(|pair| pair[1].0 - pair[0].0 >= apart),
        "never closer together than the rate allows"
    );
}

// S02 (karmada f8fdd02): rate 0 means stop.
#[test]
fn zero_stops() {
    let sim = in_ten_minutes(0.0, 3, None);
    assert_eq!((sim.evicted.len(), sim.queue.totals().ready), (0, 1_000));
}

// C50 (karmada#6274): recovery abandons what is queued, without spending tokens, and nothing of the cluster is released after it.
#[test]
fn recovery_abandons_without_spending() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish((0..100).map(|n| published("m1", &format!("b{n:03}"), 0)).collect());
    sim.consumer(10, 1);
    sim.run_until(10_000, Sim::evict_all);
    assert_eq!(sim.evicted.len(), 10);
    sim.tell(Event::ClusterSeen(cluster("m1", None)));
    assert_eq!(
        sim.queue.totals(),
        Totals {
            held: 90,
            ..Totals::default()
        }
    );
    sim.run_until(60_000, Sim::evict_all);
    assert_eq!(
        sim.evicted.len(),
        10,
        "held, although the producer has not said anything yet"
    );

    let keys: Vec<_> = sim
        .queue
        .entries()
        .map(|entry| (entry.key().clone(), WithdrawReason::ClusterRecovered))
        .collect();
    sim.tell(Event::Withdraw {
        stream: PRODUCER,
        entries: keys,
    });
    assert_eq!(sim.queue.totals(), Totals::default());
    assert!(
        !sim.queue.lanes().any(|lane| lane.cluster.as_str() == "m1"),
        "the lane ends with the fault"
    );
    assert!(
        (sim.queue.status(sim.now()).tokens - 1.0).abs() < 1e-6,
        "no token was spent on them"
    );
}

#[test]
fn ten_that_must_go_go_at_the_full_rate() {
    let mut sim = Sim::new(settings(5.0));
    sim.publish((0..10).map(|n| published("m1", &format!("b{n}"), 0)).collect());
    sim.consumer(10, 10);
    sim.run_until(2_100, Sim::evict_all);
    assert_eq!(sim.evicted.len(), 10);
}

// C51 (karpenter#2399): entries whose write always fails do not keep the others from their turn.
#[test]
fn failures_back_off_and_do_not_starve_others() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish((0..20).map(|n| published("m1", &format!("bad{n:02}"), 0)).collect());
    sim.publish((0..10).map(|n| published("m1", &format!("good{n}"), 0)).collect());
    sim.consumer(10, 1);
    let mut tries = 0;
    sim.run_until(60_000, |sim| {
        while let Some((id, name)) = sim
            .held
            .iter()
            .next()
            .map(|(id, (_, l))| (*id, l.published.key.binding.name.clone()))
        {
            tries += 1;
            sim.complete(
                id,
                if name.starts_with("bad") {
                    OutcomeKind::Failed
                } else {
                    OutcomeKind::Evicted
                },
            );
            sim.tell(Event::Credit { stream: 10, leases: 1 });
        }
    });
    assert_eq!(sim.evicted.len(), 10);
    assert!(sim.evicted.last().unwrap().0 <= 15_000, "within 15 s");
    assert!(
        tries <= 10 + 20 * 6,
        "1 s doubling: at most 6 tries of each in a minute, not {tries}"
    );
}

// A crashed consumer: the token of a lapsed lease is not given back, the entry is.
#[test]
fn a_lapsed_lease_keeps_its_token_and_gives_its_entry_back() {
    let mut sim = Sim::new(settings(0.5));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(2_000, |_| {});
    let lease = sim.lease();
    sim.tell(Event::Renew {
        stream: 10,
        leases: vec![lease],
    });
    sim.tell(Event::ConsumerLeft { stream: 10 });
    sim.consumer(11, 1);
    sim.run_until(33_999, |_| {});
    assert!(matches!(sim.only().state, State::Leased(id) if id == lease));
    sim.held.clear();
    sim.run_until(34_000, |_| {});
    assert!(
        matches!(sim.only().state, State::Leased(id) if id != lease),
        "and is leased again, by a token of its own"
    );
    assert_eq!(sim.queue.recent().next().unwrap().end, LeaseEnd::Lapsed);
    let key = sim.only().key().clone().into();
    let completion = Completion {
        outcome: OutcomeKind::Failed,
        reason: String::new(),
        message: String::new(),
    };
    sim.tell(Event::Complete {
        lease,
        key,
        consumer: None,
        completion,
    });
    assert_eq!(sim.effects.last(), Some(&Effect::Completed(CompleteResult::Late)));
    assert!(
        matches!(sim.only().state, State::Leased(_)),
        "a late word changes nothing"
    );
}

// A new leader has an empty bucket and a grace.
#[test]
fn a_new_leader_waits() {
    let mut sim = Sim::new(QueueSettings {
        leader_grace: Duration::from_secs(10),
        ..settings(0.5)
    });
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(60_000, Sim::evict_all);
    assert_eq!(sim.evicted[0].0, 12_000, "10 s of grace, then the 2 s of a token");
}

#[test]
fn a_leader_whose_renewal_is_old_releases_nothing() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.millis = 5_000;
    let stale = Moment {
        leading: Leading::Stale,
        ..sim.now()
    };
    assert_eq!(sim.queue.apply(Event::Tick, stale), []);
    assert_eq!(sim.queue.next_wake(stale).elapsed, None, "no busy waiting");
    sim.tell(Event::Tick);
    assert_eq!(sim.held.len(), 1);
}

// A lease that its consumer cannot have used: nothing is lost, neither time nor the token.
#[test]
fn an_unconfirmed_lease_goes_back_when_its_consumer_goes() {
    let mut sim = Sim::new(settings(0.5));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(2_000, |_| {});
    let lease = sim.lease();
    sim.tell(Event::ConsumerLeft { stream: 10 });
    assert_eq!(sim.only().state, State::Ready);
    sim.consumer(11, 1);
    assert!(
        matches!(sim.only().state, State::Leased(again) if again != lease),
        "at the same moment"
    );
}

fn rates(evictions_per_second: f64) -> RateSettings {
    settings(evictions_per_second).rates()
}

// A change of rate acts on the next release, and what was released before counts on: no two evictions are closer together
// than the faster of the two rates allows, and a token that was half full stays half full.
#[test]
fn another_rate_acts_at_once_and_keeps_the_fill() {
    let mut sim = Sim::new(settings(0.1));
    sim.publish((0..100).map(|n| published("m1", &format!("b{n:03}"), 0)).collect());
    sim.consumer(10, 10);
    sim.run_until(15_000, Sim::evict_all);
    assert_eq!(sim.evicted.len(), 1, "at 10 s");
    sim.tell(Event::RatesChanged(rates(5.0)));
    assert_eq!(sim.queue.status(sim.now()).max_outstanding_leases, 10);
    sim.run_until(16_000, Sim::evict_all);
    let times: Vec<_> = sim.evicted.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [10_000, 15_100, 15_300, 15_500, 15_700, 15_900]);
    sim.tell(Event::RatesChanged(rates(0.0)));
    sim.run_until(60_000, Sim::evict_all);
    assert_eq!(sim.evicted.len(), 6, "0 stops");
    assert!(
        sim.queue.verdict().reason.contains("is 0"),
        "{}",
        sim.queue.verdict().reason
    );
    sim.tell(Event::RatesChanged(rates(5.0)));
    sim.run_until(60_100, Sim::evict_all);
    assert_eq!(sim.evicted.len(), 7, "half a token was left");
}

// What makes no sense changes nothing, and is said for as long as it stands.
#[test]
fn rates_that_are_refused_are_said() {
    let mut sim = Sim::new(settings(1.0));
    let said = |sim: &Sim| {
        sim.queue
            .notes(sim.now())
            .into_iter()
            .find(|note| note.contains("rates"))
    };
    sim.tell(Event::RatesRefused("it is no number".into()));
    let note = "the rates of before count, new ones are refused: it is no number";
    assert_eq!(said(&sim).as_deref(), Some(note));
    assert_eq!(sim.queue.settings().rates(), rates(1.0));
    sim.tell(Event::RatesChanged(rates(1.0)));
    assert_eq!(said(&sim), None);
}

// Thresholds are rates, too: two of five clusters are faulty.
#[test]
fn another_threshold_judges_the_fleet_anew() {
    let mut sim = Sim::new(settings(1.0));
    let judged = |sim: &mut Sim, threshold: f64, large: usize| {
        sim.tell(Event::RatesChanged(RateSettings {
            unhealthy_cluster_threshold: threshold,
            large_cluster_num_threshold: large,
            ..rates(1.0)
        }));
        sim.queue.verdict().regime
    };
    assert_eq!(judged(&mut sim, 0.3, 10), Regime::Halted);
    assert_eq!(judged(&mut sim, 0.3, 4), Regime::Reduced);
    assert_eq!(judged(&mut sim, 0.4, 4), Regime::Normal);
}
