//! Who may talk to the server: a list of bearer tokens, anonymous or not. There is no authorization: whoever is let in
//! may do everything. Reviews of access answer so too, or by the RBAC objects that are stored.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::rbac;
use crate::registry::ResourceDef;
use crate::request::{Incoming, Origin, Verb, decode};
use crate::state::State;
use crate::status::ApiError;

/// What the server does with requests that carry no token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Anonymous {
    /// Served like any other.
    #[default]
    Allowed,
    /// 401, except for health and version.
    Refused,
}

/// What reviews of access go by. Requests themselves are not judged, whatever this says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authorization {
    /// Everybody may do everything.
    #[default]
    EverythingAllowed,
    /// ClusterRoles and Roles with their bindings, as the real server does by default.
    Rbac,
}

/// The tokens that are known, each with its user name, and what happens without one.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// User name by token.
    pub tokens: BTreeMap<String, String>,
    /// Requests without a token.
    pub anonymous: Anonymous,
    /// What reviews of access go by.
    pub authorization: Authorization,
}

#[derive(Clone, Debug)]
pub(crate) struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    pub(crate) fn admin() -> Self {
        Self {
            name: "system:admin".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        }
    }
}

impl Access {
    pub(crate) fn authenticate(&self, request: &Incoming) -> Result<User, ApiError> {
        let token = request
            .authorization
            .as_deref()
            .and_then(|a| a.strip_prefix("Bearer "))
            .map(str::trim);
        match token {
            Some(token) => match self.tokens.get(token) {
                Some(name) => Ok(User {
                    name: name.clone(),
                    groups: groups_of(name),
                }),
                // Without any known token, tokens are not looked at.
                None if self.tokens.is_empty() => Ok(User::admin()),
                None => Err(unauthorized()),
            },
            None if self.anonymous == Anonymous::Allowed || request.origin == Origin::InProcess => Ok(User::admin()),
            None => Err(unauthorized()),
        }
    }
}

/// The groups that the real server gives by itself.
fn groups_of(user: &str) -> Vec<String> {
    let mut groups = Vec::new();
    if let Some((namespace, _)) = user
        .strip_prefix("system:serviceaccount:")
        .and_then(|account| account.split_once(':'))
    {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups.push("system:authenticated".to_owned());
    groups
}

fn unauthorized() -> ApiError {
    ApiError::new(401, "Unauthorized", "Unauthorized")
}

/// Answers the kinds that are questions; `None` for all others.
pub(crate) fn review(
    def: &ResourceDef,
    verb: Verb,
    request: &Incoming,
    user: &User,
    (access, state): (&Access, &State),
) -> Result<Option<Value>, ApiError> {
    if verb != Verb::Create || def.verbs != ["create"] {
        return Ok(None);
    }
    let mut answer = decode(&request.body)?;
    answer["apiVersion"] = def.api_version().into();
    answer["kind"] = def.kind.clone().into();
    if answer["metadata"].is_null() {
        answer["metadata"] = json!({});
    }
    if def.kind == "TokenReview" && answer["spec"]["token"].as_str().unwrap_or_default().is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    answer["status"] = match def.kind.as_str() {
        "TokenReview" => match access.tokens.get(answer["spec"]["token"].as_str().unwrap_or_default()) {
            Some(name) => {
                json!({"authenticated": true, "user": {"username": name, "groups": groups_of(name)}})
            }
            None => json!({"user": {}, "error": "invalid bearer token"}),
        },
        "SelfSubjectReview" => json!({"userInfo": {"username": user.name, "groups": user.groups}}),
        _ if access.authorization == Authorization::EverythingAllowed => json!({"allowed": true}),
        "SubjectAccessReview" => rbac::review(state, &rbac::Subject::of(&answer["spec"]), &answer["spec"]),
        _ => {
            let subject = rbac::Subject {
                name: user.name.clone(),
                groups: user.groups.clone(),
            };
            rbac::review(state, &subject, &answer["spec"])
        }
    };
    Ok(Some(answer))
}
