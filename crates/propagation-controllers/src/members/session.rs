//! A connection to one member, shared by the controllers of the process that need it.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use api_types::ClusterName;
use controller_kit::{Context, Informers, MemberError, MemberTarget};
use kube::Client;
use kube::core::DynamicObject;
use parking_lot::Mutex;

use super::followed::FollowedKind;
use crate::json;
use crate::kinds::{Kind, Kinds};

/// Selects the objects that the control plane made in a member; nothing else of it is read or held.
pub const MANAGED_OBJECTS: &str = "karmada.io/managed=true";

/// Index of members' objects by the Work that they come from.
pub const BY_WORK: &str = "work";

/// A connection to one member.
pub struct Session {
    /// The member.
    pub cluster: ClusterName,
    /// Requests to its API server.
    pub client: Client,
    /// Time limit of one request.
    pub request_timeout: Duration,
    /// What it serves, as far as somebody had to know.
    pub kinds: Kinds,
    informers: Informers,
    followed: Mutex<BTreeMap<Kind, Weak<FollowedKind>>>,
}

impl Session {
    /// The objects of a kind that the control plane made in this member; followed while anybody holds this.
    #[must_use]
    pub fn follow(&self, kind: &Kind) -> Arc<FollowedKind> {
        let mut followed = self.followed.lock();
        if let Some(same) = followed.get(kind).and_then(Weak::upgrade) {
            return same;
        }
        followed.retain(|_, kind| kind.strong_count() > 0);
        let new = Arc::new(FollowedKind::begin(kind, self.informers.for_a_while()));
        followed.insert(kind.clone(), Arc::downgrade(&new));
        new
    }

    /// All kinds that somebody follows.
    #[must_use]
    pub fn followed(&self) -> Vec<Arc<FollowedKind>> {
        self.followed.lock().values().filter_map(Weak::upgrade).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.informers.stop();
    }
}

/// The Work that an object in a member comes from.
#[must_use]
pub fn work_of(object: &DynamicObject) -> Option<controller_kit::ObjectKey> {
    use api_types::names::annotation::{WORK_NAME, WORK_NAMESPACE};
    let annotations = object.metadata.annotations.as_ref()?;
    Some(controller_kit::ObjectKey::namespaced(
        annotations.get(WORK_NAMESPACE)?,
        annotations.get(WORK_NAME)?,
    ))
}

/// The same for an object as JSON.
#[must_use]
pub fn work_of_value(object: &serde_json::Value) -> Option<controller_kit::ObjectKey> {
    use api_types::names::annotation::{WORK_NAME, WORK_NAMESPACE};
    let annotation =
        |name: &str| json::some_text(object, &format!("/metadata/annotations/{}", json::pointer_key(name)));
    Some(controller_kit::ObjectKey::namespaced(
        annotation(WORK_NAMESPACE)?,
        annotation(WORK_NAME)?,
    ))
}

/// The sessions of a process: each is shared while anybody uses it.
#[derive(Default)]
pub struct Pool {
    open: Mutex<BTreeMap<ClusterName, (Identity, Weak<Session>)>>,
}

/// What makes a session another one.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// Address and credentials.
    pub target: MemberTarget,
    /// UID of the Cluster object, and since when it is Ready.
    pub incarnation: String,
}

impl Pool {
    /// The session for `identity`, opened if nobody has it open.
    ///
    /// # Errors
    /// [`MemberError`] when address or credentials are unusable. Whether the member answers shows in requests.
    pub fn session(&self, ctx: &Context, identity: &Identity) -> Result<Arc<Session>, MemberError> {
        let cluster = ClusterName::from(identity.target.name.as_str());
        let mut open = self.open.lock();
        if let Some((same, session)) = open.get(&cluster)
            && same == identity
            && let Some(session) = session.upgrade()
        {
            return Ok(session);
        }
        // Their identities hold tokens that may be of no use any more.
        open.retain(|_, (_, session)| session.strong_count() > 0);
        let client = ctx.members.connect(&identity.target)?;
        let session = Arc::new(Session {
            informers: ctx.informers.for_member(cluster.as_str(), client.clone()),
            kinds: Kinds::of(client.clone()),
            cluster: cluster.clone(),
            client,
            request_timeout: identity.target.request_timeout,
            followed: Mutex::default(),
        });
        open.insert(cluster, (identity.clone(), Arc::downgrade(&session)));
        Ok(session)
    }

    /// Forgets a member whose Cluster is gone. Whoever still uses its session goes on with it until stopped.
    pub fn forget(&self, cluster: &ClusterName) {
        self.open.lock().remove(cluster);
    }
}

#[cfg(test)]
mod tests {
    use controller_kit::{Clock, Tasks};
    use kube_sandbox::{Sandbox, SandboxOptions};

    use super::*;

    fn identity(name: &str) -> Identity {
        Identity {
            target: MemberTarget::new(name, "https://10.0.0.1:6443"),
            incarnation: "1".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn identities_go_with_their_sessions() {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let ticking = clock.clone();
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || ticking.now())));
        let tasks = Tasks::new();
        let ctx = Context::detached("test", sandbox.client(), clock, "t-0", &tasks);
        let pool = Pool::default();
        let known = |pool: &Pool| -> Vec<String> { pool.open.lock().keys().map(ToString::to_string).collect() };
        let first = pool.session(&ctx, &identity("m1")).unwrap();
        let same = pool.session(&ctx, &identity("m1")).unwrap();
        assert!(Arc::ptr_eq(&first, &same), "shared while anybody uses it");
        drop((first, same));
        let second = pool.session(&ctx, &identity("m2")).unwrap();
        assert_eq!(known(&pool), ["m2"], "nobody uses the other one");
        pool.forget(&second.cluster);
        assert_eq!(known(&pool), Vec::<String>::new());
        tasks.abort();
    }
}
