//! One cluster of the big fleet is tainted: who has to leave it is judged in the taint manager's own process, and of
//! nobody else is anything judged.

use crate::bench::{Bar, Row};

const BENCH: &str = "fleet";

pub const TIME: Row = Row {
    name: "verdicts: all of a tainted cluster, the big fleet",
    unit: "ms",
    bar: Bar::AtMost(50.0),
    measure: |tools| tools.programs.named(BENCH, "verdicts"),
};

pub const JUDGED: Row = Row {
    name: "verdicts: bindings judged for each that is on the cluster",
    unit: "",
    bar: Bar::AtMost(1.0),
    measure: |tools| tools.programs.named(BENCH, "judged"),
};
