use proptest::prelude::*;
use rstest::rstest;

use super::*;

const GRACES: Graces = Graces {
    grace: Duration::from_secs(40),
    startup: Duration::from_secs(60),
};

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn agent(name: &str) -> Source {
    Source::Agent(name.into())
}

/// A watch that is driven second by second, and judged whenever it asks to be.
struct World {
    watch: Watch,
    now: u64,
    judge_at: Option<Duration>,
    rule: Rule,
    renewals: u64,
}

impl World {
    fn new(sources: &[Source]) -> Self {
        let mut world = Self {
            watch: Watch::new(GRACES),
            now: 0,
            judge_at: None,
            rule: Rule::InForce,
            renewals: 0,
        };
        for source in sources {
            world.see(source, "first", Stake::Reported);
        }
        world
    }

    fn see(&mut self, source: &Source, renewed: &str, stake: Stake) {
        let lease = serde_json::from_value::<k8s_openapi::api::coordination::v1::Lease>(serde_json::json!({
            "metadata": {"uid": format!("{source:?}"), "resourceVersion": renewed}, "spec": {"holderIdentity": "h"}
        }))
        .unwrap();
        let seen = Seen {
            lease: Some(LeaseMark::from(&lease)),
            ready: None,
            stake,
        };
        if self.watch.note(source.clone(), seen, at(self.now)) == Noted::Judge {
            self.judge();
        }
    }

    fn renew(&mut self, source: &Source) {
        self.renewals += 1;
        let renewed = self.renewals.to_string();
        self.see(source, &renewed, Stake::Reported);
    }

    fn judge(&mut self) {
        self.judge_at = self
            .watch
            .judge(self.rule, at(self.now))
            .map(|wait| at(self.now) + wait);
    }

    /// Lets time pass to `second`; those in `renewing` renew every 10 s, each at its own phase.
    fn until(&mut self, second: u64, renewing: &[Source]) {
        while self.now < second {
            self.now += 1;
            for (phase, source) in renewing.iter().enumerate() {
                if self.now % 10 == (phase as u64 * 3) % 10 {
                    self.renew(source);
                }
            }
            if self.judge_at.is_some_and(|due| due <= at(self.now)) {
                self.judge();
            }
        }
    }

    fn voice(&self, source: &Source) -> Voice {
        self.watch.voice(source, at(self.now)).unwrap()
    }
}

#[test]
fn one_that_falls_silent_among_others_is_given_up_after_the_grace_period_and_not_before() {
    let all = [agent("m1"), agent("m2"), agent("m3"), Source::Reporter];
    let mut world = World::new(&all);
    world.until(100, &all);
    // m1 renews at every full ten seconds: last at 100.
    world.until(139, &all[1..]);
    assert_eq!(world.voice(&all[0]), Voice::Alive);
    world.until(140, &all[1..]);
    assert_eq!(world.voice(&all[0]), Voice::GivenUp);
    assert_eq!(world.watch.hearing(), Hearing::Clear);
    world.renew(&all[0]);
    assert_eq!(world.voice(&all[0]), Voice::Alive);
}

#[rstest]
#[case::one(1)]
#[case::two(2)]
fn fewer_than_three_are_given_up_when_all_are_silent(#[case] count: usize) {
    let all: Vec<Source> = (0..count).map(|n| agent(&format!("m{n}"))).collect();
    let mut world = World::new(&all);
    world.until(100, &all);
    world.until(150, &[]);
    for source in &all {
        assert_eq!(world.voice(source), Voice::GivenUp);
    }
}

#[test]
fn when_three_fall_silent_nobody_is_given_up_until_one_is_heard_and_then_all_have_a_full_grace_period() {
    let all = [agent("m1"), agent("m2"), Source::Reporter];
    let mut world = World::new(&all);
    world.until(100, &all);
    world.until(134, &[]);
    assert_eq!(world.voice(&all[1]), Voice::HeldBack, "silent since 93");
    assert_eq!(
        world.watch.hearing(),
        Hearing::InDoubt { leases: 3 },
        "the last one was heard at 100"
    );
    world.until(3600, &[]);
    assert_eq!(world.watch.hearing(), Hearing::Isolated { leases: 3 });
    for source in &all {
        assert_eq!(world.voice(source), Voice::HeldBack);
    }
    let renewing = &all[2..];
    world.until(3601, &[]);
    world.renew(&all[2]);
    assert_eq!(world.watch.hearing(), Hearing::Clear);
    world.until(3640, renewing);
    assert_ne!(world.voice(&all[0]), Voice::GivenUp);
    world.until(3641, renewing);
    assert_eq!(world.voice(&all[0]), Voice::GivenUp);
    assert_eq!(world.voice(&all[1]), Voice::GivenUp);
    assert_eq!(world.voice(&all[2]), Voice::Alive);
}

