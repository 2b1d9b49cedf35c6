//! cluster_health
