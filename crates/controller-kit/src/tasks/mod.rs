//! The tasks of one process.
//!
//! Guarantees: every task belongs to a [`Tasks`] group; aborting a group ends all its tasks and those of its
//! sub-groups, at their next await, as a crash would; a task that panics, and a critical task that ends before it was
//! asked to, is reported and ends the process. Tasks run under the tracing subscriber and span of the place that
//! spawned them, so several processes can live in one test runtime without mixing their logs.

mod failure;
mod freezer;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;
use tracing::instrument::WithSubscriber;

pub use self::failure::Failure;

use self::freezer::{Freezer, Frozen};

/// A group of tasks. Clones are the same group.
#[derive(Clone)]
pub struct Tasks {
    group: Arc<Group>,
}

struct Group {
    process: Arc<Shared>,
    tracker: TaskTracker,
    running: Mutex<Registry>,
    shutdown: CancellationToken,
    /// Kept, so that the way from the root to a group with tasks never breaks.
    _parent: Option<Arc<Group>>,
}

#[derive(Default)]
struct Registry {
    next_id: u64,
    aborted: bool,
    handles: BTreeMap<u64, (Cow<'static, str>, AbortHandle)>,
    subgroups: Vec<Weak<Group>>,
}

/// What all groups of a process have in common.
struct Shared {
    failure: watch::Sender<Option<Failure>>,
    freezer: Arc<Freezer>,
    dispatch: tracing::Dispatch,
    span: tracing::Span,
}

impl Tasks {
    /// The root group of a process. Keeps the caller's tracing subscriber and span for all its tasks.
    #[must_use]
    pub fn new() -> Self {
        Self::with_shutdown(CancellationToken::new())
    }

    /// The same with a given shutdown token.
    #[must_use]
    pub fn with_shutdown(shutdown: CancellationToken) -> Self {
        let process = Arc::new(Shared {
            failure: watch::Sender::new(None),
            freezer: Arc::default(),
            dispatch: tracing::dispatcher::get_default(Clone::clone),
            span: tracing::Span::current(),
        });
        Self {
            group: Arc::new(Group::new(process, shutdown, None)),
        }
    }

    /// A sub-group: aborted with this one, and on its own without this one. Its shutdown token is a child of ours.
    #[must_use]
    pub fn subgroup(&self) -> Self {
        let (process, shutdown) = (self.group.process.clone(), self.group.shutdown.child_token());
        let child = Arc::new(Group::new(process, shutdown, Some(self.group.clone())));
        let mut registry = self.group.running.lock();
        if registry.aborted {
            child.running.lock().aborted = true;
        }
        registry.subgroups.retain(|known| known.strong_count() > 0);
        registry.subgroups.push(Arc::downgrade(&child));
        Self { group: child }
    }

    /// Cancelled when this group is asked to stop. Tasks listen to it and return.
    #[must_use]
    pub fn shutdown(&self) -> &CancellationToken {
        &self.group.shutdown
    }

    /// Runs `task` until it returns or the group is aborted. A panic ends the process.
    pub fn spawn<F>(&self, name: impl Into<Cow<'static, str>>, task: F) -> Task
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let name = name.into();
        let group = self.group.clone();
        let label = name.clone();
        self.launch(name, async move {
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
                group.fail(Failure::Panicked {
                    task: label.into_owned(),
                    message: panic_message(panic.as_ref()),
                });
            }
        })
    }

