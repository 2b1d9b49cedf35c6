//! The clock and the verdict against a plain account of what was seen.

use std::sync::Arc;

use api_types::work::Binding;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::testing::{after, binding, cluster_since, with_clock};
use super::{ApplicationVerdict, HealthClock, verdict};

/// What happens, each time some seconds after what was before.
#[derive(Clone, Debug)]
enum Step {
    Reported(&'static str),
    ClusterIs(&'static str),
    /// The copy is made anew, and reported as this from its first status on.
    CopyMadeAnew(&'static str),
    /// Whoever keeps the clock ends, and what happens is not seen; or begins anew, and knows only what is stored.
    Restart,
    /// Somebody writes this over the clock.
    Overwritten(&'static str),
    /// Nothing but time.
    Quiet,
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let health = || prop::sample::select(vec!["Healthy", "Unhealthy", "Unhealthy", "Unknown"]);
    let step = prop_oneof![
        5 => health().prop_map(Step::Reported),
        2 => prop::sample::select(vec!["True", "True", "False", "Unknown"]).prop_map(Step::ClusterIs),
        1 => health().prop_map(Step::CopyMadeAnew),
        2 => Just(Step::Restart),
        1 => prop::sample::select(vec!["", "m1", "{}", r#"{"m1": {"unhealthySince": "1999-01-01T00:00:00Z"}}"#])
            .prop_map(Step::Overwritten),
        3 => Just(Step::Quiet),
    ];
    proptest::collection::vec((1..90_i64, step), 1..40)
}

/// What is stored, and what a person with a notebook would say of it.
struct Account {
    text: String,
    health: &'static str,
    ready: &'static str,
    ready_since: i64,
    copy_since: i64,
    /// Seconds that a copy may be unhealthy.
    tolerated: i64,
    is_watched: bool,
    unhealthy_since: Option<i64>,
    /// When the cluster was seen to be back, and its own word then.
    back: (i64, i64),
}

impl Account {
    fn new(tolerated: i64) -> Self {
        Self {
            text: String::new(),
            health: "Unknown",
            ready: "True",
            ready_since: -1_000,
            copy_since: 0,
            tolerated,
            is_watched: true,
            unhealthy_since: None,
            back: (-1_000, -1_000),
        }
    }

    fn binding(&self) -> Binding {
        binding(self.health, |binding| {
            with_clock(binding, &self.text);
            binding["status"]["aggregatedStatus"][0]["creationTimestamp"] = json!(after(self.copy_since));
            let decision = json!({"tolerationSeconds": self.tolerated});
            binding["spec"]["failover"]["application"]["decisionConditions"] = decision;
        })
    }

    fn happen(&mut self, step: &Step, now: i64) {
        match step {
            Step::Reported(health) => self.health = health,
            Step::ClusterIs(ready) => {
                if *ready != self.ready {
                    (self.ready, self.ready_since) = (ready, now);
                }
            }
            Step::CopyMadeAnew(health) => {
                (self.copy_since, self.health, self.unhealthy_since) = (now, health, None);
            }
            Step::Overwritten(text) => {
                self.unhealthy_since = None;
                (*text).clone_into(&mut self.text);
            }
            Step::Restart => self.is_watched = !self.is_watched,
            Step::Quiet => {}
        }
        if self.is_watched && self.ready == "True" {
            self.see(now);
        }
    }

    fn see(&mut self, now: i64) {
        let (_, own_word) = self.back;
        match (self.health, self.unhealthy_since) {
            ("Healthy", _) => self.unhealthy_since = None,
            ("Unhealthy", None) => {
                self.unhealthy_since = Some(now);
                // A copy that came after the return has no health of before it.
                let is_older = self.ready_since > self.copy_since;
                self.back = (if is_older { self.ready_since } else { -1_000 }, self.ready_since);
            }
            (_, Some(_)) if own_word != self.ready_since => self.back = (now, self.ready_since),
            _ => {}
        }
    }

    /// Keeps the clock, as the controller does, and says when the copy has to leave.
    fn judged(&mut self, now: i64) -> Option<Timestamp> {
        let cluster = Arc::new(cluster_since(self.ready, self.ready_since));
        let stored = self.binding();
        let next = HealthClock::of(&stored)
            .unwrap_or_default()
            .next(&stored, &|_| Some(cluster.clone()), after(now));
        self.text = next.annotation().unwrap_or_default();
        match verdict(&self.binding(), &cluster) {
            ApplicationVerdict::Affected(affected) => Some(affected.due_at),
            ApplicationVerdict::NotAffected(_) => None,
        }
    }

    fn expected(&self) -> Option<Timestamp> {
        let since = self
            .unhealthy_since
            .filter(|_| self.ready == "True" && self.health == "Unhealthy")?;
        let (back, _) = self.back;
        Some(after((since + self.tolerated).max(back + self.tolerated.max(60))))
    }
}

proptest! {
    // C93 to C95: whatever is reported in whatever order, and whoever restarts or scribbles over the clock meanwhile, a
    // copy is due exactly when it was unhealthy for long enough, and its cluster back for long enough.
    #[test]
    fn a_copy_is_due_when_an_account_of_what_was_seen_says_so(steps in steps(), tolerated in 0..150_i64) {
        let mut account = Account::new(tolerated);
        let mut now = 0;
        for (seconds, step) in steps {
            now += seconds;
            account.happen(&step, now);
            if account.is_watched {
                prop_assert_eq!(account.judged(now), account.expected(), "at {} after {:?}", now, step);
            }
        }
    }
}
