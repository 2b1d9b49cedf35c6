//! The answer in one sentence: what happens to the Cluster next, or why nothing does. Pure.

use api_types::cluster::{condition, effect};
use jiff::Timestamp;

use super::report::ClusterExplanation;
use super::reporter::ReporterState;
use crate::controllers::{Mode, Severity};
use crate::explain::Conclusion;
use crate::explain::taints::{
    CALM_THE_REPORTER, PolicyOnCluster, TaintOfPolicy, TaintWord, but_restless, join, lead, number,
};
use crate::output::{At, relative};

struct Facts<'a> {
    report: &'a ClusterExplanation,
    mode: Mode,
    now: Timestamp,
}

/// Which taints a conclusion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taints {
    /// Those that may move workloads: at least one stands.
    ThatEvict,
    /// Whatever stands.
    Any,
}

/// Concludes: the first that applies of deletion, policies that nobody carries out, a conflict, a taint that comes, one
/// that goes, doubt about the Cluster's health, a taint that stands and evicts, one that is kept away, one that stands,
/// and nothing. Neither a conflict nor doubt stops a window that runs: what comes is told with them.
pub(super) fn conclude(report: &ClusterExplanation, mode: Mode, now: Timestamp) -> Conclusion {
    let facts = Facts { report, mode, now };
    facts
        .deleted()
        .or_else(|| facts.unattended())
        .or_else(|| facts.conflict())
        .or_else(|| facts.coming())
        .or_else(|| facts.going())
        .or_else(|| facts.unheard())
        .or_else(|| facts.tainted(Taints::ThatEvict))
        .or_else(|| facts.kept_away())
        .or_else(|| facts.tainted(Taints::Any))
        .unwrap_or_else(|| facts.nothing())
}

impl<'a> Facts<'a> {
    fn when(&self, at: Option<At>) -> String {
        at.map_or_else(
            || "at a time that is not known".to_owned(),
            |at| format!("at {at} ({})", relative(at.0, self.now)),
        )
    }

    /// Each taint of each policy.
    fn taints(&self) -> impl Iterator<Item = (&'a PolicyOnCluster, &'a TaintOfPolicy)> {
        self.report
            .policies
            .iter()
            .flat_map(|row| row.taints.iter().map(move |taint| (row, taint)))
    }

    fn in_state(&self, states: &[TaintWord]) -> Vec<(&'a PolicyOnCluster, &'a TaintOfPolicy)> {
        let mut found: Vec<_> = self
            .taints()
            .filter(|(_, taint)| states.contains(&taint.state))
            .collect();
        found.sort_by_key(|(_, taint)| taint.at);
        found
    }

    /// `Ready is False (ClusterNotReachable) since … `
    fn ready(&self) -> String {
        self.report.ready().map_or_else(
            || "nothing has been said about its health yet".to_owned(),
            |ready| {
                let since = relative(ready.since.0, self.now);
                format!(
                    "Ready is {} ({}) since {} ({since})",
                    ready.status, ready.reason, ready.since
                )
            },
        )
    }

    fn deleted(&self) -> Option<Conclusion> {
        let at = self.report.deleted_at?;
        let lead = format!("{} was deleted {}", self.report.cluster, relative(at.0, self.now));
        let blocked = self
            .report
            .condition(condition::DELETION_BLOCKED)
            .filter(|blocked| blocked.status == "True");
        Some(match blocked {
            Some(blocked) => Conclusion::new(
                Some(Severity::Note),
                format!("{lead} and is still there: {}", blocked.message),
                "annotation failover.karmada.io/force-delete: \"true\" ends it at once, with what still runs there",
            ),
            None => {
                let how = match self.mode {
                    Mode::Beside => {
                        "stock Karmada's scheduler places its workloads anew at once, past the eviction queue and its rate"
                    }
                    Mode::Standalone | Mode::Unknown => "its workloads leave through the eviction queue",
                };
                Conclusion::new(None, format!("{lead}: {how}"), "")
            }
        })
    }

