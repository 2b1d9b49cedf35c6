//! From a review to its answer. Pure: bytes and what is known go in.
//!
//! Only `admission.k8s.io/v1` is spoken. The types here take what an answer needs of a review and leave the rest alone, so
//! that a newer API server's review is one, too.

use failover_core::admission::{self, Decision, ZoneChange};
use failover_core::lint::{Known, Subject};
use k8s_openapi::ByteString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::hooks::Hook;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";
/// What a client is told when its object is refused: the object is at fault.
const UNPROCESSABLE: u16 = 422;
/// The most characters of somebody else's text in an answer.
const QUOTED: usize = 64;

/// What came of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let in without a word.
    Allowed,
    /// Let in with warnings.
    Warned,
    /// Let in with a change.
    Changed,
    /// Let in with a warning that nobody could look at it.
    Unreadable,
    /// Not let in.
    Refused,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Allowed,
        Self::Warned,
        Self::Changed,
        Self::Unreadable,
        Self::Refused,
    ];

    /// In a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "Allowed",
            Self::Warned => "Warned",
            Self::Changed => "Changed",
            Self::Unreadable => "Unreadable",
            Self::Refused => "Refused",
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What came of it.
    pub verdict: Verdict,
    /// The object, as `NAMESPACE/NAME`.
    pub object: String,
    /// Who wrote it.
    pub user: String,
    /// Why it is refused, or what is told; empty without either.
    pub words: Vec<String>,
    /// The review, as it goes back.
    pub review: Value,
}

/// A request that is no review of this hook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReview {
    /// It is no AdmissionReview.
    #[error("this is no AdmissionReview in JSON: {0}")]
    Unreadable(String),
    /// Of another version.
    #[error(
        "this is {0:?}, and only admission.k8s.io/v1 AdmissionReview is spoken here: set admissionReviewVersions: [v1]"
    )]
    Version(String),
    /// Nothing is asked.
    #[error("the review has no request")]
    NoRequest,
    /// The answer could not be told from others.
    #[error("the request has no uid")]
    NoUid,
    /// Another resource than the path's.
    #[error(
        "{asked:?} is asked about at the path of {here}: mend the rules or the path of the webhook's configuration"
    )]
    Elsewhere {
        /// What it is about.
        asked: String,
        /// What the path is about.
        here: &'static str,
    },
    /// There is nothing to look at.
    #[error("the request has no object")]
    NoObject,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    request: Option<Request>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource: Option<Resource>,
    #[serde(default)]
    sub_resource: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    user_info: Option<UserInfo>,
    #[serde(default)]
    object: Option<Value>,
    #[serde(default)]
    old_object: Option<Value>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    group: String,
    #[serde(default)]
    resource: String,
}

#[derive(Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
}

impl Request {
    /// As `NAMESPACE/NAME`; a name that the API server will make up is what it begins with.
    fn object(&self) -> String {
        let generated = || {
            let metadata = self.object.as_ref()?.get("metadata")?;
            Some(format!("{}*", metadata.get("generateName")?.as_str()?))
        };
        let name = self.name.clone().filter(|name| !name.is_empty()).or_else(generated);
        let name = quoted(&name.unwrap_or_default());
        match self.namespace.as_deref() {
            None | Some("") => name,
            Some(namespace) => format!("{}/{name}", quoted(namespace)),
        }
    }

    /// Whether a person, or a program, says how an object is to be: not what becomes of one that is on its way out, and
    /// not what a controller says in a subresource.
    fn is_wish(&self) -> bool {
        let is_write = matches!(self.operation.as_str(), "CREATE" | "UPDATE");
        let is_whole = self.sub_resource.as_deref().is_none_or(str::is_empty);
        let goes = |object: &Option<Value>| {
            let at = object
                .as_ref()
                .and_then(|object| object.pointer("/metadata/deletionTimestamp"));
            at.is_some_and(|at| !at.is_null())
        };
        is_write && is_whole && !goes(&self.object)
    }
}

