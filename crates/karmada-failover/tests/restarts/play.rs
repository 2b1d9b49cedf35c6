//! Plays a story, with or without an outage, and notes what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use controller_kit::Ended;
use eviction_queue_api::v1::ListEntriesRequest;
use karmada_failover::story::{Line, Observer, Sources};
use kube_sandbox::{Faults, Match, WriteRecord};
use tokio::time::{Instant, sleep_until};

use super::common::{World, simulate};
use super::components::System;
use super::end_state::{self, EndState};
use super::outages::{Cue, Outage, Way};
use super::story::{FAILING, Moment, PACE, Story};

const MEMBERS: [&str; 3] = ["member1", "member2", "member3"];

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// When each step was told for the last time, in seconds from the start.
    pub times: BTreeMap<Moment, f64>,
    /// When the outage began.
    pub outage_at: Option<f64>,
    pub end: EndState,
    /// Every eviction in order: when, in seconds from the start, which binding, from where.
    pub evictions: Vec<(f64, String, String)>,
    /// Every change that a component wrote to the control plane, by its client.
    pub writes: Vec<WriteRecord>,
    /// Every change that was written to each member.
    pub member_writes: BTreeMap<String, Vec<WriteRecord>>,
    /// What is wrong in any run: broken rules, processes that ended, entries that stayed in the queue.
    pub problems: Vec<String>,
}

/// Plays the story.
pub async fn play(story: &Story, outage: Option<&Outage>) -> Outcome {
    let world = World::with_rate(&MEMBERS, PACE.evictions_per_second);
    let started = Instant::now();
    let began = world.clock.now();
    if let Some(seed) = story.latency_seed {
        world
            .fleet
            .control_plane()
            .faults()
            .seeded_latency(seed, Duration::from_millis(40));
    }
    let flags = Story::flags();
    let mut stage = Stage {
        world: &world,
        system: System::start(&world, &flags).await,
        outage,
        cue: 0,
        begins: Vec::new(),
        ends: None,
        outage_at: None,
        problems: Vec::new(),
        started,
    };
    stage.await_cue();
    let observer = Observer::start(Sources {
        control_plane: world.client(),
        members: MEMBERS
            .iter()
            .map(|name| ((*name).to_owned(), world.fleet.member(name).unwrap().client()))
            .collect(),
        queue: world.queue(),
    });
    let lines = stage.act(story, observer).await;

    let Stage {
        system,
        outage_at,
        mut problems,
        ..
    } = stage;
    problems.extend(system.deserters());
    let left = world
        .queue()
        .inspect(Duration::from_secs(60), |mut queue| async move {
            queue.list_entries(ListEntriesRequest::default()).await
        })
        .await;
    match left {
        Ok(left) => problems.extend(
            left.entries
                .iter()
                .map(|entry| format!("still in the queue: {entry:?}")),
        ),
        Err(error) => problems.push(format!("the queue does not answer: {error}")),
    }
    problems.extend(system.stop().await);
    let changes = |faults: Faults| {
        faults
            .writes()
            .into_iter()
            .filter(|write| write.changed)
            .collect::<Vec<_>>()
    };
    let evictions = world.rules.evictions().into_iter();
    let evictions = evictions
        .map(|(at, key, cluster)| (at.duration_since(began).as_secs_f64(), key.to_string(), cluster))
        .collect();
    let outcome = Outcome {
        times: times(&lines),
        outage_at,
        end: end_state::look(&world.fleet),
        evictions,
        writes: changes(world.fleet.control_plane().faults()),
        member_writes: world
            .fleet
            .members()
            .iter()
            .map(|member| (member.name().to_owned(), changes(member.faults())))
            .collect(),
        problems,
    };
    Outcome {
        problems: [outcome.problems, world.broken_rules()].concat(),
        ..outcome
    }
}

fn times(lines: &[Line]) -> BTreeMap<Moment, f64> {
    let told = lines.iter().flat_map(|line| {
        Moment::ALL
            .into_iter()
            .filter_map(move |moment| Some((moment, line.at + moment.after(line)?.as_secs_f64())))
    });
    told.collect()
}

struct Stage<'a> {
    world: &'a World,
    system: System<'a>,
    outage: Option<&'a Outage>,
    /// How many lines told of the cue's moment.
    cue: usize,
    /// When outages begin, latest first.
    begins: Vec<Instant>,
    /// When the component starts again.
    ends: Option<Instant>,
    outage_at: Option<f64>,
    problems: Vec<String>,
    started: Instant,
}

