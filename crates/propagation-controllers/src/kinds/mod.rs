//! Kinds of objects: what one is, which ones an API server serves ([`Kinds`]), and which are known without asking.

mod discovery;
mod known;
mod skipped;

use std::sync::Arc;

use api_types::BindingKey;
use api_types::names::binding_name;
use kube::core::ApiResource;
use kube::core::GroupVersionKind;

use crate::interpreter::KindName;

pub use self::discovery::{DiscoveryError, Kinds};
pub use self::known::{find, namespace, of_manifest, templates};
pub use self::skipped::{NoApi, SkippedApi, skipped};

/// Where objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KindScope {
    /// In a namespace; their bindings are ResourceBindings.
    Namespaced,
    /// In no namespace; their bindings are ClusterResourceBindings.
    Cluster,
}

/// A kind of objects, in one version. Clones are cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(Arc<Parts>);

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Parts {
    group: String,
    version: String,
    kind: String,
    plural: String,
    scope: KindScope,
}

impl Kind {
    /// A kind: API group (empty for the core group), version, kind, plural name as in URLs, and where its objects live.
    #[must_use]
    pub fn new(group: &str, version: &str, kind: &str, plural: &str, scope: KindScope) -> Self {
        Self(Arc::new(Parts {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            scope,
        }))
    }

    /// API group, empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.0.group
    }

    /// API version within the group.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// Plural name, as in URLs.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.0.plural
    }

    /// Where its objects live.
    #[must_use]
    pub fn scope(&self) -> KindScope {
        self.0.scope
    }

    /// `group/version`, or `version` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group().is_empty() {
            self.version().to_owned()
        } else {
            format!("{}/{}", self.group(), self.version())
        }
    }

    /// Its name, as policies and bindings have it.
    #[must_use]
    pub fn name(&self) -> KindName {
        KindName {
            api_version: self.api_version(),
            kind: self.kind().to_owned(),
        }
    }

    /// What a client needs to build requests.
    #[must_use]
    pub fn api_resource(&self) -> ApiResource {
        let kind = GroupVersionKind::gvk(self.group(), self.version(), self.kind());
        ApiResource::from_gvk_with_plural(&kind, self.plural())
    }

    /// The binding of an object of this kind.
    #[must_use]
    pub fn binding_of(&self, namespace: Option<&str>, name: &str) -> BindingKey {
        let name = binding_name(self.kind(), name);
        match (self.scope(), namespace) {
            (KindScope::Namespaced, Some(namespace)) => BindingKey::namespaced(namespace, name),
            _ => BindingKey::cluster(name),
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.kind(), self.api_version())
    }
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kind({}, {}, {:?})", self.plural(), self.api_version(), self.scope())
    }
}

/// The group of an `apiVersion`; empty for the core group.
#[must_use]
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
