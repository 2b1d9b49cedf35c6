//! Questions about users and rights.

use e2e_conformance::{Scenario, get, post};
use serde_json::json;

pub fn scenario() -> Scenario {
    let ssar = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    Scenario::new(
        "reviews",
        vec![
            post(
                "may I",
                ssar,
                &json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}}),
            ),
            post(
                "may I, a path",
                ssar,
                &json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/healthz"}}}),
            ),
            post("may I, nothing", ssar, &json!({"spec": {}})),
            get("no reading of questions", ssar),
            post(
                "may somebody",
                "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                &json!({"spec": {"user": "nobody", "resourceAttributes": {"verb": "get", "resource": "pods"}}}),
            ),
            post(
                "who am I",
                "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                &json!({}),
            ),
            post(
                "a token that is unknown",
                "/apis/authentication.k8s.io/v1/tokenreviews",
                &json!({"spec": {"token": "unknown"}}),
            ),
            post(
                "no token",
                "/apis/authentication.k8s.io/v1/tokenreviews",
                &json!({"spec": {}}),
            ),
        ],
    )
}
