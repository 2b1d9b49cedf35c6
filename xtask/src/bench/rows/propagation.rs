//! Works, members and their status: what they cost at rest, and how soon a change is on the other side.

use crate::bench::{Bar, Row};

pub const WRITES: Row = Row {
    name: "propagation: writes in an hour of rest, 10,000 Works on 3 members",
    unit: "writes",
    bar: Bar::AtMost(0.0),
    measure: |tools| tools.programs.named("rest", "writes"),
};

pub const LISTS: Row = Row {
    name: "propagation: lists in the same hour",
    unit: "lists",
    bar: Bar::AtMost(0.0),
    measure: |tools| tools.programs.named("rest", "lists"),
};

pub const REACH: Row = Row {
    name: "propagation: a template's change in 100 members, the 99th percentile",
    unit: "s",
    bar: Bar::AtMost(1.0),
    measure: |tools| tools.programs.named("reach", "reach"),
};

pub const HANG: Row = Row {
    name: "propagation: a template's change, how much later beside a member that hangs",
    unit: "ms",
    bar: Bar::AtMost(0.0),
    measure: |tools| tools.programs.named("reach", "hang"),
};

pub const STATUS: Row = Row {
    name: "propagation: a member's status on its binding, 10,000 bindings, the 99th percentile",
    unit: "s",
    bar: Bar::AtMost(0.5),
    measure: |tools| tools.programs.named("status", "status"),
};

pub const STATUS_HANG: Row = Row {
    name: "propagation: a member's status, how much later beside a member that hangs",
    unit: "ms",
    // What it is exact to, and what the order of the others' reports makes.
    bar: Bar::AtMost(20.0),
    measure: |tools| tools.programs.named("status", "status_hang"),
};
