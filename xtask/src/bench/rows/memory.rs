//! What the taint manager and the queue have in memory, each as its own process, before and after a day of churn.

use crate::bench::{Bar, Row};

const TAINT_MANAGER: &str = "fleet";
const QUEUE: &str = "memory";
/// What an allocator may keep of what was freed.
const NO_GROWTH: Bar = Bar::AtMost(3.0);

pub const OF_TAINT_MANAGER: Row = Row {
    name: "memory: the taint manager, the big fleet",
    unit: "MiB",
    bar: Bar::AtMost(150.0),
    measure: |tools| tools.programs.named(TAINT_MANAGER, "memory"),
};

pub const GROWTH_OF_TAINT_MANAGER: Row = Row {
    name: "memory: the taint manager, growth under churn",
    unit: "%",
    bar: NO_GROWTH,
    measure: |tools| tools.programs.named(TAINT_MANAGER, "growth"),
};

pub const OF_QUEUE: Row = Row {
    name: "memory: the queue with 100,000 entries",
    unit: "MiB",
    bar: Bar::AtMost(100.0),
    measure: |tools| tools.programs.named(QUEUE, "memory"),
};

pub const GROWTH_OF_QUEUE: Row = Row {
    name: "memory: the queue, growth under churn",
    unit: "%",
    bar: NO_GROWTH,
    measure: |tools| tools.programs.named(QUEUE, "growth"),
};
