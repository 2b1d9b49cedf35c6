//! `detector`: finds the policy of each template and keeps its binding.
//!
//! Guarantees: a claim that holds is kept; of a binding only the fields that follow from template and policy are
//! written; a binding goes when its template is gone, also if that went while nobody looked; it stays when only its
//! policy goes.

pub mod bound;
mod counts;
mod ignored;
mod index;
pub mod matching;
pub mod reconcile;
pub mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use api_types::names::finalizer;
use api_types::policy::{Policy, PolicyKind};
use api_types::work::{Binding, BindingKind, SchedulePriority};
use controller_kit::{Context, EventType, Next, ObjectKey, RequiredKind, WorkQueue, api_errors, complaints};
use kube::Resource;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use self::bound::Bound;
use self::counts::Counts;
use self::index::{Index, Sources};
use self::matching::{Claim, best, closeness, id_label, kind_of, other_versions};
use self::writer::Existence;
use crate::Flags;
use crate::created::Created;
use crate::interpreter::{Interpreter, Interpreters, KindName};
use crate::objects::{TemplateKey, reference};
use crate::reserved::Reserved;
use crate::templates::wanted::by_policy;
use crate::templates::{Templates, Unread, changes_beyond_status, follow_rules};
use crate::troubles::{About, Troubles};

