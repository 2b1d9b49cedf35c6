//! Plays a scenario: does what it says, when it says it, and tells what follows. What follows is not said here: it is
//! read off the API objects and the queue.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::example::Pace;
use super::expect::placement;
use super::line::Step;
use super::observer::Observer;
use super::print::{Printer, Summary};
use super::scenario::{Act, Action, Chapter, Scenario, Seen, Until};
use super::teller::Teller;
use super::theatre::{Theatre, perform};

/// Plays a scenario on a stage that is set: its members have joined, what is given is there, the components run.
/// Returns what went wrong: what did not come in time, and what is not as expected.
///
/// # Errors
/// When the fleet cannot be acted on, or standard output is closed.
pub async fn play(
    scenario: &Scenario,
    theatre: &mut impl Theatre,
    observer: &mut Observer,
    printer: &Printer,
) -> anyhow::Result<Vec<String>> {
    let mut play = Play {
        theatre,
        observer,
        printer,
        patience: patience(&scenario.pace),
        is_crowded: scenario.every_member().len() > 3,
    };
    let mut problems = Vec::new();
    if !play.fleet(scenario.members.len()).await? {
        let patience = play.patience.as_secs();
        problems.push(format!(
            "not all {} clusters were ready within {patience} s",
            scenario.members.len()
        ));
        return Ok(problems);
    }
    for chapter in &scenario.chapters {
        let (found, is_over) = play.chapter(chapter).await?;
        problems.extend(found);
        if !is_over {
            break;
        }
    }
    printer.settle()?;
    Ok(problems)
}

/// The end of a story.
#[must_use]
pub fn summary(observer: &Observer, evictions: usize, problems: Vec<String>) -> Summary {
    observer.look(|teller| Summary {
        ok: problems.is_empty(),
        at: teller.told().last().map_or(0.0, |line| line.at),
        bindings: teller
            .bindings()
            .iter()
            .map(|(key, binding)| (key.clone(), placement(binding)))
            .collect(),
        evictions,
        problems,
    })
}

/// Longer than everything that has to happen between two acts.
fn patience(pace: &Pace) -> Duration {
    let window = pace
        .add_on_match_seconds
        .max(pace.remove_on_mismatch_seconds)
        .max(0)
        .unsigned_abs();
    Duration::from_secs(30 + 3 * u64::from(pace.threshold_seconds + pace.probe_seconds + window))
}

/// Whether a step was told so many times from a line on, in what was heard.
fn told(begin: usize, step: Step, times: usize) -> impl Fn(&Teller, usize) -> bool {
    move |teller, heard| {
        teller.told()[begin..heard]
            .iter()
            .filter(|line| line.step == step)
            .count()
            >= times
    }
}

/// How often is looked for what no line tells, and how long lines of a crowd are gathered.
const GATHER: Duration = Duration::from_millis(400);

struct Play<'a, T> {
    theatre: &'a mut T,
    observer: &'a mut Observer,
    printer: &'a Printer,
    patience: Duration,
    /// Whether many things happen at once, and are told together.
    is_crowded: bool,
}

