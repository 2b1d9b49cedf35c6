//! Stories told on real API servers, with the separate binaries as processes.
