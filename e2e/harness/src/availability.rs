//! Whether tests on real API servers can run here.

use e2e_control_plane::{Binaries, in_ci, locate};

/// The programs, where they are here. Where they are not, `what` is left out: one line says so and how to get them,
/// and the caller returns; in CI (`CI=true`) it is a failure.
///
/// # Panics
/// In CI when the programs are missing: this is a test's first line, and leaving a test out there is a failure.
#[must_use]
#[expect(clippy::panic, reason = "the first line of a test: in CI a left-out test must fail")]
pub fn available(what: &str) -> Option<Binaries> {
    match locate() {
        Ok(binaries) => Some(binaries),
        Err(missing) if in_ci() => panic!("{what} cannot run: {missing}"),
        Err(missing) => {
            eprintln!("left out: {what}: {missing}");
            None
        }
    }
}
