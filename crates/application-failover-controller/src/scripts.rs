//! Kinds for which a script of a stored ResourceInterpreterCustomization says whether a copy works.

use api_types::config::ResourceInterpreterCustomization;
use controller_kit::informer::Stopped;
use controller_kit::{Changes, Context, RequireError, RequiredKind, Store};

/// The stored customizations, where the API server serves them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct HealthScripts(Option<Store<ResourceInterpreterCustomization>>);

impl HealthScripts {
    /// The scripts, once they were read, and their changes.
    pub(crate) async fn read(
        ctx: &Context,
    ) -> Result<(Self, Option<Changes<ResourceInterpreterCustomization>>), Stopped> {
        let kind = RequiredKind::of::<ResourceInterpreterCustomization>();
        match ctx.require_kinds(&[kind]).await {
            Ok(()) => {}
            Err(RequireError::Stopped) => return Err(Stopped),
            // Without the kind there are no scripts.
            Err(_) => return Ok((Self(None), None)),
        }
        let informer = ctx.informers.of::<ResourceInterpreterCustomization>();
        let store = informer.synced().await?;
        Ok((Self(Some(store)), Some(informer.changes())))
    }

    /// Whether there is one for the kind.
    pub(crate) fn has(&self, api_version: &str, kind: &str) -> bool {
        let stored = self.0.iter().flat_map(Store::list);
        stored.into_iter().any(|customization| {
            let (target, scripts) = (&customization.spec.target, &customization.spec.customizations);
            let health = scripts.health_interpretation.as_ref();
            target.api_version == api_version
                && target.kind == kind
                && health.is_some_and(|rule| !rule.lua_script.is_empty())
        })
    }
}
