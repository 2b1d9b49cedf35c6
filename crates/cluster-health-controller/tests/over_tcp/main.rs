//! Members behind real sockets, in real time: what the sandbox cannot show.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests are tests, too"
)]

mod black_hole;
mod certificates;
mod scene;
