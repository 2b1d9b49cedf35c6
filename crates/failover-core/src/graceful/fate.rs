//! What becomes of a task: the verdict as a value, and in words.

use jiff::Timestamp;

use super::assess::LAST_COPY_KEPT;
use super::plugins::CLUSTER_IN_SCHEDULING_RESULT;

/// What becomes of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Stays {
        /// Why: the plugin or the field that says so, and its words.
        why: Vec<(String, String)>,
        /// When it is to be judged again although nothing changed.
        look_again_at: Option<Timestamp>,
    },
    /// It goes.
    Ends(End),
    /// The state before the failure comes back: the cluster goes back into the result, the task goes.
    Restored {
        /// Why, in words.
        why: String,
    },
    /// The cluster stands in the result too, and the cause stands: it leaves the result again, the task stays.
    LeavesResult {
        /// The cause, in words.
        why: String,
    },
    /// The task's purge mode becomes Gracefully, since a binding controller that is not ours would wait for ever for the
    /// end of a copy that nobody can confirm.
    TurnsGraceful {
        /// Why, in words.
        why: String,
    },
}

/// Why a task goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A plugin passed: the copy is replaced.
    Replaced {
        /// The plugin.
        plugin: &'static str,
        /// Its words.
        why: String,
    },
    /// The cluster is in the result again: the copy stays.
    StaysThere {
        /// Why, in words.
        why: String,
    },
    /// The grace period is over.
    GraceOver {
        /// Its length in seconds.
        seconds: i64,
    },
    /// `suppressDeletion: false`: a person said so.
    AskedFor,
    /// The Cluster does not exist any more.
    NoCluster,
    /// A mirror: no workload that needs the object leaves the cluster any more.
    OwnersLeft,
    /// Another task is there for the same cluster, and keeps the copy for longer.
    Surplus,
}

impl Fate {
    /// Whether the copy stays only because nothing replaces it.
    #[must_use]
    pub fn keeps_last_copy(&self) -> bool {
        match self {
            Self::Stays { why, .. } => why.iter().any(|(_, words)| words.contains(LAST_COPY_KEPT)),
            Self::Ends(_) | Self::Restored { .. } | Self::LeavesResult { .. } | Self::TurnsGraceful { .. } => false,
        }
    }

    /// The fate in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Stays { why, .. } => {
                let parts: Vec<String> = why.iter().map(|(who, words)| format!("{who}: {words}")).collect();
                if parts.is_empty() {
                    "no plugin is on".to_owned()
                } else {
                    parts.join("; ")
                }
            }
            Self::Ends(end) => end.in_words(),
            Self::Restored { why } => format!("restored: {why}"),
            Self::LeavesResult { why } => format!("taken out of the scheduling result again: {why}"),
            Self::TurnsGraceful { why } => format!("goes on Gracefully: {why}"),
        }
    }
}

impl End {
    /// The end in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Replaced { plugin, why } => format!("{plugin}: {why}"),
            Self::StaysThere { why } => format!("{CLUSTER_IN_SCHEDULING_RESULT}: {why}"),
            Self::GraceOver { seconds } => format!("the grace period of {seconds} s is over"),
            Self::AskedFor => "suppressDeletion is false".to_owned(),
            Self::NoCluster => "the Cluster does not exist any more".to_owned(),
            Self::OwnersLeft => "no workload that needs the object leaves the cluster any more".to_owned(),
            Self::Surplus => "another task for the cluster is there and keeps the copy for longer".to_owned(),
        }
    }
}
