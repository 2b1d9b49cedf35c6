//! graceful
