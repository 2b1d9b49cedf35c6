//! Which kinds a controller follows in a member, and for the sake of which Works.
//!
//! Guarantee: a kind is followed from the first Work that needs it until the last one that does is gone, and never longer
//! than the work on the member.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use controller_kit::tasks::TaskGuard;
use controller_kit::{Change, Context, ObjectKey, WorkQueue};
use kube::core::DynamicObject;
use parking_lot::Mutex;

use super::followed::FollowedKind;
use super::session::Session;
use crate::interpreter::{Interpreting, KindName};
use crate::kinds::Kind;

/// Which Works a change in the member is for.
pub type Concerned = dyn Fn(&Kind, &Change<DynamicObject>) -> Vec<ObjectKey> + Send + Sync;

/// The kinds that one controller follows in one member.
pub struct Interests {
    ctx: Context,
    session: Arc<Session>,
    queue: WorkQueue<ObjectKey>,
    concerned: Arc<Concerned>,
    kinds: Mutex<BTreeMap<Kind, Interest>>,
}

struct Interest {
    followed: Arc<FollowedKind>,
    works: HashSet<ObjectKey>,
    /// Brings changes to the queue.
    _feed: TaskGuard,
}

impl Interests {
    /// None yet. Changes of followed objects add the Works of `concerned` to the queue.
    #[must_use]
    pub fn new(ctx: &Context, session: &Arc<Session>, queue: &WorkQueue<ObjectKey>, concerned: Arc<Concerned>) -> Self {
        Self {
            ctx: ctx.clone(),
            session: session.clone(),
            queue: queue.clone(),
            concerned,
            kinds: Mutex::default(),
        }
    }

    /// From now on the Work needs this kind.
    #[must_use]
    pub fn need(&self, work: &ObjectKey, kind: &Kind) -> Arc<FollowedKind> {
        let mut kinds = self.kinds.lock();
        let interest = kinds.entry(kind.clone()).or_insert_with(|| self.begin(kind));
        if !interest.works.contains(work) {
            interest.works.insert(work.clone());
        }
        interest.followed.clone()
    }

    /// The Work needs no other kinds than these.
    pub fn only(&self, work: &ObjectKey, needed: &[Kind]) {
        self.kinds.lock().retain(|kind, interest| {
            if !needed.contains(kind) {
                interest.works.remove(work);
            }
            !interest.works.is_empty()
        });
    }

    /// The Works that need this kind.
    #[must_use]
    pub fn works_of(&self, name: &KindName) -> Vec<ObjectKey> {
        let kinds = self.kinds.lock();
        let of_name = kinds
            .iter()
            .filter(|(kind, _)| kind.kind() == name.kind && kind.api_version() == name.api_version);
        of_name
            .flat_map(|(_, interest)| interest.works.iter().cloned())
            .collect()
    }

    /// Brings Works to the queue whose kinds are read by other rules than before, as long as the returned guard lives.
    #[must_use]
    pub fn follow_rules(self: &Arc<Self>, rules: &Interpreting) -> TaskGuard {
        let (interests, mut changes) = (self.clone(), rules.changes());
        let shutdown = self.ctx.shutdown.clone();
        let name = format!("{} rules", self.ctx.controller);
        self.ctx
            .tasks
            .spawn(name, async move {
                loop {
                    let kind = tokio::select! {
                        biased;
                        () = shutdown.cancelled() => return,
                        kind = changes.recv() => kind,
                    };
                    for work in interests.works_of(&kind) {
                        interests.queue.add(work);
                    }
                }
            })
            .abort_on_drop()
    }

    /// The Work is gone.
    pub fn forget(&self, work: &ObjectKey) {
        self.only(work, &[]);
    }

    fn begin(&self, kind: &Kind) -> Interest {
        let followed = self.session.follow(kind);
        let (concerned, of) = (self.concerned.clone(), kind.clone());
        let feed = self
            .queue
            .follow(&self.ctx, followed.changes(), move |change| concerned(&of, change))
            .abort_on_drop();
        Interest {
            followed,
            works: HashSet::new(),
            _feed: feed,
        }
    }
}
