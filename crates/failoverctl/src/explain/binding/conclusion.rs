//! The answer in one sentence: why it moved, why not, and what would change that. Pure.

use api_types::work::task as task_words;
use failover_core::eviction::Cause;
use jiff::Timestamp;

use super::places::{Lack, Search};
use super::report::{ClusterRow, ExplainReport, Role};
use super::tasks::TaskView;
use crate::controllers::Severity;
use crate::entry::{EntryView, HoldReason, State};
use crate::explain::Conclusion;
use crate::output::{At, relative};

struct Facts<'a> {
    report: &'a ExplainReport,
    evictions_per_second: Option<f64>,
    now: Timestamp,
}

/// Concludes: the first that applies of deletion, an entry in the queue, a verdict without an entry, a task, a missing
/// place, a copy that is kept, a cause that does not count, an earlier move, nothing.
pub(super) fn conclude(report: &ExplainReport, evictions_per_second: Option<f64>, now: Timestamp) -> Conclusion {
    let facts = Facts {
        report,
        evictions_per_second,
        now,
    };
    if report.being_deleted {
        let summary = format!("{} is being deleted, so nothing moves it", report.binding);
        return Conclusion::new(None, summary, "");
    }
    facts
        .queued()
        .or_else(|| facts.affected())
        .or_else(|| facts.leaving())
        .or_else(|| facts.without_place())
        .or_else(|| facts.keeping())
        .or_else(|| facts.unmoved())
        .or_else(|| facts.moved_before())
        .unwrap_or_else(|| facts.nothing())
}

