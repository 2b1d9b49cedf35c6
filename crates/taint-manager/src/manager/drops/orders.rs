//! The orders of operators that are not known to be written down, by binding. Pure.
//!
//! An order that was heard is kept until it is written, also when the queue that took it is gone: its word was given.
//! It is over when the queue that took it says so, or the entry has left that queue.

use std::collections::{BTreeMap, BTreeSet};

use api_types::BindingKey;
use eviction_queue_api::convert::{self, Malformed};
use eviction_queue_api::v1::{self, watch_entries_response::Message as Step};
use failover_core::eviction::queue::{EntryKey, OrderKind};

/// An order as it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// Names it within the queue's term.
    pub id: u64,
    /// The queue's term.
    pub queue_epoch: String,
    /// What is ordered.
    pub kind: OrderKind,
    /// By whom.
    pub caller: String,
    /// Why.
    pub reason: String,
}

/// Orders by binding.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    open: BTreeMap<BindingKey, BTreeMap<EntryKey, Order>>,
    /// The term of the queue that is watched; empty while everything is being told, for the term is told last.
    queue_epoch: String,
    /// Orders told so far, while everything is being told.
    listed: BTreeSet<EntryKey>,
}

impl Orders {
    /// A watch begins that tells everything first.
    pub fn begin(&mut self) {
        self.queue_epoch.clear();
        self.listed.clear();
    }

    /// Takes in a step; returns the bindings that have something to be written.
    pub fn hear(&mut self, step: &Step) -> Result<BTreeSet<BindingKey>, Malformed> {
        match step {
            Step::Changed(entry) => self.changed(entry),
            Step::Removed(_) if self.open.is_empty() => Ok(BTreeSet::new()),
            Step::Removed(removed) => {
                let entry = removed.entry.as_ref();
                let key = entry.and_then(|entry| entry.published.as_ref()?.key.clone());
                self.over_in_this_term(&convert::from_key(key)?);
                Ok(BTreeSet::new())
            }
            Step::Synced(synced) => Ok(self.synced(&synced.queue_epoch)),
        }
    }

    /// The orders for the entries of a binding.
    pub fn of(&self, binding: &BindingKey) -> BTreeMap<EntryKey, Order> {
        self.open.get(binding).cloned().unwrap_or_default()
    }

    /// An order is written, or cannot be any more. A newer one for the same entry stays.
    pub fn done(&mut self, key: &EntryKey, order: &Order) {
        if let Some(orders) = self.open.get_mut(&key.binding) {
            if orders.get(key) == Some(order) {
                orders.remove(key);
            }
            if orders.is_empty() {
                self.open.remove(&key.binding);
            }
        }
    }

    fn changed(&mut self, entry: &v1::Entry) -> Result<BTreeSet<BindingKey>, Malformed> {
        // Entries are many and orders few: what has none costs nothing, unless one is waited for.
        if entry.order.is_none() && self.open.is_empty() {
            return Ok(BTreeSet::new());
        }
        let key = entry.published.as_ref().and_then(|published| published.key.clone());
        let key = convert::from_key(key)?;
        let Some(told) = &entry.order else {
            self.over_in_this_term(&key);
            return Ok(BTreeSet::new());
        };
        let order = Order {
            id: told.id,
            queue_epoch: self.queue_epoch.clone(),
            kind: match told.kind() {
                v1::OrderKind::Drop => OrderKind::Drop,
                v1::OrderKind::Undrop => OrderKind::Undrop,
                // One that this version does not know is for another taint manager.
                v1::OrderKind::Unspecified => return Ok(BTreeSet::new()),
            },
            caller: told.caller.clone(),
            reason: told.reason.clone(),
        };
        let live = !self.queue_epoch.is_empty();
        let binding = key.binding.clone();
        if !live {
            self.listed.insert(key.clone());
        }
        let before = self.open.entry(binding.clone()).or_default().insert(key, order.clone());
        let is_news = live && before != Some(order);
        Ok(is_news.then_some(binding).into_iter().collect())
    }

    /// The term of what was listed is known now. What this very term took before and does not tell any more is over. A
    /// watch that goes on where it was lists nothing: what was told before it broke is as it was.
    fn synced(&mut self, queue_epoch: &str) -> BTreeSet<BindingKey> {
        if self.queue_epoch == queue_epoch {
            return self.open.keys().cloned().collect();
        }
        queue_epoch.clone_into(&mut self.queue_epoch);
        let listed = std::mem::take(&mut self.listed);
        self.open.retain(|_, orders| {
            for key in &listed {
                if let Some(order) = orders.get_mut(key) {
                    queue_epoch.clone_into(&mut order.queue_epoch);
                }
            }
            orders.retain(|key, order| order.queue_epoch != queue_epoch || listed.contains(key));
            !orders.is_empty()
        });
        self.open.keys().cloned().collect()
    }

    fn over_in_this_term(&mut self, key: &EntryKey) {
        let order = self.open.get(&key.binding).and_then(|orders| orders.get(key));
        if let Some(order) = order.filter(|order| order.queue_epoch == self.queue_epoch).cloned() {
            self.done(key, &order);
        }
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
