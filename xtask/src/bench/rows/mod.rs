//! The rows, one file for each matter.

mod cluster_change;
mod installed;
mod memory;
mod open_tasks;
mod policy_change;
mod policy_edit;
mod propagation;
mod queue;
mod rate_exactness;
mod reading;
mod real_moves;
mod scheduler;
mod scrape;
mod start;
mod storm;
mod verdicts;
mod windows;
mod writes;

use super::Row;

/// All but [`on_real_servers`], in the order in which they are measured and printed.
pub fn all() -> Vec<Row> {
    vec![
        rate_exactness::DEVIATION,
        rate_exactness::BURST,
        windows::ROW,
        verdicts::TIME,
        verdicts::JUDGED,
        cluster_change::ROW,
        policy_change::ROW,
        policy_edit::ROW,
        queue::IN_PROCESS,
        queue::PUBLISHED,
        queue::PAGE,
        scheduler::FUNCTION,
        scheduler::CONTROLLER,
        open_tasks::PASS,
        open_tasks::IDLE,
        open_tasks::LATEST,
        propagation::WRITES,
        propagation::LISTS,
        propagation::REACH,
        propagation::HANG,
        propagation::STATUS,
        propagation::STATUS_HANG,
        writes::ALL,
        writes::BINDING,
        writes::IDLE,
        storm::EVICTED,
        storm::CLEARED,
        storm::CONFLICTS,
        memory::OF_TAINT_MANAGER,
        memory::GROWTH_OF_TAINT_MANAGER,
        memory::OF_QUEUE,
        memory::GROWTH_OF_QUEUE,
        scrape::OF_TAINT_MANAGER,
        scrape::SERIES_OF_TAINT_MANAGER,
        scrape::OF_QUEUE,
        scrape::SERIES_OF_QUEUE,
        start::TAINT_MANAGER,
        start::QUEUE,
        reading::STATUS,
        reading::EXPLAIN,
        reading::CLUSTER,
        reading::POLICY,
    ]
}

/// Those that are measured on real API servers.
pub fn on_real_servers() -> Vec<Row> {
    vec![
        installed::INSTALL,
        installed::READY,
        real_moves::COST,
        real_moves::MEMORY,
        real_moves::RATE,
        real_moves::REPLACED,
        real_moves::REQUESTS,
        real_moves::RENEWALS,
        real_moves::IDLE,
    ]
}
