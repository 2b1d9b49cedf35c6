//! What a drain and its end come to, as reports.

use jiff::Timestamp;
use serde::Serialize;

use super::abandoned::StillLeaving;
use super::left::{OnCluster, unconfirmed_in_words};
use super::taint::Change;
use crate::change::entries;
use crate::entry::{EntryView, State};
use crate::failure::ExitStatus;
use crate::output::{Colour, Grid, Report, Tone, View, Width};
use crate::plan::FailoverPlan;
use crate::status::TaintView;

/// So many entries are shown to people.
const SHOWN: usize = 50;

/// Where a drain stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum DrainState {
    /// A dry run.
    Planned,
    /// The taint stands, and nobody followed.
    Started,
    /// Nothing is left that may leave.
    Done,
    /// Only what is held is left.
    OnlyHeld,
    /// The person left; it goes on.
    Interrupted,
    /// `--within` has passed; it goes on.
    TimeUp,
    /// Somebody removed the taint meanwhile.
    TakenBack,
}

/// A drain.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrainResult {
    /// The cluster.
    pub cluster: String,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// What was changed on the Cluster; of a dry run, what would be.
    pub change: Change,
    /// The taint.
    pub taint: TaintView,
    /// What moves, as foretold before.
    pub plan: FailoverPlan,
    /// Where it stands.
    pub state: DrainState,
    /// What is held on the cluster and does not go by itself.
    pub held: Vec<EntryView>,
    /// Old copies that are still there, with those of which nobody can tell.
    pub old_copies: usize,
    /// Of these, copies that nobody can see, since the cluster is not Ready.
    pub unconfirmed_copies: usize,
    /// Why the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_error: Option<String>,
    /// The command that takes back what was changed; absent: nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// The command that ends the drain.
    pub end: String,
    /// The command that follows it.
    #[serde(skip)]
    pub(super) follow: String,
}

impl DrainResult {
    /// What is on the cluster now.
    pub(super) fn count(&mut self, counted: OnCluster) {
        self.old_copies = counted.copies();
        self.unconfirmed_copies = counted.unconfirmed;
    }

    /// What is said before it is done.
    pub(super) fn announcement(&self, reason: Option<&str>, now: Timestamp) -> String {
        let view = View {
            now,
            colour: Colour::Off,
            width: Width::Normal,
            columns: None,
        };
        let because = reason.map(|reason| format!(", because: {reason}")).unwrap_or_default();
        let (taint, name) = (self.taint_text(), &self.cluster);
        let does = match self.change {
            Change::ValueChanged => format!("changes taint {taint} on {name}"),
            Change::TimeAdded => format!("gives taint {taint} on {name} its timeAdded, which it lacks"),
            Change::Added | Change::None => format!("adds taint {taint} on {name}"),
        };
        let mut text = format!("{}\nThis {does}{because}.\n", self.plan.text(&view).trim_end());
        if let Some(why) = &self.queue_error {
            text.push_str(&format!("It cannot be followed from here: {why}\n"));
        }
        text
    }

    pub(super) fn begun(&self) -> String {
        format!(
            "{} is drained from now on. Ctrl-C ends the following, not the drain; that ends with: {}",
            self.cluster, self.end
        )
    }

    fn taint_text(&self) -> String {
        let TaintView { key, effect, value, .. } = &self.taint;
        match value.as_deref().filter(|value| !value.is_empty()) {
            Some(value) => format!("{key}={value}:{effect}"),
            None => format!("{key}:{effect}"),
        }
    }

