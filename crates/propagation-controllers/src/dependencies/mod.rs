//! `dependencies`: what a propagated workload needs goes where the workload goes.
//!
//! For each binding whose policy says `propagateDeps` (a referrer) the objects that its template needs get bindings of
//! their own, attached to it: they follow its scheduling result, and a policy may select them besides. When a referrer
//! leaves a cluster, the mirror tasks that the evictor writes keep its objects there for as long as its old copy
//! (`failover_core::graceful::mirrors`).
//!
//! Guarantees: an object is let go only when it was read that nothing names it any more; an error, a kind that is not
//! served or not read, and a template that is not there leave everything as it is; what a template names no more stays
//! with those old copies that a task keeps; an attached binding that a policy claims is never deleted; nothing is written
//! when nothing changes.

mod index;
mod needs;
mod reconcile;
mod writer;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use api_types::work::{Binding, BindingKind};
use binding_writer::binding_key;
use controller_kit::{Change, Context, EventType, Next, RequiredKind, WorkQueue, api_errors};
use failover_core::graceful::mirrors::{key_of, owner_labels};
use parking_lot::Mutex;
use serde_json::Value;

use self::index::Index;
use self::needs::Needs;
use crate::Flags;
use crate::binding::reference as reference_of_binding;
use crate::detector::bound::Bound;
use crate::interpreted::GET_DEPENDENCIES;
use crate::interpreter::{DependentObject, Interpreter, Interpreters};
use crate::objects::{TemplateKey, reference};
use crate::reserved::Reserved;
use crate::templates::wanted::is_of;
use crate::templates::{Templates, changes_beyond_status, follow_rules};
use crate::troubles::{About, Troubles};

/// How long a store takes to catch up with a write that came before ours.
const AGAIN_WHEN_OUTDATED: Duration = Duration::from_millis(200);

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
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ])
    .await?;
    let bindings = index::bindings(&ctx);
    let Ok(index) = Index::of(&bindings, &templates).await else {
        return Ok(());
    };
    let (Ok(rules), Ok(())) = (rules.of(&ctx).await, templates.begin(&ctx).await) else {
        return Ok(());
    };
    let queue: WorkQueue<BindingKey> = WorkQueue::new("dependencies", &ctx);
    let needs: Arc<Mutex<Needs>> = Arc::default();
    for informer in &bindings {
        let (of, needs, known) = (templates.clone(), needs.clone(), index.clone());
        queue.follow(&ctx, informer.changes(), move |change| {
            let versions: Vec<&Arc<Binding>> = change.before.iter().chain(&change.after).collect();
            if !concerns(change, || !known.attached_to(&binding_key(&change.key)).is_empty()) {
                return BTreeSet::new();
            }
            let mut keys = BTreeSet::from([binding_key(&change.key)]);
            keys.extend(
                versions
                    .iter()
                    .flat_map(|binding| &binding.spec.required_by)
                    .map(key_of),
            );
            if let Some(Ok(object)) = change.newest().map(|binding| of.key_of(binding)) {
                keys.extend(needs.lock().referrers_of(&object.kind.name(), &object.object));
            }
            keys
        });
    }
    let needed = needs.clone();
    templates.follow(&ctx, &queue, move |kind, change| {
        let mut keys: BTreeSet<BindingKey> = BTreeSet::new();
        if changes_beyond_status(change) {
            keys.insert(TemplateKey::new(kind.clone(), change.key.clone()).binding());
            keys.extend(needed.lock().referrers_of(&kind.name(), &change.key));
        }
        keys
    });
    let (needing, waiting) = (needs.clone(), queue.clone());
    templates.listen(move |news| {
        let keys = needing.lock().referrers_of_kind(&news.name);
        keys.into_iter().for_each(|key| waiting.add(key));
    });
    let of_rules = index.clone();
    follow_rules(&ctx, &rules, &queue, move |name| {
        let asks = |binding: &Binding| binding.spec.propagate_deps == Some(true) && is_of(binding, name);
        of_rules
            .bindings_that(asks)
            .iter()
            .map(|binding| binding.key())
            .collect()
    });
    let controller = Arc::new(Dependencies {
        reserved: Reserved::new(&flags.skipped_propagating_namespaces, &ctx.system_namespace),
        ctx: ctx.clone(),
        index,
        interpreter: rules.interpreter(),
        needs,
        troubles,
    });
    queue
        .run(&ctx, flags.concurrent_dependent_resource_syncs, move |key| {
            let controller = controller.clone();
            async move { controller.look_at(&key).await }
        })
        .await;
    Ok(())
}

/// Whether a change can mean something for what is attached: to the binding, or the binding itself. `is_named`: whether
/// something says that it is attached to it.
fn concerns(change: &Change<Binding>, is_named: impl FnOnce() -> bool) -> bool {
    let ours = |binding: &Arc<Binding>| {
        let is_ours = binding.spec.propagate_deps == Some(true) || !owner_labels(binding).is_empty();
        is_ours || reconcile::is_left(binding) || reconcile::is_kept_by_stock(binding)
    };
    let parts = |binding: &Option<Arc<Binding>>| {
        binding.as_ref().map(|b| {
            (
                b.spec.clone(),
                b.metadata.labels.clone(),
                b.metadata.deletion_timestamp.clone(),
            )
        })
    };
    let same = change.before.is_some() && parts(&change.before) == parts(&change.after);
    !same && (change.before.iter().any(ours) || change.after.iter().any(ours) || is_named())
}

