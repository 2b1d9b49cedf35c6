//! 10,000 bindings whose old copies wait for the new ones: a look at all of them, and the end of each.

use crate::bench::{Bar, Row};

const BENCH: &str = "open_tasks";

pub const PASS: Row = Row {
    name: "graceful eviction: one pass over 10,000 bindings with open tasks",
    unit: "ms",
    bar: Bar::AtMost(100.0),
    measure: |tools| tools.programs.named(BENCH, "pass"),
};

pub const IDLE: Row = Row {
    name: "graceful eviction: writes at rest, the same bindings",
    unit: "writes",
    bar: Bar::AtMost(0.0),
    measure: |tools| tools.programs.named(BENCH, "idle"),
};

pub const LATEST: Row = Row {
    name: "graceful eviction: the latest task after what lets it go",
    unit: "s",
    bar: Bar::AtMost(1.0),
    measure: |tools| tools.programs.named(BENCH, "latest"),
};