    /// Something should happen, and the controller that does it is not there.
    fn unattended(&self) -> Option<Conclusion> {
        use TaintWord::{Due, Leaving, PendingAdd, PendingRemove};
        let moving = self.in_state(&[Due, PendingAdd, Leaving, PendingRemove]);
        let stopped = moving
            .iter()
            .find_map(|(row, taint)| Some((row, taint, taint.held_by.as_ref()?)));
        let (row, taint, why) = stopped?;
        let verb = match taint.state {
            Due | PendingAdd => "should get",
            _ => "should lose",
        };
        let summary = format!("{} {}, but {why}", of_policy(row, verb, taint), self.when(taint.at));
        Some(Conclusion::new(
            Some(Severity::Problem),
            summary,
            "start the taint-policy-controller",
        ))
    }

    fn conflict(&self) -> Option<Conclusion> {
        let conflict = self.report.policies.iter().find_map(|row| row.conflict.as_ref())?;
        let mut coming = self.in_state(&[TaintWord::PendingAdd, TaintWord::Due]);
        // What is due and in conflict is what the conflict is about.
        coming.retain(|(row, taint)| taint.state == TaintWord::PendingAdd || row.conflict.is_none());
        let coming = self
            .comes(&coming)
            .map(|comes| format!("; {comes}"))
            .unwrap_or_default();
        let summary = format!("policies disagree about {}: {conflict}{coming}", self.report.cluster);
        Some(Conclusion::new(
            Some(Severity::Problem),
            summary,
            "give both the same value, or another key to one of them",
        ))
    }

    /// Why what is said of its health is not to be relied on.
    fn doubt(&self) -> Option<String> {
        let doubt = [condition::MONITOR_ISOLATED, condition::REPORTER_DOWN]
            .iter()
            .find_map(|type_| self.report.condition(type_).filter(|doubt| doubt.status == "True"))?;
        Some(format!(
            "{} since {}: {}",
            doubt.type_,
            self.when(Some(doubt.since)).trim_start_matches("at "),
            doubt.message
        ))
    }

    fn unheard(&self) -> Option<Conclusion> {
        let summary = format!(
            "whether {} is well is not known: {}",
            self.report.cluster,
            self.doubt()?
        );
        let change = "until then nothing is marked and no policy begins to match because of it";
        Some(Conclusion::new(Some(Severity::Problem), summary, change))
    }

    /// `; but …`, for a window that runs on the word of somebody who is not heard any more, with how bad that is.
    fn in_doubt(&self) -> (Option<Severity>, String) {
        self.doubt().map_or_else(Default::default, |doubt| {
            let but = format!("; but whether it is so now is not known: {doubt}; the window runs on all the same");
            (Some(Severity::Problem), but)
        })
    }

    fn coming(&self) -> Option<Conclusion> {
        let coming = self.in_state(&[TaintWord::PendingAdd, TaintWord::Due]);
        let summary = self.comes(&coming)?;
        Some(if coming[0].0.restless.is_some() {
            Conclusion::new(Some(Severity::Problem), summary, CALM_THE_REPORTER)
        } else {
            // What suspends a policy is nothing beside a stock Karmada; a pause holds everywhere.
            let evicts = coming.iter().any(|(_, taint)| moves_workloads(&taint.taint));
            let keep = if evicts {
                format!(
                    "; to keep its workloads there meanwhile: failoverctl pause --cluster {} --reason WHY",
                    self.report.cluster
                )
            } else {
                String::new()
            };
            let change = format!("to stop it: let the conditions cease to match before then{keep}");
            Conclusion::new(self.in_doubt().0, summary, change)
        })
    }