    /// Runs a task that the process cannot do without: a panic at any time, and an error or an end before shutdown, end
    /// the process.
    pub fn spawn_critical<F, E>(&self, name: impl Into<Cow<'static, str>>, task: F) -> Task
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<anyhow::Error> + 'static,
    {
        let name = name.into();
        let group = self.group.clone();
        let label = name.clone();
        self.launch(name, async move {
            let ended = AssertUnwindSafe(task).catch_unwind().await;
            let task = label.into_owned();
            match ended {
                Ok(Ok(())) if group.shutdown.is_cancelled() => {}
                Ok(Ok(())) => group.fail(Failure::EndedEarly { task }),
                // The end was wanted: how it came about is of interest to a reader of logs only.
                Ok(Err(error)) if group.shutdown.is_cancelled() => {
                    tracing::warn!(
                        task,
                        error = format!("{:#}", error.into()),
                        "ended with an error while stopping"
                    );
                }
                Ok(Err(error)) => group.fail(Failure::Failed {
                    task,
                    message: format!("{:#}", error.into()),
                }),
                Err(panic) => group.fail(Failure::Panicked {
                    task,
                    message: panic_message(panic.as_ref()),
                }),
            }
        })
    }

    /// Ends every task of this group and its sub-groups at its next await, and refuses new ones.
    ///
    /// Returns at once; [`Tasks::ended`] waits until they are gone.
    pub fn abort(&self) {
        self.group.abort();
    }

    /// Returns when no task of this group (sub-groups not counted) is left.
    pub async fn ended(&self) {
        self.group.tracker.wait().await;
    }

    /// Names of the tasks of this group that still run, for the log line that says who held up a shutdown.
    #[must_use]
    pub fn running(&self) -> Vec<String> {
        self.group
            .running
            .lock()
            .handles
            .values()
            .map(|(name, _)| name.to_string())
            .collect()
    }

    /// The same with the tasks of all sub-groups, and theirs.
    #[must_use]
    pub fn running_with_subgroups(&self) -> Vec<String> {
        let subgroups = self.group.running.lock().subgroups.clone();
        let mut names = self.running();
        for group in subgroups.iter().filter_map(Weak::upgrade) {
            names.extend(Self { group }.running_with_subgroups());
        }
        names
    }

    /// Reports that the process cannot go on. The first report counts.
    pub fn fail(&self, failure: Failure) {
        self.group.fail(failure);
    }

    /// Waits for the first failure in any group of the process.
    pub async fn failed(&self) -> Failure {
        let mut failures = self.group.process.failure.subscribe();
        loop {
            if let Some(failure) = failures.borrow_and_update().clone() {
                return failure;
            }
            if failures.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The first failure, when there was one.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.group.process.failure.borrow().clone()
    }

    /// Stops polling every task of the process, as a stopped or suspended machine would, until [`Tasks::thaw`].
    /// Time goes on meanwhile. For tests of leadership.
    pub fn freeze(&self) {
        self.group.process.freezer.freeze();
    }

    /// Ends a [`Tasks::freeze`].
    pub fn thaw(&self) {
        self.group.process.freezer.thaw();
    }

    fn launch<F>(&self, name: Cow<'static, str>, task: F) -> Task
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let shared = &self.group.process;
        let current = tracing::Span::current();
        let span = if current.is_none() {
            shared.span.clone()
        } else {
            current
        };
        let (gone, ended) = watch::channel(());
        let mut registry = self.group.running.lock();
        if registry.aborted {
            return Task { handle: None, ended };
        }
        let id = registry.next_id;
        registry.next_id += 1;
        let entry = Entry {
            group: self.group.clone(),
            id,
            _gone: gone,
        };
        let frozen = Frozen {
            task: Box::pin(task),
            freezer: shared.freezer.clone(),
        };
        let handle = self.group.tracker.spawn(
            async move {
                let _entry = entry;
                frozen.await;
            }
            .instrument(span)
            .with_subscriber(shared.dispatch.clone()),
        );
        let handle = handle.abort_handle();
        registry.handles.insert(id, (name, handle.clone()));
        Task {
            handle: Some(handle),
            ended,
        }
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tasks").field(&self.running()).finish()
    }
}

impl Group {
    fn new(process: Arc<Shared>, shutdown: CancellationToken, parent: Option<Arc<Group>>) -> Self {
        let tracker = TaskTracker::new();
        // A closed tracker still takes tasks; closing only lets `wait` return whenever it is empty.
        tracker.close();
        Self {
            process,
            tracker,
            running: Mutex::default(),
            shutdown,
            _parent: parent,
        }
    }

    fn fail(&self, failure: Failure) {
        self.process.failure.send_if_modified(|first| {
            if first.is_some() {
                tracing::error!(%failure, "a further failure");
                return false;
            }
            tracing::error!(%failure, "the process has to end");
            *first = Some(failure);
            true
        });
    }

    fn abort(&self) {
        let (handles, subgroups) = {
            let mut registry = self.running.lock();
            registry.aborted = true;
            (
                std::mem::take(&mut registry.handles),
                std::mem::take(&mut registry.subgroups),
            )
        };
        self.shutdown.cancel();
        for (_, handle) in handles.into_values() {
            handle.abort();
        }
        for subgroup in subgroups.iter().filter_map(Weak::upgrade) {
            subgroup.abort();
        }
    }
}

/// A spawned task. Dropping this leaves it running.
#[derive(Debug, Clone)]
pub struct Task {
    handle: Option<AbortHandle>,
    ended: watch::Receiver<()>,
}

impl Task {
    /// Ends the task at its next await.
    pub fn abort(&self) {
        if let Some(handle) = &self.handle {
            handle.abort();
        }
    }

    /// Returns when the task is gone, however it ended.
    pub async fn ended(&mut self) {
        // The sender sits in the task: an error means that it was dropped.
        while self.ended.changed().await.is_ok() {}
    }

    /// Makes dropping the returned guard end the task.
    #[must_use]
    pub fn abort_on_drop(self) -> TaskGuard {
        TaskGuard { task: self }
    }
}

/// Ends its task when dropped.
#[derive(Debug)]
pub struct TaskGuard {
    task: Task,
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Takes a task out of its group's registry when it is gone. Until then it keeps the group, so that the parent can
/// still reach it when nobody else holds it any more.
struct Entry {
    group: Arc<Group>,
    id: u64,
    _gone: watch::Sender<()>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.group.running.lock().handles.remove(&self.id);
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn settle() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn abort_ends_the_whole_tree_and_refuses_new_tasks() {
        let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = alive();
        let tasks = Tasks::new();
        let sub = tasks.subgroup();
        let inner = sub.clone();
        tasks.spawn("outer", std::future::pending());
        sub.spawn("inner", async move {
            inner.spawn("grandchild", std::future::pending());
            std::future::pending::<()>().await;
        });
        settle().await;
        assert_eq!(alive(), before + 3);
        tasks.abort();
        tasks.ended().await;
        sub.ended().await;
        assert_eq!(alive(), before);
        let mut late = sub.spawn("late", std::future::pending());
        late.ended().await;
        assert_eq!(alive(), before);
    }

    #[tokio::test(start_paused = true)]
    async fn a_forgotten_subgroup_is_still_reached() {
        let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = alive();
        let tasks = Tasks::new();
        tasks.subgroup().subgroup().spawn("forgotten", std::future::pending());
        settle().await;
        assert_eq!(alive(), before + 1);
        tasks.abort();
        settle().await;
        assert_eq!(alive(), before);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_a_failure_of_the_process() {
        let tasks = Tasks::new();
        tasks.subgroup().spawn("probe", async { panic!("boom") });
        assert_eq!(
            tasks.failed().await,
            Failure::Panicked {
                task: "probe".to_owned(),
                message: "boom".to_owned()
            }
        );
    }

    // kube-rs/kube#1615: a watch task that ends must not go unnoticed.
    #[tokio::test(start_paused = true)]
    async fn a_critical_task_may_not_end_before_shutdown() {
        let tasks = Tasks::new();
        tasks.spawn_critical("watch", async { Ok::<(), anyhow::Error>(()) });
        assert_eq!(
            tasks.failed().await,
            Failure::EndedEarly {
                task: "watch".to_owned()
            }
        );

        let tasks = Tasks::new();
        tasks.spawn_critical("serve", async {
            Err(anyhow::anyhow!("port taken").context("cannot bind"))
        });
        assert_eq!(
            tasks.failed().await.to_string(),
            "task \"serve\" failed: cannot bind: port taken"
        );

        let tasks = Tasks::new();
        let shutdown = tasks.shutdown().clone();
        tasks.spawn_critical("loop", async move {
            shutdown.cancelled().await;
            Ok::<(), anyhow::Error>(())
        });
        tasks.shutdown().cancel();
        tasks.ended().await;
        assert_eq!(tasks.failure(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_frozen_process_does_nothing_until_thawed() {
        let tasks = Tasks::new();
        let (ticks, seen) = watch::channel(0);
        tasks.spawn("ticks", async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                ticks.send_modify(|n| *n += 1);
            }
        });
        tokio::time::sleep(Duration::from_millis(3_500)).await;
        tasks.freeze();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(*seen.borrow(), 3);
        tasks.thaw();
        tokio::time::sleep(Duration::from_millis(1_001)).await;
        assert_eq!(*seen.borrow(), 5);
    }
}
