//! Whatever arrives on the streams and in the calls: the queue goes on, and what it says of itself agrees.

use eviction_queue_api::convert::to_published;
use eviction_queue_api::v1::{self, publish_request};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use test_bench::paused;

use crate::world::{Consumer, Producer, World};

const ROUNDS: usize = 400;

/// What a producer or a consumer that is not right in the head does next.
#[derive(Clone, Debug)]
enum Said {
    Bytes(Vec<u8>),
    Upsert {
        names: Vec<u8>,
        spoiled: Option<(u8, i32)>,
    },
    Withdraw {
        names: Vec<u8>,
        reason: i32,
    },
    Complete,
    Nothing,
    Hello,
    End {
        lease_id: u64,
        name: u8,
        outcome: i32,
        seconds: i64,
    },
    Credit(u32),
    Renew(Vec<u64>),
    Order {
        name: u8,
        drop: bool,
    },
    Written {
        name: u8,
        id: u64,
        version: String,
    },
}

fn said() -> impl Strategy<Value = Said> {
    let names = || proptest::collection::vec(0..6_u8, 0..4);
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60).prop_map(Said::Bytes),
        (names(), proptest::option::of((0..8_u8, any::<i32>())))
            .prop_map(|(names, spoiled)| Said::Upsert { names, spoiled }),
        (names(), -2..9_i32).prop_map(|(names, reason)| Said::Withdraw { names, reason }),
        Just(Said::Complete),
        Just(Said::Nothing),
        Just(Said::Hello),
        (0..40_u64, 0..6_u8, -1..8_i32, any::<i64>()).prop_map(|(lease_id, name, outcome, seconds)| Said::End {
            lease_id,
            name,
            outcome,
            seconds
        }),
        any::<u32>().prop_map(Said::Credit),
        proptest::collection::vec(0..40_u64, 0..5).prop_map(Said::Renew),
        (0..6_u8, any::<bool>()).prop_map(|(name, drop)| Said::Order { name, drop }),
        (0..6_u8, 0..20_u64, "[0-9]{0,3}|x").prop_map(|(name, id, version)| Said::Written { name, id, version }),
    ]
}

fn published(world: &World, name: u8) -> v1::PublishedEntry {
    to_published(&world.entry(
        if name.is_multiple_of(2) { "m1" } else { "m2" },
        &format!("b{name}"),
        i64::from(name) - 3,
    ))
}

fn spoil(entry: &mut v1::PublishedEntry, how: u8, by: i32) {
    match how {
        0 => entry.purge_mode = by,
        1 => entry.replicas = by,
        2 => {
            entry.hold = Some(v1::Hold {
                reason: by,
                ..v1::Hold::default()
            });
        }
        3 => {
            entry.due_at = Some(eviction_queue_api::Timestamp {
                seconds: i64::from(by) << 20,
                nanos: by,
            });
        }
        4 => entry.key = None,
        5 => entry.grace_period_seconds = Some(by),
        6 => entry.binding_resource_version = by.to_string(),
        _ => entry.priority = by,
    }
}

#[test]
fn whatever_arrives_the_queue_goes_on() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(5.0)).await;
        let epoch = world.status().await.queue_epoch;
        let mut runner = TestRunner::deterministic();
        let mut producer = Producer::connect(&world, ("lease", 0)).await;
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 1).await.unwrap();
        for round in 0..ROUNDS {
            let said = said().new_tree(&mut runner).unwrap().current();
            let key = |name: u8| published(&world, name).key;
            let mut service = client.queue().await.unwrap();
            let mut admin = client.admin().await.unwrap();
            match said.clone() {
                Said::Bytes(bytes) => {
                    if let Ok(request) = <v1::PublishRequest as prost::Message>::decode(bytes.as_slice())
                        && let Some(message) = request.message
                    {
                        producer.say(message);
                    }
                }
                Said::Upsert { names, spoiled } => {
                    let mut entries: Vec<_> = names.into_iter().map(|name| published(&world, name)).collect();
                    if let (Some((how, by)), Some(last)) = (spoiled, entries.last_mut()) {
                        spoil(last, how, by);
                    }
                    producer.say(publish_request::Message::Upserts(v1::Upserts { entries }));
                }
                Said::Withdraw { names, reason } => {
                    let withdrawals = names.into_iter().map(|name| v1::Withdrawal { key: key(name), reason });
                    let withdrawals = withdrawals.collect();
                    producer.say(publish_request::Message::Withdrawals(v1::Withdrawals { withdrawals }));
                }
                Said::Complete => producer.complete(),
                Said::Nothing => tokio::time::sleep(std::time::Duration::from_secs(7)).await,
                Said::Hello => producer.say(publish_request::Message::Hello(v1::PublishHello::default())),
                Said::End {
                    lease_id,
                    name,
                    outcome,
                    seconds,
                } => {
                    let request = v1::CompleteRequest {
                        queue_epoch: epoch.clone(),
                        lease_id,
                        key: key(name),
                        outcome,
                        wait_until: Some(eviction_queue_api::Timestamp {
                            seconds: seconds >> 28,
                            nanos: 0,
                        }),
                        ..v1::CompleteRequest::default()
                    };
                    let _ = service.complete(request).await;
                }
                Said::Credit(leases) => consumer.say(v1::lease_request::Message::Credit(v1::LeaseCredit { leases })),
                Said::Renew(lease_ids) => consumer.say(v1::lease_request::Message::Renewal(v1::LeaseRenewal {
                    lease_ids,
                    queue_epoch: String::new(),
                })),
                Said::Order { name, drop: true } => {
                    let request = v1::DropRequest {
                        key: key(name),
                        reason: "r".into(),
                        dry_run: false,
                    };
                    let _ = admin.drop(request).await;
                }
                Said::Order { name, drop: false } => {
                    let request = v1::UndropRequest {
                        key: key(name),
                        ..v1::UndropRequest::default()
                    };
                    let _ = admin.undrop(request).await;
                }
                Said::Written { name, id, version } => {
                    let request = v1::OrderWrittenRequest {
                        queue_epoch: epoch.clone(),
                        key: key(name),
                        order_id: id,
                        binding_resource_version: version,
                    };
                    let _ = service.order_written(request).await;
                }
            }
            world.settle().await;
            let status = world.status().await;
            if status.producers.iter().all(|producer| producer.gone_since.is_some()) {
                producer = Producer::connect(&world, ("lease", 0)).await;
            }
            if status.consumers == 0 {
                consumer = Consumer::connect(&client, 1).await.unwrap();
            }
            let entries = world.entries(v1::EntryFilter::default()).await;
            let status = world.status().await;
            let totals = status.totals.unwrap();
            let sum = totals.waiting + totals.ready + totals.leased + totals.held;
            assert_eq!(entries.len() as u64, sum, "round {round}: {said:?}");
            let of_producers: u64 = status.producers.iter().map(|producer| producer.entries).sum();
            assert_eq!(of_producers, sum, "round {round}: {said:?}");
            for entry in entries {
                let held = entry.hold.as_ref().is_some_and(|hold| !hold.message.is_empty());
                assert_eq!(held, entry.state() == v1::EntryState::Held, "round {round}: {entry:?}");
                assert_eq!(
                    entry.published.unwrap().key.map(|key| key.cluster.is_empty()),
                    Some(false)
                );
            }
        }
    });
}
