//! Beside a stock Karmada: carries the annotation `failover.karmada.io/failover` of each policy to the policy's bindings, as
//! stock carries the field `spec.failover` that it knows. Who reads a binding then has both.
//!
//! Guarantees: a binding says what its policy says now, after any order of changes and restarts; a policy whose annotation
//! cannot be read is told of it by a Warning, and what stock's field says counts on its bindings; a binding whose policy is
//! gone keeps what it says, as it keeps the field.

use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use api_types::names::{annotation, label};
use api_types::policy::{Policy, PolicyKind};
use api_types::second_home::{Unreadable, failover};
use binding_writer::{binding_key, object_key};
use controller_kit::informer::Stopped;
use controller_kit::{
    Change, Context, EventType, Informer, Next, ObjectKey, RequiredKind, Scope, Store, WorkQueue, api_errors,
};
use failover_core::eviction::carried::{Words, wanted};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tracing::{debug, warn};

use crate::manager::judged_part::{self, Claim, JudgedPart};

/// Index of bindings by their policy.
const BY_POLICY: &str = "evictor/policy";

/// Bindings that are written at the same time.
const WORKERS: usize = 4;

/// How long a binding waits that somebody else wrote meanwhile.
const AFTER_CONFLICT: Duration = Duration::from_millis(200);

const KINDS: [PolicyKind; 2] = [PolicyKind::Namespaced, PolicyKind::Cluster];

/// What is kept of a policy, whose name the informer keeps.
#[derive(Debug, PartialEq)]
pub(crate) struct PolicyWords {
    uid: Option<String>,
    /// The label by which bindings know it.
    id: Option<String>,
    /// The annotation, if it can be read.
    failover: Option<String>,
    unreadable: Option<Unreadable>,
}

impl PolicyWords {
    fn of(kind: PolicyKind, policy: &Policy) -> Self {
        let unreadable = failover::complaint(policy);
        let ObjectMeta { uid, labels, .. } = &policy.metadata;
        let written = failover::written(&policy.metadata).filter(|_| unreadable.is_none());
        Self {
            uid: uid.clone(),
            id: labels.as_ref().and_then(|all| all.get(id_label(kind))).cloned(),
            failover: written.map(str::to_owned),
            unreadable,
        }
    }

    fn words(&self) -> Words<'_> {
        Words {
            policy_id: self.id.as_deref(),
            failover: self.failover.as_deref(),
        }
    }
}

/// The label by which bindings know a policy of this kind.
fn id_label(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::Namespaced => label::PROPAGATION_POLICY_ID,
        PolicyKind::Cluster => label::CLUSTER_PROPAGATION_POLICY_ID,
    }
}

/// Carries what policies say.
pub(crate) struct Carrier {
    ctx: Context,
    policies: [Store<PolicyWords>; 2],
    bindings: [Store<JudgedPart>; 2],
    queue: WorkQueue<BindingKey>,
}

impl Carrier {
    /// The kinds that must be served.
    pub fn kinds() -> [RequiredKind; 2] {
        KINDS.map(|kind| RequiredKind::with::<Policy>(&kind))
    }

