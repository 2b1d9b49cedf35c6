//! How the steps of propagation end, in words of stock's metrics.

/// Label value of what came to its end.
pub const SUCCESS: &str = "success";

/// Value of the label `result`.
#[must_use]
pub fn result<T, E>(ended: &Result<T, E>) -> &'static str {
    if ended.is_ok() { SUCCESS } else { "error" }
}
