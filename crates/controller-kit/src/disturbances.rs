//! What disturbs this process and has no object of its own to say it on: an API server that is slow, writes that are
//! refused over and over, watches that lie, a clock that was set.
//!
//! Guarantees: a disturbance is told when it begins and when it is over, however often it is seen meanwhile: in the log,
//! in `failover_disturbed`, under `/readyz`, and on the Leases of the process ([`DISTURBANCES_ANNOTATION`]), which costs
//! no write of its own. What is normal now and then (one conflict, a watch that ends with its API server) is none.
//!
//! [`DISTURBANCES_ANNOTATION`]: crate::leader::DISTURBANCES_ANNOTATION

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::clock::Clock;
use crate::metrics::{Family, Metrics};

/// Time between two looks for what is over.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// How many are named in one text; further ones are counted.
const MAX_NAMED: usize = 8;

/// Kinds of disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// The wall clock was set.
    ClockSteps,
    /// Writes are refused over and over, because the object has changed since it was read.
    Conflicts,
    /// Watches show late what was written.
    LateEvents,
    /// Lists show what watches should have shown.
    LostEvents,
    /// Lists and watches are answered by refusals or errors, so that nothing new is known.
    OldViews,
    /// Watches end long before their time, again and again.
    ShortWatches,
    /// Answers take long.
    SlowAnswers,
    /// Lists show the past.
    StaleLists,
    /// Requests are not answered at all.
    Unanswered,
}

/// What is logged about a disturbance.
struct Words {
    begins: &'static str,
    over: &'static str,
}

impl Disturbance {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::ClockSteps,
        Self::Conflicts,
        Self::LateEvents,
        Self::LostEvents,
        Self::OldViews,
        Self::ShortWatches,
        Self::SlowAnswers,
        Self::StaleLists,
        Self::Unanswered,
    ];

    /// Its name in metrics and texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClockSteps => "clock_steps",
            Self::Conflicts => "conflicts",
            Self::LateEvents => "late_events",
            Self::LostEvents => "lost_events",
            Self::OldViews => "old_views",
            Self::ShortWatches => "short_watches",
            Self::SlowAnswers => "slow_answers",
            Self::StaleLists => "stale_lists",
            Self::Unanswered => "unanswered",
        }
    }

    /// `None` where each occurrence is logged by who sees it.
    fn words(self) -> Option<Words> {
        let (begins, over) = match self {
            Self::ClockSteps => return None,
            Self::Conflicts => (
                "writes meet conflicts over and over: somebody else writes the same objects",
                "writes meet no more conflicts than they do normally",
            ),
            Self::LateEvents => (
                "watches are late: decisions are made on what was true a while ago",
                "watches are in time again",
            ),
            Self::LostEvents => (
                "watches lose events: what they do not show is seen with the next list only",
                "watches lose no events any more",
            ),
            Self::OldViews => (
                "what is known of the API server is old: decisions are made on what was true then",
                "what is known of the API server is the present again",
            ),
            Self::ShortWatches => ("watches end early, again and again", "watches last again"),
            Self::SlowAnswers => (
                "the API server is slow: everything takes longer",
                "the API server answers in time again",
            ),
            Self::StaleLists => (
                "lists show the past: they are made again until they do not",
                "lists show the present again",
            ),
            Self::Unanswered => (
                "the API server does not answer: nothing can be done meanwhile",
                "the API server can be reached again",
            ),
        };
        Some(Words { begins, over })
    }

    /// Not seen for so long, it is over.
    fn over_after(self) -> Duration {
        Duration::from_secs(match self {
            // What was lost is found by lists, and those are made every two hours, give or take half an hour: two of them.
            Self::LostEvents => 5 * 3_600,
            // Windows run for minutes.
            Self::ClockSteps => 600,
            // By the length of a watch.
            Self::ShortWatches => 300,
            Self::Conflicts | Self::LateEvents | Self::OldViews | Self::StaleLists => 120,
            Self::SlowAnswers | Self::Unanswered => 60,
        })
    }
}

/// The disturbances of one process. Clones are the same.
#[derive(Clone)]
pub struct Disturbances {
    clock: Clock,
    /// By server and kind; the control plane has the empty name.
    open: Arc<Mutex<BTreeMap<(String, Disturbance), Open>>>,
}

#[derive(Debug)]
struct Open {
    since: Timestamp,
    seen: Instant,
    first: String,
}

impl Disturbances {
    /// None yet. Their gauges are in `metrics` from now on.
    #[must_use]
    pub fn new(clock: Clock, metrics: &Metrics) -> Self {
        let disturbances = Self {
            clock,
            open: Arc::default(),
        };
        let shown = disturbances.clone();
        metrics.collector("disturbances", move || vec![shown.family()]);
        disturbances
    }

    /// One is seen, with the server of this name; the control plane has the empty one. `how` tells of what is news.
    pub(crate) fn seen(&self, what: Disturbance, member: &str, how: impl FnOnce() -> String) {
        let mut open = self.open.lock();
        let seen = Instant::now();
        if let Some(known) = open.get_mut(&(member.to_owned(), what)) {
            known.seen = seen;
            return;
        }
        let first = how();
        if let Some(words) = what.words() {
            let member = Some(member).filter(|member| !member.is_empty());
            tracing::warn!(disturbance = what.name(), member, first, "{}", words.begins);
        }
        let since = self.clock.now();
        open.insert((member.to_owned(), what), Open { since, seen, first });
    }

