//! A policy is edited: from there to the last write of the controller. Every tenth of 1,000 Clusters carries its taint
//! and is written once, the policy's status once, and nothing else; the API server's own time counts, too.

use crate::bench::{Bar, Row};

pub const ROW: Row = Row {
    name: "policies: a policy edited, through the controller, same fleet",
    unit: "ms",
    bar: Bar::AtMost(1000.0),
    measure: |tools| tools.programs.value("policy_change"),
};
