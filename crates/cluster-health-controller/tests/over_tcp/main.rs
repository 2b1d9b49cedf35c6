//! Members behind real sockets, in real time: what the sandbox cannot show.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests, too")]

mod black_hole;
mod certificates;
mod scene;
