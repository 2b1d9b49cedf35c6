//! Five thousand workloads leave one cluster, all controllers on, simulated.

use crate::bench::{Bar, Row};

const BENCH: &str = "storm";

pub const EVICTED: Row = Row {
    name: "storm: until the last of 5,000 is evicted, of the ideal time",
    unit: "times",
    bar: Bar::AtMost(1.2),
    measure: |tools| tools.programs.named(BENCH, "evicted"),
};

pub const CLEARED: Row = Row {
    name: "storm: until all are healthy elsewhere and no task is left, of the ideal time",
    unit: "times",
    bar: Bar::AtMost(3.0),
    measure: |tools| tools.programs.named(BENCH, "cleared"),
};

pub const CONFLICTS: Row = Row {
    name: "storm: writes on bindings that met a newer version",
    unit: "%",
    bar: Bar::AtMost(5.0),
    measure: |tools| tools.programs.named(BENCH, "conflicts"),
};