impl Stage<'_> {
    fn await_cue(&mut self) {
        let Some(Outage { component, cue, .. }) = self.outage else {
            return;
        };
        match cue {
            Cue::At(_) | Cue::AtNth(..) => {}
            Cue::AfterWrite(k) => self
                .frozen()
                .freeze_after_write(Match::writes().client(&component.identity(1)), *k),
            Cue::AfterMemberWrite(_, k) => self.frozen().freeze_after_write(Match::writes(), *k),
            Cue::AtTimes(times) => self.begins = times.iter().rev().map(|time| self.started + *time).collect(),
        }
    }

    /// The server on which the cue's write happens.
    fn frozen(&self) -> Faults {
        match self.outage.map(|outage| &outage.cue) {
            Some(Cue::AfterMemberWrite(member, _)) => self.world.fleet.member(member).unwrap().faults(),
            _ => self.world.fleet.control_plane().faults(),
        }
    }

    /// The acts at their times, and the outage at its cue. Returns the lines told.
    async fn act(&mut self, story: &Story, mut observer: Observer) -> Vec<Line> {
        let member = self.world.fleet.member(FAILING).unwrap();
        let [created_at, fails_at, ends_at] =
            [story.created_at, story.fails_at, story.ends_at].map(|at| self.started + at);
        let returns_at = story.returns_at.map(|at| self.started + at);
        let mut acts = vec![ends_at];
        acts.extend(returns_at);
        acts.extend([fails_at, created_at]);
        let faults = self.frozen();
        let waits_for_write = matches!(
            self.outage.map(|outage| &outage.cue),
            Some(Cue::AfterWrite(_) | Cue::AfterMemberWrite(..))
        );
        let mut lines = Vec::new();
        while let Some(next_act) = acts.last().copied() {
            tokio::select! {
                biased;
                () = faults.frozen(), if waits_for_write && self.outage_at.is_none() => self.begin_outage().await,
                line = observer.next() => {
                    let line = line.unwrap();
                    self.hear(&line);
                    lines.push(line);
                }
                () = sleep_until(self.begins.last().copied().unwrap_or(next_act)), if !self.begins.is_empty() => {
                    self.begins.pop();
                    self.begin_outage().await;
                }
                () = sleep_until(self.ends.unwrap_or(next_act)), if self.ends.is_some() => {
                    self.ends = None;
                    self.system.start_one(self.outage.unwrap().component).await;
                }
                () = sleep_until(next_act) => {
                    acts.pop();
                    if next_act == created_at {
                        story.objects().into_iter().for_each(|object| self.world.create(object));
                    } else if next_act == fails_at {
                        member.stop();
                    } else if Some(next_act) == returns_at {
                        member.resume();
                    }
                }
            }
        }
        if self.outage.is_some() && self.outage_at.is_none() {
            self.problems.push("the outage never began".to_owned());
        }
        lines
    }

    fn hear(&mut self, line: &Line) {
        let (moment, n) = match self.outage.map(|outage| &outage.cue) {
            Some(Cue::At(moment)) => (*moment, 1),
            Some(Cue::AtNth(moment, n)) => (*moment, *n),
            _ => return,
        };
        if let Some(later) = moment.after(line) {
            self.cue += 1;
            if self.cue == n {
                self.begins.push(Instant::now() + later);
            }
        }
    }

    async fn begin_outage(&mut self) {
        let Outage {
            component, way, down, ..
        } = self.outage.unwrap();
        self.outage_at.get_or_insert(self.started.elapsed().as_secs_f64());
        match way {
            Way::Crash => self.system.crash_one(*component),
            Way::Stop => {
                let ended = self.system.stop_one(*component).await;
                if ended != Ended::Stopped {
                    self.problems
                        .push(format!("{component:?} did not end in order: {ended:?}"));
                }
            }
        }
        self.frozen().thaw();
        self.ends = Some(Instant::now() + *down);
    }
}

/// The same from a test that is not async.
pub fn played(story: &Story, outage: Option<&Outage>) -> Outcome {
    let mut outcome = None;
    let slot = &mut outcome;
    simulate(move || async move { *slot = Some(play(story, outage).await) });
    outcome.unwrap()
}

/// Whether everything is run, however long it takes.
pub fn is_full() -> bool {
    std::env::var_os("KARMADA_FAILOVER_FULL").is_some_and(|value| value == "1")
}
