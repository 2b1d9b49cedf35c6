//! Refusals: every answer that is not a success, with the words and codes that the Kubernetes API server uses.
//!
//! Guarantee: an [`ApiError`] always renders to a complete `v1 Status` object; its `code` is the HTTP code.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::registry::ResourceDef;

/// A refusal of the API server: rendered as a `v1 Status` with `status: Failure`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP code, also in the body.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`; empty for errors that Kubernetes does not classify.
    pub reason: Cow<'static, str>,
    /// The sentence for people.
    pub message: String,
    /// The `details` object, where Kubernetes has one.
    pub details: Option<Value>,
}

/// What is wrong with one field; the words follow `k8s.io/apimachinery/pkg/util/validation/field`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldError {
    pub kind: FieldErrorKind,
    pub field: String,
    /// The offending value; `None` where Kubernetes leaves it out.
    pub value: Option<Value>,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldErrorKind {
    Required,
    Invalid,
    TypeInvalid,
    NotSupported,
    Duplicate,
    Forbidden,
    TooLong,
    TooMany,
}

impl FieldErrorKind {
    const fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

impl FieldError {
    pub(crate) fn new(kind: FieldErrorKind, field: &str, value: Option<Value>, detail: impl Into<String>) -> Self {
        Self {
            kind,
            field: field.to_owned(),
            value,
            detail: detail.into(),
        }
    }

    pub(crate) fn required(field: &str, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, field, None, detail)
    }

    pub(crate) fn invalid(field: &str, value: Value, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, field, Some(value), detail)
    }

    pub(crate) fn not_supported(field: &str, value: Value, allowed: &[Value]) -> Self {
        let quoted: Vec<String> = allowed
            .iter()
            .map(|v| match v {
                Value::String(s) => format!("{s:?}"),
                other => format!("{:?}", other.to_string()),
            })
            .collect();
        Self::new(
            FieldErrorKind::NotSupported,
            field,
            Some(value),
            format!("supported values: {}", quoted.join(", ")),
        )
    }

    pub(crate) fn body(&self) -> String {
        let mut text = self.kind.words().to_owned();
        if let Some(value) = &self.value {
            text.push_str(": ");
            text.push_str(&value.to_string());
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    fn sentence(&self) -> String {
        format!("{}: {}", self.field, self.body())
    }
}

impl ApiError {
    /// Any refusal, without details.
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
        }
    }

    /// 400, the request itself makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 500, for what Kubernetes itself answers as an internal error.
    pub fn internal(message: impl Into<String>) -> Self {
        let text = message.into();
        let mut error = Self::new(500, "InternalError", format!("Internal error occurred: {text}"));
        error.details = Some(json!({"causes": [{"message": text}]}));
        error
    }

    /// 404 for a path that nobody serves.
    pub(crate) fn no_such_path() -> Self {
        let mut error = Self::new(404, "NotFound", "the server could not find the requested resource");
        error.details = Some(json!({}));
        error
    }

    pub(crate) fn not_found(def: &ResourceDef, name: &str) -> Self {
        let mut error = Self::new(404, "NotFound", format!("{} \"{name}\" not found", def.qualified()));
        error.details = Some(def.details(name, &def.plural));
        error
    }

    pub(crate) fn already_exists(def: &ResourceDef, name: &str) -> Self {
        let mut error = Self::new(
            409,
            "AlreadyExists",
            format!("{} \"{name}\" already exists", def.qualified()),
        );
        error.details = Some(def.details(name, &def.plural));
        error
    }

    pub(crate) fn conflict(def: &ResourceDef, name: &str, why: &str) -> Self {
        let mut error = Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {} \"{name}\": {why}", def.qualified()),
        );
        error.details = Some(def.details(name, &def.plural));
        error
    }

    /// The conflict of an update that was computed on an older version.
    pub(crate) fn modified(def: &ResourceDef, name: &str) -> Self {
        Self::conflict(
            def,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub(crate) fn forbidden(def: &ResourceDef, name: &str, why: &str) -> Self {
        let mut error = Self::new(
            403,
            "Forbidden",
            format!("{} \"{name}\" is forbidden: {why}", def.qualified()),
        );
        error.details = Some(def.details(name, &def.plural));
        error
    }

    pub(crate) fn method_not_allowed() -> Self {
        let mut error = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        error.details = Some(json!({}));
        error
    }

    pub(crate) fn invalid(def: &ResourceDef, name: &str, errors: &[FieldError]) -> Self {
        let kind = if def.group.is_empty() {
            def.kind.clone()
        } else {
            format!("{}.{}", def.kind, def.group)
        };
        let mut sentences: Vec<String> = Vec::new();
        for error in errors {
            let sentence = error.sentence();
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let all = match sentences.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let causes: Vec<Value> = errors
            .iter()
            .map(|e| json!({"reason": e.kind.reason(), "message": e.body(), "field": e.field}))
            .collect();
        let mut details = def.details(name, &def.kind);
        details["causes"] = Value::Array(causes);
        let mut error = Self::new(422, "Invalid", format!("{kind} \"{name}\" is invalid: {all}"));
        error.details = Some(details);
        error
    }

    /// 422 about the options of a request, such as `ListOptions`.
    pub(crate) fn invalid_options(kind: &str, error: &FieldError) -> Self {
        let mut refusal = Self::new(
            422,
            "Invalid",
            format!("{kind}.meta.k8s.io \"\" is invalid: {}", error.sentence()),
        );
        refusal.details = Some(json!({
            "group": "meta.k8s.io",
            "kind": kind,
            "causes": [{"reason": error.kind.reason(), "message": error.body(), "field": error.field}],
        }));
        refusal
    }

    /// 500: a version that is no number, where the real server finds that out too late to call it a bad request.
    pub(crate) fn no_version(text: &str) -> Self {
        Self::new(500, "", format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
    }

    /// 410: the version asked for is no longer in the history.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The `v1 Status` object of this refusal.
    #[must_use]
    pub fn to_status(&self) -> Value {
        let mut status = Map::new();
        status.insert("kind".into(), "Status".into());
        status.insert("apiVersion".into(), "v1".into());
        status.insert("metadata".into(), json!({}));
        status.insert("status".into(), "Failure".into());
        status.insert("message".into(), self.message.clone().into());
        if !self.reason.is_empty() {
            status.insert("reason".into(), self.reason.clone().into());
        }
        if let Some(details) = &self.details {
            status.insert("details".into(), details.clone());
        }
        status.insert("code".into(), self.code.into());
        Value::Object(status)
    }
}
