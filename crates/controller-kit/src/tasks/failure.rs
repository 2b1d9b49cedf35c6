//! Why a process has to end.

/// Why the process has to end: the first failure reported by any of its tasks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A task panicked.
    #[error("task {task:?} panicked: {message}")]
    Panicked {
        /// Name given at spawn.
        task: String,
        /// The panic's message.
        message: String,
    },
    /// A critical task returned an error.
    #[error("task {task:?} failed: {message}")]
    Failed {
        /// Name given at spawn.
        task: String,
        /// The error with its causes.
        message: String,
    },
    /// A critical task ended although nobody had asked the process to stop.
    #[error("task {task:?} ended before the process was asked to stop")]
    EndedEarly {
        /// Name given at spawn.
        task: String,
    },
    /// The lease of a controller was lost.
    #[error("lost the lease of controller {controller:?}: {reason}")]
    LeaseLost {
        /// The controller's name.
        controller: String,
        /// What was observed.
        reason: String,
    },
}
