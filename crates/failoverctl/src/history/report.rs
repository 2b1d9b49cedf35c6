//! The moves as a report. Pure.

use std::collections::BTreeSet;

use api_types::BindingKey;
use api_types::failover::{FailoverRecord, RecordedCondition};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use super::story::story;
use crate::cli::HistoryArgs;
use crate::entries::CLUSTER_SCOPE;
use crate::entry::{CauseView, ResourceView, seconds_between};
use crate::failure::ExitStatus;
use crate::output::{At, Grid, Report, Tone, View, Width, span_of};

/// Moves, newest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveHistory {
    /// How many match; more than are listed when `--limit` cut the list.
    pub total: usize,
    /// The moves.
    pub records: Vec<RecordView>,
    /// Whether any record exists that was looked at, whether it matches or not.
    #[serde(skip)]
    any: bool,
    /// The only namespace whose records were looked at.
    #[serde(skip)]
    pub(super) looked_in: Option<String>,
    /// Whether one move was asked for: it is told in full.
    #[serde(skip)]
    telling: Telling,
    /// Of a binding without a record: bindings with records that may be meant.
    #[serde(skip)]
    pub(super) meant: Vec<String>,
}

/// How much people are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    /// A line a move.
    Lines,
    /// One move, phase by phase.
    Story,
}

/// How many are proposed.
pub(super) const PROPOSALS: usize = 5;

/// Where replicas run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceView {
    /// The cluster.
    pub name: String,
    /// Replicas on it; absent for what has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// One move.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordView {
    /// NAMESPACE/NAME of the FailoverRecord.
    pub record: String,
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The template.
    pub resource: ResourceView,
    /// The cluster that was left.
    pub from: String,
    /// Where the workload is afterwards; empty while the move goes on.
    pub to: Vec<PlaceView>,
    /// Replicas that ran on the cluster that was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Why it left.
    pub cause: CauseView,
    /// The ClusterTaintPolicies behind the taint.
    pub policies: Vec<String>,
    /// The conditions of the cluster that they ask for, as they were at the eviction; without those nobody wrote down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<RecordedCondition>,
    /// The cause as a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Which controller asked for it.
    pub requested_by: String,
    /// When the cause began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affected_at: Option<At>,
    /// When it was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<At>,
    /// When it entered the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<At>,
    /// When the queue released it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_at: Option<At>,
    /// When the task was written.
    pub evicted_at: At,
    /// When a new placement was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<At>,
    /// When the new copies were healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy_at: Option<At>,
    /// When the task was gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleaned_at: Option<At>,
    /// Seconds from when it was due until it was evicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_due_to_evicted: Option<f64>,
    /// Seconds from when it was evicted until the new copies were healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_evicted_to_healthy: Option<f64>,
    /// Completed, Restored, BindingGone or RemovedByHand; absent while the move goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why it ended so, as a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outcome_reason: String,
}

/// The records that are wanted, newest first.
#[must_use]
pub fn history(records: &[FailoverRecord], args: &HistoryArgs, now: Timestamp) -> MoveHistory {
    let mut wanted: Vec<&FailoverRecord> = records.iter().filter(|record| matches(record, args, now)).collect();
    wanted.sort_by(|a, b| {
        let order = |record: &FailoverRecord| (record.spec.evicted_at.0, record.metadata.name.clone());
        order(b).cmp(&order(a))
    });
    let total = wanted.len();
    if args.limit != 0 {
        wanted.truncate(args.limit);
    }
    MoveHistory {
        total,
        records: wanted.into_iter().map(RecordView::of).collect(),
        any: !records.is_empty(),
        looked_in: None,
        telling: if args.record.is_some() {
            Telling::Story
        } else {
            Telling::Lines
        },
        meant: Vec::new(),
    }
}

/// Bindings with records that somebody may have meant who wrote this one: of another namespace, or by the template's name.
pub(super) fn similar(records: &[FailoverRecord], wanted: &BindingKey) -> Vec<String> {
    let begins = format!("{}-", wanted.name);
    let may_be_meant = |record: &&FailoverRecord| {
        let name = &record.spec.binding.name;
        *name == wanted.name || name.starts_with(&begins) || record.spec.resource.name == wanted.name
    };
    let similar: BTreeSet<String> = records
        .iter()
        .filter(may_be_meant)
        .map(binding_of)
        .filter(|binding| binding != wanted)
        .map(|binding| binding.to_string())
        .collect();
    similar.into_iter().take(PROPOSALS).collect()
}

