//! A scenario of the demo, played under simulated time with the windows of a real fleet, by one process or by many.

use api_types::names::namespace;
use clap::Parser;
use controller_kit::{Metrics, Mode};
use failoverctl::control_plane::ControlPlane;
use failoverctl::run::{Surroundings, answer};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use karmada_failover::story::print::Printer;
use karmada_failover::story::scenario::{Action, Fare, MemberState, Network, Scenario};
use karmada_failover::story::theatre::{Roads, set_simulated_cpus, set_simulated_workload};
use karmada_failover::story::{Line, Observer, Sources, Step, Theatre, script};
use kube::Client;
use kube_sandbox::Sandbox;
use kube_sandbox::rules::Settings;
use std::time::Duration;
use test_bench::stock::Company;

use crate::common::World;

/// What came of a scenario.
pub struct Told {
    /// Every line.
    pub lines: Vec<Line>,
    /// What `failoverctl status` said at each change of the regime: the regime, and the whole text.
    pub status: Vec<(String, String)>,
    /// What `/metrics` showed now and then, and at the end.
    pub scrapes: Vec<String>,
}

impl Told {
    /// Lines of a step.
    pub fn of(&self, step: Step) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.step == step)
    }

    /// The line of `failoverctl status` that says how fast evictions go, at the first change to a regime.
    pub fn status_line(&self, regime: &str) -> String {
        let (_, text) = self
            .status
            .iter()
            .find(|(name, _)| name == regime)
            .expect("the regime was told");
        let line = text
            .lines()
            .find(|line| line.starts_with("Evictions"))
            .expect("a line about evictions");
        line.trim_start_matches("Evictions")
            .trim_start_matches(':')
            .trim()
            .to_owned()
    }
}

/// A world for a scenario, in which nothing runs yet.
pub fn world(scenario: &Scenario) -> World {
    world_in_mode(Mode::Standalone, scenario)
}

/// The same in this mode.
pub fn world_in_mode(mode: Mode, scenario: &Scenario) -> World {
    world_among(|plane| Company::on(plane, mode), scenario)
}

/// The same with what this puts on the control plane.
pub fn world_among(company: impl FnOnce(&Sandbox) -> Company, scenario: &Scenario) -> World {
    let settings = Settings::exact(scenario.pace.evictions_per_second);
    let world = World::among(company, &scenario.every_member(), settings);
    scenario.given.iter().for_each(|object| world.create(object.clone()));
    world
}

/// Plays a scenario with all controllers in one process. Nothing may come out wrong, and no rule be broken.
pub async fn play(scenario: &Scenario) -> Told {
    play_in(world(scenario), scenario).await
}

/// The same in this mode.
pub async fn play_in_mode(mode: Mode, scenario: &Scenario) -> Told {
    play_in(world_in_mode(mode, scenario), scenario).await
}

/// The same in a world that is there.
pub async fn play_in(world: World, scenario: &Scenario) -> Told {
    let mut flags = scenario.pace.health_flags();
    flags.push(format!(
        "--secondary-resource-eviction-rate={}",
        scenario.reduced_evictions_per_second
    ));
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let process = world.run("all-in-one", &flags).await;
    let told = perform(&world, scenario, Some(process.metrics())).await;
    world.company.assert_wrote();
    world.finish(vec![process]).await;
    told
}

