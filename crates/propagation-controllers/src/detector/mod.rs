//! `detector`: finds the policy of each template and keeps its binding.
//!
//! Guarantees: a claim that holds is kept; of a binding only the fields that follow from template and policy are
//! written; a binding goes when its template is gone, also if that went while nobody looked; it stays when only its
//! policy goes.

mod bound;
mod index;
pub mod matching;
pub mod reconcile;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use api_types::names::finalizer;
use api_types::policy::{Policy, PolicyKind};
use api_types::work::{Binding, BindingKind};
use controller_kit::{Context, EventType, Next, ObjectKey, RequiredKind, WorkQueue, api_errors};
use kube::core::DynamicObject;
use serde_json::Value;

use self::bound::Bound;
use self::index::{Index, Sources};
use self::matching::{Claim, best, closeness, id_label, kind_of};
use crate::Flags;
use crate::interpreter::{Interpreter, Native};
use crate::objects::{TemplateKey, changes_more_than_status, reference, to_value};
use crate::reserved::Reserved;

/// Runs the controller until shutdown.
///
/// # Errors
/// When the API server does not serve our kinds.
pub async fn run(ctx: Context, flags: Flags) -> anyhow::Result<()> {
    ctx.require_kinds(&[
        RequiredKind::with::<Policy>(&PolicyKind::Namespaced),
        RequiredKind::with::<Policy>(&PolicyKind::Cluster),
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ])
    .await?;
    let sources = Sources::of(&ctx);
    let Ok(index) = sources.synced().await else {
        return Ok(());
    };
    let templates: WorkQueue<TemplateKey> = WorkQueue::new("detector", &ctx);
    let policies: WorkQueue<PolicyKey> = WorkQueue::new("detector policies", &ctx);
    for (kind, informer) in &sources.templates {
        let kind = kind.clone();
        templates.follow(&ctx, informer.changes(), move |change| {
            changes_more_than_status(change).then(|| TemplateKey::new(kind.clone(), change.key.clone()))
        });
    }
    for informer in &sources.bindings {
        templates.follow(&ctx, informer.changes(), |change| {
            let ours = |binding: &Option<Arc<Binding>>| {
                binding.as_ref().map(|b| {
                    (
                        b.metadata.generation,
                        b.metadata.labels.clone(),
                        b.metadata.annotations.clone(),
                        b.metadata.deletion_timestamp.clone(),
                    )
                })
            };
            let same = change.before.is_some() && ours(&change.before) == ours(&change.after);
            change
                .newest()
                .filter(|_| !same)
                .and_then(|binding| TemplateKey::of_binding(binding))
        });
    }
    for informer in &sources.policies {
        let near = index.clone();
        templates.follow(&ctx, informer.changes(), move |change| {
            let versions = [change.before.clone(), change.after.clone()];
            versions
                .iter()
                .flatten()
                .flat_map(|policy| near.templates_near(policy))
                .collect::<Vec<_>>()
        });
        policies.follow(&ctx, informer.changes(), |change| {
            change.newest().map(|policy| PolicyKey {
                kind: kind_of(policy),
                object: change.key.clone(),
            })
        });
    }
    let reserved = Reserved::new(&flags.skipped_propagating_namespaces, &ctx.system_namespace);
    let detector = Arc::new(Detector {
        ctx: ctx.clone(),
        index,
        reserved,
        interpreter: Arc::new(Native),
    });
    let (by_template, by_policy) = (detector.clone(), detector);
    futures::join!(
        templates.run(&ctx, flags.concurrent_resource_template_syncs, move |key| {
            let detector = by_template.clone();
            async move { detector.look_at_template(&key).await }
        }),
        policies.run(&ctx, 1, move |key| {
            let detector = by_policy.clone();
            async move { detector.look_at_policy(&key).await }
        }),
    );
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PolicyKey {
    kind: PolicyKind,
    object: ObjectKey,
}

impl std::fmt::Display for PolicyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.object.fmt(f)
    }
}

/// How long a store takes to catch up with a write that came before ours.
const AGAIN_WHEN_OUTDATED: Duration = Duration::from_millis(200);

