//! A window ends when it has to: from a changed condition to the written taint, in simulated time.

use crate::bench::{Bar, Row};

pub const ROW: Row = Row {
    name: "windows: the latest taint after its window's end, none early",
    unit: "s",
    bar: Bar::AtMost(1.0),
    measure: |tools| tools.programs.value("windows"),
};
