use std::collections::BTreeSet;

use eviction_queue_api::v1::{self, watch_entries_response::Message as Step};

use super::*;

fn entry(order: Option<u64>) -> v1::Entry {
    v1::Entry {
        published: Some(v1::PublishedEntry {
            key: Some(v1::EntryKey {
                cause: "k:NoExecute@2026-01-01T00:00:00Z".into(),
                cluster: "m1".into(),
                cluster_uid: "c".into(),
                namespace: "default".into(),
                name: "web".into(),
                uid: "b".into(),
            }),
            ..v1::PublishedEntry::default()
        }),
        order: order.map(|id| v1::OperatorOrder {
            kind: v1::OrderKind::Drop.into(),
            caller: "ada".into(),
            reason: "why".into(),
            at: None,
            id,
        }),
        ..v1::Entry::default()
    }
}

fn ordered(orders: &mut Orders, id: u64) -> (EntryKey, Order) {
    let bindings: BTreeSet<BindingKey> = orders.hear(&Step::Changed(entry(Some(id)))).unwrap();
    let of = orders.of(bindings.first().unwrap());
    of.into_iter().next().unwrap()
}

fn live_orders() -> Orders {
    let mut orders = Orders::default();
    let queue_epoch = "q/1".into();
    orders.hear(&Step::Synced(v1::WatchSynced { queue_epoch })).unwrap();
    orders
}

#[test]
fn an_order_is_complained_of_once_and_another_one_again() {
    let (mut orders, mut complaints) = (live_orders(), Complaints::default());
    let (key, first) = ordered(&mut orders, 1);
    assert!(complaints.is_first(&key, &first));
    assert!(!complaints.is_first(&key, &first));
    assert!(complaints.is_about(&key.binding));
    let (_, second) = ordered(&mut orders, 2);
    assert!(complaints.is_first(&key, &second));
}

/// However an order ends, nothing of it is kept.
#[test]
fn what_is_not_ordered_any_more_is_forgotten() {
    let removed = Step::Removed(v1::EntryRemoved {
        entry: Some(entry(None)),
        ..v1::EntryRemoved::default()
    });
    for end in [removed, Step::Changed(entry(None))] {
        let (mut orders, mut complaints) = (live_orders(), Complaints::default());
        let (key, order) = ordered(&mut orders, 1);
        complaints.is_first(&key, &order);
        complaints.keep(&orders);
        assert!(complaints.is_about(&key.binding), "still ordered");
        orders.hear(&end).unwrap();
        complaints.keep(&orders);
        assert!(!complaints.is_about(&key.binding), "{end:?}");
    }
}
