//! A Cluster changes: it is judged under all policies.

use crate::bench::{Bar, Row};

pub const ROW: Row = Row {
    name: "policies: a cluster's change, 1,000 clusters × 50 policies",
    unit: "ms",
    bar: Bar::AtMost(1.0),
    measure: |tools| {
        tools
            .criterion
            .milliseconds("policies", "policies", "a change of a failed cluster")
    },
};