impl Facts<'_> {
    fn when(&self, at: Option<At>) -> String {
        at.map_or_else(
            || "at a time that is not known".to_owned(),
            |at| format!("{at} ({})", relative(at.0, self.now)),
        )
    }

    /// An entry of the queue says it.
    fn queued(&self) -> Option<Conclusion> {
        let entry = self.report.entries.first()?;
        let EntryView { cluster, reason, .. } = entry;
        let binding = &self.report.binding;
        let stop = "to stop it, remove the cause or let the workload tolerate it before then";
        Some(match (entry.state, &entry.hold) {
            (State::Waiting, _) => {
                let due = self.when(entry.due_at);
                Conclusion::new(
                    None,
                    format!("{binding} leaves {cluster} from {due} on: {reason}"),
                    stop,
                )
            }
            (State::Leased, _) => Conclusion::new(
                None,
                format!("{binding} is being evicted from {cluster} right now: {reason}"),
                "",
            ),
            (State::Held, Some(hold)) => {
                let severity = match hold.reason {
                    Some(
                        HoldReason::Stay
                        | HoldReason::Dropped
                        | HoldReason::Undropped
                        | HoldReason::Paused
                        | HoldReason::Recovering
                        | HoldReason::NotNeeded
                        | HoldReason::Wait
                        | HoldReason::CauseNotSeen,
                    ) => Severity::Note,
                    Some(HoldReason::NoTarget | HoldReason::ProducerGone | HoldReason::SecondOwner) | None => {
                        Severity::Problem
                    }
                };
                let summary = format!("{binding} has to leave {cluster} but is held: {}", entry.why());
                let change = self.other_than_evictor(cluster, hold.reason);
                Conclusion::new(Some(severity), summary, change.as_deref().unwrap_or(hold.remedy()))
            }
            (State::Ready | State::Held | State::Unknown, _) => self.ready(entry),
        })
    }

    /// The evictor found no place, and the dry run here does: what the dry run does not know.
    fn other_than_evictor(&self, leaving: &str, held: Option<HoldReason>) -> Option<String> {
        if held != Some(HoldReason::NoTarget) {
            return None;
        }
        let of_it = |search: &&Search| search.leaving.as_deref() == Some(leaving) && search.fits;
        let search = self.report.searches.iter().find(of_it)?;
        Some(format!(
            "the evictor's word counts: it asks again by itself, with its own --plugins and --pre-eviction-check; the \
             dry run here assumes their defaults, counts free room only where replicas are divided by it, and finds {}",
            search.result.join(", ")
        ))
    }

    fn ready(&self, entry: &EntryView) -> Conclusion {
        let due = self.when(entry.due_at);
        let lead = format!(
            "{} is due to leave {} since {due}: {}",
            self.report.binding, entry.cluster, entry.reason
        );
        if self.evictions_per_second.is_some_and(|rate| rate <= 0.0) {
            let why = self
                .report
                .not_done
                .iter()
                .find(|item| item.subject == "regime")
                .map_or_else(|| "the rate is 0".to_owned(), |item| item.message.clone());
            let change = "it goes on when the regime allows evictions again: see failoverctl status";
            return Conclusion::new(Some(Severity::Problem), format!("{lead}, but {why}"), change);
        }
        if let Some(undone) = self.undone(&["evictor"]) {
            return Conclusion::new(
                Some(Severity::Problem),
                format!("{lead}, but {undone}"),
                "start the evictor",
            );
        }
        if entry.position.is_none() && !entry.explanation.is_empty() {
            return Conclusion::new(
                Some(Severity::Note),
                format!("{lead}, but it is {}", entry.explanation),
                "",
            );
        }
        Conclusion::new(None, format!("{lead}, and waits for its turn"), self.eta(entry))
    }

    fn eta(&self, entry: &EntryView) -> String {
        let position = entry.position.map(|position| format!("it has place {position}"));
        let eta = entry
            .estimated_release_at
            .map(|at| format!("is released at about {}", self.when(Some(at))));
        match (position, eta) {
            (Some(position), Some(eta)) => format!("{position} and {eta}"),
            (position, eta) => position.or(eta.map(|eta| format!("it {eta}"))).unwrap_or_default(),
        }
    }

    /// The verdict says it must leave, and no entry does.
    fn affected(&self) -> Option<Conclusion> {
        let affected = |row: &&ClusterRow| {
            row.role == Role::Chosen && row.verdict.as_ref().is_some_and(|verdict| verdict.affected)
        };
        let row = self
            .report
            .clusters
            .iter()
            .filter(affected)
            .min_by_key(|row| row.verdict.as_ref()?.due_at)?;
        let verdict = row.verdict.as_ref()?;
        let due = match verdict.due_at {
            Some(at) if at.0 <= self.now => format!("since {}", self.when(Some(at))),
            due => format!("from {} on", self.when(due)),
        };
        let lead = format!(
            "{} has to leave {} {due}: {}",
            self.report.binding, row.name, verdict.reason
        );
        let is_application = matches!(
            verdict.cause.as_deref().map(str::parse),
            Some(Ok(Cause::Application { .. }))
        );
        let producer = if is_application {
            "applicationFailover"
        } else {
            "taintManager"
        };
        if let Some(undone) = self.undone(&[producer, "evictionQueue"]) {
            return Some(Conclusion::new(
                Some(Severity::Problem),
                format!("{lead}, but {undone}"),
                "it goes on when that controller runs",
            ));
        }
        if let Some(error) = &self.report.queue_error {
            let summary = format!("{lead}, but whether it is queued is not known: {error}");
            return Some(Conclusion::new(
                Some(Severity::Problem),
                summary,
                "make the queue reachable and ask again",
            ));
        }
        Some(Conclusion::new(
            Some(Severity::Note),
            format!("{lead}, and it is not in the queue yet"),
            if is_application {
                "if that lasts longer than some seconds, look at the log of application-failover-controller"
            } else {
                "if that lasts longer than some seconds, look at the taint manager: its log, \
                 and whether --enable-no-execute-taint-eviction is off"
            },
        ))
    }

    /// It left a cluster, and the old copy is still there.
    fn leaving(&self) -> Option<Conclusion> {
        let task = self.report.tasks.first()?;
        let from = &task.from_cluster;
        let lead = format!(
            "{} left {from} {}: {}",
            self.report.binding,
            self.when(task.created_at),
            cause_words(task)
        );
        let others = match self.report.tasks.len() - 1 {
            0 => String::new(),
            1 => " (and one more cluster)".to_owned(),
            count => format!(" (and {count} more clusters)"),
        };
        let lead = format!("{lead}{others}");
        if let Some(scheduled) = self
            .report
            .scheduled
            .as_ref()
            .filter(|scheduled| scheduled.status != "True")
        {
            return Some(Conclusion::new(
                Some(Severity::Problem),
                format!("{lead}, and it has no new place: {}", scheduled.message),
                format!("the old copy on {from} stays until it has one"),
            ));
        }
        let now_on = self.runs_on();
        let (severity, change) = match task.fate {
            "Stays" => (None, format!("the old copy on {from} stays, because {}", task.why)),
            "Ends" => (None, format!("the task goes within moments: {}", task.why)),
            "Restored" => (
                None,
                format!("the state before comes back within moments: {}", task.why),
            ),
            _ => (None, format!("{from} is taken out of the result again: {}", task.why)),
        };
        if let Some(undone) = self.undone(&["gracefulEviction"]) {
            return Some(Conclusion::new(
                Some(Severity::Problem),
                format!("{lead}, and it was given to {now_on}, but {undone}"),
                "start the controller gracefulEviction",
            ));
        }
        Some(Conclusion::new(
            severity,
            format!("{lead}, and it was given to {now_on}"),
            change,
        ))
    }

    fn runs_on(&self) -> String {
        let on: Vec<String> = self
            .report
            .clusters
            .iter()
            .filter(|row| matches!(row.role, Role::Chosen | Role::ChosenAndLeft))
            .map(|row| match row.replicas {
                Some(1) => format!("{} (1 replica)", row.name),
                Some(replicas) if replicas > 0 => format!("{} ({replicas} replicas)", row.name),
                _ => row.name.clone(),
            })
            .collect();
        if on.is_empty() {
            "no cluster".to_owned()
        } else {
            on.join(", ")
        }
    }

    /// The scheduler found no place, or nobody looks for one.
    fn without_place(&self) -> Option<Conclusion> {
        let binding = &self.report.binding;
        let search = self.report.searches.first();
        let runs_nowhere = self.report.clusters.iter().all(|row| row.role == Role::Candidate);
        let is_placed = self.report.scheduled.as_ref().is_some_and(|says| says.status == "True");
        if let (Some(why), false) = (&self.report.scheduler.leaves_it, is_placed && !runs_nowhere) {
            return Some(self.left_alone(why, runs_nowhere));
        }
        match &self.report.scheduled {
            Some(scheduled) if scheduled.status != "True" => Some(Conclusion::new(
                Some(Severity::Problem),
                if runs_nowhere {
                    format!("{binding} has no place: {}", scheduled.message)
                } else {
                    let now_on = self.runs_on();
                    format!(
                        "{binding} stays on {now_on}, and what is wanted has no place: {}",
                        scheduled.message
                    )
                },
                match search {
                    Some(search) if search.fits => format!(
                        "as things are now the scheduler would choose {}, within moments if it runs",
                        search.result.join(", ")
                    ),
                    search => self.what_is_lacking(search, &scheduled.message),
                },
            )),
            None if runs_nowhere => {
                let undone = self
                    .undone(&["scheduler"])
                    .unwrap_or_else(|| "the scheduler has not looked at it yet".to_owned());
                Some(Conclusion::new(
                    Some(Severity::Problem),
                    format!("{binding} has no place: {undone}"),
                    "",
                ))
            }
            _ => None,
        }
    }

    /// No scheduler places it: it goes where others go, or stays where it was put.
    fn left_alone(&self, why: &str, runs_nowhere: bool) -> Conclusion {
        let (binding, scheduler) = (&self.report.binding, &self.report.scheduler);
        let remedy = scheduler.remedy.unwrap_or_default();
        if !scheduler.follows.is_empty() {
            let summary = format!("{binding} goes where {} go", scheduler.follows.join(", "));
            return Conclusion::new(Some(Severity::Note), summary, remedy);
        }
        let (severity, place) = if runs_nowhere {
            (Severity::Problem, "has no place")
        } else {
            (Severity::Note, "stays where it is")
        };
        let summary = format!("{binding} {place}: nobody places it, because {why}");
        Conclusion::new(Some(severity), summary, remedy)
    }

    /// What would give it a place, where the scheduler said `said` and the dry run finds none either.
    fn what_is_lacking(&self, search: Option<&Search>, said: &str) -> String {
        let Some(search) = search else {
            return String::new();
        };
        let change = match search.lack {
            Lack::Clusters => "see the reasons per cluster; each of them names what keeps the workload out",
            Lack::Groups => {
                "it wants more clusters or regions than would take it: lower minGroups in the PropagationPolicy's \
                 spreadConstraints, or end what keeps it out of the others"
            }
            Lack::Room => "it is placed as soon as clusters report enough room; those above say how much each has",
            Lack::Support => {
                "ask for less in the PropagationPolicy's placement, or let another scheduler place it (spec.schedulerName)"
            }
        };
        let ends = search
            .recheck_at
            .map(|at| format!("; the first of them ends by itself {}", self.when(Some(at))));
        let now = (search.leaving.is_none() && search.why != said)
            .then(|| format!("as things are now: {}; ", search.why.trim_end_matches('.')));
        format!("{}{change}{}", now.unwrap_or_default(), ends.unwrap_or_default())
    }

    /// A copy has no place any more and stays until another one works.
    fn keeping(&self) -> Option<Conclusion> {
        let kept = self.report.kept.as_ref()?;
        let summary = format!("{} runs on {}; {}", self.report.binding, self.runs_on(), kept.why);
        let change = format!("so far {}", kept.waits_for);
        Some(Conclusion::new(
            Some(Severity::Note),
            summary.trim_end_matches('.'),
            change,
        ))
    }

    /// A cluster of the result has something that could move it, and it does not.
    fn unmoved(&self) -> Option<Conclusion> {
        let row = self.report.clusters.iter().find(|row| {
            row.role == Role::Chosen && row.verdict.as_ref().is_some_and(|verdict| verdict.word != "NoCause")
        })?;
        let verdict = row.verdict.as_ref()?;
        let taints: Vec<String> = row
            .taints
            .iter()
            .map(|taint| format!("{}:{}", taint.key, taint.effect))
            .collect();
        let lead = format!(
            "{} stays on {}, which has {}",
            self.report.binding,
            row.name,
            list(&taints)
        );
        let change = match verdict.word {
            "FailoverGateOff" => "it would move with --feature-gates=Failover=true on the taint manager",
            "NoExecuteEvictionOff" => "it would move with --enable-no-execute-taint-eviction",
            "TaintNotStamped" => "the clock starts when controller clusterTaintPolicy has stamped the taint",
            "Tolerated" => "it would move if its policy's clusterTolerations had a tolerationSeconds, or did not match",
            "NotOptedIn" => "it would move if its policy had spec.failover.cluster",
            _ => "",
        };
        Some(Conclusion::new(
            Some(Severity::Note),
            format!("{lead}: {}", verdict.reason),
            change,
        ))
    }

    /// It moved, and that is over.
    fn moved_before(&self) -> Option<Conclusion> {
        let recent = self.report.recent.iter().find(|moved| moved.outcome == "Evicted");
        let recent = recent.map(|moved| (&moved.cluster, moved.ended_at, &moved.cause));
        // A queue with a new leader remembers nothing.
        let on_record = self.report.moves.first();
        let on_record = on_record.map(|moved| (&moved.from, Some(moved.evicted_at), &moved.cause.identity));
        let (from, at, cause) = recent.or(on_record)?;
        let summary = format!(
            "{} left {from} {} because of {cause}, and runs on {}; nothing is due",
            self.report.binding,
            self.when(at),
            self.runs_on()
        );
        Some(Conclusion::new(None, summary, ""))
    }

    fn nothing(&self) -> Conclusion {
        let summary = format!(
            "nothing moves {}: it runs on {}, and none of these has a NoExecute or PreferNoExecute taint or is being deleted",
            self.report.binding,
            self.runs_on()
        );
        Conclusion::new(None, summary, "")
    }

    /// The line about the first of these controllers that does not do its work.
    fn undone(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| {
            let subject = format!("controller/{name}");
            self.report
                .not_done
                .iter()
                .find(|item| item.subject == subject)
                .map(|item| item.message.clone())
        })
    }
}

fn cause_words(task: &TaskView) -> String {
    match (&task.message, task.reason.as_str()) {
        (Some(message), _) if !message.is_empty() => message.clone(),
        (_, task_words::TAINT_UNTOLERATED) => "it does not tolerate a taint there".to_owned(),
        (_, task_words::APPLICATION_FAILURE) => "it was unhealthy there".to_owned(),
        (_, other) => other.to_owned(),
    }
}

fn list(taints: &[String]) -> String {
    match taints.len() {
        0 => "no taint that evicts".to_owned(),
        1 => format!("taint {}", taints.join("")),
        _ => format!("taints {}", taints.join(", ")),
    }
}
