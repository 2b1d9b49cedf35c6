//! All controllers in one binary, and a demo of them on a simulated fleet.
//!
//! [`components`] collects the controllers and flags of every component, and [`cli`] is the command line; with the
//! feature `demo`, `demo` tells a story on the sandbox and `story` reads such a story off the API objects of any control
//! plane.

pub mod cli;
pub mod components;
#[cfg(feature = "demo")]
pub mod demo;
#[cfg(feature = "demo")]
pub mod story;