    /// The first of these taints that are coming, when, why, what follows, and whether that can be relied on.
    fn comes(&self, coming: &[(&PolicyOnCluster, &TaintOfPolicy)]) -> Option<String> {
        let (row, taint) = coming.first()?;
        Some(format!(
            "{} {}: {}{}{}{}{}",
            of_policy(row, "gets", taint),
            self.when(taint.at),
            because(row),
            but_restless(row),
            more(coming.len() - 1),
            self.then(taint),
            self.in_doubt().1
        ))
    }

    /// `; then 3 of its 12 workloads have to leave, if …`
    fn then(&self, taint: &TaintOfPolicy) -> String {
        let would = self.report.would_leave.iter().find(|would| would.taint == taint.taint);
        would.map_or_else(String::new, |would| {
            let have = if would.leaving == 1 { "has" } else { "have" };
            let assuming: Vec<String> = would.assuming.iter().map(ToString::to_string).collect();
            let provided = if assuming.is_empty() {
                String::new()
            } else {
                format!(", if {}", join(&assuming))
            };
            match (would.leaving, would.workloads) {
                (_, 0) => "; no workload is there that could leave".to_owned(),
                (1, 1) => format!("; then its only workload has to leave{provided}"),
                (0, all) => format!("; none of its {} has to leave then", number(all, "workload")),
                (some, all) => format!(
                    "; then {some} of its {} {have} to leave{provided}",
                    number(all, "workload")
                ),
            }
        })
    }

    fn kept_away(&self) -> Option<Conclusion> {
        use TaintWord::{Dismissed, GateOff, Suspended};
        let kept = self.in_state(&[GateOff, Dismissed, Suspended]);
        let (row, taint) = kept.first()?;
        let why = taint.held_by.clone().unwrap_or_default();
        let summary = format!(
            "{}, because {}, but does not: {why}",
            of_policy(row, "would have", taint),
            because(row)
        );
        let change = match taint.state {
            GateOff => {
                "to add it: --feature-gates=Failover=true for the taint-policy-controller (and the taint manager)"
            }
            Dismissed => "to have it back now, edit the policy or add the taint by hand",
            _ => "to let the policy act: take spec.suspended away",
        };
        Some(Conclusion::new(Some(Severity::Note), summary, change))
    }

    fn going(&self) -> Option<Conclusion> {
        let going = self.in_state(&[TaintWord::PendingRemove, TaintWord::Leaving]);
        let (row, taint) = going.first()?;
        let (severity, in_doubt) = self.in_doubt();
        let summary = format!(
            "{} {} if it still does not match: {}{}{}{in_doubt}",
            of_policy(row, "loses", taint),
            self.when(taint.at),
            because(row),
            but_restless(row),
            more(going.len() - 1)
        );
        let evicts = self.report.taints.iter().any(|taint| taint.taint.evicts());
        let change = if row.restless.is_some() {
            CALM_THE_REPORTER
        } else if evicts {
            "until its taints are gone, what has to leave because of them is held back"
        } else {
            ""
        };
        let severity = severity.or(row.restless.as_ref().map(|_| Severity::Problem));
        Some(Conclusion::new(severity, summary, change))
    }

