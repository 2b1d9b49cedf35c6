//! A policy changes: every Cluster is judged anew, and the policy's status is made.

use crate::bench::{Bar, Row};

pub const ROW: Row = Row {
    name: "policies: a policy's change, 1,000 clusters × 50 policies",
    unit: "ms",
    bar: Bar::AtMost(100.0),
    measure: |tools| {
        let name = "a change of a policy over all clusters";
        tools.criterion.milliseconds("policies", "policies", name)
    },
};
