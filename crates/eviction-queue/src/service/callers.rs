//! Who calls, as it is written down: in the log, and on what an operator ordered.

use std::sync::Arc;

use tonic::Request;

use crate::access::Caller;

/// As much of a caller's name is written down. In bytes.
const MAX_CALLER_BYTES: usize = 256;

/// Who calls. Every request has it in its extensions.
pub(super) fn name<T>(request: &Request<T>) -> Arc<str> {
    let name = request
        .extensions()
        .get::<Caller>()
        .map_or("somebody", |caller| caller.name.as_str());
    name[..name.floor_char_boundary(MAX_CALLER_BYTES)].into()
}