    fn headline(&self) -> String {
        let name = &self.cluster;
        match self.state {
            DrainState::Planned if self.change == Change::None => {
                format!("Dry run: nothing would be changed, {name} is drained already.")
            }
            DrainState::Planned if self.change == Change::TimeAdded => format!(
                "Dry run: nothing was changed. Taint {} of {name} would get its timeAdded, which it lacks.",
                self.taint_text()
            ),
            DrainState::Planned => format!(
                "Dry run: nothing was changed. {name} would get taint {}.",
                self.taint_text()
            ),
            DrainState::Started if self.change == Change::None => format!("{name} is drained already."),
            DrainState::Started => format!("{name} is drained: what may leave it goes at the queue's rate."),
            DrainState::Done => format!("{name} is drained: nothing is left on it that may leave."),
            DrainState::OnlyHeld => format!(
                "{name} is not empty: {} left, all of them held. They go when what holds them ends.",
                entries(self.held.len() as u64)
            ),
            DrainState::Interrupted => format!("Detached: the drain of {name} goes on."),
            DrainState::TimeUp => {
                format!("{name} is not empty yet: the time of --within is over, and the drain goes on.")
            }
            DrainState::TakenBack => format!("The drain of {name} was ended by somebody else: what is left stays."),
        }
    }

    fn follow_again(&self) -> Option<String> {
        let goes_on = matches!(
            self.state,
            DrainState::Started | DrainState::Interrupted | DrainState::TimeUp | DrainState::OnlyHeld
        );
        goes_on.then(|| format!("To follow it: {}", self.follow))
    }
}

impl Report for DrainResult {
    const KIND: &'static str = "DrainResult";

    fn text(&self, view: &View) -> String {
        let mut text = String::new();
        if self.state == DrainState::Planned {
            text.push_str(&self.plan.text(view));
            text.push('\n');
        }
        text.push_str(&format!("{}\n", self.headline()));
        if matches!(
            self.state,
            DrainState::OnlyHeld | DrainState::Interrupted | DrainState::TimeUp
        ) {
            text.push_str(&table(&self.held, view));
        }
        let seen = self.old_copies.saturating_sub(self.unconfirmed_copies);
        if seen > 0 {
            text.push_str(&format!(
                "{seen} old {} on it still: it goes when the new one is healthy, is just being removed, or stays for a person (purgeMode Never).\n",
                if seen == 1 { "copy is" } else { "copies are" }
            ));
        }
        if self.unconfirmed_copies > 0 {
            text.push_str(&format!("{}.\n", unconfirmed_in_words(self.unconfirmed_copies)));
        }
        if self.state != DrainState::Planned && self.state != DrainState::TakenBack {
            text.extend(self.follow_again().map(|line| format!("{line}\n")));
            text.push_str(&match &self.undo {
                Some(undo) => format!("Undo: {undo}\n"),
                None => format!("To end it: {}\n", self.end),
            });
        }
        text
    }

    fn names(&self) -> Vec<String> {
        match self.state {
            DrainState::Planned | DrainState::Started => self.plan.names(),
            _ => self.held.iter().map(|entry| entry.binding.clone()).collect(),
        }
    }

    fn status(&self) -> ExitStatus {
        match self.state {
            DrainState::Done | DrainState::Started => ExitStatus::Fine,
            DrainState::Planned => self.plan.status(),
            DrainState::OnlyHeld | DrainState::TakenBack => ExitStatus::Problem,
            DrainState::Interrupted | DrainState::TimeUp => ExitStatus::TimedOut,
        }
    }
}

fn table(held: &[EntryView], view: &View) -> String {
    if held.is_empty() {
        return String::new();
    }
    let mut grid = Grid::new(["BINDING", "HELD FOR", "WHY"], view);
    for entry in held.iter().take(SHOWN) {
        let reason = entry
            .hold
            .as_ref()
            .map(|hold| hold.word().to_owned())
            .unwrap_or_default();
        grid.row([
            (entry.binding.clone(), Tone::Plain),
            (reason, Tone::Notice),
            (entry.why(), Tone::Plain),
        ]);
    }
    let mut text = grid.finish();
    if held.len() > SHOWN {
        text.push_str(&format!("… and {} more: -o json shows all\n", held.len() - SHOWN));
    }
    text
}

/// The end of a drain.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndrainResult {
    /// The cluster.
    pub cluster: String,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The taint that goes.
    pub taint: TaintView,
    /// Entries of the queue that are abandoned: these workloads stay, by the taint manager's verdict without the taint.
    pub abandons: Vec<EntryView>,
    /// Entries that rest on the taint and whose workloads leave all the same, for another cause.
    pub still_leaving: Vec<StillLeaving>,
    /// Bindings whose move has begun: it goes on, and they do not come back by themselves.
    pub left_already: Vec<String>,
    /// Why the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_error: Option<String>,
    /// The command that drains it again.
    pub undo: String,
}

