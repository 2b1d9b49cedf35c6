//! Which bindings are attached to one that leaves, and the mirror tasks that they get first.
//!
//! What is known comes from the informers; what this lease wrote itself is newer than they are. The rule is
//! `failover_core::graceful::mirrors`.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::names::depended_by_label;
use api_types::work::{Binding, GracefulEvictionTask};
use api_types::{BindingKey, ClusterName};
use binding_writer::{BindingInformers, BindingStores};
use controller_kit::Context;
use controller_kit::informer::Stopped;
use failover_core::graceful::mirrors::{needed, owner_labels};
use jiff::Timestamp;

/// Index of attached bindings by the labels of those that need their object.
const BY_OWNER: &str = "evictor/owners";

/// The attached bindings of the fleet.
pub(crate) struct Attached {
    bindings: BindingStores,
}

impl Attached {
    pub async fn synced(ctx: &Context) -> Result<Self, Stopped> {
        let informers = BindingInformers::of(ctx, |informer| {
            informer.index(BY_OWNER, |binding| owner_labels(binding).into_iter().collect());
        });
        Ok(Self {
            bindings: informers.synced().await?,
        })
    }

    fn of_owner(&self, owner: &BindingKey) -> Vec<Arc<Binding>> {
        self.bindings.by_index(BY_OWNER, &depended_by_label(owner)).collect()
    }

    /// The mirrors that have to be written before `owner` leaves `cluster`, each with the binding that gets it. `seen`
    /// are newer versions of attached bindings than the informers may have.
    pub fn without_mirror(
        &self,
        owner: &BindingKey,
        cluster: &ClusterName,
        seen: &Seen,
        now: Timestamp,
    ) -> Vec<(Binding, GracefulEvictionTask)> {
        let attached = self.of_owner(owner).into_iter();
        attached
            .filter_map(|attached| {
                let newest = match seen.0.get(&attached.key()) {
                    Some(newest) => newest.as_ref()?,
                    None => attached.as_ref(),
                };
                let mirror = needed(newest, owner, cluster, now)?;
                Some((newest.clone(), mirror))
            })
            .collect()
    }

    /// Whether anything is attached to `owner`.
    pub fn has_any(&self, owner: &BindingKey) -> bool {
        !self.of_owner(owner).is_empty()
    }
}

/// Attached bindings as one lease read or wrote them; none of one that is gone.
#[derive(Default)]
pub(crate) struct Seen(BTreeMap<BindingKey, Option<Binding>>);

impl Seen {
    pub fn take_in(&mut self, key: BindingKey, newest: Option<Binding>) {
        self.0.insert(key, newest);
    }
}
