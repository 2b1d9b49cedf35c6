//! How many bindings a second are placed with 100 clusters.

use crate::bench::{Bar, Row};

const BENCH: &str = "schedule";
const BINDINGS_PER_SECOND: Bar = Bar::AtLeast(1_000.0);

pub const FUNCTION: Row = Row {
    name: "scheduler: bindings placed in process, 100 clusters",
    unit: "/s",
    bar: BINDINGS_PER_SECOND,
    measure: |tools| tools.programs.named(BENCH, "function"),
};

pub const CONTROLLER: Row = Row {
    name: "scheduler: the same through the controller",
    unit: "/s",
    bar: BINDINGS_PER_SECOND,
    measure: |tools| tools.programs.named(BENCH, "controller"),
};
