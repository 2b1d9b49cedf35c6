//! Whether a write names the version that its writer had read.

use serde_json::Value;

use crate::request::Verb;

/// On which version a write was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenOn {
    /// A new object: there was nothing to read.
    Nothing,
    /// The version that it names; on any other it is refused.
    ItsVersion,
    /// Whatever was there.
    AnyVersion,
}

/// Reads it off the request, as the server does: `metadata.resourceVersion` of an object or merge patch, an operation on
/// it in a JSON patch, the precondition of a deletion.
pub(crate) fn written_on(verb: Verb, body: &[u8]) -> WrittenOn {
    if verb == Verb::Create {
        return WrittenOn::Nothing;
    }
    let names_version = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Array(operations)) => operations.iter().any(|operation| {
            operation["path"] == "/metadata/resourceVersion" && operation["op"].as_str() != Some("remove")
        }),
        Ok(object) => [
            &object["metadata"]["resourceVersion"],
            &object["preconditions"]["resourceVersion"],
        ]
        .iter()
        .any(|version| version.as_str().is_some_and(|version| !version.is_empty())),
        Err(_) => false,
    };
    if names_version {
        WrittenOn::ItsVersion
    } else {
        WrittenOn::AnyVersion
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::create(Verb::Create, r#"{"metadata": {}}"#, WrittenOn::Nothing)]
    #[case::update(Verb::Update, r#"{"metadata": {"resourceVersion": "7"}}"#, WrittenOn::ItsVersion)]
    #[case::blind_update(Verb::Update, r#"{"metadata": {}}"#, WrittenOn::AnyVersion)]
    #[case::merge_patch(
        Verb::Patch,
        r#"{"metadata": {"resourceVersion": "7"}, "spec": {}}"#,
        WrittenOn::ItsVersion
    )]
    #[case::blind_merge_patch(Verb::Patch, r#"{"spec": {}}"#, WrittenOn::AnyVersion)]
    #[case::json_patch(
        Verb::Patch,
        r#"[{"op": "test", "path": "/metadata/resourceVersion", "value": "7"}]"#,
        WrittenOn::ItsVersion
    )]
    #[case::blind_json_patch(Verb::Patch, r#"[{"op": "remove", "path": "/spec/a"}]"#, WrittenOn::AnyVersion)]
    #[case::delete(
        Verb::Delete,
        r#"{"preconditions": {"resourceVersion": "7"}}"#,
        WrittenOn::ItsVersion
    )]
    #[case::blind_delete(Verb::Delete, "", WrittenOn::AnyVersion)]
    fn as_the_server_reads_it(#[case] verb: Verb, #[case] body: &str, #[case] expected: WrittenOn) {
        assert_eq!(written_on(verb, body.as_bytes()), expected);
    }
}