fn matches(record: &FailoverRecord, args: &HistoryArgs, now: Timestamp) -> bool {
    let spec = &record.spec;
    let binding = binding_of(record);
    let meta = &record.metadata;
    let is_it = |wanted: &BindingKey| {
        meta.name.as_ref() == Some(&wanted.name) && (wanted.namespace.is_none() || wanted.namespace == meta.namespace)
    };
    args.record.as_ref().is_none_or(is_it)
        && args.binding.as_ref().is_none_or(|wanted| *wanted == binding)
        && args.cluster.as_ref().is_none_or(|wanted| *wanted == spec.from)
        && args
            .namespace
            .as_deref()
            .is_none_or(|wanted| wanted == binding.namespace.as_deref().unwrap_or(CLUSTER_SCOPE))
        && (!args.open || record.status.as_ref().is_none_or(|status| status.outcome.is_none()))
        && args.since.is_none_or(|since| spec.evicted_at.0 >= since.as_of(now))
}

fn binding_of(record: &FailoverRecord) -> BindingKey {
    BindingKey {
        namespace: record.spec.binding.namespace.clone(),
        name: record.spec.binding.name.clone(),
    }
}

impl RecordView {
    /// As shown.
    #[must_use]
    pub fn of(record: &FailoverRecord) -> Self {
        let at = |time: &Option<Time>| time.as_ref().map(|time| At(time.0));
        let spec = &record.spec;
        let status = record.status.clone().unwrap_or_default();
        let evicted_at = At(spec.evicted_at.0);
        let namespace = record.metadata.namespace.as_deref().unwrap_or_default();
        let name = record.metadata.name.as_deref().unwrap_or_default();
        Self {
            record: format!("{namespace}/{name}"),
            binding: binding_of(record).to_string(),
            resource: ResourceView {
                api_version: spec.resource.api_version.clone(),
                kind: spec.resource.kind.clone(),
                namespace: spec
                    .resource
                    .namespace
                    .clone()
                    .filter(|namespace| !namespace.is_empty()),
                name: spec.resource.name.clone(),
            },
            from: spec.from.clone(),
            to: status
                .to
                .iter()
                .map(|target| PlaceView {
                    name: target.name.clone(),
                    replicas: Some(target.replicas).filter(|replicas| *replicas > 0),
                })
                .collect(),
            replicas: spec.replicas,
            cause: CauseView {
                kind: match spec.cause.type_.as_str() {
                    "Taint" => "Taint",
                    "Deletion" => "Deletion",
                    "ApplicationFailure" => "Application",
                    _ => "Unknown",
                },
                identity: spec.cause.verdict.clone(),
            },
            policies: spec.cause.policies.clone(),
            conditions: spec.cause.conditions.clone(),
            message: spec.cause.message.clone(),
            requested_by: spec.requested_by.clone(),
            affected_at: at(&spec.affected_at),
            due_at: at(&spec.due_at),
            queued_at: at(&spec.queued_at),
            released_at: at(&spec.released_at),
            evicted_at,
            scheduled_at: at(&status.scheduled_at),
            healthy_at: at(&status.healthy_at),
            cleaned_at: at(&status.cleaned_at),
            seconds_due_to_evicted: seconds_between(at(&spec.due_at), Some(evicted_at)),
            seconds_evicted_to_healthy: seconds_between(Some(evicted_at), at(&status.healthy_at)),
            outcome: status.outcome.as_ref().map(|outcome| outcome.as_str().to_owned()),
            outcome_reason: status.reason,
        }
    }

    /// How it ended, in its tone.
    fn ending(&self) -> (String, Tone) {
        match self.outcome.as_deref() {
            None => ("goes on".to_owned(), Tone::Notice),
            Some("Completed") => ("Completed".to_owned(), Tone::Good),
            Some(other) => (other.to_owned(), Tone::Notice),
        }
    }

