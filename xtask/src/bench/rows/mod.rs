//! The rows, one file each.

mod cluster_change;
mod policy_change;
mod policy_edit;
mod windows;

use super::Row;

/// All of them, in the order in which they are measured and printed.
pub fn all() -> Vec<Row> {
    vec![windows::ROW, cluster_change::ROW, policy_change::ROW, policy_edit::ROW]
}
