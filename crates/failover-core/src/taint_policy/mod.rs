//! taint_policy