/// Answers the review that stands in `body`.
///
/// # Errors
/// [`BadReview`]: there is nothing that could be answered.
pub fn answer(hook: Hook, body: &[u8], known: &Known<'_>) -> Result<Answer, BadReview> {
    let review: Review =
        serde_json::from_slice(body).map_err(|error| BadReview::Unreadable(quoted(&error.to_string())))?;
    if review.api_version != API_VERSION || review.kind != KIND {
        let said = format!("{} {}", review.api_version, review.kind);
        return Err(BadReview::Version(quoted(&said)));
    }
    let request = review.request.ok_or(BadReview::NoRequest)?;
    if request.uid.is_empty() {
        return Err(BadReview::NoUid);
    }
    if let Some(resource) = &request.resource {
        let asked = format!("{}.{}", resource.resource, resource.group);
        if asked != hook.resource() {
            let (asked, here) = (quoted(&asked), hook.resource());
            return Err(BadReview::Elsewhere { asked, here });
        }
    }
    if !request.is_wish() {
        return Ok(request.allowed(Verdict::Allowed, Vec::new(), None));
    }
    let object = request.object.as_ref().filter(|object| !object.is_null());
    let object = object.ok_or(BadReview::NoObject)?;
    if hook == Hook::Zones {
        let patch = admission::zone_change(object).map(|change| patch(&change));
        let verdict = if patch.is_some() {
            Verdict::Changed
        } else {
            Verdict::Allowed
        };
        return Ok(request.allowed(verdict, Vec::new(), patch));
    }
    let subject = match subject(hook, object) {
        Ok(subject) => subject,
        Err(error) => {
            let why = quoted(&error.to_string());
            let told = format!("not looked at: this version of the webhook cannot read the object: {why}");
            return Ok(request.allowed(Verdict::Unreadable, vec![told], None));
        }
    };
    // One that cannot be read has nothing that could excuse the new one.
    let before = request.old_object.as_ref().and_then(|before| subject_of(hook, before));
    Ok(request.decided(&admission::decide(&subject, before.as_ref(), known)))
}

impl Request {
    fn decided(&self, decision: &Decision) -> Answer {
        let warnings = admission::warnings(&decision.warned);
        if decision.refused.is_empty() {
            let verdict = if warnings.is_empty() {
                Verdict::Allowed
            } else {
                Verdict::Warned
            };
            return self.allowed(verdict, warnings, None);
        }
        let message = admission::refusal(&decision.refused);
        let status = json!({"message": message, "reason": "Invalid", "code": UNPROCESSABLE});
        let response = json!({"uid": self.uid, "allowed": false, "status": status, "warnings": warnings});
        self.answer(Verdict::Refused, vec![message], &response)
    }

    fn allowed(&self, verdict: Verdict, warnings: Vec<String>, patch: Option<Value>) -> Answer {
        let mut response = json!({"uid": self.uid, "allowed": true});
        if !warnings.is_empty() {
            response["warnings"] = json!(warnings);
        }
        if let Some(patch) = patch {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(ByteString(patch.to_string().into_bytes()));
        }
        self.answer(verdict, warnings, &response)
    }

    fn answer(&self, verdict: Verdict, words: Vec<String>, response: &Value) -> Answer {
        Answer {
            verdict,
            object: self.object(),
            user: quoted(self.user_info.as_ref().map_or("", |user| &user.username)),
            words,
            review: json!({"apiVersion": API_VERSION, "kind": KIND, "response": response}),
        }
    }
}

fn subject(hook: Hook, object: &Value) -> Result<Subject, serde_json::Error> {
    fn read<T: DeserializeOwned>(object: &Value) -> Result<Box<T>, serde_json::Error> {
        T::deserialize(object).map(Box::new)
    }
    Ok(match hook {
        Hook::TaintPolicy => Subject::TaintPolicy(read(object)?),
        Hook::Propagation(kind) => Subject::Propagation(kind, read(object)?),
        Hook::Pause => Subject::Pause(read(object)?),
        Hook::Binding(_) | Hook::Zones => Subject::Binding(read(object)?),
    })
}

fn subject_of(hook: Hook, object: &Value) -> Option<Subject> {
    subject(hook, object).ok()
}

fn patch(change: &ZoneChange) -> Value {
    let dropped = json!({"op": "remove", "path": "/spec/zone"});
    match change {
        ZoneChange::Moved(zone) => json!([{"op": "add", "path": "/spec/zones", "value": [zone]}, dropped]),
        ZoneChange::Dropped => json!([dropped]),
    }
}

/// The begin of somebody else's text, in one line.
fn quoted(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(QUOTED)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(QUOTED).is_some() {
        shown.push_str("...");
    }
    shown
}
