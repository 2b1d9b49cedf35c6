//! The programs of a real control plane: built unless they are there.

use e2e_control_plane::{Binaries, BuildError, Missing};

use crate::stage::Outcome;

/// Builds what is missing and says so; with everything in the cache it takes no time.
pub fn build() -> Result<Binaries, BuildError> {
    e2e_control_plane::build(|tool| eprintln!("building {} (once, in all some minutes)", tool.name()))
}

/// The same as a stage: a machine without Go and without the programs leaves it out.
pub fn stage() -> Outcome {
    match build() {
        Ok(_) => Outcome::Passed,
        Err(error @ (BuildError::NoGo | BuildError::Missing(Missing::InAssets { .. }))) => {
            Outcome::LeftOut(error.to_string())
        }
        Err(error) => Outcome::Failed(error.to_string()),
    }
}
