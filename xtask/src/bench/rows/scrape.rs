//! A scrape of the two that know the big fleet: how long it takes, and how many series it has.

use crate::bench::{Bar, Row};

const TAINT_MANAGER: (&str, &str) = ("taint-manager", "fleet");
const QUEUE: (&str, &str) = ("eviction-queue", "memory");

pub const OF_TAINT_MANAGER: Row = Row {
    name: "scrape: the taint manager, the big fleet",
    unit: "ms",
    bar: Bar::AtMost(50.0),
    measure: |tools| tools.programs.named(TAINT_MANAGER.0, TAINT_MANAGER.1, "scrape"),
};

pub const SERIES_OF_TAINT_MANAGER: Row = Row {
    name: "scrape: the taint manager, series",
    unit: "",
    bar: Bar::AtMost(2_000.0),
    measure: |tools| tools.programs.named(TAINT_MANAGER.0, TAINT_MANAGER.1, "series"),
};

pub const OF_QUEUE: Row = Row {
    name: "scrape: the queue with 100,000 entries of 100 clusters",
    unit: "ms",
    bar: Bar::AtMost(50.0),
    measure: |tools| tools.programs.named(QUEUE.0, QUEUE.1, "scrape"),
};

pub const SERIES_OF_QUEUE: Row = Row {
    name: "scrape: the queue, series",
    unit: "",
    bar: Bar::AtMost(5_000.0),
    measure: |tools| tools.programs.named(QUEUE.0, QUEUE.1, "series"),
};
