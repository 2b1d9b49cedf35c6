//! A page of a list, whose objects are made one at a time.
//!
//! Guarantee: of a page there is its text, and one object at a time: five hundred large objects at once would be several
//! times the text, and what is kept of them would lie between what is thrown away, so that little of it could be given
//! back.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::deep::{DEEPEST_READ, cut};
use super::key::ObjectKey;

/// A page that was read, and its objects as text.
#[derive(Debug, Deserialize)]
pub(super) struct Page<'a> {
    /// `resourceVersion` and `continue`.
    #[serde(default)]
    pub metadata: ListMeta,
    /// The objects; servers write no objects as null.
    #[serde(borrow, deserialize_with = "null_as_none")]
    pub items: Vec<&'a RawValue>,
}

impl<'a> Page<'a> {
    /// The page that an API server answered with.
    ///
    /// # Errors
    /// When it is no list.
    pub fn of(text: &'a str) -> Result<Self, kube::Error> {
        serde_json::from_str(text).map_err(kube::Error::SerdeError)
    }
}

/// How much of an object was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// All of it.
    Whole,
    /// Null stands for what is deeper than [`DEEPEST_READ`].
    Cut,
}

/// An object that is none of its kind.
#[derive(Debug, thiserror::Error)]
#[error("{key} cannot be read: {error}")]
pub(super) struct Unreadable {
    /// Its name.
    pub key: ObjectKey,
    /// Its version.
    pub version: Option<String>,
    error: serde_json::Error,
}

/// One object of a page or of an event.
///
/// # Errors
/// When it is no object of this kind.
pub(super) fn object<K: for<'de> Deserialize<'de>>(item: &RawValue) -> Result<(K, Read), Unreadable> {
    let error = match serde_json::from_str(item.get()) {
        Ok(object) => return Ok((object, Read::Whole)),
        Err(error) => error,
    };
    let cut = cut(item.get(), DEEPEST_READ);
    if let Some(object) = cut.and_then(|text| serde_json::from_str(&text).ok()) {
        return Ok((object, Read::Cut));
    }
    let metadata = metadata(item);
    Err(Unreadable {
        version: metadata.resource_version.clone(),
        key: ObjectKey::named(&metadata),
        error,
    })
}

/// The metadata of an object, whatever else of it can be read; empty when not even that can.
pub(super) fn metadata(item: &RawValue) -> ObjectMeta {
    #[derive(Deserialize)]
    struct Named {
        metadata: ObjectMeta,
    }
    let named: Result<Named, _> = serde_json::from_str(item.get());
    named.map(|named| named.metadata).unwrap_or_default()
}

fn null_as_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'de RawValue>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use rstest::rstest;

    #[rstest]
    #[case::as_go_servers_write_it(
        r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"more"},
            "items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#,
        Some("7"),
        Some("more"),
        &["a", "b"]
    )]
    #[case::in_another_order(
        r#"{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"7"}}"#, Some("7"), None, &["a"]
    )]
    #[case::nothing(r#"{"metadata":{"resourceVersion":"7"},"items":null}"#, Some("7"), None, &[])]
    fn a_page_is_read(
        #[case] text: &str,
        #[case] version: Option<&str>,
        #[case] next: Option<&str>,
        #[case] names: &[&str],
    ) {
        let page = Page::of(text).unwrap();
        assert_eq!(page.metadata.resource_version.as_deref(), version);
        assert_eq!(page.metadata.continue_.as_deref(), next);
        let read: Vec<String> = page
            .items
            .into_iter()
            .map(|item| object::<ConfigMap>(item).unwrap().0.metadata.name.unwrap())
            .collect();
        assert_eq!(read, names);
    }

    /// What is no list is not taken for an empty one: that would be the end of everything that is known.
    #[rstest]
    #[case::no_items("{}")]
    #[case::a_status(r#"{"kind":"Status","status":"Failure"}"#)]
    #[case::html("<html>")]
    #[case::cut_short(r#"{"metadata":{},"items":[{"metadata":{"name":"a"}},"#)]
    fn what_is_no_list_is_an_error(#[case] text: &str) {
        assert!(matches!(Page::of(text), Err(kube::Error::SerdeError(_))), "{text}");
    }

    #[test]
    fn an_object_of_another_shape_is_an_error_that_names_it() {
        let page = Page::of(r#"{"items":[{"metadata":{"name":"a","resourceVersion":"7"},"data":[1]}]}"#).unwrap();
        let error = object::<ConfigMap>(page.items[0]).unwrap_err();
        assert_eq!((error.key.name.as_str(), error.version.as_deref()), ("a", Some("7")));
        assert!(
            error.to_string().starts_with("a cannot be read: invalid type"),
            "{error}"
        );
    }

    #[test]
    fn of_one_that_is_too_deep_the_rest_is_read() {
        let levels = 5_000;
        let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
        let text = format!(r#"{{"items":[{{"spec":{open}1{close},"metadata":{{"name":"a"}}}}]}}"#);
        let page = Page::of(&text).unwrap();
        let (read, how) = object::<kube::core::DynamicObject>(page.items[0]).unwrap();
        assert_eq!((read.metadata.name.as_deref(), how), (Some("a"), Read::Cut));
        assert!(read.data["spec"]["a"]["a"].is_object());
    }
}
