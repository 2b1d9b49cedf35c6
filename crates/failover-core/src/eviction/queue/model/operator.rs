//! Orders of operators, from the call until the binding says the same.

use std::sync::Arc;

use super::Queue;
use crate::eviction::queue::entry::{Entry, EntryKey, HoldReason};
use crate::eviction::queue::event::Moment;
use crate::eviction::queue::operator::{OperatorOrder, OrderKind, OrderPlan, OrderRefused, OrderRequest};

impl Queue {
    /// What an order would come to; nothing is changed. [`super::Event::Order`] does what this says.
    ///
    /// # Errors
    /// [`OrderRefused`] when there is no such entry, or nothing that Undrop could take back keeps it.
    pub fn plan_order(&self, key: &EntryKey, request: &OrderRequest, now: Moment) -> Result<OrderPlan, OrderRefused> {
        let entry = self
            .entries
            .get(key)
            .ok_or_else(|| OrderRefused::NotFound(Box::new(key.clone())))?;
        if is_done(entry, request.kind)? {
            return Ok(OrderPlan {
                entry: entry.clone(),
                is_done: true,
            });
        }
        let order = Arc::new(OperatorOrder {
            id: self.next_order,
            request: request.clone(),
            at: now.wall,
            written_in: None,
        });
        Ok(OrderPlan {
            entry: Arc::new(self.changed(entry, now, |entry| entry.order = Some(order))),
            is_done: false,
        })
    }

    pub(super) fn order(&mut self, key: &EntryKey, request: &OrderRequest, now: Moment) {
        let Ok(OrderPlan { entry, is_done: false }) = self.plan_order(key, request, now) else {
            return;
        };
        let Some((key, _)) = self.entries.get_key_value(key) else {
            return;
        };
        self.next_order += 1;
        let (key, order) = (key.clone(), entry.order.clone());
        self.change(&key, now, |entry| entry.order = order);
    }

    /// The binding says what was ordered. The producer may have spoken from it already; else it is asked to.
    pub(super) fn order_written(&mut self, key: &EntryKey, id: u64, binding_version: String, now: Moment) {
        let Some((key, entry)) = self.entries.get_key_value(key) else {
            return;
        };
        let Some(order) = entry.order.as_ref().filter(|order| order.id == id) else {
            return;
        };
        let order = Arc::new(OperatorOrder {
            written_in: Some(binding_version),
            ..(**order).clone()
        });
        let key = key.clone();
        self.change(&key, now, |entry| {
            entry.order = Some(order);
            entry.settle_order();
        });
        self.ask_to_confirm(&key);
    }
}

/// Whether an entry is as ordered already, or will be by an order that was taken before.
fn is_done(entry: &Entry, kind: OrderKind) -> Result<bool, OrderRefused> {
    let stays = entry
        .published
        .hold
        .as_ref()
        .filter(|hold| hold.reason == HoldReason::Stay);
    match (entry.order.as_ref().map(|order| order.request.kind), kind) {
        (Some(taken), asked) => Ok(taken == asked),
        (None, OrderKind::Drop) => Ok(stays.is_some_and(|hold| hold.by_drop)),
        (None, OrderKind::Undrop) => match stays {
            None => Ok(true),
            Some(hold) if hold.by_drop => Ok(false),
            Some(hold) => Err(OrderRefused::KeptByPerson {
                key: Box::new(entry.key().clone()),
                why: hold.message.to_string(),
            }),
        },
    }
}
