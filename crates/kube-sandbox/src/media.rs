//! The types of bodies: what the server reads and what it sends.

use crate::request::Incoming;
use crate::status::ApiError;

/// Types of answers that are sent as JSON. A client that takes protobuf alone is sent JSON as well.
const SENT: [&str; 6] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/*",
    "*/*",
    "*",
];
const READ: [&str; 5] = [
    "",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
];

/// Refuses bodies that cannot be read (415) and clients that take nothing that can be sent (406).
pub(crate) fn check(request: &Incoming) -> Result<(), ApiError> {
    let plain = |offer: &str| offer.split(';').next().unwrap_or_default().trim().to_owned();
    let accept = request.accept.trim();
    if !accept.is_empty() && !accept.split(',').any(|offer| SENT.contains(&plain(offer).as_str())) {
        let mut error = ApiError::new(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        );
        error.details = Some(serde_json::json!({}));
        return Err(error);
    }
    let whole = matches!(request.method, http::Method::POST | http::Method::PUT);
    if whole && !READ.contains(&plain(&request.content_type).as_str()) {
        return Err(ApiError::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ));
    }
    Ok(())
}
