//! Who has to leave a tainted cluster, and the hand that moves them.
//!
//! Two controllers live here. `taintManager` knows every binding by the clusters that it is on, judges each pair of
//! binding and faulty cluster by `failover_core::eviction::verdict`, and publishes the wanted set of entries to the
//! eviction queue: the whole set first, then its changes. It keeps no timer for an eviction: due times travel with the
//! entries. It also says on bindings, as condition `EvictionPending` and as events, what the queue holds for them.
//!
//! `evictor` takes leases from the queue. For each it reads the Cluster and the binding anew, judges again, asks whether
//! the workload would find a place, and then makes the one conditional write that moves the cluster from `spec.clusters`
//! to `spec.gracefulEvictionTasks`.
//!
//! Guarantees: nothing is decided before every informer has synced; nothing is written whose preceding live read showed
//! no cause; nothing is written after a lease has run out or under an older term of the queue.