    fn tainted(&self, which: Taints) -> Option<Conclusion> {
        let evicts = self.report.taints.iter().any(|taint| taint.taint.evicts());
        if self.report.taints.is_empty() || (which == Taints::ThatEvict && !evicts) {
            return None;
        }
        let names: Vec<String> = self
            .report
            .taints
            .iter()
            .map(|taint| format!("{}:{}", taint.taint.key, taint.taint.effect))
            .collect();
        let lead = format!("{} has {}; {}", self.report.cluster, join(&names), self.ready());
        let leaving = &self.report.leaving;
        if let Some(off) = &leaving.switched_off {
            return Some(Conclusion::new(Some(Severity::Note), format!("{lead}; {off}"), ""));
        }
        if let Some(undone) = self
            .undone(&["taintManager", "evictionQueue", "evictor"])
            .filter(|_| evicts)
        {
            return Some(Conclusion::new(
                Some(Severity::Problem),
                format!("{lead}, but {undone}"),
                "what has to leave leaves when that controller runs",
            ));
        }
        let moves = match (evicts, leaving.total) {
            (false, _) => "nothing leaves because of that".to_owned(),
            (true, Some(0)) if leaving.recent.iter().any(|moved| moved.outcome == "Evicted") => {
                "what had to leave it has left".to_owned()
            }
            (true, Some(0)) => "nothing is queued to leave it".to_owned(),
            (true, Some(count)) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                let are = if count == 1 { "is" } else { "are" };
                format!("{} {are} queued to leave it", number(count, "workload"))
            }
            (true, None) => "what leaves it is not known, because the queue did not answer".to_owned(),
        };
        let severity = (evicts && leaving.total.is_none()).then_some(Severity::Note);
        let fate = self
            .report
            .taints
            .first()
            .map(|taint| taint.fate.clone())
            .unwrap_or_default();
        let fate = if self.report.taints.len() == 1 {
            format!("the taint {fate}")
        } else {
            String::new()
        };
        Some(Conclusion::new(severity, format!("{lead}; {moves}"), fate))
    }

    /// The line about the first of these controllers that does not do its work.
    fn undone(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| {
            let subject = format!("controller/{name}");
            let item = self.report.not_done.iter().find(|item| item.subject == subject);
            item.map(|item| item.message.clone())
        })
    }

    fn nothing(&self) -> Conclusion {
        let name = &self.report.cluster;
        if self.report.reporter.state == ReporterState::Silent {
            let summary = format!(
                "{name} has no taint; {}; but {}",
                self.ready(),
                self.report.reporter.message
            );
            let change = "start its reporter: nothing that happens to the cluster is noticed until then";
            return Conclusion::new(Some(Severity::Problem), summary, change);
        }
        let is_ready = self.report.ready().is_some_and(|ready| ready.status == "True");
        if is_ready {
            return Conclusion::new(None, format!("{name} is well and has no taint; {}", self.ready()), "");
        }
        let why = if self.report.policies.is_empty() {
            "no ClusterTaintPolicy speaks of it"
        } else {
            "no policy that speaks of it matches"
        };
        let summary = format!(
            "{name} has no taint although {}: {why}, so nothing happens to it",
            self.ready()
        );
        Conclusion::new(
            Some(Severity::Note),
            summary,
            "to let its failure count, apply a ClusterTaintPolicy whose conditions match",
        )
    }
}

/// Whether a taint `key:effect` may cause evictions.
fn moves_workloads(taint: &str) -> bool {
    let moving = [effect::NO_EXECUTE, effect::PREFER_NO_EXECUTE];
    taint
        .rsplit_once(':')
        .is_some_and(|(_, effect)| moving.contains(&effect))
}

/// How many more taints there are.
fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", and one more taint later".to_owned(),
        count => format!(", and {count} more taints later"),
    }
}

/// `member1 gets taint k:NoExecute of policy p`.
fn of_policy(row: &PolicyOnCluster, verb: &str, taint: &TaintOfPolicy) -> String {
    format!("{} of policy {}", lead(row, verb, taint), row.policy)
}

/// `Ready=False since 2026-01-31T11:50:00Z`: what makes the policy match, or not.
fn because(row: &PolicyOnCluster) -> String {
    let found: Vec<String> = row
        .conditions
        .iter()
        .map(|check| match &check.status {
            Some(status) => format!("{}={status}", check.type_),
            None => format!("{} is missing", check.type_),
        })
        .collect();
    let found = if found.is_empty() {
        "it has no conditions".to_owned()
    } else {
        join(&found)
    };
    match row.since {
        Some(since) if row.matches => format!("{found}, matching since {since}"),
        Some(since) => format!("{found}, not matching since {since}"),
        None => found,
    }
}
