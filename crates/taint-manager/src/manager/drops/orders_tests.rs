use super::*;

fn key(name: &str) -> v1::EntryKey {
    v1::EntryKey {
        cause: "k:NoExecute@2026-01-01T00:00:00Z".into(),
        cluster: "m1".into(),
        cluster_uid: "c".into(),
        namespace: "default".into(),
        name: name.into(),
        uid: "b".into(),
    }
}

fn entry(name: &str, order: Option<u64>) -> v1::Entry {
    v1::Entry {
        published: Some(v1::PublishedEntry {
            key: Some(key(name)),
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

fn changed(name: &str, order: Option<u64>) -> Step {
    Step::Changed(entry(name, order))
}

fn synced(epoch: &str) -> Step {
    Step::Synced(v1::WatchSynced {
        queue_epoch: epoch.into(),
    })
}

fn ids(orders: &Orders) -> Vec<(u64, String)> {
    let all = orders.open.values().flat_map(BTreeMap::values);
    all.map(|order| (order.id, order.queue_epoch.clone())).collect()
}

fn hear(orders: &mut Orders, step: &Step) -> usize {
    orders.hear(step).unwrap().len()
}

#[test]
fn an_order_is_heard_once_and_is_over_when_the_queue_says_so() {
    let mut orders = Orders::default();
    orders.begin();
    assert_eq!(hear(&mut orders, &synced("q/1")), 0);
    assert_eq!(hear(&mut orders, &changed("web", None)), 0);
    assert_eq!(hear(&mut orders, &changed("web", Some(1))), 1);
    assert_eq!(hear(&mut orders, &changed("web", Some(1))), 0, "nothing new");
    assert_eq!(hear(&mut orders, &changed("web", Some(2))), 1, "another order");
    assert_eq!(ids(&orders), [(2, "q/1".to_owned())]);
    assert_eq!(hear(&mut orders, &changed("web", None)), 0);
    assert_eq!(ids(&orders), []);
}

#[test]
fn orders_that_are_listed_are_written_as_soon_as_the_term_is_known() {
    let mut orders = Orders::default();
    orders.begin();
    assert_eq!(hear(&mut orders, &changed("web", Some(1))), 0);
    assert_eq!(hear(&mut orders, &synced("q/1")), 1);
    assert_eq!(ids(&orders), [(1, "q/1".to_owned())]);

    orders.begin();
    assert_eq!(hear(&mut orders, &changed("web", None)), 0);
    assert_eq!(
        hear(&mut orders, &synced("q/1")),
        0,
        "the same term does not have it any more"
    );
    assert_eq!(ids(&orders), []);
}

#[test]
fn the_word_of_a_queue_that_is_gone_still_counts() {
    let mut orders = Orders::default();
    orders.begin();
    hear(&mut orders, &synced("q/1"));
    hear(&mut orders, &changed("web", Some(7)));
    orders.begin();
    hear(&mut orders, &changed("web", None));
    assert_eq!(hear(&mut orders, &synced("q/2")), 1, "it is still to be written");
    hear(&mut orders, &changed("web", None));
    assert_eq!(ids(&orders), [(7, "q/1".to_owned())]);
    let binding = api_types::BindingKey::namespaced("default", "web");
    let (key, order) = orders.of(&binding).pop_first().unwrap();
    orders.done(&key, &order);
    assert_eq!(ids(&orders), []);
}

#[test]
fn an_order_goes_with_its_entry() {
    let mut orders = Orders::default();
    orders.begin();
    hear(&mut orders, &synced("q/1"));
    hear(&mut orders, &changed("web", Some(1)));
    let removed = v1::EntryRemoved {
        entry: Some(entry("web", Some(1))),
        ..v1::EntryRemoved::default()
    };
    hear(&mut orders, &Step::Removed(removed));
    assert_eq!(ids(&orders), []);
}

/// A watch that broke and goes on where it was lists nothing: what is open stays open, and is looked at again.
#[test]
fn a_watch_that_goes_on_forgets_no_order() {
    let mut orders = Orders::default();
    orders.begin();
    assert_eq!(hear(&mut orders, &synced("q/1")), 0);
    assert_eq!(hear(&mut orders, &changed("web", Some(1))), 1);
    assert_eq!(hear(&mut orders, &synced("q/1")), 1);
    assert_eq!(ids(&orders), [(1, "q/1".to_owned())]);
}