    /// Why it ended so; of what goes on, why it left.
    fn why(&self) -> &str {
        if self.outcome_reason.is_empty() {
            &self.message
        } else {
            &self.outcome_reason
        }
    }

    fn places(&self) -> String {
        let place = |place: &PlaceView| match place.replicas {
            Some(replicas) => format!("{}:{replicas}", place.name),
            None => place.name.clone(),
        };
        self.to.iter().map(place).collect::<Vec<_>>().join(",")
    }
}

impl Report for MoveHistory {
    const KIND: &'static str = "MoveHistory";

    fn text(&self, view: &View) -> String {
        if self.records.is_empty() {
            let meant = match &self.meant[..] {
                [] => String::new(),
                meant => format!(" Did you mean {}?", meant.join(" or ")),
            };
            return if self.any || !self.meant.is_empty() {
                format!("No FailoverRecord matches.{meant}")
            } else if let Some(namespace) = &self.looked_in {
                format!("There is no FailoverRecord in namespace {namespace}.")
            } else {
                "There is no FailoverRecord. Records are kept for --record-retention (7 days), and none is made where the \
                 taint manager runs with --failover-records=false."
                    .to_owned()
            };
        }
        if self.telling == Telling::Story {
            let stories: Vec<String> = self.records.iter().map(|record| story(record, view)).collect();
            return stories.join("\n");
        }
        let mut text = table(&self.records, view).finish();
        let shown = self.records.len();
        if self.total > shown {
            text.push_str(&format!("… and {} more: --limit 0 shows all\n", self.total - shown));
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.records.iter().map(|record| record.record.clone()).collect()
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::Fine
    }
}

/// The moves of one binding as a table.
#[must_use]
pub(crate) fn moves(records: &[RecordView], view: &View) -> Grid {
    let mut grid = Grid::new(["EVICTED", "FROM", "TO", "CAUSE", "OUTCOME", "WHY"], view);
    for record in records {
        let plain = |text: &str| (text.to_owned(), Tone::Plain);
        grid.row([
            plain(&record.evicted_at.show(view)),
            plain(&record.from),
            plain(&record.places()),
            plain(record.cause.short()),
            record.ending(),
            plain(record.why()),
        ]);
    }
    grid
}

fn table(records: &[RecordView], view: &View) -> Grid {
    let wide = view.width == Width::Wide;
    let mut headings = vec![
        "EVICTED",
        "BINDING",
        "FROM",
        "TO",
        "CAUSE",
        "DUE→EVICTED",
        "→HEALTHY",
        "OUTCOME",
    ];
    if wide {
        headings.extend([
            "POLICIES",
            "ASKED BY",
            "AFFECTED",
            "DUE",
            "QUEUED",
            "RELEASED",
            "SCHEDULED",
            "HEALTHY",
            "ENDED",
            "RECORD",
            "WHY",
        ]);
    }
    let mut grid = Grid::new(headings, view);
    for record in records {
        grid.row(row(record, view));
    }
    grid
}

fn row(record: &RecordView, view: &View) -> Vec<(String, Tone)> {
    let wide = view.width == Width::Wide;
    let plain = |text: &str| (text.to_owned(), Tone::Plain);
    let time = |time: Option<At>| (time.map(|at| at.show(view)).unwrap_or_default(), Tone::Plain);
    let took = |seconds: Option<f64>| (seconds.map(span_of).unwrap_or_default(), Tone::Plain);
    let cause = if wide {
        record.cause.identity.as_str()
    } else {
        record.cause.short()
    };
    let mut row = vec![
        time(Some(record.evicted_at)),
        plain(&record.binding),
        plain(&record.from),
        plain(&record.places()),
        plain(cause),
        took(record.seconds_due_to_evicted),
        took(record.seconds_evicted_to_healthy),
        record.ending(),
    ];
    if wide {
        row.extend([
            plain(&record.policies.join(",")),
            plain(&record.requested_by),
            time(record.affected_at),
            time(record.due_at),
            time(record.queued_at),
            time(record.released_at),
            time(record.scheduled_at),
            time(record.healthy_at),
            time(record.cleaned_at),
            plain(&record.record),
            plain(record.why()),
        ]);
    }
    row
}
