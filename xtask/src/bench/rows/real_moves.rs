//! 300 ConfigMaps leave a member on real API servers, all controllers in one process: what a move costs, how fast it is, and
//! what there is to pay at rest.

use crate::bench::{Bar, Row};

const BENCH: &str = "real_moves";

pub const COST: Row = Row {
    name: "cost of a move: time of the processor of all our processes, 300 ConfigMaps",
    unit: "ms",
    bar: Bar::AtMost(10.0),
    measure: |tools| tools.on_real_servers.named(BENCH, "cost"),
};

pub const MEMORY: Row = Row {
    name: "cost of a move: memory of the all-in-one, the same",
    unit: "MiB",
    bar: Bar::AtMost(48.0),
    measure: |tools| tools.on_real_servers.named(BENCH, "memory"),
};

pub const RATE: Row = Row {
    name: "speed of a move: off the rate of 100/s, the same",
    unit: "%",
    bar: Bar::AtMost(2.0),
    measure: |tools| tools.on_real_servers.named(BENCH, "off_rate"),
};

pub const REPLACED: Row = Row {
    name: "speed of a move: from evicted to replacement chosen, the 99th percentile",
    unit: "s",
    bar: Bar::AtMost(0.5),
    measure: |tools| tools.on_real_servers.named(BENCH, "replaced"),
};

pub const REQUESTS: Row = Row {
    name: "rest: requests in a minute beside renewals of Leases and probes",
    unit: "requests",
    bar: Bar::AtMost(0.0),
    measure: |tools| tools.on_real_servers.named(BENCH, "requests"),
};

pub const RENEWALS: Row = Row {
    name: "rest: renewals of one Lease in a minute, the most",
    unit: "",
    bar: Bar::AtMost(12.0),
    measure: |tools| tools.on_real_servers.named(BENCH, "renewals"),
};

pub const IDLE: Row = Row {
    name: "rest: of one processor, all our processes",
    unit: "%",
    bar: Bar::AtMost(0.5),
    measure: |tools| tools.on_real_servers.named(BENCH, "idle"),
};