struct Detector {
    ctx: Context,
    index: Index,
    reserved: Reserved,
    interpreter: Arc<dyn Interpreter>,
}

impl Detector {
    async fn look_at_template(&self, key: &TemplateKey) -> Result<Next, anyhow::Error> {
        match self.sync_template(key).await {
            Err(Failure::Api(error)) if is_outdated(&error) => Ok(Next::After(AGAIN_WHEN_OUTDATED)),
            Err(failure) => {
                if let Some(template) = self.index.template(key) {
                    let template = to_value(&key.kind, &template);
                    let note = format!("{failure}");
                    self.ctx
                        .events
                        .publish(&reference(&template), EventType::Warning, "ApplyPolicyFailed", note);
                }
                Err(failure.into())
            }
            Ok(next) => Ok(next),
        }
    }

    async fn sync_template(&self, key: &TemplateKey) -> Result<Next, Failure> {
        // Asked once: between two looks the binding that we made ourselves may appear.
        let bound = Bound::of(self.index.binding(&key.binding()), key);
        let Some(template) = self.index.template(key) else {
            return self.remove_binding_of_nothing(key, bound.ours()).await;
        };
        if self.reserved.template(key) || template.metadata.deletion_timestamp.is_some() {
            return Ok(Next::Done);
        }
        let value = to_value(&key.kind, &template);
        match self.policy_of(key, &template, &value) {
            // Its id comes first; with it this policy is a new one, and we are back here.
            Some(policy) if !has_id(&policy) => Ok(Next::Done),
            Some(policy) => self.apply(key, &template, &policy, bound).await,
            None => self.release(key, &template, bound.ours()).await,
        }
    }

    /// The policy whose claim holds, or the best of those that select the template.
    fn policy_of(&self, key: &TemplateKey, template: &DynamicObject, value: &Value) -> Option<Arc<Policy>> {
        let alive = |policy: &Arc<Policy>| policy.metadata.deletion_timestamp.is_none();
        let held = Claim::on(&template.metadata).and_then(|claim| self.index.holder(&claim));
        if let Some(policy) = held.filter(|policy| alive(policy) && closeness(policy, value).is_some()) {
            return Some(policy);
        }
        let namespace = key.object.namespace.as_deref();
        let own = self.index.policies(PolicyKind::Namespaced, namespace);
        best(&own, value)
            .or(best(&self.index.policies(PolicyKind::Cluster, None), value))
            .cloned()
    }

    async fn apply(
        &self,
        key: &TemplateKey,
        template: &DynamicObject,
        policy: &Policy,
        bound: Bound,
    ) -> Result<Next, Failure> {
        let name = key.binding();
        if let Bound::ToAnother(owner) = bound {
            return Err(Failure::Taken {
                binding: name.to_string(),
                owner,
            });
        }
        let binding = bound.ours();
        if let Some(leaving) = binding.as_ref().filter(|binding| binding.is_being_deleted()) {
            // The next one can be made when this one is gone, and its end brings us back.
            let waits = leaving.condition(api_types::cluster::condition::DELETION_BLOCKED);
            if let Some(waits) = waits {
                return Err(Failure::Leaving {
                    binding: name.to_string(),
                    message: waits.message.clone(),
                });
            }
            return Ok(Next::Done);
        }
        let claim = Claim::by(policy);
        let template = writer::claim(&self.ctx, key, template, Some(&claim)).await?;
        let template = to_value(&key.kind, &template);
        let wanted = reconcile::desired(key, &template, policy, binding.as_deref(), self.interpreter.as_ref())?;
        match binding {
            None => writer::create(&self.ctx, &name, &wanted).await?,
            Some(present) => {
                let changes = writer::changes(&present, &wanted);
                if changes.is_empty() {
                    return Ok(Next::Done);
                }
                writer::update(&self.ctx, &name, &present, changes).await?;
            }
        }
        let policy = match claim.kind {
            PolicyKind::Namespaced => format!("policy({}/{})", claim.namespace, claim.name),
            PolicyKind::Cluster => format!("cluster policy({})", claim.name),
        };
        self.ctx.events.publish(
            &reference(&template),
            EventType::Normal,
            "ApplyPolicySucceed",
            format!("Apply {policy} succeed"),
        );
        Ok(Next::Done)
    }

