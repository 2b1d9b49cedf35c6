//! Requests to a member, each with a deadline, and writes only while our lease is fresh.

use std::future::Future;
use std::sync::Arc;

use controller_kit::{Context, ObjectKey, api_errors};
use kube::Api;
use kube::api::{DeleteParams, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::DynamicObject;
use serde_json::Value;

use super::removal::Removal;
use crate::json;
use crate::kinds::{DiscoveryError, Kind, KindScope};
use crate::members::{FollowedKind, Session, Unread};
use crate::objects;

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
    /// It does not have the kind.
    #[error(
        "the member does not serve {kind} of {api_version}, or not so that its objects can be kept: install its \
         CustomResourceDefinition there, or propagate it; the member is asked again"
    )]
    NotServed {
        /// `apiVersion` of the object.
        api_version: String,
        /// `kind` of the object.
        kind: String,
    },
    /// Whether it has the kind is not known.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// The Work's manifest is none of an object.
    #[error("the Work's manifest has no {0}, and cannot be applied without")]
    Incomplete(&'static str),
}

impl MemberFailure {
    /// What is there is not what was read.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        matches!(self, Self::Api(error) if api_errors::is_conflict(error) || api_errors::is_already_exists(error))
    }

    /// Nothing was said in time, neither about the object nor about its kind.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        matches!(
            self,
            Self::TimedOut(_) | Self::Discovery(DiscoveryError::TimedOut { .. })
        )
    }

    fn is_not_found(&self) -> bool {
        matches!(self, Self::Api(error) if api_errors::is_not_found(error))
    }

    /// There is no such URL; with an object or its namespace missing, the answer says which one.
    fn is_of_no_resource(&self) -> bool {
        let Self::Api(kube::Error::Api(status)) = self else {
            return false;
        };
        let details = status.details.as_ref();
        status.code == 404 && details.is_none_or(|details| details.kind.is_empty())
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

    /// The kind of a manifest, as the member serves it.
    ///
    /// # Errors
    /// [`MemberFailure::NotServed`], or that it cannot be said whether it is served.
    pub async fn kind_of(&self, manifest: &Value) -> Result<Kind, MemberFailure> {
        for (field, name) in [
            ("/apiVersion", "apiVersion"),
            ("/kind", "kind"),
            ("/metadata/name", "metadata.name"),
        ] {
            if json::some_text(manifest, field).is_none() {
                return Err(MemberFailure::Incomplete(name));
            }
        }
        let (api_version, kind) = (json::text(manifest, "/apiVersion"), json::text(manifest, "/kind"));
        let found = self.session.kinds.look_up(api_version, kind).await?;
        let found = found.ok_or_else(|| not_served(api_version, kind))?;
        let namespace = json::some_text(manifest, "/metadata/namespace");
        if found.scope() == KindScope::Namespaced && namespace.is_none() {
            return Err(MemberFailure::Incomplete("metadata.namespace"));
        }
        Ok(found)
    }

    /// The kind of a manifest in whatever version the member has it, also if objects of it could not be made: for those
    /// that are to go. `None`: the member has it in no version.
    ///
    /// # Errors
    /// [`MemberFailure`] when that cannot be said.
    pub async fn kind_in_any_version(&self, manifest: &Value) -> Result<Option<Kind>, MemberFailure> {
        let (api_version, kind) = (json::text(manifest, "/apiVersion"), json::text(manifest, "/kind"));
        Ok(self.session.kinds.look_up_in_any_version(api_version, kind).await?)
    }

    /// The object as it was last read; asked of the member itself while its kind cannot be read as a whole, which also
    /// brings the reason why it cannot.
    ///
    /// # Errors
    /// [`MemberFailure`] when it cannot be read; never an empty answer instead.
    pub async fn known(&self, followed: &FollowedKind, manifest: &Value) -> Result<Option<Value>, MemberFailure> {
        match followed.read(self.session.request_timeout / 3).await {
            Ok(store) => Ok(store
                .get(&key_in(followed.kind(), manifest))
                .map(|object| objects::to_value(followed.kind(), &object))),
            Err(Unread::NotInTime) => self.live(followed.kind(), manifest).await,
            Err(Unread::Stopped) => Err(MemberFailure::Stopped),
        }
    }

    /// The object as it is now. That its kind is not there any more is believed only if the member says so when it is
    /// asked for its kinds.
    ///
    /// # Errors
    /// [`MemberFailure`]; [`MemberFailure::NotServed`] if this version of the kind is not there any more.
    pub async fn live(&self, kind: &Kind, manifest: &Value) -> Result<Option<Value>, MemberFailure> {
        let (api, name) = self.api(kind, manifest);
        let found = self.in_time(async { Ok(api.get(&name).await?) }).await;
        match found {
            Ok(object) => Ok(Some(objects::to_value(kind, &object))),
            Err(failure) if failure.is_of_no_resource() => {
                self.session.kinds.forget_group(kind.group());
                Err(self.kind_of(manifest).await.err().unwrap_or(failure))
            }
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Creates the object.
    ///
    /// # Errors
    /// [`MemberFailure`]; outdated when it is there already.
    pub async fn create(&self, kind: &Kind, object: &Value) -> Result<Value, MemberFailure> {
        let (api, _) = self.api(kind, object);
        let wanted = parse(object)?;
        let written = self
            .write(async { Ok(api.create(&PostParams::default(), &wanted).await?) })
            .await
            .map_err(|failure| self.in_words(kind, failure))?;
        Ok(objects::to_value(kind, &written))
    }

    /// Replaces exactly the version that was read.
    ///
    /// # Errors
    /// [`MemberFailure`]; outdated when there is another version.
    pub async fn replace(&self, kind: &Kind, object: &Value) -> Result<Value, MemberFailure> {
        let (api, name) = self.api(kind, object);
        let wanted = parse(object)?;
        let written = self
            .write(async { Ok(api.replace(&name, &PostParams::default(), &wanted).await?) })
            .await
            .map_err(|failure| self.in_words(kind, failure))?;
        Ok(objects::to_value(kind, &written))
    }

    /// Changes the object.
    ///
    /// # Errors
    /// [`MemberFailure`].
    pub async fn patch(
        &self,
        kind: &Kind,
        object: &Value,
        patch: &kube::api::Patch<Value>,
    ) -> Result<(), MemberFailure> {
        let (api, name) = self.api(kind, object);
        self.write(async { Ok(api.patch(&name, &PatchParams::default(), patch).await.map(drop)?) })
            .await
    }

    /// Deletes exactly the object that was read, its dependents after it. Gone is what the member says is gone; whatever else
    /// it says, it has to be looked for.
    ///
    /// # Errors
    /// [`MemberFailure`], but not when it is gone.
    pub async fn delete(&self, kind: &Kind, observed: &Value) -> Result<Removal, MemberFailure> {
        let (api, name) = self.api(kind, observed);
        let uid = json::some_text(observed, "/metadata/uid").map(str::to_owned);
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        }
        .preconditions(Preconditions {
            uid,
            resource_version: None,
        });
        match self.write(async { Ok(api.delete(&name, &params).await?) }).await {
            // Of an object that waits for something the answer is the object; some kinds always answer so.
            Ok(told) => Ok(match told.right() {
                Some(status) if status.is_success() => Removal::Gone,
                _ => Removal::Going,
            }),
            Err(failure) if failure.is_not_found() || failure.is_outdated() => Ok(Removal::Going),
            Err(failure) => Err(failure),
        }
    }

    fn api(&self, kind: &Kind, manifest: &Value) -> (Api<DynamicObject>, String) {
        let key = key_in(kind, manifest);
        let api = objects::api(&self.session.client, &kind.api_resource(), key.namespace.as_deref());
        (api, key.name)
    }

    /// A kind that was served and is not any more is asked for again.
    fn in_words(&self, kind: &Kind, failure: MemberFailure) -> MemberFailure {
        if failure.is_of_no_resource() {
            self.session.kinds.forget_group(kind.group());
            return not_served(&kind.api_version(), kind.kind());
        }
        failure
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

fn not_served(api_version: &str, kind: &str) -> MemberFailure {
    MemberFailure::NotServed {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    }
}

/// Namespace and name of a manifest; what is of cluster scope has no namespace, whatever the manifest says.
fn key_in(kind: &Kind, manifest: &Value) -> ObjectKey {
    let key = objects::key_of(manifest);
    match kind.scope() {
        KindScope::Namespaced => key,
        KindScope::Cluster => ObjectKey::cluster_scoped(&key.name),
    }
}

fn parse(object: &Value) -> Result<DynamicObject, MemberFailure> {
    serde_json::from_value(object.clone()).map_err(|error| MemberFailure::Api(kube::Error::SerdeError(error)))
}
