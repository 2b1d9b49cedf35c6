//! A scrape of the two that know the big fleet: how long it takes, and how many series it has.

use crate::bench::{Bar, Row};

const TAINT_MANAGER: &str = "fleet";
const QUEUE: &str = "memory";

pub const OF_TAINT_MANAGER: Row = Row {
    name: "scrape: the taint manager, the big fleet",
    unit: "ms",
    bar: Bar::AtMost(50.0),
    measure: |tools| tools.programs.named(TAINT_MANAGER, "scrape"),
};

pub const SERIES_OF_TAINT_MANAGER: Row = Row {
    name: "scrape: the taint manager, series",
    unit: "",
    bar: Bar::AtMost(2_000.0),
    measure: |tools| tools.programs.named(TAINT_MANAGER, "series"),
};

pub const OF_QUEUE: Row = Row {
    name: "scrape: the queue with 100,000 entries of 100 clusters",
    unit: "ms",
    bar: Bar::AtMost(50.0),
    measure: |tools| tools.programs.named(QUEUE, "scrape"),
};

pub const SERIES_OF_QUEUE: Row = Row {
    name: "scrape: the queue, series",
    unit: "",
    bar: Bar::AtMost(5_000.0),
    measure: |tools| tools.programs.named(QUEUE, "series"),
};
