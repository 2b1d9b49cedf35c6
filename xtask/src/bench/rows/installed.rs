//! The charts, installed by the real helm on real API servers, and what their Pods run.

use crate::bench::{Bar, Row};
use crate::e2e;

pub const INSTALL: Row = Row {
    name: "installed: helm installs all charts",
    unit: "s",
    bar: Bar::AtMost(60.0),
    measure: |tools| tools.stories.named(e2e::INSTALLED, "install"),
};

pub const READY: Row = Row {
    name: "installed: what their Pods run answers /readyz, from its start",
    unit: "s",
    bar: Bar::AtMost(30.0),
    measure: |tools| tools.stories.named(e2e::INSTALLED, "ready"),
};
