//! What an API error means, asked by name instead of by number.

use std::borrow::Cow;

use kube::Error;

use crate::tls::tls_error;

fn code(error: &Error) -> Option<u16> {
    match error {
        Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// 404: the object, or the kind, is not there.
#[must_use]
pub fn is_not_found(error: &Error) -> bool {
    code(error) == Some(404)
}

/// 409 on an update: the object changed since it was read.
#[must_use]
pub fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 409 && status.reason != "AlreadyExists")
}

/// 409 on a create: somebody else was first.
#[must_use]
pub fn is_already_exists(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 409 && status.reason == "AlreadyExists")
}

/// 422 to a JSON patch that does not fit what is stored: a `test` fails, or what is to be removed is gone. A refusal of
/// the result itself names its causes; this one does not.
#[must_use]
pub fn is_misfit(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 422
        && status.details.as_ref().is_none_or(|details| details.causes.is_empty()))
}

/// The object changed since it was read, as a conditional JSON patch is told: the server applies the patch before it
/// compares versions, so that either [`is_conflict`] or [`is_misfit`] comes first.
#[must_use]
pub fn is_outdated(error: &Error) -> bool {
    is_conflict(error) || is_misfit(error)
}

/// 410: the version or the page asked for is no longer kept; only a new list helps.
#[must_use]
pub fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 410 || status.reason == "Expired" || status.reason == "Gone")
}

/// 401 or 403: the credentials are wrong or not enough.
#[must_use]
pub fn is_denied(error: &Error) -> bool {
    matches!(code(error), Some(401 | 403))
}

/// No answer from the server, or one that says "later": trying again may help.
#[must_use]
pub fn is_transient(error: &Error) -> bool {
    match error {
        Error::Api(status) => matches!(status.code, 429 | 500 | 502 | 503 | 504),
        Error::Service(_) | Error::HyperError(_) | Error::ReadEvents(_) => true,
        _ => false,
    }
}

/// A short word for logs and metric labels.
#[must_use]
pub fn label(error: &Error) -> &'static str {
    match error {
        Error::Api(status) => match status.code {
            401 | 403 => "denied",
            404 => "not_found",
            409 => "conflict",
            410 => "gone",
            429 => "throttled",
            500..=599 => "server_error",
            _ => "api_error",
        },
        Error::Service(_) | Error::HyperError(_) => "unreachable",
        Error::ReadEvents(_) => "stream_broken",
        Error::SerdeError(_) => "unreadable",
        _ => "other",
    }
}

/// The error in one line, without the debug output that `Display` of [`kube::Error`] adds.
#[must_use]
pub fn one_line(error: &Error) -> String {
    match error {
        Error::Api(status) if is_misfit(error) => {
            format!(
                "HTTP {}: the change does not fit the object as it is stored: {}",
                status.code, status.message
            )
        }
        Error::Api(status) if status.message.is_empty() => format!("HTTP {} {}", status.code, status.reason),
        Error::Api(status) => format!("HTTP {}: {}", status.code, status.message),
        Error::Service(cause) => format!("no answer from the API server: {}", chain(cause.as_ref())),
        Error::HyperError(cause) => format!("no answer from the API server: {}", chain(cause)),
        other => other.to_string(),
    }
}

/// The same, of the control plane's API server, with what to do where a person has to.
#[must_use]
pub fn with_advice(error: &Error) -> String {
    let what = one_line(error);
    match advice(error) {
        Some(advice) => format!("{what}; {advice}"),
        None => what,
    }
}

/// What a person has to do before the control plane's API server serves this process; nothing where trying again may help.
fn advice(error: &Error) -> Option<Cow<'static, str>> {
    match error {
        Error::Api(status) if status.code == 401 => Some(
            "the token or the certificate of the kubeconfig is not accepted, perhaps because it has expired: make a new one \
             (failoverctl kubeconfig COMPONENT; an agent's as docs/install.md says under Pull members)"
                .into(),
        ),
        Error::Api(status) if status.code == 403 => Some(missing_right(&status.message)),
        Error::Service(cause) => match tls_error(cause.as_ref()) {
            Some(rustls::Error::InvalidCertificate(_)) => Some(
                "the API server's certificate is not accepted here: check certificate-authority-data and server in the kubeconfig, \
                 and the clock"
                    .into(),
            ),
            _ => None,
        },
        _ => None,
    }
}

