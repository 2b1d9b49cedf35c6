//! Requests to a member, each with a deadline, and writes only while our lease is fresh.

use std::future::Future;
use std::sync::Arc;

use controller_kit::{Context, ObjectKey, api_errors};
use kube::Api;
use kube::api::{DeleteParams, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::{ApiResource, DynamicObject};
use serde_json::Value;

use crate::members::Session;
use crate::objects::{self, api_resource};

/// Why a member did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum MemberFailure {
    /// It refused, or could not be reached.
    #[error("{}", api_errors::one_line(.0))]
    Api(#[from] kube::Error),
    /// It did not answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(std::time::Duration),
    /// We may no longer write: another process may have taken over.
    #[error("not sent: our lease was not renewed in time")]
    NotLeading,
    /// Its objects could not be read, because the connection ended.
    #[error("the connection to the member has ended")]
    Stopped,
}

impl MemberFailure {
    /// What is there is not what was read.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        matches!(self, Self::Api(error) if api_errors::is_conflict(error) || api_errors::is_already_exists(error))
    }

    fn is_not_found(&self) -> bool {
        matches!(self, Self::Api(error) if api_errors::is_not_found(error))
    }
}

/// A member, for one controller.
#[derive(Clone)]
pub struct Member {
    ctx: Context,
    session: Arc<Session>,
}

impl Member {
    /// The member of a session.
    #[must_use]
    pub fn new(ctx: &Context, session: &Arc<Session>) -> Self {
        Self {
            ctx: ctx.clone(),
            session: session.clone(),
        }
    }

    /// The object as it was last read; asked of the member itself while its kind cannot be read as a whole, which also
    /// brings the reason why it cannot.
    ///
    /// # Errors
    /// [`MemberFailure`] when it cannot be read; never an empty answer instead.
    pub async fn known(&self, manifest: &Value) -> Result<Option<Value>, MemberFailure> {
        let informer = self.session.objects(&api_resource(manifest));
        let patience = self.session.request_timeout / 3;
        let Ok(synced) = tokio::time::timeout(patience, informer.synced()).await else {
            return self.live(manifest).await;
        };
        let store = synced.map_err(|_| MemberFailure::Stopped)?;
        Ok(store
            .get(&objects::key_of(manifest))
            .map(|object| complete(manifest, &object)))
    }

    /// The object as it is now.
    ///
    /// # Errors
    /// [`MemberFailure`].
    pub async fn live(&self, manifest: &Value) -> Result<Option<Value>, MemberFailure> {
        let (api, key) = self.api(manifest);
        let found = self.in_time(async { Ok(api.get_opt(&key.name).await?) }).await?;
        Ok(found.map(|object| complete(manifest, &object)))
    }

    /// Creates the object.
    ///
    /// # Errors
    /// [`MemberFailure`]; outdated when it is there already.
    pub async fn create(&self, object: &Value) -> Result<Value, MemberFailure> {
        let (api, _) = self.api(object);
        let wanted = parse(object)?;
        let written = self
            .write(async { Ok(api.create(&PostParams::default(), &wanted).await?) })
            .await?;
        Ok(complete(object, &written))
    }

    /// Replaces exactly the version that was read.
    ///
    /// # Errors
    /// [`MemberFailure`]; outdated when there is another version.
    pub async fn replace(&self, object: &Value) -> Result<Value, MemberFailure> {
        let (api, key) = self.api(object);
        let wanted = parse(object)?;
        let written = self
            .write(async { Ok(api.replace(&key.name, &PostParams::default(), &wanted).await?) })
            .await?;
        Ok(complete(object, &written))
    }

    /// Changes the object.
    ///
    /// # Errors
    /// [`MemberFailure`].
    pub async fn patch(&self, object: &Value, patch: &kube::api::Patch<Value>) -> Result<(), MemberFailure> {
        let (api, key) = self.api(object);
        self.write(async { Ok(api.patch(&key.name, &PatchParams::default(), patch).await.map(drop)?) })
            .await
    }

    /// Deletes exactly the object that was read, its dependents after it.
    ///
    /// # Errors
    /// [`MemberFailure`], but not when it is gone.
    pub async fn delete(&self, observed: &Value) -> Result<(), MemberFailure> {
        let (api, key) = self.api(observed);
        let uid = crate::json::some_text(observed, "/metadata/uid").map(str::to_owned);
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        }
        .preconditions(Preconditions {
            uid,
            resource_version: None,
        });
        match self
            .write(async { Ok(api.delete(&key.name, &params).await.map(drop)?) })
            .await
        {
            Err(failure) if failure.is_not_found() || failure.is_outdated() => Ok(()),
            other => other,
        }
    }

    fn api(&self, manifest: &Value) -> (Api<DynamicObject>, ObjectKey) {
        let resource: ApiResource = api_resource(manifest);
        let key = objects::key_of(manifest);
        (
            objects::api(&self.session.client, &resource, key.namespace.as_deref()),
            key,
        )
    }

    async fn write<T>(&self, request: impl Future<Output = Result<T, MemberFailure>>) -> Result<T, MemberFailure> {
        if !self.ctx.leadership.is_fresh() {
            return Err(MemberFailure::NotLeading);
        }
        self.in_time(request).await
    }

    async fn in_time<T>(&self, request: impl Future<Output = Result<T, MemberFailure>>) -> Result<T, MemberFailure> {
        let limit = self.session.request_timeout;
        tokio::time::timeout(limit, request)
            .await
            .unwrap_or(Err(MemberFailure::TimedOut(limit)))
    }
}

fn parse(object: &Value) -> Result<DynamicObject, MemberFailure> {
    serde_json::from_value(object.clone()).map_err(|error| MemberFailure::Api(kube::Error::SerdeError(error)))
}

/// Lists leave out what kind their items are.
fn complete(manifest: &Value, object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    for field in ["apiVersion", "kind"] {
        value[field] = manifest[field].clone();
    }
    value
}
