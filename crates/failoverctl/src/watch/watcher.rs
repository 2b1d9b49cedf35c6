//! Reads a watch, prints its changes, and finds the queue again when it breaks.

use std::time::Duration;

use controller_kit::durations::format_duration;
use eviction_queue_api::v1;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tonic::{Code, Streaming};

use super::follow::{Beginning, Follow, Synced};
use super::left::{Left, unsure};
use super::lines::Lines;
use super::what::QueueChange;
use crate::cli::{Cli, WatchArgs};
use crate::console::ReaderGone;
use crate::failure::{ExitStatus, Failure};
use crate::progress::ProgressLine;
use crate::queue::Queue;
use crate::run::Surroundings;

/// How often the queue is asked how far it is.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How a watch ends that did not fail.
pub(super) enum End {
    /// No entry matches any more.
    Empty,
    /// The reader of standard output left.
    NobodyReads,
}

/// Why a stream is not read on.
enum Broken {
    /// The watch is over.
    Over(End),
    /// The queue cannot go on from there.
    TooFarBack,
    /// No way to the queue, in words.
    Lost(String),
    /// A defect of this program.
    Failed(Failure),
}

impl From<ReaderGone> for Broken {
    fn from(_: ReaderGone) -> Self {
        Self::Over(End::NobodyReads)
    }
}

pub(super) struct Watcher<'a> {
    args: &'a WatchArgs,
    cli: &'a Cli,
    around: &'a Surroundings,
    follow: Follow,
    lines: Lines,
    progress: ProgressLine,
    /// Since when there is no way to the queue.
    lost_since: Option<Instant>,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(args: &'a WatchArgs, cli: &'a Cli, around: &'a Surroundings) -> Self {
        let beginning = if args.list_first {
            Beginning::WithWhatIsThere
        } else {
            Beginning::FromNow
        };
        Self {
            args,
            cli,
            around,
            follow: Follow::new(&args.filter, beginning),
            lines: Lines::new(cli.output, around.screen.colour),
            progress: ProgressLine::on(&around.console),
            lost_since: None,
        }
    }

    pub(super) async fn run(&mut self, find: impl AsyncFn() -> Result<Queue, Failure>) -> Result<End, Failure> {
        let mut pause = FIRST_PAUSE;
        let mut has_begun = false;
        loop {
            let request = self.follow.request();
            let opened = async {
                let mut queue = find().await?;
                let stream = queue.watch(request).await?;
                Ok::<_, Failure>((queue, stream))
            };
            let broken = match opened.await {
                Ok((_, None)) => Broken::TooFarBack,
                Ok((mut queue, Some(stream))) => {
                    let broken = self.read(&mut queue, stream).await;
                    if self.lost_since.is_none() {
                        has_begun = true;
                        pause = FIRST_PAUSE;
                    }
                    broken
                }
                Err(failure) if !has_begun => return Err(failure),
                Err(failure) => Broken::Lost(failure.one_line()),
            };
            match broken {
                Broken::Over(end) => return Ok(end),
                Broken::Failed(failure) => return Err(failure),
                Broken::TooFarBack => self.follow.begin_anew(),
                Broken::Lost(why) => {
                    self.follow.broke();
                    self.lost(&why)?;
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// There is no way to the queue: says so once, and gives up when that lasts.
    fn lost(&mut self, why: &str) -> Result<(), Failure> {
        let limit = self.cli.target.timeout;
        match self.lost_since {
            None => {
                self.lost_since = Some(Instant::now());
                self.note(&format!("{why}; looking for its leader"));
                Ok(())
            }
            Some(since) if since.elapsed() < limit => Ok(()),
            Some(_) => Err(Failure::new(
                ExitStatus::Unreachable,
                "cannot go on watching the eviction queue",
                format!(
                    "no leader of it was reached for {}; last: {why}",
                    format_duration(limit)
                ),
                "see who runs: failoverctl status; to be more patient: --timeout",
            )),
        }
    }

    async fn read(&mut self, queue: &mut Queue, mut stream: Streaming<v1::WatchEntriesResponse>) -> Broken {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let result = tokio::select! {
                biased;
                step = stream.message() => match step {
                    Ok(Some(step)) => self.take(queue, step),
                    Ok(None) => Err(Broken::Lost(format!("the eviction queue at {} ended the watch", queue.address()))),
                    Err(status) if status.code() == Code::OutOfRange => Err(Broken::TooFarBack),
                    Err(status) => Err(Broken::Lost(queue.why_broken(&status))),
                },
                _ = looks.tick(), if self.args.until_empty || self.follow.unnamed() > 0 => self.look(queue).await,
            };
            if let Err(broken) = result {
                return broken;
            }
        }
    }

    fn take(&mut self, queue: &Queue, step: v1::WatchEntriesResponse) -> Result<(), Broken> {
        let step = self.follow.step(step);
        self.print(&step.changes)?;
        if let Some(synced) = step.synced {
            self.synced(queue, synced);
        }
        Ok(())
    }

    fn synced(&mut self, queue: &Queue, synced: Synced) {
        let away = self.lost_since.take().map(|since| {
            let seconds = Duration::from_secs(since.elapsed().as_secs());
            format!(" after {}", format_duration(seconds))
        });
        let (at, away) = (queue.address(), away.unwrap_or_default());
        let note = match synced {
            Synced::Began => {
                let there = Left::of(self.follow.matching());
                let verb = if there.count() == 1 { "matches" } else { "match" };
                let counts = if there.count() == 0 {
                    "no entry matches".to_owned()
                } else {
                    there.counts().replacen(':', &format!(" {verb}:"), 1)
                };
                format!("watching the eviction queue at {at}: {counts}; Ctrl-C ends")
            }
            Synced::WentOn => format!("the eviction queue at {at} answers again{away}: nothing was missed"),
            Synced::Compared => {
                format!("the eviction queue at {at} answers again{away}: what changed meanwhile is told above")
            }
            Synced::NewTerm => format!(
                "the eviction queue has a new leader at {at}{away}: its entries are compared with what was known"
            ),
        };
        self.note(&note);
    }

    /// Asks how far the queue is.
    async fn look(&mut self, queue: &mut Queue) -> Result<(), Broken> {
        // A queue that does not answer is told by the stream.
        let Ok(status) = queue.status().await else {
            return Ok(());
        };
        let gone = self.follow.told_by(&status);
        self.print(&gone)?;
        if !self.args.until_empty {
            return Ok(());
        }
        if self.follow.unnamed() > 0 {
            self.progress
                .say(unsure(self.follow.unnamed(), &self.follow.silent_producers()));
            return Ok(());
        }
        let left = Left::of(self.follow.matching());
        if self.follow.has_seen(&status) && left.is_over(&status) {
            return Err(Broken::Over(End::Empty));
        }
        self.progress.say(left.progress(&status, self.around.clock.now()));
        Ok(())
    }

    fn print(&mut self, changes: &[QueueChange]) -> Result<(), Broken> {
        if changes.is_empty() {
            return Ok(());
        }
        self.clear_progress();
        let now = self.around.clock.now();
        for change in changes {
            let line = self.lines.line(change, now).map_err(Broken::Failed)?;
            self.around.console.print(&line)?;
        }
        Ok(())
    }

    fn note(&mut self, text: &str) {
        self.clear_progress();
        self.around.console.note(&format!("{text}\n"));
    }

    /// Takes the progress off the screen, before something else is said.
    pub(super) fn clear_progress(&mut self) {
        self.progress.clear();
    }
}
