//! What a move costs the API server: 300 ConfigMaps leave a failed member, which comes back; all controllers.

use crate::bench::{Bar, Row};

const BENCH: &str = "writes";

pub const ALL: Row = Row {
    name: "writes: a moved ConfigMap, all components, Events included",
    unit: "writes",
    bar: Bar::AtMost(18.0),
    measure: |tools| tools.programs.named(BENCH, "all"),
};

pub const BINDING: Row = Row {
    name: "writes: of the evictor on a binding, an eviction",
    unit: "writes",
    bar: Bar::AtMost(1.0),
    measure: |tools| tools.programs.named(BENCH, "binding"),
};

pub const IDLE: Row = Row {
    name: "writes: that change nothing, of the whole failure and return",
    unit: "writes",
    bar: Bar::AtMost(0.0),
    measure: |tools| tools.programs.named(BENCH, "idle"),
};