    /// Follows policies and bindings.
    pub async fn synced(ctx: &Context) -> Result<Self, Stopped> {
        let policies: [Informer<PolicyWords>; 2] = KINDS.map(|kind| {
            let keep = move |policy: Policy| PolicyWords::of(kind, &policy);
            ctx.informers.keeping(Scope::all(), &kind, keep)
        });
        let bindings = judged_part::informers(ctx);
        for informer in &bindings {
            informer.index(BY_POLICY, |binding| {
                let claim = binding.claim();
                claim.map(|claim| claim.policy.clone()).into_iter().collect()
            });
        }
        let stores = [bindings[0].synced().await?, bindings[1].synced().await?];
        let words = [policies[0].synced().await?, policies[1].synced().await?];
        let queue: WorkQueue<BindingKey> = WorkQueue::new("evictorPolicyWords", ctx);
        for informer in &bindings {
            queue.follow(ctx, informer.changes(), |change: &Change<JudgedPart>| {
                let claim = |part: &Option<Arc<JudgedPart>>| part.as_ref().and_then(|part| part.claim().cloned());
                let (before, after) = (claim(&change.before), claim(&change.after));
                (after.is_some() && before != after).then(|| binding_key(&change.key))
            });
        }
        for (kind, informer) in KINDS.into_iter().zip(&policies) {
            let (known, told) = (stores.clone(), ctx.clone());
            queue.follow(ctx, informer.changes(), move |change: &Change<PolicyWords>| {
                if change.before == change.after {
                    return Vec::new();
                }
                tell(&told, kind, change);
                let bound = |store: &Store<JudgedPart>| store.entries_by_index(BY_POLICY, &change.key.to_string());
                let bound = known.iter().flat_map(bound);
                bound.map(|(key, _)| binding_key(&key)).collect()
            });
        }
        Ok(Self {
            ctx: ctx.clone(),
            policies: words,
            bindings: stores,
            queue,
        })
    }

    /// Until the process stops.
    pub async fn run(self) {
        let (ctx, queue) = (self.ctx.clone(), self.queue.clone());
        let carrier = Arc::new(self);
        queue
            .run(&ctx, WORKERS, move |key| {
                let carrier = Arc::clone(&carrier);
                async move { carrier.bring_up_to_date(&key).await }
            })
            .await;
    }

    async fn bring_up_to_date(&self, key: &BindingKey) -> Result<Next, kube::Error> {
        let object = object_key(key);
        let Some(binding) = self.bindings.iter().find_map(|store| store.get(&object)) else {
            return Ok(Next::Done);
        };
        let Some(claim) = binding.claim() else {
            return Ok(Next::Done);
        };
        let policy = self.policy(claim);
        let says = Words {
            policy_id: claim.id.as_deref(),
            failover: claim.failover.as_deref(),
        };
        let Some(text) = wanted(says, policy.as_deref().map(PolicyWords::words)) else {
            return Ok(Next::Done);
        };
        let judged = binding.judged(key).metadata;
        let patch = json!({"metadata": {
            "uid": judged.uid, "resourceVersion": judged.resource_version, "annotations": {annotation::FAILOVER: text},
        }});
        let api = binding_writer::api(&self.ctx.client, key);
        match api
            .patch(&key.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
        {
            Ok(_) => {
                debug!(binding = %key, policy = claim.policy, "what the policy's annotation says of failover is carried");
                Ok(Next::Done)
            }
            Err(error) if api_errors::is_conflict(&error) => Ok(Next::After(AFTER_CONFLICT)),
            Err(error) if api_errors::is_not_found(&error) => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }

    fn policy(&self, claim: &Claim) -> Option<Arc<PolicyWords>> {
        let [namespaced, cluster_wide] = &self.policies;
        match claim.policy.split_once('/') {
            Some((namespace, name)) => namespaced.get(&ObjectKey::namespaced(namespace, name)),
            None => cluster_wide.get(&ObjectKey::cluster_scoped(claim.policy.as_str())),
        }
    }
}

/// A Warning for an annotation that cannot be read, once for each text.
fn tell(ctx: &Context, kind: PolicyKind, change: &Change<PolicyWords>) {
    let unreadable = |words: &Option<Arc<PolicyWords>>| words.as_ref().and_then(|words| words.unreadable.clone());
    let Some(now) = unreadable(&change.after) else { return };
    if unreadable(&change.before).as_ref() == Some(&now) {
        return;
    }
    warn!("{} {}: {now}", Policy::kind(&kind), change.key);
    let about = ObjectReference {
        api_version: Some(Policy::api_version(&kind).into_owned()),
        kind: Some(Policy::kind(&kind).into_owned()),
        namespace: change.key.namespace.as_deref().map(str::to_owned),
        name: Some(change.key.name.clone()),
        uid: change.after.as_ref().and_then(|words| words.uid.clone()),
        ..ObjectReference::default()
    };
    ctx.events
        .publish(&about, EventType::Warning, Unreadable::EVENT, now.to_string());
}