impl UndrainResult {
    pub(super) fn announcement(&self, reason: Option<&str>, now: Timestamp) -> String {
        let because = reason.map(|reason| format!(", because: {reason}")).unwrap_or_default();
        let view = View {
            now,
            colour: Colour::Off,
            width: Width::Normal,
            columns: None,
        };
        let taint = format!("{}:{}", self.taint.key, self.taint.effect);
        format!(
            "This removes taint {taint} from {}{because}.\n{}",
            self.cluster,
            self.what(&view)
        )
    }

    fn what(&self, view: &View) -> String {
        let mut text = match (&self.queue_error, self.abandons.len()) {
            (Some(why), _) => format!("What waits to leave it is not known: {why}\n"),
            (None, 0) if !self.still_leaving.is_empty() => String::new(),
            (None, 0) => "Nothing waits to leave it because of that.\n".to_owned(),
            (None, 1) => "1 workload waits to leave it because of that, and stays:\n".to_owned(),
            (None, many) => format!("{many} workloads wait to leave it because of that, and stay:\n"),
        };
        if !self.abandons.is_empty() {
            let mut grid = Grid::new(["BINDING", "STATE", "WHY"], view);
            for entry in self.abandons.iter().take(SHOWN) {
                let state = (entry.state.word().to_owned(), crate::entries::tone(entry.state));
                grid.row([(entry.binding.clone(), Tone::Plain), state, (entry.why(), Tone::Plain)]);
            }
            text.push_str(&grid.finish());
            if self.abandons.len() > SHOWN {
                text.push_str(&format!(
                    "… and {} more: -o json shows all\n",
                    self.abandons.len() - SHOWN
                ));
            }
        }
        text.push_str(&still_leaving(&self.still_leaving, view));
        let leased = self
            .abandons
            .iter()
            .filter(|entry| entry.state == State::Leased)
            .count();
        if leased > 0 {
            text.push_str(&format!(
                "The evictor has {} in hand: what it has written already counts.\n",
                entries(leased as u64)
            ));
        }
        match self.left_already.len() {
            0 => {}
            1 => text.push_str(&format!(
                "The move of {} has begun and goes on; nothing comes back by itself.\n",
                self.left_already[0]
            )),
            many => text.push_str(&format!(
                "{many} moves have begun and go on; nothing comes back by itself.\n"
            )),
        }
        text
    }
}

/// What leaves all the same.
fn still_leaving(leaving: &[StillLeaving], view: &View) -> String {
    let mut text = match leaving.len() {
        0 => return String::new(),
        1 => "1 workload waits to leave it because of that, and goes on for another cause:\n".to_owned(),
        many => format!("{many} workloads wait to leave it because of that, and go on for other causes:\n"),
    };
    let mut grid = Grid::new(["BINDING", "BECAUSE OF", "DUE"], view);
    for one in leaving.iter().take(SHOWN) {
        grid.row([
            (one.binding.clone(), Tone::Plain),
            (one.cause.identity.clone(), Tone::Notice),
            (one.due_at.show(view), Tone::Plain),
        ]);
    }
    text.push_str(&grid.finish());
    if leaving.len() > SHOWN {
        text.push_str(&format!("… and {} more: -o json shows all\n", leaving.len() - SHOWN));
    }
    text
}

impl Report for UndrainResult {
    const KIND: &'static str = "UndrainResult";

    fn text(&self, view: &View) -> String {
        if self.dry_run {
            return format!(
                "Dry run: nothing was changed. The drain of {} would end.\n{}",
                self.cluster,
                self.what(view)
            );
        }
        format!(
            "{} is drained no more.\n{}Undo: {}\n",
            self.cluster,
            self.what(view),
            self.undo
        )
    }

    fn names(&self) -> Vec<String> {
        self.abandons.iter().map(|entry| entry.binding.clone()).collect()
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::Fine
    }
}
