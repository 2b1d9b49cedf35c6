//! How long an operator waits for an answer at the big fleet.

use crate::bench::{Bar, Row};

pub const STATUS: Row = Row {
    name: "reading: failoverctl status, the big fleet",
    unit: "ms",
    bar: Bar::AtMost(200.0),
    measure: |tools| tools.programs.named("reading", "status"),
};

pub const EXPLAIN: Row = Row {
    name: "reading: failoverctl explain binding, the big fleet",
    unit: "ms",
    bar: Bar::AtMost(100.0),
    measure: |tools| tools.programs.named("reading", "explain"),
};

pub const CLUSTER: Row = Row {
    name: "reading: failoverctl explain cluster, the big fleet",
    unit: "ms",
    bar: Bar::AtMost(100.0),
    measure: |tools| tools.programs.named("reading", "cluster"),
};

pub const POLICY: Row = Row {
    name: "reading: failoverctl explain policy, the big fleet",
    unit: "ms",
    bar: Bar::AtMost(100.0),
    measure: |tools| tools.programs.named("reading", "policy"),
};
