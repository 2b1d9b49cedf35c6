//! The eviction queue's speed: the model in process, and the service over a loopback socket.

use crate::bench::{Bar, Row};

/// Publish, due, lease, complete and withdraw of one entry are one operation each.
const OPERATIONS: f64 = 300_000.0;
const SOCKETS: &str = "sockets";

pub const IN_PROCESS: Row = Row {
    name: "queue: entry operations in process",
    unit: "/s",
    bar: Bar::AtLeast(500_000.0),
    measure: |tools| {
        let name = "300,000 operations";
        let milliseconds = tools.criterion.milliseconds("queue", "queue", name)?;
        Ok(OPERATIONS / (milliseconds / 1e3))
    },
};

pub const PUBLISHED: Row = Row {
    name: "queue: entries published over gRPC",
    unit: "/s",
    bar: Bar::AtLeast(50_000.0),
    measure: |tools| tools.programs.named(SOCKETS, "published"),
};

pub const PAGE: Row = Row {
    name: "queue: page of 1,000 of 100,000 entries over gRPC, P99",
    unit: "ms",
    bar: Bar::AtMost(50.0),
    measure: |tools| tools.programs.named(SOCKETS, "page"),
};
