//! How long a process takes until it is of use, beyond what the API server takes to list the big fleet.

use crate::bench::{Bar, Row};

pub const TAINT_MANAGER: Row = Row {
    name: "start: the taint manager, the big fleet, beyond a bare list",
    unit: "s",
    bar: Bar::AtMost(10.0),
    measure: |tools| tools.programs.named("fleet", "start"),
};

pub const QUEUE: Row = Row {
    name: "start: the queue, until it leads",
    unit: "s",
    bar: Bar::AtMost(10.0),
    measure: |tools| tools.programs.named("memory", "start"),
};