/// Runs the controller until shutdown.
///
/// # Errors
/// When the API server does not serve our kinds.
pub async fn run(
    ctx: Context,
    flags: Flags,
    templates: Templates,
    rules: Interpreters,
    troubles: Troubles,
) -> anyhow::Result<()> {
    ctx.require_kinds(&[
        RequiredKind::with::<Policy>(&PolicyKind::Namespaced),
        RequiredKind::with::<Policy>(&PolicyKind::Cluster),
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ])
    .await?;
    let sources = Sources::of(&ctx);
    let Ok(index) = sources.synced(&templates).await else {
        return Ok(());
    };
    let (Ok(rules), Ok(())) = (rules.of(&ctx).await, templates.begin(&ctx).await) else {
        return Ok(());
    };
    let queue: WorkQueue<TemplateKey> = WorkQueue::new("detector", &ctx);
    let policies: WorkQueue<PolicyKey> = WorkQueue::new("detector policies", &ctx);
    follow_templates(&ctx, &queue, &index);
    let of_kind = index.clone();
    follow_rules(&ctx, &rules, &queue, move |name| of_kind.all_of(name));
    for informer in &sources.bindings {
        let of = templates.clone();
        queue.follow(&ctx, informer.changes(), move |change| {
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
            let binding = change.newest().filter(|_| !same);
            binding.and_then(|binding| of.key_of(binding).ok())
        });
    }
    for informer in &sources.policies {
        let about = |policy: &Policy| policy.object_ref(&kind_of(policy));
        complaints::tell(&ctx, informer.changes(), ignored::EVENT, ignored::complaint, about);
        let near = index.clone();
        queue.follow(&ctx, informer.changes(), move |change| {
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
        interpreter: rules.interpreter(),
        priorities: Mutex::default(),
        created: Created::default(),
        troubles,
        counts: Counts::of(&ctx.metrics),
    });
    let (by_template, by_policy) = (detector.clone(), detector);
    futures::join!(
        queue.run(&ctx, flags.concurrent_resource_template_syncs, move |key| {
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

/// Looks at each template that changes; and, once it is known what there is of a kind, at those that have a binding and
/// are not there any more.
fn follow_templates(ctx: &Context, queue: &WorkQueue<TemplateKey>, index: &Index) {
    index.templates.follow(ctx, queue, |kind, change| {
        changes_beyond_status(change).then(|| TemplateKey::new(kind.clone(), change.key.clone()))
    });
    let (bound, queue) = (index.clone(), queue.clone());
    index.templates.listen(move |news| {
        let mut keys = bound.bound_of(&news.name);
        if news.followed.is_none() {
            // What went by a policy for this version may go by one for another.
            keys.extend(bound.in_other_versions(&news.name));
        }
        keys.into_iter().for_each(|key| queue.add(key));
    });
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

/// How long the value of a PriorityClass is taken as it was.
const CLASS_IS_KNOWN_FOR: Duration = Duration::from_secs(300);
/// How soon a policy is looked at again while kinds that it names are read for the first time.
const AGAIN_WHILE_READING: Duration = Duration::from_secs(5);
/// How soon a deleted policy is looked at again while something claims to go by it.
const AGAIN_WHILE_CLAIMED: Duration = Duration::from_secs(1);
/// The same while kinds that it names cannot be read.
const AGAIN_WHILE_UNREADABLE: Duration = Duration::from_secs(30);

struct Detector {
    ctx: Context,
    index: Index,
    reserved: Reserved,
    interpreter: Arc<dyn Interpreter>,
    /// Values of PriorityClasses by name, and when they were asked for.
    priorities: Mutex<BTreeMap<String, (i32, Instant)>>,
    /// The claim on a template, which is written first, brings us back before the store shows the binding.
    created: Created<BindingKey>,
    troubles: Troubles,
    counts: Counts,
}

impl Detector {
    async fn look_at_template(&self, key: &TemplateKey) -> Result<Next, anyhow::Error> {
        match self.sync_template(key).await {
            Err(Failure::Api(error)) if is_outdated(&error) => Ok(Next::After(AGAIN_WHEN_OUTDATED)),
            // The template goes, too, and its end brings us back.
            Err(Failure::Api(error)) if is_terminating(&error) => Ok(Next::Done),
            Err(failure) => {
                if let Ok(Some(template)) = self.index.templates.get(key) {
                    let template = template.value(&key.kind);
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
        let template = match self.index.templates.get(key) {
            Ok(Some(template)) => template.value(&key.kind),
            Ok(None) => {
                self.troubles.fine(&key.binding(), About::Replicas);
                return self.remove_binding_of_nothing(key, bound.ours()).await;
            }
            // Once it is known what there is, we are back here.
            Err(_) => return Ok(Next::Done),
        };
        if self.reserved.template(key) || template.pointer("/metadata/deletionTimestamp").is_some() {
            return Ok(Next::Done);
        }
        let begun = Instant::now();
        let choice = self.policy_of(key, &template);
        self.counts.matched(begun.elapsed());
        match choice {
            Choice::Policy(policy) if has_id(&policy) => {
                let begun = Instant::now();
                let applied = self.apply(key, &template, &policy, bound).await;
                if !applied.as_ref().is_err_and(Failure::is_passing) {
                    self.counts.applied(&applied, begun.elapsed());
                }
                applied
            }
            // Nobody asks for its replicas any more.
            choice => {
                self.troubles.fine(&key.binding(), About::Replicas);
                match choice {
                    Choice::Nothing => self.release(key, &template, bound.ours()).await,
                    // Its id comes first; with it this policy is a new one, and we are back here.
                    Choice::Policy(_) | Choice::InAnotherVersion => Ok(Next::Done),
                }
            }
        }
    }

    /// The policy whose claim holds, or the best of those that select the template.
    fn policy_of(&self, key: &TemplateKey, template: &Value) -> Choice {
        let alive = |policy: &Arc<Policy>| policy.metadata.deletion_timestamp.is_none();
        let held = Claim::on_value(template).and_then(|claim| self.index.holder(&claim));
        if let Some(policy) = held.filter(alive) {
            if closeness(&policy, template).is_some() {
                return Choice::Policy(policy);
            }
            let is_followed = |version: &KindName| self.index.templates.kind(version).is_ok();
            if other_versions(&policy, template).iter().any(is_followed) {
                return Choice::InAnotherVersion;
            }
        }
        let namespace = key.object.namespace.as_deref();
        let own = self.index.policies(PolicyKind::Namespaced, namespace);
        let best = best(&own, template)
            .or(best(&self.index.policies(PolicyKind::Cluster, None), template))
            .cloned();
        best.map_or(Choice::Nothing, Choice::Policy)
    }

    async fn apply(&self, key: &TemplateKey, template: &Value, policy: &Policy, bound: Bound) -> Result<Next, Failure> {
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
        let wanted = reconcile::desired(key, &template, policy, binding.as_deref(), self.interpreter.as_ref());
        self.troubles.asked(&name, About::Replicas, &wanted);
        let mut wanted = wanted?;
        wanted.spec.schedule_priority = self.priority(policy).await?;
        match binding {
            None => {
                if let Some(left) = self.created.on_its_way(&name) {
                    // When it arrives we are back here.
                    return Ok(Next::After(left));
                }
                writer::create(&self.ctx, &name, &wanted).await?;
                self.created.note(name);
            }
            Some(present) => {
                self.created.shown([name.clone()]);
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

    /// What the policy's class says. The value of a class does not change, so it is not asked for at every look; another
    /// class may be made under its name.
    async fn priority(&self, policy: &Policy) -> Result<Option<SchedulePriority>, Failure> {
        let Some(asked) = &policy.spec.schedule_priority else {
            return Ok(None);
        };
        let class = asked.priority_class_name.as_str();
        let known = self.priorities.lock().get(class).copied();
        let priority = match known {
            Some((priority, asked_at)) if asked_at.elapsed() < CLASS_IS_KNOWN_FOR => priority,
            _ => {
                let found = writer::priority(&self.ctx, class).await?;
                let priority = found.ok_or_else(|| Failure::NoPriorityClass(class.to_owned()))?;
                self.priorities
                    .lock()
                    .insert(class.to_owned(), (priority, Instant::now()));
                priority
            }
        };
        Ok(Some(SchedulePriority { priority }))
    }

    async fn release(
        &self,
        key: &TemplateKey,
        template: &Value,
        binding: Option<Arc<Binding>>,
    ) -> Result<Next, Failure> {
        if let Some(binding) = binding.filter(|binding| Claim::on(&binding.metadata).is_some()) {
            let changes = writer::changes(&binding, &reconcile::released(&binding));
            writer::update(&self.ctx, &key.binding(), &binding, changes).await?;
        }
        if Claim::on_value(template).is_some() {
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
        match writer::existence(&self.ctx, key).await? {
            Existence::There => return Ok(Next::After(Duration::from_secs(1))),
            Existence::Gone => {}
            // A kind goes with its definition, and all its objects with it. A version that is no longer served, or a server
            // that is not registered now, takes no object away.
            Existence::KindNotServed if self.index.templates.has_ended(&key.kind.name()) => {}
            Existence::KindNotServed => return Ok(Next::Done),
        }
        writer::delete(&self.ctx, &key.binding(), &binding).await?;
        Ok(Next::Done)
    }

    /// Says of which kinds a policy can select nothing now, and why. Returns when to look again while that is not known.
    fn tell_unread(&self, policy: &Policy) -> Option<Duration> {
        let kinds = by_policy(policy);
        let unread: Vec<Unread> = kinds
            .iter()
            .filter_map(|kind| self.index.templates.store(kind).err())
            .collect();
        if unread.iter().any(|why| matches!(why, Unread::Reading { .. })) {
            return Some(AGAIN_WHILE_READING);
        }
        self.tell_policy(policy, "Nothing is selected", &unread);
        None
    }

    /// Says why a policy that was deleted cannot go. Returns when to look again.
    fn tell_kept(&self, policy: &Policy, hidden: &[Unread]) -> Duration {
        if hidden.iter().any(|why| matches!(why, Unread::Reading { .. })) {
            return AGAIN_WHILE_CLAIMED;
        }
        self.tell_policy(policy, "Cannot be let go while objects may go by it", hidden);
        AGAIN_WHILE_UNREADABLE
    }

    fn tell_policy(&self, policy: &Policy, what: &str, unread: &[Unread]) {
        let about = policy.object_ref(&kind_of(policy));
        for why in unread {
            let note = format!("{what}: {why}");
            self.ctx
                .events
                .publish(&about, EventType::Warning, "ApplyPolicyFailed", note);
        }
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
            return match self.tell_unread(&policy) {
                Some(again) if given.is_ok() => Ok(Next::After(again)),
                _ => outdated_later(given),
            };
        }
        let ours = match key.kind {
            PolicyKind::Namespaced => finalizer::PROPAGATION_POLICY,
            PolicyKind::Cluster => finalizer::CLUSTER_PROPAGATION_POLICY,
        };
        if !policy.metadata.finalizers.iter().flatten().any(|name| name == ours) {
            return Ok(Next::Done);
        }
        if self.index.is_claiming(&policy) {
            return Ok(Next::After(AGAIN_WHILE_CLAIMED));
        }
        let hidden = self.index.hidden_from(&policy);
        if !hidden.is_empty() {
            return Ok(Next::After(self.tell_kept(&policy, &hidden)));
        }
        outdated_later(writer::release_policy(&self.ctx, &policy, ours).await)
    }
}

/// By which policy an object goes.
enum Choice {
    /// By this one.
    Policy(Arc<Policy>),
    /// By one that selects it in another version of its kind, where it is looked at.
    InAnotherVersion,
    /// By none.
    Nothing,
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

/// What was to be made would be in a namespace that goes.
fn is_terminating(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403 && causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
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
    #[error("there is no PriorityClass {0}, which the policy's schedulePriority names; create it, or name another")]
    NoPriorityClass(String),
    #[error("binding {binding} of an object that had this name is still being deleted: {message}")]
    Leaving { binding: String, message: String },
    #[error("binding {binding} belongs to another object, {owner}; rename one of the two")]
    Taken { binding: String, owner: String },
}

impl Failure {
    /// No word of it: what was written from is no longer so, or the template is about to go.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Api(error) if is_outdated(error) || is_terminating(error))
    }
}
