//! UIDs and versions of objects, in as little memory as they take: a large queue has a hundred thousand of each.

use std::fmt;

use uuid::Uuid;

/// metadata.uid of an object. Kubernetes makes UUIDs; any other text is a UID, too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Uid {
    /// A UUID as it is usually written: lower case, with hyphens.
    Uuid(Uuid),
    /// Another text.
    Text(Box<str>),
}

impl Uid {
    /// Whether an object with this UID is meant; one without is not.
    #[must_use]
    pub fn is(&self, uid: Option<&str>) -> bool {
        uid.is_some_and(|uid| Self::from(uid) == *self)
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        let uuid = Uuid::try_parse(text).ok();
        let as_written = |uuid: &Uuid| *uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == *text;
        uuid.filter(as_written)
            .map_or_else(|| Self::Text(text.into()), Self::Uuid)
    }
}

impl From<String> for Uid {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => uuid.hyphenated().fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// metadata.resourceVersion of an object: with Kubernetes a number that grows. Of what is none only equality tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectVersion {
    /// A number, written without leading zeros.
    Number(u64),
    /// Another text; empty: none, as of an object that is gone.
    Text(Box<str>),
}

impl ObjectVersion {
    /// Whether it is older than the other, as far as that can be told.
    #[must_use]
    pub fn is_older_than(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Number(own), Self::Number(other)) if own < other)
    }

    /// Whether it is at least as new as what somebody read. Nothing is as new as that an object was gone.
    #[must_use]
    pub fn is_at_least_as_new_as(&self, read: &Self) -> bool {
        match (self, read) {
            (Self::Number(own), Self::Number(read)) => own >= read,
            (Self::Text(own), Self::Text(read)) => !read.is_empty() && own == read,
            _ => false,
        }
    }
}

impl Default for ObjectVersion {
    fn default() -> Self {
        Self::Text(Box::default())
    }
}

impl From<&str> for ObjectVersion {
    fn from(text: &str) -> Self {
        let is_plain = text == "0" || text.starts_with(|first: char| matches!(first, '1'..='9'));
        let number = is_plain.then(|| text.parse().ok()).flatten();
        number.map_or_else(|| Self::Text(text.into()), Self::Number)
    }
}

impl From<String> for ObjectVersion {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Display for ObjectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("6f1d2c1e-0000-4000-8000-000000000001", true)]
    #[case("6F1D2C1E-0000-4000-8000-000000000001", false)]
    #[case("6f1d2c1e00004000800000000000000001", false)]
    #[case("{6f1d2c1e-0000-4000-8000-000000000001}", false)]
    #[case("u1", false)]
    #[case("", false)]
    fn a_uid_is_what_was_written(#[case] text: &str, #[case] is_uuid: bool) {
        let uid = Uid::from(text);
        assert_eq!((uid.to_string().as_str(), matches!(uid, Uid::Uuid(_))), (text, is_uuid));
        assert!(uid.is(Some(text)) && !uid.is(Some("another")) && !uid.is(None));
    }

    #[rstest]
    #[case("10", "9", true, false)]
    #[case("10", "10", true, false)]
    #[case("9", "10", false, true)]
    #[case("a", "a", true, false)]
    #[case("a", "b", false, false)]
    #[case("10", "a", false, false)]
    #[case("10", "", false, false)]
    #[case("", "", false, false)]
    #[case("010", "9", false, false)]
    fn versions_compare_as_numbers(#[case] own: &str, #[case] other: &str, #[case] as_new: bool, #[case] older: bool) {
        let (own, other) = (ObjectVersion::from(own), ObjectVersion::from(other));
        assert_eq!(
            (own.is_at_least_as_new_as(&other), own.is_older_than(&other)),
            (as_new, older)
        );
    }

    proptest! {
        #[test]
        fn what_is_kept_reads_as_it_was_written(text in ".{0,40}|[0-9]{1,22}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}") {
            prop_assert_eq!(Uid::from(text.as_str()).to_string(), &*text);
            prop_assert_eq!(ObjectVersion::from(text.as_str()).to_string(), text);
        }
    }
}