/// Plays a scenario with the processes that run. Nothing may come out wrong. With the metrics of one that runs everything,
/// what they and `failoverctl status` show meanwhile is told, too.
pub async fn perform(world: &World, scenario: &Scenario, metrics: Option<&Metrics>) -> Told {
    let mut observer = Observer::start_asking_every(
        Duration::from_secs(5),
        Sources {
            control_plane: world.client(),
            members: world
                .fleet
                .members()
                .iter()
                .map(|member| (member.name().to_owned(), member.client()))
                .collect(),
            queue: world.queue(),
        },
    );
    let mut stage = Stage {
        world,
        roads: Roads::default(),
        status: Vec::new(),
        metrics,
        heard: 0,
        scrapes: Vec::new(),
    };
    let written = as_written(&world.company, scenario);
    let problems = script::play(&written, &mut stage, &mut observer, &Printer::silent())
        .await
        .expect("the stage works");
    let lines = observer.look(|teller| teller.told().to_vec());
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            format!(
                "{:.1} {:?} {:?} {:?} {}",
                line.at, line.step, line.cluster, line.binding, line.why
            )
        })
        .collect();
    assert!(
        problems.is_empty(),
        "{}: {problems:#?}\n{}",
        scenario.name,
        shown.join("\n")
    );
    stage.scrapes.extend(metrics.map(Metrics::render));
    Told {
        lines,
        status: stage.status,
        scrapes: stage.scrapes,
    }
}

/// The same story, whose people write in the form of this company.
fn as_written(company: &Company, scenario: &Scenario) -> Scenario {
    let mut written = scenario.clone();
    let acts = written.chapters.iter_mut().flat_map(|chapter| &mut chapter.acts);
    for action in acts.flat_map(|act| &mut act.actions) {
        match action {
            Action::Create(object) | Action::Put(object) => *object = company.object(object.take()),
            Action::Patch { object, patch } => *patch = company.patch(&object.kind, patch.take()),
            _ => {}
        }
    }
    written
}

struct Stage<'a> {
    world: &'a World,
    roads: Roads,
    status: Vec<(String, String)>,
    metrics: Option<&'a Metrics>,
    heard: usize,
    scrapes: Vec<String>,
}

impl Stage<'_> {
    /// What failoverctl prints now. Boxed where it is made: the play is deep already, and the stacks of tests are small.
    fn failoverctl<'a>(&'a self, arguments: &'a [&'a str]) -> LocalBoxFuture<'a, String> {
        let answered = async move {
            let cli = failoverctl::Cli::try_parse_from([&["failoverctl"], arguments].concat()).expect("a command line");
            let control_plane = ControlPlane::new(self.world.client(), namespace::SYSTEM);
            let mut around = Surroundings::plain(self.world.clock.clone());
            around.network = Some(self.world.network.clone());
            answer(&cli, &control_plane, &around).await.expect("an answer").text
        };
        answered.boxed_local()
    }
}

impl Theatre for Stage<'_> {
    async fn control_plane(&mut self) -> anyhow::Result<Client> {
        Ok(self.world.client())
    }

    async fn set_member(&mut self, name: &str, to: MemberState) -> anyhow::Result<()> {
        self.roads.set_member(name, to);
        self.roads.lay(&self.world.fleet);
        Ok(())
    }

    async fn set_network(&mut self, to: Network) -> anyhow::Result<()> {
        self.roads.set_network(to);
        self.roads.lay(&self.world.fleet);
        Ok(())
    }

    async fn set_workload(&mut self, member: &str, name: &str, to: Fare) -> anyhow::Result<()> {
        set_simulated_workload(&self.world.fleet, member, name, to)
    }

    async fn set_cpus(&mut self, member: &str, cpus: u32) -> anyhow::Result<()> {
        set_simulated_cpus(&self.world.fleet, member, cpus)
    }

    async fn explain(&mut self, binding: &str) -> anyhow::Result<Option<String>> {
        Ok(Some(self.failoverctl(&["explain", "binding", binding]).await))
    }

    async fn hear(&mut self, line: &Line) -> anyhow::Result<Duration> {
        let Some(metrics) = self.metrics else {
            return Ok(Duration::ZERO);
        };
        self.heard += 1;
        if self.heard.is_multiple_of(8) {
            self.scrapes.push(metrics.render());
        }
        if let Some(regime) = &line.regime {
            self.status.push((regime.clone(), self.failoverctl(&["status"]).await));
        }
        Ok(Duration::ZERO)
    }
}