    /// Those that go on, each with its server, its beginning and what was seen first.
    #[must_use]
    pub fn going_on(&self) -> Vec<String> {
        let open = self.open.lock();
        let tell = |((member, what), open): (&(String, Disturbance), &Open)| {
            let at = if member.is_empty() {
                String::new()
            } else {
                format!(" with {member}")
            };
            format!("{}{at} since {:.0}: {}", what.name(), open.since, open.first)
        };
        open.iter().map(tell).collect()
    }

    /// The same in one text of bounded length; `None` when there are none.
    pub(crate) fn in_short(&self) -> Option<String> {
        let mut named = self.going_on();
        let more = named.len().saturating_sub(MAX_NAMED);
        named.truncate(MAX_NAMED);
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        Some(named.join("; ")).filter(|text| !text.is_empty())
    }

    /// Ends what is over, until aborted.
    pub(crate) async fn watch(self) {
        loop {
            sleep(LOOK_EVERY).await;
            self.end_what_is_over();
        }
    }

    fn end_what_is_over(&self) {
        self.open.lock().retain(|(member, what), open| {
            let goes_on = open.seen.elapsed() < what.over_after();
            if !goes_on && let Some(words) = what.words() {
                let member = Some(member.as_str()).filter(|member| !member.is_empty());
                tracing::info!(disturbance = what.name(), member, "{}", words.over);
            }
            goes_on
        });
    }

    /// Drops what is said about a member that is none any more.
    pub(crate) fn forget(&self, member: &str) {
        self.open.lock().retain(|(known, _), _| known != member);
    }

    /// All kinds for the control plane; of members what goes on.
    fn family(&self) -> Family {
        let open = self.open.lock();
        let family = Family::gauge(
            "failover_disturbed",
            "1 while the disturbance goes on. Each is also a line under /readyz and on the Leases of the process.",
        );
        let family = Disturbance::ALL.iter().fold(family, |family, what| {
            let value = f64::from(u8::from(open.contains_key(&(String::new(), *what))));
            family.with(&[("disturbance", what.name()), ("member", "")], value)
        });
        let members = open.keys().filter(|(member, _)| !member.is_empty());
        members.fold(family, |family, (member, what)| {
            family.with(&[("disturbance", what.name()), ("member", member)], 1.0)
        })
    }
}

impl std::fmt::Debug for Disturbances {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Disturbances").field(&self.going_on()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Tasks;
    use crate::telemetry::Recording;

    fn disturbed(metrics: &Metrics, what: &str, member: &str) -> Option<f64> {
        metrics.value("failover_disturbed", &[("disturbance", what), ("member", member)])
    }

    #[tokio::test(start_paused = true)]
    async fn a_disturbance_is_told_when_it_begins_and_when_it_is_over() {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let log = Recording::start("info", &clock).unwrap();
        let metrics = Metrics::new();
        let disturbances = Disturbances::new(clock, &metrics);
        let tasks = Tasks::new();
        tasks.spawn("disturbances", disturbances.clone().watch());
        assert_eq!(disturbed(&metrics, "slow_answers", ""), Some(0.0));
        assert_eq!(disturbances.in_short(), None);
        for second in 0..100 {
            disturbances.seen(Disturbance::SlowAnswers, "", || format!("GET /{second} took 2s"));
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(log.lines().len(), 1, "{log:?}");
        assert!(
            log.lines()[0].contains("GET /0") && log.lines()[0].contains("is slow"),
            "{log:?}"
        );
        assert_eq!(
            disturbances.going_on(),
            ["slow_answers since 2026-01-01T00:00:00Z: GET /0 took 2s"]
        );
        assert_eq!(disturbed(&metrics, "slow_answers", ""), Some(1.0));
        sleep(Duration::from_secs(50)).await;
        assert_eq!(log.lines().len(), 1, "{log:?}");
        sleep(Duration::from_secs(20)).await;
        assert_eq!(log.lines().len(), 2, "{log:?}");
        assert!(log.lines()[1].contains("answers in time again"), "{log:?}");
        assert_eq!(disturbances.going_on(), [""; 0]);
        assert_eq!(disturbed(&metrics, "slow_answers", ""), Some(0.0));
        tasks.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn those_of_members_are_named_and_go_with_them() {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let metrics = Metrics::new();
        let disturbances = Disturbances::new(clock, &metrics);
        for member in 0..20 {
            disturbances.seen(Disturbance::ShortWatches, &format!("m{member}"), || "short".to_owned());
        }
        assert_eq!(disturbed(&metrics, "short_watches", "m7"), Some(1.0));
        let text = disturbances.in_short().unwrap();
        assert!(
            text.contains("with m0 since") && text.ends_with("and 12 more"),
            "{text}"
        );
        disturbances.forget("m7");
        assert_eq!(disturbed(&metrics, "short_watches", "m7"), None);
    }
}
