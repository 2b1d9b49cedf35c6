//! The second home of our fields in Karmada's kinds: annotations.
//!
//! Beside a stock Karmada its CRDs are installed, and its aggregated API server serves Clusters: fields that they do not
//! know are pruned or refused, and stock's controllers, which read into typed structs and write whole objects back, drop
//! them. Annotations they keep.
//!
//! Guarantees: every object of these kinds is read with what its annotations say put where the field is, wherever it is
//! parsed, so that nobody else has to know of it; a field that the server keeps wins over its annotation; an annotation
//! that cannot be read counts as absent, and [`Unreadable`] says what is wrong with it.
//!
//! | field | annotation | module |
//! |---|---|---|
//! | PreferNoExecute taints | `failover.karmada.io/prefer-no-execute-taints` on the Cluster | [`cluster`] |
//! | windows of a ClusterTaintPolicy in stock's form | `failover.karmada.io/windows` on the policy | [`taint_policy`] |
//! | what stock does not know of `spec.failover` | `failover.karmada.io/failover` on the policy, carried to its bindings | [`failover`] |
//! | `spec.activeEvictionHistory` | `failover.karmada.io/active-eviction-history` on the binding | [`history`] |

pub mod cluster;
pub mod failover;
pub mod history;
pub mod taint_policy;

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;

/// Where a field of ours is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In the field itself: the server keeps it.
    Field,
    /// In the annotation: the server prunes or refuses the field.
    Annotation,
}

/// Where a field's word stands that stock's API server drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondHome {
    /// In this annotation.
    Annotation(&'static str),
    /// Nowhere; this does the same.
    Nowhere(&'static str),
}

/// An annotation of ours that cannot be read; the fields that stock knows count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its name.
    pub annotation: &'static str,
    /// What is wrong with it.
    pub why: String,
}

impl Unreadable {
    /// The reason of the Warning event that says so on the object.
    pub const EVENT: &str = "AnnotationNotRead";
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { annotation, why } = self;
        write!(
            f,
            "annotation {annotation} cannot be read, what the other fields say counts: {why}; mend it or remove it"
        )
    }
}

impl std::error::Error for Unreadable {}

/// The text of an annotation.
pub(crate) fn text<'a>(metadata: &'a ObjectMeta, annotation: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(annotation).map(String::as_str)
}

/// An annotation, parsed; `None` when it is absent.
fn parsed<T: DeserializeOwned>(metadata: &ObjectMeta, annotation: &'static str) -> Result<Option<T>, Unreadable> {
    let Some(text) = text(metadata, annotation) else {
        return Ok(None);
    };
    serde_json::from_str(text).map(Some).map_err(|error| Unreadable {
        annotation,
        why: error.to_string(),
    })
}

/// Defines the object of a kind whose generated type holds it as it is served: reading one adopts what its annotations
/// say.
macro_rules! adopting_root {
    ($(#[$meta:meta])* $name:ident { spec: $spec:ty, status: $status:ty } served as $served:ident, $adopt:path) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(from = "served::Root", into = "served::Root")]
        pub struct $name {
            /// Metadata.
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            /// What is wanted.
            pub spec: $spec,
            /// What was last seen.
            pub status: Option<$status>,
        }

        mod served {
            pub(super) type Root = super::$served;
        }

        impl $name {
            /// An object to create.
            #[must_use]
            pub fn new(name: &str, spec: $spec) -> Self {
                $served::new(name, spec).into()
            }
        }

        impl From<$served> for $name {
            fn from(served: $served) -> Self {
                let $served { metadata, spec, status } = served;
                let mut object = Self { metadata, spec, status };
                $adopt(&mut object);
                object
            }
        }

        impl From<$name> for $served {
            fn from(object: $name) -> Self {
                let $name { metadata, spec, status } = object;
                Self { metadata, spec, status }
            }
        }

        impl kube::Resource for $name {
            type DynamicType = ();
            type Scope = <$served as kube::Resource>::Scope;

            fn kind(it: &()) -> std::borrow::Cow<'_, str> {
                $served::kind(it)
            }
            fn group(it: &()) -> std::borrow::Cow<'_, str> {
                $served::group(it)
            }
            fn version(it: &()) -> std::borrow::Cow<'_, str> {
                $served::version(it)
            }
            fn plural(it: &()) -> std::borrow::Cow<'_, str> {
                $served::plural(it)
            }
            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(crate) use adopting_root;

#[cfg(test)]
mod tests;
