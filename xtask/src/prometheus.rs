//! Prometheus and promtool: fetched unless they are there.

use e2e_control_plane::{NoPrometheus, fetch_prometheus};

use crate::stage::Outcome;

/// As a stage: a machine that is no Debian, or has no way to its packages, leaves it out.
pub fn stage() -> Outcome {
    match fetch_prometheus() {
        Ok(_) => Outcome::Passed,
        Err(error @ (NoPrometheus::NotFetchable { .. } | NoPrometheus::NotFetched)) => {
            Outcome::LeftOut(error.to_string())
        }
        Err(error) => Outcome::Failed(error.to_string()),
    }
}
