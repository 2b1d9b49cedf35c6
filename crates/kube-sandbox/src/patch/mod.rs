//! The patch formats: JSON merge patch (RFC 7386), JSON patch (RFC 6902), strategic merge patch for built-in kinds,
//! and apply, which here is a strategic or JSON merge without field ownership.

mod apply;
mod merge;
mod strategic;

use serde_json::Value;

pub(crate) use merge::merge;
pub(crate) use strategic::merge_strategically;

use crate::registry::ResourceDef;
use crate::status::ApiError;

/// A patch body with the format that its content type names.
#[derive(Clone, Debug)]
pub(crate) enum Patch {
    Merge(Value),
    Json(json_patch::Patch),
    Strategic(Value),
    Apply(Value),
}

impl Patch {
    /// Reads a body; unknown content types are 415 as on the real server.
    pub(crate) fn read(content_type: &str, body: &[u8], def: &ResourceDef) -> Result<Self, ApiError> {
        let tree = || -> Result<Value, ApiError> {
            let value = crate::request::decode(body)?;
            if value.is_object() {
                Ok(value)
            } else {
                Err(ApiError::bad_request(
                    "error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}",
                ))
            }
        };
        match content_type {
            "application/merge-patch+json" => Ok(Self::Merge(tree()?)),
            "application/strategic-merge-patch+json" if !def.is_custom() => Ok(Self::Strategic(tree()?)),
            "application/apply-patch+yaml" | "application/apply-patch+cbor" => Ok(Self::Apply(tree()?)),
            "application/json-patch+json" => {
                let patch = serde_json::from_slice(body)
                    .map_err(|e| ApiError::bad_request(format!("error decoding patch: {e}")))?;
                Ok(Self::Json(patch))
            }
            _ => {
                // The two servers behind the real one have their own words for this.
                let mut error = ApiError::new(
                    415,
                    "UnsupportedMediaType",
                    if def.is_custom() {
                        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
                    } else {
                        "415: Unsupported Media Type"
                    },
                );
                if !def.is_custom() {
                    error.details = Some(serde_json::json!({}));
                }
                Err(error)
            }
        }
    }

    /// The object after the patch.
    pub(crate) fn apply_to(&self, current: &Value, def: &ResourceDef) -> Result<Value, ApiError> {
        match self {
            Self::Merge(patch) => {
                let mut object = current.clone();
                merge(&mut object, patch);
                Ok(object)
            }
            Self::Apply(patch) if def.is_custom() => {
                let mut object = current.clone();
                apply::apply(&mut object, patch, def.schema.as_ref().map(|s| &s.structural));
                Ok(object)
            }
            Self::Strategic(patch) | Self::Apply(patch) => Ok(merge_strategically(current, patch)),
            Self::Json(patch) => {
                let mut object = current.clone();
                json_patch::patch(&mut object, patch).map_err(|_| {
                    // The real server keeps the cause to itself.
                    let mut error = ApiError::new(
                        422,
                        "Invalid",
                        "the server rejected our request due to an error in our request",
                    );
                    error.details = Some(serde_json::json!({}));
                    error
                })?;
                Ok(object)
            }
        }
    }

    /// The object that an apply patch creates where there is none.
    pub(crate) fn as_new_object(&self) -> Option<&Value> {
        match self {
            Self::Apply(object) => Some(object),
            _ => None,
        }
    }
}