struct Dependencies {
    ctx: Context,
    index: Index,
    interpreter: Arc<dyn Interpreter>,
    reserved: Reserved,
    needs: Arc<Mutex<Needs>>,
    troubles: Troubles,
}

/// Why what a workload needs could not be carried along.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{}", api_errors::one_line(.0))]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Interpret(#[from] crate::interpreter::InterpretError),
    #[error("binding {binding} belongs to another object, {owner}; rename one of the two")]
    Taken { binding: String, owner: String },
}

impl Dependencies {
    async fn look_at(&self, key: &BindingKey) -> Result<Next, Failure> {
        let binding = self.index.binding(key);
        if let Some(left) = binding.as_ref().filter(|binding| reconcile::is_left(binding)) {
            return or_later(
                crate::detector::writer::delete(&self.ctx, key, left)
                    .await
                    .map(|()| Next::Done),
            );
        }
        let attached = self.index.attached_to(key);
        let asks = |binding: &Arc<Binding>| !binding.is_being_deleted() && binding.spec.propagate_deps == Some(true);
        match binding.clone().filter(asks) {
            Some(referrer) => {
                let told = self.distribute(key, &referrer, &attached).await;
                if let Err(failure) = &told {
                    self.tell_failure(&referrer, failure);
                }
                or_later(told)
            }
            None => or_later(self.release_all(key, binding.as_deref(), &attached).await),
        }
    }

    /// Carries along what the referrer's template needs, and lets go what it needs no more.
    async fn distribute(
        &self,
        key: &BindingKey,
        referrer: &Binding,
        attached: &[Arc<Binding>],
    ) -> Result<Next, Failure> {
        // What is not read, or not there, brings us back when it is. Until then everything stays.
        let Ok(template_key) = self.index.templates.key_of(referrer) else {
            return Ok(Next::Done);
        };
        let Ok(Some(template)) = self.index.templates.get(&template_key) else {
            return Ok(Next::Done);
        };
        let template = template.value(&template_key.kind);
        let dependencies = self.interpreter.dependencies(&template);
        self.troubles.asked(key, About::Dependencies, &dependencies);
        let dependencies = dependencies.inspect_err(|error| {
            let about = reference(&template);
            self.ctx
                .events
                .publish(&about, EventType::Warning, GET_DEPENDENCIES, error.to_string());
        })?;
        self.remember(key, &dependencies);
        let mut failed = None;
        let mut written = 0_usize;
        for (object_key, object) in self.objects(&dependencies) {
            match self.attach(&object_key, &object, referrer).await {
                Ok(changed) => written += usize::from(changed),
                // One object's trouble does not keep the others.
                Err(failure) => failed = Some(failure),
            }
        }
        for binding in attached {
            let object = self.index.templates.key_of(binding).ok();
            let object = object.and_then(|key| Some(self.index.templates.get(&key).ok()??.value(&key.kind)));
            let is_needed = dependencies
                .iter()
                .any(|dependency| reconcile::means(dependency, binding, object.as_ref()));
            if !is_needed {
                written += usize::from(self.let_go(binding, referrer).await?);
            }
        }
        if let Some(failure) = failed {
            return Err(failure);
        }
        writer::note(&self.ctx, referrer, &dependencies).await?;
        if written > 0 {
            self.ctx.events.publish(
                &reference_of_binding(referrer),
                EventType::Normal,
                "SyncScheduleResultToDependenciesSucceed",
                format!("What {key} needs follows it."),
            );
        }
        Ok(Next::Done)
    }

    /// The objects that are named and there, by their bindings.
    fn objects(&self, dependencies: &[DependentObject]) -> Vec<(TemplateKey, Value)> {
        let mut found: BTreeMap<BindingKey, (TemplateKey, Value)> = BTreeMap::new();
        for dependency in dependencies {
            // One of a kind that is not served, or not read yet, is carried along when it is.
            let Ok((kind, store)) = self.index.templates.store(&needs::kind(dependency)) else {
                continue;
            };
            let namespace = Some(dependency.namespace.clone()).filter(|namespace| !namespace.is_empty());
            let keys = match &dependency.name {
                Some(name) => vec![controller_kit::ObjectKey {
                    namespace,
                    name: name.clone(),
                }],
                None => store
                    .keys()
                    .into_iter()
                    .filter(|key| key.namespace == namespace)
                    .collect(),
            };
            for key in keys {
                let Some(object) = store.get(&key).map(|object| object.value(&kind)) else {
                    continue;
                };
                let key = TemplateKey::new(kind.clone(), key);
                let is_chosen = dependency.name.is_some() || reconcile::has_labels(dependency, &object);
                let is_leaving = object.pointer("/metadata/deletionTimestamp").is_some();
                if is_chosen && !is_leaving && !self.reserved.template(&key) {
                    found.insert(key.binding(), (key, object));
                }
            }
        }
        found.into_values().collect()
    }