    async fn release(
        &self,
        key: &TemplateKey,
        template: &DynamicObject,
        binding: Option<Arc<Binding>>,
    ) -> Result<Next, Failure> {
        if let Some(binding) = binding.filter(|binding| Claim::on(&binding.metadata).is_some()) {
            let changes = writer::changes(&binding, &reconcile::released(&binding));
            writer::update(&self.ctx, &key.binding(), &binding, changes).await?;
        }
        if Claim::on(&template.metadata).is_some() {
            writer::claim(&self.ctx, key, template, None).await?;
        }
        Ok(Next::Done)
    }

    /// Kubernetes' garbage collector would do it where there is one. Asked once more of the API server itself: here an
    /// old list would stop what runs.
    async fn remove_binding_of_nothing(
        &self,
        key: &TemplateKey,
        binding: Option<Arc<Binding>>,
    ) -> Result<Next, Failure> {
        let owned = |binding: &Arc<Binding>| {
            let owners = binding.metadata.owner_references.iter().flatten();
            owners
                .into_iter()
                .any(|owner| owner.kind == key.kind.kind() && owner.name == key.object.name)
        };
        let Some(binding) = binding.filter(|binding| !binding.is_being_deleted() && owned(binding)) else {
            return Ok(Next::Done);
        };
        let api = crate::objects::api(
            &self.ctx.client,
            &key.kind.api_resource(),
            key.object.namespace.as_deref(),
        );
        if api.get_metadata_opt(&key.object.name).await?.is_some() {
            return Ok(Next::After(Duration::from_secs(1)));
        }
        writer::delete(&self.ctx, &key.binding(), &binding).await?;
        Ok(Next::Done)
    }

    async fn look_at_policy(&self, key: &PolicyKey) -> Result<Next, kube::Error> {
        let Some(policy) = self.index.policy(key.kind, &key.object) else {
            return Ok(Next::Done);
        };
        if policy.metadata.deletion_timestamp.is_none() {
            let given = if has_id(&policy) {
                Ok(())
            } else {
                writer::give_id(&self.ctx, &policy).await
            };
            return outdated_later(given);
        }
        let ours = match key.kind {
            PolicyKind::Namespaced => finalizer::PROPAGATION_POLICY,
            PolicyKind::Cluster => finalizer::CLUSTER_PROPAGATION_POLICY,
        };
        if !policy.metadata.finalizers.iter().flatten().any(|name| name == ours) {
            return Ok(Next::Done);
        }
        if self.index.is_claiming(&policy) {
            return Ok(Next::After(Duration::from_secs(1)));
        }
        outdated_later(writer::release_policy(&self.ctx, &policy, ours).await)
    }
}

fn has_id(policy: &Policy) -> bool {
    let label = id_label(kind_of(policy));
    policy
        .metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(label))
        .is_some_and(|id| !id.is_empty())
}

/// What was written from is no longer so; the store is about to say it.
fn is_outdated(error: &kube::Error) -> bool {
    api_errors::is_outdated(error) || api_errors::is_already_exists(error)
}

fn outdated_later(result: Result<(), kube::Error>) -> Result<Next, kube::Error> {
    match result {
        Ok(()) => Ok(Next::Done),
        Err(error) if is_outdated(&error) => Ok(Next::After(AGAIN_WHEN_OUTDATED)),
        Err(error) if api_errors::is_not_found(&error) => Ok(Next::Done),
        Err(error) => Err(error),
    }
}

/// Why a policy could not be applied to a template.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{}", api_errors::one_line(.0))]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Interpret(#[from] crate::interpreter::InterpretError),
    #[error("binding {binding} of an object that had this name is still being deleted: {message}")]
    Leaving { binding: String, message: String },
    #[error("binding {binding} belongs to another object, {owner}; rename one of the two")]
    Taken { binding: String, owner: String },
}