/// Where a right comes from, by the API server's words for its refusal: they name the user, and a path where no kind is asked for.
fn missing_right(refusal: &str) -> Cow<'static, str> {
    if refusal.contains(" cannot get path ") {
        return "what an API server says of itself is open to every user by ClusterRoleBinding system:discovery, which is changed or \
                gone: put it back as Kubernetes makes it"
            .into();
    }
    if let Some((namespace, cluster)) = agent(refusal) {
        return format!(
            "this agent lacks that right: give it those of its version, agent --cluster-name={cluster} \
             --system-namespace={namespace} --print-rights=control-plane | kubectl apply -f -, or the kubeconfig is another \
             component's"
        )
        .into();
    }
    "the role of this component lacks that right: bring the chart control-plane to this version, or the kubeconfig is another \
     component's"
        .into()
}

/// The namespace and the cluster of an agent that was refused: its rights come with no chart, and its ServiceAccount is called
/// CLUSTER-agent.
fn agent(refusal: &str) -> Option<(&str, &str)> {
    let (_, user) = refusal.split_once("User \"system:serviceaccount:")?;
    let (user, _) = user.split_once('"')?;
    let (namespace, name) = user.split_once(':')?;
    Some((namespace, name.strip_suffix("-agent")?))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    // Its words are about hyper's insides ("client error (Connect)"); what it stands for is its cause.
    if let Some(inner) = cause.filter(|_| text.starts_with("client error (")) {
        text = inner.to_string();
        cause = inner.source();
    }
    while let Some(next) = cause {
        let part = next.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use serde_json::json;

    use super::*;

    fn answer(status: serde_json::Value) -> Error {
        Error::Api(serde_json::from_value::<Status>(status).unwrap().boxed())
    }

    #[test]
    fn what_a_person_has_to_mend_says_how() {
        let refused = |code, message: &str| answer(json!({"code": code, "reason": "x", "message": message}));
        let forbidden = |name: &str, what: &str| {
            let user = format!("system:serviceaccount:failover:{name}");
            refused(403, &format!("clusters is forbidden: User \"{user}\" cannot {what}"))
        };
        let io = |why: rustls::Error| Error::Service(std::io::Error::other(why).into());
        let expired = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let clusters = "list resource \"clusters\" in API group \"cluster.karmada.io\" at the cluster scope";
        for (error, advice) in [
            (refused(401, "Unauthorized"), Some("failoverctl kubeconfig COMPONENT")),
            (
                forbidden("taint-manager", clusters),
                Some("bring the chart control-plane to this version"),
            ),
            (
                forbidden("m1-agent", clusters),
                Some("agent --cluster-name=m1 --system-namespace=failover --print-rights=control-plane | kubectl"),
            ),
            (
                forbidden("m1-agent", "get path \"/openapi/v3\""),
                Some("ClusterRoleBinding system:discovery"),
            ),
            (
                refused(403, "no"),
                Some("bring the chart control-plane to this version"),
            ),
            (io(expired), Some("certificate-authority-data")),
            (refused(500, "no"), None),
            (io(rustls::Error::HandshakeNotComplete), None),
        ] {
            let (plain, told) = (one_line(&error), with_advice(&error));
            match advice {
                Some(advice) => assert!(told.starts_with(&plain) && told.contains(advice), "{told}"),
                None => assert_eq!(told, plain),
            }
        }
    }

    /// The answers are those of kube-apiserver.
    #[test]
    fn a_patch_that_does_not_fit_is_told_from_a_result_that_is_refused() {
        let text = "the server rejected our request due to an error in our request";
        let misfit = answer(json!({"code": 422, "reason": "Invalid", "message": text, "details": {}}));
        let refused = answer(
            json!({"code": 422, "reason": "Invalid", "message": "Cluster \"m\" is invalid",
            "details": {"name": "m", "kind": "Cluster", "causes": [{"reason": "FieldValueInvalid", "message": "no", "field": "spec"}]}}),
        );
        let conflict = answer(json!({"code": 409, "reason": "Conflict", "message": "modified"}));
        let present = answer(json!({"code": 409, "reason": "AlreadyExists", "message": "there"}));
        let outdated = [&misfit, &refused, &conflict, &present].map(is_outdated);
        assert_eq!(outdated, [true, false, true, false]);
        assert!(one_line(&misfit).contains("does not fit the object as it is stored"));
    }
}
