use failover_core::eviction::Cause;
use failover_core::eviction::queue::{BindingVersions, Purge, TemplateRef};
use proptest::prelude::*;

use super::*;

fn entry(cluster: &str, name: &str, cause_second: u32, priority: i32) -> Published {
    Published {
        key: EntryKey {
            cluster: cluster.into(),
            cluster_uid: "c".into(),
            binding: BindingKey::namespaced("n", name),
            binding_uid: "b".into(),
            cause: format!("k:NoExecute@2026-01-01T00:00:{cause_second:02}Z")
                .parse::<Cause>()
                .unwrap()
                .into(),
        }
        .into(),
        due_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        priority,
        template: TemplateRef::default(),
        replicas: 1,
        purge_mode: Purge::Gracefully,
        grace_period_seconds: None,
        reason: "r".into(),
        hold: None,
        versions: BindingVersions::default(),
        traceparent: None,
    }
}

fn replaced(_: &EntryKey) -> WithdrawReason {
    WithdrawReason::Replaced
}

fn put(set: &mut PublishedSet, entry: &Published) -> Changed {
    set.put(entry.clone(), Resend::IfChanged, replaced)
}

#[test]
fn only_changes_are_told_and_the_last_one_counts() {
    let mut set = PublishedSet::default();
    let (first, second) = (entry("m1", "a", 0, 0), entry("m1", "a", 0, 5));
    assert_eq!(put(&mut set, &first), Changed::Yes);
    assert_eq!(put(&mut set, &first), Changed::No);
    assert_eq!(put(&mut set, &second), Changed::Yes);
    let delta = set.next_delta(10).unwrap();
    assert_eq!(
        (delta.withdrawals.len(), delta.upserts),
        (0, vec![Arc::new(second.clone())])
    );
    assert_eq!(set.next_delta(10), None);
    assert_eq!(set.put(second, Resend::Always, replaced), Changed::Yes);
    assert_eq!(set.next_delta(10).unwrap().upserts.len(), 1, "when asked for it");
}

#[test]
fn another_cause_takes_the_place() {
    let mut set = PublishedSet::default();
    let (first, second) = (entry("m1", "a", 0, 0), entry("m1", "a", 7, 0));
    put(&mut set, &first);
    set.next_delta(10);
    put(&mut set, &second);
    assert_eq!(
        set.next_delta(10),
        Some(Delta {
            withdrawals: vec![(EntryKey::clone(&first.key), WithdrawReason::Replaced)],
            upserts: vec![Arc::new(second)],
        })
    );
    assert_eq!(set.all().len(), 1);
}

#[test]
fn a_snapshot_leaves_nothing_untold() {
    let mut set = PublishedSet::default();
    put(&mut set, &entry("m1", "a", 0, 0));
    put(&mut set, &entry("m2", "a", 0, 0));
    let gone = set.take(&"m2".into(), &BindingKey::namespaced("n", "a"), |_| {
        WithdrawReason::BindingGone
    });
    assert_eq!(gone, Changed::Yes);
    assert_eq!(set.snapshot().len(), 1);
    assert_eq!(set.next_delta(10), None);
    assert!(set.mentions(&BindingKey::namespaced("n", "a")));
    assert_eq!(set.clusters_of(&BindingKey::namespaced("n", "a")), ["m1".into()]);
    assert_eq!(set.bindings_on(&"m2".into()), []);
}

#[derive(Clone, Debug)]
enum Act {
    Put(u8, u8, u32, i32),
    Take(u8, u8),
    Tell(usize),
    Snapshot,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..3_u8, 0..3_u8, 0..3_u32, 0..2_i32).prop_map(|(c, b, cause, p)| Act::Put(c, b, cause, p)),
        2 => (0..3_u8, 0..3_u8).prop_map(|(c, b)| Act::Take(c, b)),
        3 => (1..4_usize).prop_map(Act::Tell),
        1 => Just(Act::Snapshot),
    ]
}

proptest! {
    // Whatever happens in whatever order: who applies what is told has the published set.
    #[test]
    fn what_is_told_adds_up_to_the_set(acts in proptest::collection::vec(act(), 1..60)) {
        let mut set = PublishedSet::default();
        let mut queue: BTreeMap<EntryKey, Published> = BTreeMap::new();
        let hear = |queue: &mut BTreeMap<EntryKey, Published>, delta: Delta| {
            for (key, _) in delta.withdrawals {
                queue.remove(&key);
            }
            for entry in delta.upserts {
                queue.insert(EntryKey::clone(&entry.key), (*entry).clone());
            }
        };
        for act in acts {
            match act {
                Act::Put(c, b, cause, p) => {
                    put(&mut set, &entry(&format!("m{c}"), &format!("b{b}"), cause, p));
                }
                Act::Take(c, b) => {
                    let binding = BindingKey::namespaced("n", format!("b{b}"));
                    set.take(&format!("m{c}").into(), &binding, |_| WithdrawReason::Tolerated);
                }
                Act::Tell(limit) => {
                    if let Some(delta) = set.next_delta(limit) {
                        hear(&mut queue, delta);
                    }
                }
                Act::Snapshot => {
                    queue = set.snapshot().iter().map(|e| (EntryKey::clone(&e.key), (**e).clone())).collect();
                }
            }
        }
        while let Some(delta) = set.next_delta(2) {
            hear(&mut queue, delta);
        }
        let published: BTreeMap<EntryKey, Published> =
            set.all().iter().map(|e| (EntryKey::clone(&e.key), (**e).clone())).collect();
        prop_assert_eq!(queue, published);
    }
}
