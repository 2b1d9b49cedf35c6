//! The worked example with each component as its own process, on a real control plane and three real members.

use e2e_harness::available;
use karmada_failover::story::example::Pace;
use karmada_failover::story::print::{Output, Printer};
use karmada_failover::story::scenario::worked_example;
use karmada_failover::story::script;
use karmada_failover::story::{Line, Observer, Step, Theatre};
use kube_sandbox::rules::Watching;

use crate::fleet::Fleet;
use crate::healthy_side::HealthySide;
use crate::telling::watch_rules;

/// The longest that an old copy may outlive its cluster's return: stock needs up to 17 minutes.
const SECONDS_FROM_RETURN_TO_REMOVAL: f64 = 15.0;

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    if available("the worked example on real API servers").is_none() {
        return Ok(true);
    }
    let mut fleet = Fleet::start(&Pace::FAST, &[]).await?;
    let telling = Telling::begin(&fleet, Pace::FAST).await?;
    let came_out_right = telling.play(&mut fleet).await?;
    fleet.stop().await?;
    Ok(came_out_right)
}

/// Everything that looks on while the worked example is played.
pub struct Telling {
    pace: Pace,
    observer: Observer,
    healthy_side: HealthySide,
    rules: Watching,
}

impl Telling {
    /// Looks on from here.
    pub async fn begin(fleet: &Fleet, pace: Pace) -> anyhow::Result<Self> {
        let observer = Observer::start(fleet.sources().await?);
        let healthy_side = HealthySide::watch(&fleet.member("member2")?.client().await?, 2);
        let rules = watch_rules(&fleet.control_plane.client().await?, pace.evictions_per_second);
        Ok(Self {
            pace,
            observer,
            healthy_side,
            rules,
        })
    }

    /// Plays it to its end; whether it came out right.
    pub async fn play(mut self, theatre: &mut impl Theatre) -> anyhow::Result<bool> {
        let printer = Printer::new(Output::Text);
        let mut problems = script::play(
            &worked_example::scenario(self.pace),
            theatre,
            &mut self.observer,
            &printer,
        )
        .await?;
        problems.extend(slow_removal(&self.observer.look(|teller| teller.told().to_vec())));
        problems.extend(self.healthy_side.finish());
        let evictions = self.rules.evictions().len();
        if evictions != 1 {
            problems.push(format!("{evictions} evictions, not one"));
        }
        problems.extend(self.rules.finish().iter().map(ToString::to_string));
        let summary = script::summary(&self.observer, evictions, problems);
        printer.summary(&summary)?;
        Ok(summary.ok)
    }
}

fn slow_removal(lines: &[Line]) -> Option<String> {
    let at = |step| lines.iter().find(|line| line.step == step).map(|line| line.at);
    let seconds = at(Step::OldCopyRemoved)? - at(Step::ClusterReturned)?;
    (seconds > SECONDS_FROM_RETURN_TO_REMOVAL).then(|| format!("the old copy went {seconds:.1} s after the return"))
}