#[test]
fn a_person_overrides() {
    let all = [agent("m1"), agent("m2"), agent("m3")];
    let mut world = World::new(&all);
    world.until(100, &all);
    world.until(200, &[]);
    assert_eq!(world.watch.hearing(), Hearing::Isolated { leases: 3 });
    world.rule = Rule::Overridden;
    world.judge();
    for source in &all {
        assert_eq!(world.voice(source), Voice::GivenUp);
    }
    // The person's word ends; what was given up stays so.
    world.rule = Rule::InForce;
    world.judge();
    assert_eq!(world.watch.hearing(), Hearing::Clear);
    assert_eq!(world.voice(&all[0]), Voice::GivenUp);
}

#[test]
fn one_that_was_given_up_long_ago_does_not_take_the_protection_from_the_others() {
    let all = [agent("dead"), agent("m1"), agent("m2"), agent("m3")];
    let mut world = World::new(&all);
    world.until(1000, &all[1..]);
    assert_eq!(world.voice(&all[0]), Voice::GivenUp);
    world.until(1100, &[]);
    assert_eq!(world.watch.hearing(), Hearing::Isolated { leases: 3 });
}

#[test]
fn those_that_fall_silent_one_after_the_other_are_given_up() {
    let all: Vec<Source> = (0..5).map(|n| agent(&format!("m{n}"))).collect();
    let mut world = World::new(&all);
    world.until(100, &all);
    for dead in 1..=5 {
        world.until(100 + dead * 15, &all[usize::try_from(dead).unwrap()..]);
    }
    world.until(260, &[]);
    for source in &all {
        assert_eq!(world.voice(source), Voice::GivenUp);
    }
}

#[test]
fn an_agent_that_never_came_has_the_startup_grace_and_protects_nobody() {
    let mut world = World::new(&[agent("m1"), agent("m2")]);
    let never = agent("new");
    world.see(&never, "first", Stake::Never);
    world.until(59, &[]);
    assert_eq!(world.voice(&never), Voice::NotKnown);
    assert_eq!(world.voice(&agent("m1")), Voice::GivenUp, "two leases that count");
    world.until(60, &[]);
    assert_eq!(world.voice(&never), Voice::GivenUp);
}

// C73: a restart starts the time anew, once; nobody is given up early by it.
#[test]
fn after_a_restart_a_silent_one_is_given_up_one_grace_period_later() {
    let all = [agent("m1"), agent("m2"), agent("m3"), Source::Reporter];
    for restart in [1, 20, 39] {
        let mut world = World::new(&all);
        world.until(restart, &all[1..]);
        let mut again = World::new(&all);
        again.renewals = 10_000;
        again.until(39, &all[1..]);
        assert_eq!(again.voice(&all[0]), Voice::NotKnown);
        again.until(40, &all[1..]);
        assert_eq!(again.voice(&all[0]), Voice::GivenUp);
        assert_eq!(again.voice(&all[1]), Voice::Alive);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Renew(usize),
    Judge,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1_u64..30).prop_map(Step::Pass),
        4 => (0_usize..5).prop_map(Step::Renew),
        1 => Just(Step::Judge),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    // Never early, whatever happens when; and with three or more that count never all of them together.
    #[test]
    fn nobody_is_given_up_within_a_grace_period_of_a_sign(steps in steps()) {
        let all: Vec<Source> = (0..5).map(|n| agent(&format!("m{n}"))).collect();
        let mut world = World::new(&all);
        let mut heard = [0_u64; 5];
        let seconds = steps.into_iter().flat_map(|step| match step {
            Step::Pass(seconds) => vec![Step::Pass(1); usize::try_from(seconds).unwrap()],
            other => vec![other],
        });
        for step in seconds {
            let alive = |world: &World| all.iter().filter(|source| world.voice(source) != Voice::GivenUp).count();
            let before = alive(&world);
            match step {
                Step::Pass(seconds) => world.until(world.now + seconds, &[]),
                Step::Renew(who) => {
                    heard[who] = world.now;
                    world.renew(&all[who]);
                }
                Step::Judge => world.judge(),
            }
            for (who, source) in all.iter().enumerate() {
                if world.voice(source) == Voice::GivenUp {
                    prop_assert!(world.now - heard[who] >= 40);
                }
            }
            prop_assert!(before < 3 || alive(&world) > 0, "all {before} were given up at once");
        }
    }

    // Missed by nobody: while another is heard every ten seconds, a silent one is given up at its grace period exactly.
    #[test]
    fn a_silent_one_is_given_up_on_time_while_another_is_heard(silent_from in 10_u64..200, others in 1_usize..5) {
        let all: Vec<Source> = (0..=others).map(|n| agent(&format!("m{n}"))).collect();
        let mut world = World::new(&all);
        world.until(silent_from, &all);
        world.renew(&all[0]);
        world.until(silent_from + 39, &all[1..]);
        prop_assert_eq!(world.voice(&all[0]), Voice::Alive);
        world.until(silent_from + 40, &all[1..]);
        prop_assert_eq!(world.voice(&all[0]), Voice::GivenUp);
    }
}
