//! Which orders people were told of that they cannot be written, so that each is told once. Pure.

use std::collections::BTreeMap;

use api_types::BindingKey;
use failover_core::eviction::queue::EntryKey;

use super::orders::{Order, Orders};

/// Orders that people were told of, by the entry. As many as there are such orders, and no more.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    told: BTreeMap<EntryKey, Order>,
}

impl Complaints {
    /// Whether nobody was told of this order yet. From now on somebody is.
    pub fn is_first(&mut self, entry: &EntryKey, order: &Order) -> bool {
        self.told.insert(entry.clone(), order.clone()).as_ref() != Some(order)
    }

    /// Whether an order for this binding cannot be written, as far as was told.
    pub fn is_about(&self, binding: &BindingKey) -> bool {
        self.told.keys().any(|entry| entry.binding == *binding)
    }

    /// There is nothing to be written for this entry any more.
    pub fn over(&mut self, entry: &EntryKey) {
        self.told.remove(entry);
    }

    /// Forgets what is not ordered any more.
    pub fn keep(&mut self, orders: &Orders) {
        self.told
            .retain(|entry, _| orders.of(&entry.binding).contains_key(entry));
    }
}

#[cfg(test)]
#[path = "complaints_tests.rs"]
mod tests;
