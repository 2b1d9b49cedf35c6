//! Names of the worked example, and how a placement is read.

use std::collections::BTreeMap;

use api_types::work::Binding;

/// The binding of the example.
pub const BINDING: &str = "default/nginx-deployment";
/// The member that fails.
pub const FAILING: &str = "member1";
/// The member that takes over.
pub const TAKES_OVER: &str = "member2";

/// Replicas by cluster.
#[must_use]
pub fn placement(binding: &Binding) -> BTreeMap<String, i32> {
    binding
        .spec
        .clusters
        .iter()
        .map(|target| (target.name.clone(), target.replicas))
        .collect()
}
