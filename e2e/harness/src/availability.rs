//! Whether tests on real API servers can run here.

use std::path::PathBuf;

use e2e_control_plane::{Binaries, Prometheus, Tool, fetch_stock, in_ci, locate, locate_prometheus};

/// The programs, where they are here. Where they are not, `what` is left out: one line says so and how to get them,
/// and the caller returns; in CI (`CI=true`) it is a failure.
///
/// # Panics
/// In CI when the programs are missing: this is a test's first line, and leaving a test out there is a failure.
#[must_use]
pub fn available(what: &str) -> Option<Binaries> {
    match locate() {
        Ok(binaries) => Some(binaries),
        Err(missing) => left_out(what, &missing.to_string()),
    }
}

/// The same for what needs one of the programs that a folder of the user's own may lack.
///
/// # Panics
/// As [`available`].
#[must_use]
pub fn available_with(tool: Tool, what: &str) -> Option<Binaries> {
    let binaries = available(what)?;
    if binaries.has(tool) {
        return Some(binaries);
    }
    left_out(
        what,
        &format!("{} is not in {}", tool.name(), binaries.folder().display()),
    )
}

/// The same for what needs Prometheus.
///
/// # Panics
/// As [`available`].
#[must_use]
pub fn available_prometheus(what: &str) -> Option<Prometheus> {
    match locate_prometheus() {
        Ok(found) => Some(found),
        Err(missing) => left_out(what, &missing.to_string()),
    }
}

/// The same for what needs the sources of a stock Karmada.
///
/// # Panics
/// As [`available`].
#[must_use]
pub fn available_stock(what: &str) -> Option<PathBuf> {
    match fetch_stock() {
        Ok(sources) => Some(sources),
        Err(missing) => left_out(what, &missing.to_string()),
    }
}

fn left_out<T>(what: &str, why: &str) -> Option<T> {
    assert!(!in_ci(), "{what} cannot run: {why}");
    eprintln!("left out: {what}: {why}");
    None
}