    /// Says whether anything was written.
    async fn attach(&self, key: &TemplateKey, object: &Value, referrer: &Binding) -> Result<bool, Failure> {
        let existing = match Bound::of(self.index.binding(&key.binding()), key) {
            Bound::ToAnother(owner) => {
                let binding = key.binding().to_string();
                return Err(Failure::Taken { binding, owner });
            }
            Bound::ToUs(binding) => Some(binding),
            Bound::Not => None,
        };
        // There is nowhere to go yet; or its end brings us back, and only then can there be another of that name.
        let waits = match &existing {
            None => referrer.spec.clusters.is_empty(),
            Some(existing) => existing.is_being_deleted(),
        };
        if waits {
            return Ok(false);
        }
        let others = self.index.others(existing.as_deref(), &referrer.key());
        // Its version stays while it is served.
        let stands = existing.as_deref().filter(|it| self.index.templates.key_of(it).is_ok());
        let object = stands.map_or(Cow::Borrowed(object), |it| reconcile::in_version_of(object, it));
        let wanted = reconcile::attached(key, &object, referrer, existing.as_deref(), &others);
        let is_changed = match &existing {
            None => writer::create(&self.ctx, &wanted.binding).await.map(|()| true)?,
            Some(existing) => writer::update(&self.ctx, existing, &wanted.binding).await?,
        };
        if let Some(conflict) = wanted.conflict.filter(|_| is_changed) {
            let about = reference_of_binding(&wanted.binding);
            self.ctx
                .events
                .publish(&about, EventType::Warning, "DependencyPolicyConflict", conflict);
        }
        Ok(is_changed)
    }

    /// The referrer's template names the object no more, or its policy carries nothing along. Old copies may still need it:
    /// when they have gone, the referrer's task goes, which brings us back.
    async fn let_go(&self, attached: &Binding, referrer: &Binding) -> Result<bool, Failure> {
        match reconcile::held(attached, referrer) {
            Some(wanted) => Ok(writer::update(&self.ctx, attached, &wanted).await?),
            None => self.detach(attached, &referrer.key()).await,
        }
    }

    async fn detach(&self, attached: &Binding, referrer: &BindingKey) -> Result<bool, Failure> {
        let others = self.index.others(Some(attached), referrer);
        match reconcile::detached(attached, referrer, &others) {
            // That nobody needs it any more is found when this is heard of.
            Some(wanted) => Ok(writer::update(&self.ctx, attached, &wanted).await?),
            None => Ok(false),
        }
    }

    /// The referrer is gone, goes, or its policy does not carry anything along any more.
    async fn release_all(
        &self,
        key: &BindingKey,
        referrer: Option<&Binding>,
        attached: &[Arc<Binding>],
    ) -> Result<Next, Failure> {
        // Asked once more of the API server itself: here an old list would take from a workload what it needs.
        let api = binding_writer::api(&self.ctx.client, key);
        let is_unknown = referrer.is_none() && !attached.is_empty();
        if is_unknown && api.get_opt(&key.name).await?.is_some() {
            return Ok(Next::After(Duration::from_secs(1)));
        }
        self.remember(key, &[]);
        self.troubles.fine(key, About::Dependencies);
        let stays = referrer.filter(|referrer| !referrer.is_being_deleted());
        for binding in attached {
            match stays {
                Some(referrer) => self.let_go(binding, referrer).await?,
                None => self.detach(binding, key).await?,
            };
        }
        if let Some(leaving) = referrer.filter(|referrer| reconcile::is_kept_by_stock(referrer)) {
            writer::let_go(&self.ctx, leaving).await?;
        }
        Ok(Next::Done)
    }

    fn remember(&self, referrer: &BindingKey, dependencies: &[DependentObject]) {
        let before = self.needs.lock().set(referrer, dependencies);
        self.index.templates.want(&before, &needs::kinds(dependencies));
    }

    fn tell_failure(&self, referrer: &Binding, failure: &Failure) {
        if matches!(failure, Failure::Api(error) if is_outdated(error)) {
            return;
        }
        let about = reference_of_binding(referrer);
        self.ctx.events.publish(
            &about,
            EventType::Warning,
            "SyncScheduleResultToDependenciesFailed",
            failure.to_string(),
        );
    }
}

fn is_outdated(error: &kube::Error) -> bool {
    api_errors::is_outdated(error) || api_errors::is_already_exists(error) || api_errors::is_not_found(error)
}

/// What was written from is no longer so; the store is about to say it.
fn or_later<E: Into<Failure>>(result: Result<Next, E>) -> Result<Next, Failure> {
    match result.map_err(Into::into) {
        Err(Failure::Api(error)) if is_outdated(&error) => Ok(Next::After(AGAIN_WHEN_OUTDATED)),
        other => other,
    }
}
