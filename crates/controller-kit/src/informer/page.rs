//! A page of a list, whose objects are made one at a time.
//!
//! Guarantee: of a page there is its text, and one object at a time: five hundred large objects at once would be several
//! times the text, and what is kept of them would lie between what is thrown away, so that little of it could be given
//! back.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

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

/// One of its objects.
///
/// # Errors
/// When it is no object of this kind.
pub(super) fn object<K: for<'de> Deserialize<'de>>(item: &RawValue) -> Result<K, kube::Error> {
    serde_json::from_str(item.get()).map_err(kube::Error::SerdeError)
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
            .map(|item| object::<ConfigMap>(item).unwrap().metadata.name.unwrap())
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
    fn an_object_of_another_shape_is_an_error() {
        let page = Page::of(r#"{"items":[{"metadata":{"name":1}}]}"#).unwrap();
        assert!(matches!(
            object::<ConfigMap>(page.items[0]),
            Err(kube::Error::SerdeError(_))
        ));
    }
}
