//! What `cargo xtask` takes, for those who look whether a command for it can be typed.

pub mod cli;