impl<T: Theatre> Play<'_, T> {
    /// Waits until the fleet can be used; false when it cannot in time.
    async fn fleet(&mut self, clusters: usize) -> anyhow::Result<bool> {
        let begin = self.observer.handed_out();
        self.observer.expect_clusters(clusters);
        self.tell(self.patience, told(begin, Step::FleetReady, 1)).await
    }

    /// What went wrong, and whether the chapter came to its end.
    async fn chapter(&mut self, chapter: &Chapter) -> anyhow::Result<(Vec<String>, bool)> {
        let (begin, regime_before) = self
            .observer
            .look(|teller| (teller.told().len(), teller.regime().map(str::to_owned)));
        let chapter_begin = self.observer.handed_out();
        self.printer.heading(&chapter.heading)?;
        let mut problems = Vec::new();
        for act in &chapter.acts {
            if let Some(late) = self.act(act, chapter_begin).await? {
                problems.push(late);
                break;
            }
        }
        let is_over = problems.is_empty();
        let now = self.observer.elapsed();
        self.observer.look(|teller| {
            let seen = Seen {
                lines: &teller.told()[begin..],
                regime_before: regime_before.as_deref().or(teller.first_regime()),
                teller,
                now,
            };
            problems.extend(
                chapter
                    .expectations
                    .iter()
                    .flat_map(|expectation| expectation.problems(seen)),
            );
        });
        if !chapter.heading.is_empty() {
            problems
                .iter_mut()
                .for_each(|problem| *problem = format!("{}: {problem}", chapter.heading));
        }
        Ok((problems, is_over))
    }

    /// What did not come in time.
    async fn act(&mut self, act: &Act, chapter_begin: usize) -> anyhow::Result<Option<String>> {
        self.printer.act(&act.say)?;
        let begin = self.observer.handed_out();
        for action in &act.actions {
            match action {
                Action::Wait(time) => {
                    self.tell(*time, |_, _| false).await?;
                }
                action => perform(self.theatre, action).await?,
            }
        }
        let joined = act
            .actions
            .iter()
            .filter(|action| matches!(action, Action::Join { .. }))
            .count();
        if joined > 0 {
            let clusters = self.observer.look(Teller::expected_clusters) + joined;
            self.observer.expect_clusters(clusters);
        }
        for until in &act.until {
            let patience = act.patience.unwrap_or(self.patience);
            let mut said = None;
            let came = match *until {
                Until::Passed(time) => {
                    self.tell(time, |_, _| false).await?;
                    true
                }
                Until::Told(step, times) => self.tell(patience, told(begin, step, times)).await?,
                Until::ToldInChapter(step, times) => self.tell(patience, told(chapter_begin, step, times)).await?,
                Until::Regime(wanted) => self.tell(patience, |teller, _| teller.regime() == Some(wanted)).await?,
                Until::NoTaints => self.tell(patience, |teller, _| !teller.sees_taints()).await?,
                Until::NoTasks => self.tell(patience, |teller, _| teller.with_tasks().is_empty()).await?,
                Until::FreeCpus(cluster, cpus) => {
                    let is_reported = |teller: &Teller, _| teller.free_cpu(cluster) == Some(1000 * i128::from(cpus));
                    self.tell(patience, is_reported).await?
                }
                Until::Served(kind) => self.tell(patience, |teller, _| teller.is_served(kind)).await?,
                Until::Condition(binding, saying) => {
                    let says = |teller: &Teller, _| teller.bindings().get(binding).is_some_and(|it| saying.is_of(it));
                    self.tell(patience, says).await?
                }
                Until::Explained(binding, words) => {
                    said = self.not_explained(binding, words, patience).await?;
                    said.is_none()
                }
            };
            if !came {
                let said = said.map(|said| format!("; it says: {said}")).unwrap_or_default();
                return Ok(Some(format!(
                    "after {:?} this did not come within {} s: {until}{said}",
                    act.say,
                    patience.as_secs()
                )));
            }
        }
        Ok(None)
    }

    /// Waits until failoverctl says these words of a binding, however its lines are broken; what it said last instead.
    async fn not_explained(&mut self, binding: &str, words: &str, limit: Duration) -> anyhow::Result<Option<String>> {
        let deadline = Instant::now() + limit;
        loop {
            let Some(text) = self.theatre.explain(binding).await? else {
                return Ok(None);
            };
            let text: Vec<&str> = text.split_whitespace().collect();
            let text = text.join(" ");
            if text.contains(words) {
                return Ok(None);
            }
            if Instant::now() >= deadline {
                return Ok(Some(text));
            }
            self.tell(GATHER, |_, _| false).await?;
        }
    }

    /// Prints what happens until it is over, as seen from the teller and the number of lines heard; false when that
    /// does not come within `limit`.
    async fn tell(&mut self, limit: Duration, is_over: impl Fn(&Teller, usize) -> bool) -> anyhow::Result<bool> {
        let mut deadline = Instant::now() + limit;
        loop {
            let heard = self.observer.handed_out();
            if self.observer.look(|teller| is_over(teller, heard)) {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            match timeout(left.min(GATHER), self.observer.next()).await {
                Ok(Some(line)) => {
                    self.printer.line(&line)?;
                    if !self.is_crowded {
                        self.printer.settle()?;
                    }
                    deadline += self.theatre.hear(&line).await?;
                }
                Ok(None) => return Ok(false),
                Err(_) => self.printer.settle()?,
            }
        }
    }
}
