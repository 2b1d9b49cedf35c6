//! The rate of evictions is the rate: ten simulated minutes through the whole service, at 0.5/s and 100/s, with 1 and
//! with 64 consumers. The worst of the four counts.

use crate::bench::{Bar, Row};

const BENCH: &str = "rate";

pub const DEVIATION: Row = Row {
    name: "rate exactness: off the rate, more than by one eviction",
    unit: "%",
    bar: Bar::AtMost(2.0),
    measure: |tools| tools.programs.named(BENCH, "deviation"),
};

pub const BURST: Row = Row {
    name: "rate exactness: above the rate in any stretch of time",
    unit: "evictions",
    bar: Bar::AtMost(1.0),
    measure: |tools| tools.programs.named(BENCH, "burst"),
};
